"""A real versitygw, on a plain folder and in a box."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.small_traces import trace_of
from traces.errors import InputError
from traces.trace import Pacing
from validate.lab import lab, processes, staging
from validate.lab.box.requirements import require
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import Shape
from validate.lab.faults import LabFault
from validate.lab.store import Form
from validate.lab.versitygw.program import PROGRAM
from validate.replay.replay import replay
from validate.s3.account import Account

pytestmark = [pytest.mark.live, pytest.mark.clock]

SHAPE = Shape.model_validate({"drives": {"read": "2ms", "write": "2ms", "fsync": "2ms"}, "nic": {"rate": "1Gbit/s"}})


@pytest.fixture
def folder(lab_state: Path) -> Path:
    if PROGRAM.find() is None:
        pytest.skip("versitygw is not installed; 'tailcast lab install versitygw' builds it")
    return lab_state.with_name("versitygw")


def test_requests_on_a_plain_folder(folder: Path) -> None:
    store = lab.up("versitygw")
    assert lab.up("versitygw", Form(1)) == store and "Version" in store.version
    op = ["PUT", "GET", "HEAD", "LIST", "DELETE"] * 6
    key = ["" if o == "LIST" else f"k{i // 5}" for i, o in enumerate(op)]
    run = replay(trace_of(op, key, Pacing("closed", 1), size_bytes=[4096] * 30), store.target)
    assert not run.failed.any() and run.info["left_behind"] == [] and run.info["cpu"]["server_s"] is not None
    body, client = os.urandom(5000), Account(store.target).client(store.endpoint_url, 1, 30.0)
    client.create_bucket(Bucket="lives")
    client.put_object(Bucket="lives", Key="first", Body=body)
    assert (store.drive_folder(0, 0) / "lives" / "first").read_bytes() == body
    staging.begin(store, LabFault("host", 0, "killed"))
    staging.end(store)
    assert client.get_object(Bucket="lives", Key="first")["Body"].read() == body
    assert lab.down("versitygw") and not folder.exists() and not processes.of_folder(folder)


def test_accesses_in_a_box(folder: Path) -> None:
    try:
        require()
    except InputError as error:
        pytest.skip(str(error))
    store = lab.up("versitygw", shape=SHAPE)
    assert store.box is not None
    op = ["PUT"] * 4 + ["GET"] * 4 + ["HEAD"] * 2 + ["DELETE"] * 2
    keys = [f"new{i}" for i in range(4)] * 2 + ["new0", "new1"] * 2
    sizes = [1 << 20, 1 << 20, 4096, 4096] * 2 + [1 << 20] * 4
    trace = trace_of(op, keys, Pacing("closed", 1), size_bytes=sizes, phase=[0] * 4 + [1] * 4 + [2] * 2 + [3] * 2)
    run = with_accesses(store.box, replay(trace, store.target))
    assert run.drive_accesses is not None and not run.failed.any()
    made, moved = Counter[tuple[int, str]](), Counter[tuple[int, str]]()
    for row in run.drive_accesses.to_pylist():
        if row["request"] is not None:
            made[row["request"], row["kind"]] += 1
            moved[row["request"], row["kind"]] += row["size_bytes"]
    assert [moved[i, "write"] for i in range(4)] == sizes[:4]
    assert [moved[i, "read"] for i in (4, 5)] == sizes[:2]
    assert [made[i, "read"] for i in range(4, 8)] == [8, 8, 2, 2], "128 KiB each; of a small one, the rest by itself"
    assert made[0, "write"] > 2 and [made[i, "write"] for i in (2, 3)] == [1, 1]
    assert not any(kind == "fsync" for _, kind in made), "nothing is synced"
    assert [made[i, "rename"] for i in range(4)] == [1] * 4 and [made[i, "setxattr"] for i in range(4)] == [3] * 4

"""A real Garage, on plain folders and in a box."""

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
from validate.lab.garage.cluster import PROGRAM
from validate.replay.replay import replay
from validate.s3.account import Account

pytestmark = [pytest.mark.live, pytest.mark.clock]

SHAPE = Shape.model_validate({"drives": {"read": "2ms", "write": "2ms", "fsync": "2ms"}, "nic": {"rate": "1Gbit/s"}})


@pytest.fixture
def folder(lab_state: Path) -> Path:
    if PROGRAM.find() is None:
        pytest.skip("Garage is not installed; 'tailcast lab install garage' builds it in up to an hour")
    return lab_state.with_name("garage")


def test_requests_on_plain_folders(folder: Path) -> None:
    store = lab.up("garage")
    assert lab.up("garage") == store and "2.5.0" in store.version
    op = ["PUT", "GET", "HEAD", "LIST", "DELETE"] * 6
    key = ["" if o == "LIST" else f"k{i // 5}" for i, o in enumerate(op)]
    run = replay(trace_of(op, key, Pacing("closed", 1), size_bytes=[4096] * 30), store.target)
    assert not run.failed.any() and run.info["left_behind"] == []
    body, client = os.urandom(5000), Account(store.target).client(store.endpoint_url, 1, 30.0)
    client.create_bucket(Bucket="lives")
    client.put_object(Bucket="lives", Key="first", Body=body)
    copies = [any(body in file.read_bytes() for file in store.drive_folder(h, 0).glob("*/*/*")) for h in range(3)]
    assert sum(copies) >= 2, "a quorum of three"
    staging.begin(store, LabFault("host", 1, "killed"))
    assert client.get_object(Bucket="lives", Key="first")["Body"].read() == body
    staging.end(store)
    assert [node.alive for node in lab.refreshed(store).nodes] == [True] * 3
    assert lab.down("garage") and not folder.exists() and not processes.of_folder(folder)


def test_accesses_in_a_box(folder: Path) -> None:
    try:
        require()
    except InputError as error:
        pytest.skip(str(error))
    store = lab.up("garage", shape=SHAPE, options={"node.data_fsync": "true"})
    assert store.box is not None
    sizes, count = [4096, 1 << 20, 2048] * 3, 9
    keys = [f"new{i}" for i in range(count)]
    trace = trace_of(
        ["PUT"] * count + ["GET"] * count, keys * 2, Pacing("closed", 1), size_bytes=sizes * 2,
        phase=[0] * count + [1] * count,
    )  # fmt: skip
    run = with_accesses(store.box, replay(trace, store.target))
    assert run.drive_accesses is not None and not run.failed.any()
    written, made = Counter[str](), Counter[str]()
    for row in run.drive_accesses.to_pylist():
        written[row["kind"]] += row["size_bytes"]
        made[row["kind"]] += 1
    blocks = sum(size for size in sizes if size >= 3072)
    assert written["write"] >= 3 * blocks and made["fsync"] >= 3 * 6 * 2, "three copies; each file and its folder"
    assert written["read"] >= blocks

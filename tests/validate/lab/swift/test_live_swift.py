"""A real Swift, on plain folders and in a box."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.small_traces import trace_of
from traces.errors import InputError
from traces.trace import Pacing
from validate.compare.server_trace import read_server_trace, server_times
from validate.lab import lab, processes, staging
from validate.lab.box import network
from validate.lab.box.requirements import require
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import Shape
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.faults import LabFault
from validate.lab.mounts import mounted_below
from validate.lab.request_trace import recording
from validate.lab.store import Form, Store
from validate.lab.swift import program
from validate.lab.swift.file_names import file_name
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Account

pytestmark = [pytest.mark.live, pytest.mark.clock]

THREE = Form(1, 3, gateways=1)
SHAPE = Shape.model_validate({"drives": {"read": "2ms", "write": "2ms", "fsync": "2ms"}, "nic": {"rate": "1Gbit/s"}})


@pytest.fixture
def folder(lab_state: Path) -> Path:
    if lacking := program.PROGRAMS.missing():
        pytest.skip(f"{lacking[0]} is not installed; 'tailcast lab install swift' installs Debian's packages")
    return lab_state.with_name("swift")


def replicas(store: Store, key_bytes: bytes) -> list[int]:
    """The hosts that have an object with such contents."""
    return [
        host
        for host in range(store.form.hosts)
        for path in store.contents(host, 0).glob("objects/**/*.data")
        if path.read_bytes() == key_bytes
    ]


def test_requests_on_plain_folders(folder: Path, tmp_path: Path) -> None:
    store = lab.up("swift", THREE, options={"proxy.concurrent_gets": "true"})
    assert lab.up("swift", THREE, options={"proxy.concurrent_gets": "true"}) == store and "swift 2" in store.version
    assert store.target.node_urls == (store.nodes[3].endpoint_url,)
    assert store.facts["gateways"] == 1 and store.facts["options"] == {"proxy.concurrent_gets": "true"}
    assert [sorted(node.running) for node in store.nodes] == [["account", "container", "object"]] * 3 + [
        ["memcached", "proxy"]
    ]
    op = ["PUT", "GET", "HEAD", "LIST", "DELETE"] * 6
    key = ["" if o == "LIST" else f"k{i // 5}" for i, o in enumerate(op)]
    trace = trace_of(op, key, Pacing("closed", 1), size_bytes=[4096] * 30)
    with recording(store.target, True) as log:
        run = replay(trace, store.target)
    assert run.requests.column("error").null_count == 30 and run.info["left_behind"] == []
    assert log is not None
    log.write(path := tmp_path / "server_trace.jsonl")
    server_s = server_times(run, read_server_trace(path))
    of_objects = np.array(op) != "LIST"
    took_s = run.column("end_s") - run.column("start_s")
    assert np.isfinite(server_s[of_objects]).mean() > 0.8 and (server_s <= took_s)[np.isfinite(server_s)].all()
    body, client = os.urandom(5000), Account(store.target).client(store.endpoint_url, 1, 30.0)
    client.create_bucket(Bucket="lives")
    client.put_object(Bucket="lives", Key="first", Body=body)
    assert replicas(store, body) == [0, 1, 2]
    staging.begin(store, LabFault("host", 1, "killed"))
    assert client.get_object(Bucket="lives", Key="first")["Body"].read() == body
    client.put_object(Bucket="lives", Key="second", Body=body[:4000])
    assert replicas(store, body[:4000]) == [0, 2], "there is no handoff with three hosts"
    staging.end(store)
    assert [node.alive for node in lab.refreshed(store).nodes] == [True] * 4
    assert lab.down("swift") and not folder.exists() and not processes.of_folder(folder)


def test_accesses_and_a_slow_drive_in_a_box(folder: Path) -> None:
    try:
        require()
    except InputError as error:
        pytest.skip(str(error))
    begun_s = time.monotonic()
    store = lab.up("swift", THREE, shape=SHAPE)
    assert time.monotonic() - begun_s < 60.0 and store.box is not None
    op = ["PUT"] * 6 + ["GET"] * 6 + ["HEAD"] * 2 + ["DELETE"] * 2
    keys = [f"new{i}" for i in range(6)] * 2 + ["new0", "new1"] * 2
    trace = trace_of(
        op, keys, Pacing("closed", 1), size_bytes=[1 << 20] * 16, phase=[0] * 6 + [1] * 6 + [2] * 2 + [3] * 2
    )
    run = with_accesses(store.box, replay(trace, store.target), file_name)
    assert run.drive_accesses is not None and not run.failed.any()
    made = Counter(
        (op[row["request"]], row["kind"], row["file"])
        for row in run.drive_accesses.to_pylist()
        if row["request"] is not None and row["kind"] in ("read", "write", "fsync")
    )
    data = "<hash>/<time>.data"
    assert made["PUT", "write", data] == 6 * 3 * 16 and made["PUT", "fsync", data] == 6 * 3
    assert made["PUT", "write", "<partition>/hashes.invalid"] == 6 * 3
    assert made["PUT", "fsync", "<suffix>/<hash>"] == 6 * 3
    assert made["GET", "read", data] == 6 * 16 and not any(kind == "write" for o, kind, _ in made if o == "GET")
    assert made["DELETE", "fsync", "<hash>/<time>.ts"] == 2 * 3 and not any(o == "HEAD" for o, _, _ in made)

    trace = trace_of(["GET"] * 600, [f"k{i % 30}" for i in range(600)], Pacing("closed", 1, duration_s=5.0))
    slow = LabFault("drive", 1, "slow", factor=50.0, at_s=1.0)
    run = replay(trace, store.target, Options(), faults=FaultSchedule(store, [slow]))
    (event,) = run.info["faults"]
    assert (event["kind"], event["drive"], event["speed"]) == ("slow_drive", 1, 0.02)
    took_s, at_s = run.column("end_s") - run.column("start_s"), run.column("arrival_s")
    assert (took_s[at_s > 1.1] > 0.1).any() and np.median(took_s[at_s < 0.9]) < 0.1
    assert lab.down("swift")
    assert not (processes.of_folder(folder) or mounted_below(folder) or network.left_of(folder) or folder.exists())

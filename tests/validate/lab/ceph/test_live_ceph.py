"""A real Ceph, in a box; with its plain folders it differs in its drives only."""

from __future__ import annotations

import os
import time
from functools import partial
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
from validate.lab.ceph import program
from validate.lab.ceph.reshard import ReshardAt
from validate.lab.ceph.settling import settle
from validate.lab.faults import LabFault
from validate.lab.mounts import mounted_below
from validate.lab.request_trace import recording
from validate.lab.store import Form
from validate.replay.replay import replay
from validate.s3.account import Account

pytestmark = [pytest.mark.live, pytest.mark.clock]

THREE = Form(1, 3, None, 1, 1)
SHAPE = Shape.model_validate({"drives": {"read": "1ms", "write": "1ms", "fsync": "1ms"}, "nic": {"rate": "1Gbit/s"}})


@pytest.fixture(autouse=True)
def ceph_in_a_box() -> None:
    """Skip the tests where Ceph, or what a box needs, is absent."""
    if lacking := program.PROGRAMS.missing():
        pytest.skip(f"{lacking[0]} is not installed; 'tailcast lab install ceph' installs Debian's packages")
    try:
        require()
    except InputError as error:
        pytest.skip(str(error))


def test_requests_accesses_and_the_failure_of_a_host(lab_state: Path, tmp_path: Path) -> None:
    folder = lab_state.with_name("ceph")
    begun_s = time.monotonic()
    store = lab.up("ceph", THREE, shape=SHAPE)
    assert time.monotonic() - begun_s < 120.0 and store.box is not None and "ceph version" in store.version
    assert [sorted(node.running) for node in store.nodes] == [["osd.0"], ["osd.1"], ["osd.2"], ["rgw"], ["mgr", "mon"]]
    assert store.target.node_urls == (store.nodes[3].endpoint_url,)

    op = ["PUT"] * 10 + ["GET"] * 10 + ["HEAD", "LIST", "DELETE"] * 2
    key = [f"k{i}" for i in range(10)] * 2 + ["k0", "", "k0", "k1", "", "k1"]
    phase = [0] * 10 + [1] * 10 + [2] * 6
    trace = trace_of(op, key, Pacing("closed", 1), size_bytes=[1 << 20] * 26, phase=phase)
    with recording(store.target, True) as log:
        run = replay(trace, store.target)
    assert run.requests.column("error").null_count == 26 and run.info["left_behind"] == []
    assert log is not None
    log.write(path := tmp_path / "server_trace.jsonl")
    assert np.isfinite(server_times(run, read_server_trace(path))).mean() > 0.2, "its clock has steps of 4 ms"
    run = with_accesses(store.box, run)
    assert run.drive_accesses is not None
    rows = run.drive_accesses.to_pylist()
    written = sum(row["size_bytes"] for row in rows if row["kind"] == "write")
    assert written > 3 * 10 << 20, "three replicas"
    assert {row["host"] for row in rows if row["kind"] == "fsync"} == {0, 1, 2}
    assert sum(row["size_bytes"] for row in rows if row["kind"] == "read") == pytest.approx(10 << 20, rel=0.2)

    few = trace_of(["GET"] * 8, [f"k{i}" for i in range(8)], Pacing("closed", 1), size_bytes=[4096] * 8)
    run = with_accesses(store.box, replay(few, store.target, settle=partial(settle, store)))
    assert run.drive_accesses is not None and not run.failed.any()
    assert run.drive_accesses.column("kind").to_pylist().count("read") == 8, "none is served from memory"

    body, client = os.urandom(5000), Account(store.target).client(store.endpoint_url, 1, 60.0)
    client.create_bucket(Bucket="lives")
    client.put_object(Bucket="lives", Key="first", Body=body)
    reshard = ReshardAt(store, 0.0, 23)
    begun_at = time.time()
    reshard.begin(time.perf_counter())
    time.sleep(0.5)
    reshard.end()
    (event,) = reshard.facts(begun_at, time.time())["faults"]
    assert not reshard.problems and event["shards"] == 23 and 0.0 < event["at"] < 20.0
    staging.begin(store, LabFault("host", 1, "killed"))
    assert client.get_object(Bucket="lives", Key="first")["Body"].read() == body
    client.put_object(Bucket="lives", Key="second", Body=body[:4000])
    staging.end(store)
    assert [node.alive for node in lab.refreshed(store).nodes] == [True] * 5
    assert client.get_object(Bucket="lives", Key="second")["Body"].read() == body[:4000]
    assert lab.down("ceph")
    assert not (processes.of_folder(folder) or mounted_below(folder) or network.left_of(folder) or folder.exists())


def test_a_gateway_behind_a_load_balancer_is_killed_and_block_db_has_drives_of_its_own(lab_state: Path) -> None:
    shape = SHAPE.model_copy(update={"db_drives": SHAPE.drives})
    store = lab.up("ceph", Form(1, 3, gateways=2, monitors=1, balancers=1), shape=shape)
    assert store.box is not None and store.target.node_urls == (store.nodes[6].endpoint_url,)
    op, key = ["PUT"] * 5 + ["GET"] * 5, [f"k{i}" for i in range(5)] * 2
    trace = trace_of(op, key, Pacing("closed", 1), size_bytes=[1 << 20] * 10, phase=[0] * 5 + [1] * 5)
    run = with_accesses(store.box, replay(trace, store.target))
    assert run.requests.column("error").null_count == 10 and run.drive_accesses is not None
    files = {(row["drive"], row["file"]) for row in run.drive_accesses.to_pylist() if row["kind"] == "write"}
    assert files == {(0, "block"), (1, "db")}
    client = Account(store.target).client(store.endpoint_url, 1, 60.0)
    client.create_bucket(Bucket="lives")
    staging.begin(store, LabFault("host", 3, "killed"))
    for number in range(6):  # in turn, so half of them would go to the dead gateway
        client.put_object(Bucket="lives", Key=f"k{number}", Body=b"lives")
    assert client.get_object(Bucket="lives", Key="k5")["Body"].read() == b"lives"
    staging.end(store)
    assert lab.down("ceph")

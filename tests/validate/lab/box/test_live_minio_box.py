"""A real MinIO in a box."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.profiles import others_nightly
from tests.small_traces import trace_of
from traces.errors import InputError
from traces.trace import Pacing
from validate.lab import lab, processes
from validate.lab.box import network
from validate.lab.box.requirements import require
from validate.lab.box.shape import Shape
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.faults import LabFault
from validate.lab.minio import program
from validate.lab.mounts import mounted_below
from validate.lab.store import Form
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Account

pytestmark = [pytest.mark.live, pytest.mark.clock]

SHAPE = Shape.model_validate({"drives": {"read": "1ms", "write": "1ms", "fsync": "0.2ms"}, "nic": {"rate": "1Gbit/s"}})


@pytest.fixture(autouse=True)
def possible(lab_state: Path) -> None:
    if program.find() is None:
        pytest.skip("the MinIO server is not installed; 'tailcast lab install minio' builds it")
    try:
        require()
    except InputError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    "delay_s",
    others_nightly([0.0, 0.002], [0.002], "a link without a delay has no proxy, and is in the tests of other boxes"),
)
def test_a_cluster_in_a_box_serves_through_the_failure_of_a_host(lab_state: Path, delay_s: float) -> None:
    begun_s = time.monotonic()
    store = lab.up("minio", Form(2, 2), shape=SHAPE.model_copy(update={"delay": delay_s}))
    assert time.monotonic() - begun_s < 30.0
    account = Account(store.target)
    first, last = (account.client(url, 1, 30.0) for url in (store.target.node_urls[0], store.target.node_urls[-1]))
    first.create_bucket(Bucket="box")
    body = os.urandom(1 << 20)
    first.put_object(Bucket="box", Key="object", Body=body)
    assert last.get_object(Bucket="box", Key="object")["Body"].read() == body
    parts = [part.stat().st_size for part in (lab_state / "backing").glob("h*/d*/box/object/*/part.1")]
    assert len(parts) == 4 and sum(parts) == pytest.approx(2 << 20, rel=0.01)
    trace = trace_of(["GET"] * 20_000, [f"k{i % 20}" for i in range(20_000)], Pacing("closed", 2, duration_s=4.0))
    faults = FaultSchedule(store, [LabFault("host", 1, "killed", at_s=1.0, for_s=1.0)])
    run = replay(trace, store.target, Options(keep=True), faults=faults)
    assert not faults.problems
    (event,) = run.info["faults"]
    assert (event["kind"], event["host"]) == ("host_down", 1) and 1.0 <= event["at"] < event.get("back_at", 9.0)
    assert 0 < run.failed.sum() < len(run) and not run.failed[run.column("arrival_s") < 0.9].any()
    assert lab.down("minio")
    assert not (processes.of_folder(lab_state) or mounted_below(lab_state) or network.left_of(lab_state))
    assert not lab_state.exists()

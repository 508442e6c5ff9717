from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.shared.client_policy import ClientPolicies, Hedge
from models.shared.multipart import Multipart
from tests.small_traces import reads, trace_of
from traces.statistics.summary import summarise
from traces.trace import Pacing
from validate.compare.server_trace import read_server_trace, server_times
from validate.lab import lab
from validate.lab.request_trace import recording
from validate.lab.store import Store
from validate.replay.plan import Options
from validate.replay.replay import replay
from validate.s3.account import Account
from validate.s3.clients import DATA_PATHS

pytestmark = pytest.mark.live


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_a_mix_on_a_real_store(live_minio: Store, data_path: str) -> None:
    assert lab.up(live_minio.name, live_minio.form) == live_minio
    draw = np.random.default_rng(1)
    op = draw.choice(["GET", "PUT", "HEAD", "LIST"], 200, p=[0.5, 0.3, 0.1, 0.1]).tolist()
    key = ["object" if o == "LIST" else f"object-{k}" for o, k in zip(op, draw.integers(0, 40, 200), strict=True)]
    trace = trace_of(
        op, key, arrival_s=np.arange(200) / 100, bucket=["first", "second"] * 100, size_bytes=[4096, 1 << 20] * 100
    )
    run = replay(trace, live_minio.target, Options(data_path=data_path))
    assert run.requests.column("error").null_count == 200
    assert run.info["left_behind"] == [] and run.info["versions"]["server"] == live_minio.version
    assert run.info["cpu"]["server_per_op_s"] > 0
    assert Account(live_minio.target).buckets.list_buckets()["Buckets"] == []


def test_a_closed_loop_on_a_real_store(live_minio: Store) -> None:
    keys = [f"k{i}" for i in range(40)]
    trace = trace_of(["PUT"] * 40 + ["GET"] * 40, keys * 2, Pacing("closed", 4), phase=[0] * 40 + [1] * 40)
    run = replay(trace, live_minio.target)
    assert len(run) == 80 and not run.failed.any()
    assert run.info["schedule"]["lag_p50_s"] < 0.01


def test_a_real_store_killed_in_mid_replay(mortal_minio: Store) -> None:
    def kill(stage: str, done: float, total: float) -> None:
        if stage == "replay" and done >= 30:
            os.kill(mortal_minio.nodes[0].pid, signal.SIGKILL)

    run = replay(reads(300, rate=60), mortal_minio.target, progress=kill)
    assert len(run) == 300
    assert not run.failed[:20].any() and run.failed[-50:].all()
    assert run.info["left_behind"]
    assert lab.running() is None


one_drive = pytest.mark.parametrize("live_minio", ["one-drive"], indirect=True)


@pytest.mark.parametrize("mortal_minio", ["one-drive"], indirect=True)
@pytest.mark.parametrize(("data_path", "processes"), [("obstore", 2), ("boto3", 1)])
def test_a_real_store_killed_and_brought_back(mortal_minio: Store, data_path: str, processes: int) -> None:
    pid = mortal_minio.nodes[0].pid
    command, environment = (
        Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0")[:-1] for name in ("cmdline", "environ")
    )
    again = []

    def strike(stage: str, done: float, total: float) -> None:
        if stage != "replay":
            return
        if done >= 60 and not again:
            os.kill(pid, signal.SIGKILL)
        if done >= 180 and not again:
            variables = dict(pair.split(b"=", 1) for pair in environment)
            again.append(subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL))  # type: ignore[call-overload]

    op, key = ["GET", "PUT"] * 350, [f"k{i}" for i in range(700)]
    trace = trace_of(op, key, arrival_s=np.arange(700) / 100)
    options = Options(data_path=data_path, processes=processes, timeout_s=20)
    try:
        run = replay(trace, mortal_minio.target, options, strike)
    finally:
        for process in again:
            process.kill()
            process.wait()
    assert run.requests.column("key").to_pylist() == key, "no row is lost, none comes twice"
    assert not run.failed[:50].any() and run.failed[100:170].all() and not run.failed[-50:].any()
    told = summarise(run)["ops"]
    assert sum(told[name]["errors"] for name in told) == run.failed.sum()
    assert {name: told[name]["count"] for name in told} == {"GET": 350, "PUT": 350}
    refused = run.failed & (run.column("status") == 0)
    took_s = (run.column("end_s") - run.column("start_s"))[refused]
    assert np.median(took_s) < 0.1, "a refused connection is an answer at once; no library tries again"
    assert all(run.requests.column("error").filter(run.failed).to_pylist())
    assert (run.column("winner") == np.where(run.failed, 0, 1)).all()


@one_drive
@pytest.mark.parametrize("cancel", [True, False])
def test_hedged_requests_on_a_real_store(live_minio: Store, cancel: bool) -> None:
    trace = trace_of(["GET"] * 400, [f"k{i % 20}" for i in range(400)], Pacing("closed", 4))
    hedge = Hedge(after="p50", budget=0.3, cancel=cancel)
    run = replay(trace, live_minio.target, Options(policies=ClientPolicies(hedge=hedge)))
    attempts, winner = run.column("attempts"), run.column("winner")
    assert not run.failed.any() and set(attempts) == {1, 2}
    assert 0 < (attempts == 2).sum() <= 0.3 * 400
    assert set(winner[attempts == 1]) == {1} and (winner <= attempts).all() and (winner >= 1).all()
    assert run.info["client_policies"]["hedge"] == hedge.model_dump(mode="json")


@one_drive
def test_an_object_in_parts_on_a_real_store(live_minio: Store) -> None:
    mib = 1 << 20
    trace = trace_of(["PUT", "GET", "DELETE"], ["k"] * 3, Pacing("closed"), phase=[0, 1, 2], size_bytes=23 * mib)
    options = Options(policies=ClientPolicies(multipart=Multipart(threshold=5 * mib, part_size=5 * mib)))
    for data_path in DATA_PATHS:
        run = replay(trace, live_minio.target, replace(options, data_path=data_path))
        assert run.column("status").tolist() == [200, 200, 204]
        assert run.column("transfer_bytes").tolist() == [23 * mib, 23 * mib, 0]


@one_drive
def test_the_servers_own_trace_is_kept_and_matched(live_minio: Store, tmp_path: Path) -> None:
    trace = trace_of(["GET", "PUT"] * 100, [f"k{i % 20}" for i in range(200)], Pacing("closed", 2))
    with recording(live_minio.target, True) as told:
        run = replay(trace, live_minio.target)
    assert told is not None
    told.write(path := tmp_path / "server.jsonl")
    assert not re.search("Signature|Credential|X-Amz", path.read_text())
    entry = next(e for e in map(json.loads, path.open()) if e["api"] == "s3.GetObject")
    assert entry["statusCode"] == 200 and 0 < entry["callStats"]["timeToFirstByte"] <= entry["callStats"]["duration"]
    assert entry["callStats"]["tx"] > 0
    server_s = server_times(run, read_server_trace(path))
    assert np.isfinite(server_s).mean() > 0.9

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from tests.small_traces import reads, trace_of
from traces.trace import Pacing
from validate import lab
from validate.lab import Store
from validate.replay import replay
from validate.replay_plan import Options
from validate.s3 import DATA_PATHS, Account

pytestmark = pytest.mark.live


@pytest.mark.parametrize("data_path", DATA_PATHS)
def test_a_mix_on_a_real_store(live_minio: Store, data_path: str) -> None:
    assert lab.up(live_minio.drives) == live_minio
    draw = np.random.default_rng(1)
    op = draw.choice(["GET", "PUT", "HEAD", "LIST"], 200, p=[0.5, 0.3, 0.1, 0.1]).tolist()
    key = ["object" if o == "LIST" else f"object-{k}" for o, k in zip(op, draw.integers(0, 40, 200), strict=True)]
    trace = trace_of(
        op, key, arrival_s=np.arange(200) / 100, bucket=["first", "second"] * 100, size_bytes=[4096, 1 << 20] * 100
    )
    run = replay(trace, live_minio.target, Options(data_path=data_path))
    assert run.requests.column("error").null_count == 200
    assert run.info["left_behind"] == [] and run.info["versions"]["server"] == "MinIO"
    assert run.info["cpu"]["server_per_op_s"] > 0
    assert Account(live_minio.target).buckets.list_buckets()["Buckets"] == []


def test_a_closed_loop_on_a_real_store(live_minio: Store) -> None:
    keys = [f"k{i}" for i in range(40)]
    trace = trace_of(["PUT"] * 40 + ["GET"] * 40, keys * 2, Pacing("closed", 4), phase=[0] * 40 + [1] * 40)
    run = replay(trace, live_minio.target)
    assert len(run) == 80 and not run.failed.any()
    assert run.info["schedule"]["lag_p50_s"] < 0.01


def test_a_real_store_killed_in_mid_replay(live_minio: Store) -> None:
    def kill(stage: str, done: float, total: float) -> None:
        if stage == "replay" and done >= 30:
            os.kill(live_minio.pid, signal.SIGKILL)

    run = replay(reads(300, rate=60), live_minio.target, progress=kill)
    assert len(run) == 300
    assert not run.failed[:20].any() and run.failed[-50:].all()
    assert run.info["left_behind"]
    assert lab.status() is None

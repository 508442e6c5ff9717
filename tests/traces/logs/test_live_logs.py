"""Logs of real stores end to end: imported, replayed on a live MinIO, simulated, compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.store import load_spec
from sim.simulate import simulate
from tests.paths import EXAMPLES, ROOT
from traces.logs.importing import import_logs
from traces.operations import OPS
from traces.trace import Trace
from traces.transform.edit import cut
from validate.compare.compare import compare
from validate.lab.store import Store
from validate.replay.replay import replay

pytestmark = pytest.mark.live


@pytest.mark.parametrize("live_minio", ["one-drive"], indirect=True)
@pytest.mark.parametrize("log", ["rgw-ops-log-e2e.json.zst", "minio-trace-e2e.json.zst"])
def test_a_stores_log_is_replayed_simulated_and_compared(tmp_path: Path, live_minio: Store, log: str) -> None:
    import_logs([ROOT / "tests" / "samples" / log], tmp_path / "site.parquet")
    whole = Trace.read(tmp_path / "site.parquet")
    last_s = float(np.quantile(whole.arrival_s, 0.9))
    trace = cut(whole, last_s - 4, last_s)
    requested = np.bincount(trace.op, minlength=len(OPS))
    assert requested.sum() > 100
    measured = replay(trace, live_minio.target)
    forecast = simulate(load_spec(EXAMPLES / "minio.yaml"), trace, seed=1)
    for run in (measured, forecast):
        assert (np.bincount(run.op, minlength=len(OPS)) == requested).all()
        assert not run.failed.any()
    figures = compare(forecast, measured)
    assert set(figures.ops) == {op for op, count in zip(OPS, requested, strict=True) if count}

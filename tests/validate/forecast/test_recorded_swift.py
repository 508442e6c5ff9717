"""The recorded Runs of a Swift: the model predicts what clients met before, during and after a slow drive."""

from __future__ import annotations

import numpy as np
import pytest

from models.store import load_spec
from sim.simulate import simulate
from tests.paths import EXAMPLES
from traces.operations import OPS
from traces.run import Run
from validate.replay.recorded_faults import recorded_faults, with_faults
from validate.replay.recorded_policies import as_recorded, recorded_policies

FOLDER = EXAMPLES / "recorded-swift"
AT_S, UNTIL_S = 10, 35


def both(name: str) -> tuple[Run, Run]:
    """A measured Run, and its forecast."""
    measured = Run.read(FOLDER / name)
    spec = with_faults(load_spec(FOLDER / "swift.yaml"), recorded_faults(measured, name), name)
    return measured, simulate(as_recorded(spec, recorded_policies(measured, name)), measured.trace, seed=1)


def quantile_s(run: Run, op: str, at: float, from_s: float = 0.0, until_s: float = np.inf) -> float:
    arrival_s = run.column("arrival_s")
    rows = (arrival_s >= from_s) & (arrival_s < until_s) & (run.op == OPS.index(op))
    return float(np.quantile(run.latency_s[rows], at))


def test_the_runs_are_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 3e5
    assert Run.read(FOLDER / "drive-x10-hedged").drive_accesses is not None


@pytest.mark.parametrize(("name", "op"), [("light-get", "GET"), ("light-put", "PUT")])
def test_the_times_of_an_object_server_are_those_of_light_loads(name, op):
    measured_s, predicted_s = (quantile_s(run, op, 0.5) for run in both(name))
    assert predicted_s == pytest.approx(measured_s, rel=0.02)


def test_hedged_reads_around_a_slow_drive():
    """PUTs queue there: how many, depends on which of 67 have a replica on it, so they are predicted less well."""
    runs = both("drive-x10-hedged")
    for op, at, rel in (("GET", 0.5, 0.15), ("GET", 0.95, 0.15), ("PUT", 0.5, 0.4), ("PUT", 0.95, 0.4)):
        measured_s, predicted_s = (quantile_s(run, op, at, AT_S, UNTIL_S) for run in runs)
        assert predicted_s == pytest.approx(measured_s, rel=rel), (op, at)
    before_s, during_s = (quantile_s(runs[0], "PUT", 0.5, *span) for span in ((0, AT_S), (AT_S, UNTIL_S)))
    assert during_s > 5 * before_s

"""The recorded Runs of a box: the model predicts what clients of a MinIO met before, during and after a failure."""

from __future__ import annotations

import numpy as np
import pytest

from models.store import compile_spec, load_spec
from sim.engine.compiled import engine
from sim.engine.outcome import Program
from sim.simulate import simulate
from tests.paths import EXAMPLES
from traces.operations import OPS
from traces.run import Run
from validate.replay.recorded_faults import recorded_faults, with_faults
from validate.replay.recorded_policies import as_recorded, recorded_policies

FOLDER = EXAMPLES / "recorded-box"
RUNS = sorted(path.parent.name for path in FOLDER.glob("*/run.json"))


def both(name: str, seed: int = 1) -> tuple[Run, Run]:
    """A measured Run, and its forecast."""
    measured = Run.read(FOLDER / name)
    spec = with_faults(load_spec(FOLDER / "minio.yaml"), recorded_faults(measured, name), name)
    return measured, simulate(as_recorded(spec, recorded_policies(measured, name)), measured.trace, seed=seed)


def during(run: Run, from_s: float, until_s: float, op: str = "GET") -> np.ndarray:
    arrival_s = run.column("arrival_s")
    return (arrival_s >= from_s) & (arrival_s < until_s) & (run.op == OPS.index(op))


def quantile_s(run: Run, rows: np.ndarray, at: float) -> float:
    return float(np.quantile(run.latency_s[rows & ~run.failed], at))


def test_all_runs_are_small_and_have_the_accesses_of_their_drives():
    assert {"light-get", "light-put", "drive-x5", "host-killed", "link-cut"} <= set(RUNS)
    for name in RUNS:
        assert sum(path.stat().st_size for path in (FOLDER / name).iterdir()) < 1e6
        assert Run.read(FOLDER / name).drive_accesses is not None


@pytest.mark.parametrize(("name", "rest"), [("multipart-put", 0), ("multipart-get", 3 * 3 * 10)])
def test_objects_in_parts(name, rest):
    """Drives make the accesses of the model, but for reads of the last 256 B of a part by other nodes."""
    measured, predicted = both(name)
    spec = as_recorded(load_spec(FOLDER / "minio.yaml"), recorded_policies(measured, name))
    program = Program.of(*compile_spec(spec, measured.trace), 1)
    outcome = engine.run(program)
    drives = [n for n, station in enumerate(program.network.stations) if station.role == "drive"]
    assert measured.drive_accesses is not None
    assert outcome.visits[drives].sum() == len(measured.drive_accesses) - rest
    served_s = float(measured.drive_accesses.column("served_s").to_numpy().sum())
    assert outcome.busy_s[drives].sum() == pytest.approx(served_s, rel=0.05)
    # The spec has no CPU time of bytes, and other work had four fifths of the cores.
    assert np.median(predicted.latency_s) == pytest.approx(np.median(measured.latency_s), rel=0.25)


def test_a_slow_drive():
    """Of some 110 PUTs and 250 GETs, so p95 varies by 15 % from seed to seed."""
    runs = [both("drive-x5", seed) for seed in range(1, 7)]
    for op, at in (("GET", 0.5), ("GET", 0.95), ("PUT", 0.5), ("PUT", 0.95)):
        (measured_s, *_), predicted_s = zip(
            *([quantile_s(run, during(run, 20, 50, op), at) for run in pair] for pair in runs), strict=True
        )
        assert np.mean(predicted_s) == pytest.approx(measured_s, rel=0.2), (op, at)


def test_a_killed_host_refuses_its_requests():
    measured, predicted = (
        run.failed[during(run, 0, 90) | during(run, 0, 90, "PUT")].sum() for run in both("host-killed")
    )
    assert predicted == pytest.approx(measured, abs=5) and measured > 100


def test_a_silent_host():
    """GETs wait for a connection as long as it lasts, PUTs only until its connection is found dead."""
    runs = both("link-cut")
    # Nodes find the connection dead after 20 to 30 s, each at its own time; the model has one.
    for op, from_s, until_s, rel in (
        ("GET", 25, 65, 0.1),
        ("GET", 45, 65, 0.1),
        ("PUT", 22, 30, 0.5),
        ("PUT", 50, 75, 0.1),
    ):
        measured_s, predicted_s = (quantile_s(run, during(run, from_s, until_s, op), 0.5) for run in runs)
        assert predicted_s == pytest.approx(measured_s, rel=rel, abs=0.3), (op, from_s)
    measured, predicted = (int(run.failed.sum()) for run in runs)
    assert predicted == pytest.approx(measured, abs=15) and measured > 150

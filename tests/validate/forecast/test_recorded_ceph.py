"""The recorded Run of a Ceph in a box: what its clients met when an OSD was killed, and when it was back."""

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

FOLDER = EXAMPLES / "recorded-ceph"


@pytest.fixture(scope="module")
def runs() -> tuple[Run, Run]:
    """The measured Run, and its forecast."""
    measured = Run.read(FOLDER / "osd-killed")
    spec = with_faults(load_spec(FOLDER / "ceph.yaml"), recorded_faults(measured, "a Run"), "a Run")
    return measured, simulate(as_recorded(spec, recorded_policies(measured, "a Run")), measured.trace, seed=1)


def stall_s(run: Run, from_s: float, until_s: float) -> float:
    """The longest time without the end of a request."""
    end_s = run.column("end_s")
    inside = np.sort(end_s[(end_s >= from_s) & (end_s < until_s)])
    return float(np.diff(np.concatenate([[from_s], inside, [until_s]])).max())


def test_it_is_small_and_has_the_accesses_of_its_drives(runs):
    assert sum(path.stat().st_size for path in (FOLDER / "osd-killed").iterdir()) < 300_000
    assert runs[0].drive_accesses is not None and not runs[0].failed.any() and not runs[1].failed.any()


@pytest.mark.parametrize(("from_s", "until_s"), [(9, 15), (34, 45)])
def test_placement_groups_stop_when_the_osd_is_killed_and_when_it_is_back(runs, from_s, until_s):
    measured_s, predicted_s = (stall_s(run, from_s, until_s) for run in runs)
    assert measured_s > 1.0, "longer than between any two requests"
    assert predicted_s == pytest.approx(measured_s, abs=0.6)


@pytest.mark.parametrize("op", ["GET", "PUT"])
def test_two_osds_do_as_well_as_three(runs, op):
    p50_s = []
    for run in runs:
        arrival_s = run.column("arrival_s")
        rows = (arrival_s > 15) & (arrival_s < 35) & (run.op == OPS.index(op))
        p50_s.append(float(np.median(run.latency_s[rows])))
    assert p50_s[1] == pytest.approx(p50_s[0], rel=0.25)

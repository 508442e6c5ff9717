"""Tests of the recovery of OSDs that are back: what they missed, by log or backfill, and how long it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.failures import FAULTS
from models.ceph.faults.fault_timeline import fault_timeline
from models.ceph.faults.recovery import duration_s, failed_osds, is_backfill, missed_writes, returning
from models.ceph.spec.spec import CephSpec
from models.store import spec_of
from tests.profiles import examples

OBJECT_BYTES = 4096
WORKLOAD = {"rate": 100, "duration": 60, "object_size": "4KiB", "mix": {"PUT": 3, "GET": 6, "DELETE": 1}}


def ceph(event: dict[str, Any], **sections: Any) -> CephSpec:
    """Three hosts with a hard disk each, and one OSD that fails at 5 s and is back at 25 s."""
    data = {
        "store": "ceph",
        "release": "pacific",
        "workload": WORKLOAD,
        "hosts": {"count": 3, "drives": 1},
        "pools": {"pg_num": 64},
        "device": "hdd-7k2",
        "faults": [{"kind": "osd_down", "osd": 1, "at": 5, "back_at": 25} | event],
    }
    spec = spec_of(data | sections, "test")
    assert isinstance(spec, CephSpec)
    return spec


def work(spec: CephSpec) -> tuple[np.ndarray, np.ndarray, float]:
    """The drive time and chunks of each OSD, and the duration."""
    costs, fault = CostFunctions(spec, OBJECT_BYTES), spec.faults[0]
    moved = returning(failed_osds(fault, spec), missed_writes(fault, spec), costs)
    return *moved, duration_s(moved, spec, costs)


def test_an_osd_misses_the_writes_of_an_open_loop():
    spec = ceph({})
    assert missed_writes(spec.faults[0], spec) == pytest.approx(100 * 0.4 * 20)
    closed = ceph({}, workload={"clients": 4, "duration": 60, "object_size": "4KiB"})
    assert missed_writes(closed.faults[0], closed) == 0
    stays_down = ceph({"back_at": None, "missed_writes": 7})
    assert missed_writes(stays_down.faults[0], stays_down) == 0


def test_recovery_lasts_as_long_as_that_of_a_real_osd():
    # Ceph 16.2.15, three hosts with one drive of some ms each, in a box: 95 objects were recovered in 9 s.
    _, moved, took_s = work(ceph({"missed_writes": 95}))
    assert moved[1] == pytest.approx(95)
    assert took_s == pytest.approx(9, rel=0.25)


def test_recovery_slows_the_drives_that_read_and_write():
    spec = ceph({"missed_writes": 500, "rejoin": 2})
    timeline = fault_timeline(spec, CostFunctions(spec, OBJECT_BYTES))
    _, _, took_s = work(spec)
    slowed = {osd: (start, end, speed) for osd, start, end, speed in timeline.rebuilding}
    assert set(slowed) == {0, 1, 2}
    assert all(start == 27 and end == pytest.approx(27 + took_s) for start, end, _ in slowed.values())
    assert slowed[1][2] == min(speed for _, _, speed in slowed.values()) < 1, "it writes all of them"


def test_nothing_is_recovered_after_an_outage_that_was_not_detected():
    event = {"missed_writes": 500, "detected_by": "heartbeat", "grace": 20}
    spec = ceph(event)
    assert not fault_timeline(spec, CostFunctions(spec, OBJECT_BYTES)).rebuilding


def test_backfill_compares_all_objects():
    """The log of a placement group has 10,000 entries at most, and fewer of many placement groups."""
    spec = ceph({})
    assert not is_backfill(64 * 4000, spec) and is_backfill(64 * 5000, spec), "300,000 / 64 = 4,688 entries"
    held = {"objects": 3e7}
    logged, compared = (work(ceph({"missed_writes": n}, stored=held))[2] for n in (250_000, 350_000))
    assert compared > 1.4 * logged * 1.05
    # Without onodes that miss the caches, comparing takes no drive time.
    logged, compared = (work(ceph({"missed_writes": n}))[2] for n in (250_000, 350_000))
    assert compared == pytest.approx(1.4 * logged)


@examples(30)
@given(st.integers(1, 1000), st.sampled_from(["pacific", "quincy", "reef", "squid"]))
def test_more_writes_take_longer(written, release):
    short, long = (work(ceph({"missed_writes": n}, release=release))[2] for n in (written, 2 * written))
    assert long == pytest.approx(2 * short)


def test_the_command_says_how_long_it_takes():
    back = ceph({"missed_writes": 95})
    assert FAULTS["drive"].note(back, back.faults[0]).startswith("Recovering 95 missed writes by the logs of placement")
    gone = ceph({"back_at": None}, hosts={"count": 4, "drives": 1}, stored={"objects": 1e6})
    assert FAULTS["drive"].note(gone, gone.faults[0]).endswith(" h from when it is marked out")

"""How long placement groups stop, next to a real Ceph 16.2.15."""

from __future__ import annotations

import pytest

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.fault_timeline import fault_timeline
from models.ceph.mechanisms.peering import rejoin_s
from models.ceph.spec.spec import CephSpec
from models.store import load_spec
from tests.paths import EXAMPLES


def timeline(*assignments: str):  # type: ignore[no-untyped-def]
    spec = load_spec(
        EXAMPLES / "ceph" / "box.yaml", ["device.read=8ms", "device.write=8ms", "device.flush=24ms", *assignments]
    )
    assert isinstance(spec, CephSpec)
    return fault_timeline(spec, CostFunctions(spec, 65536.0))


def test_a_return_stops_placement_groups_for_a_second_and_commits():
    """From the map of the return to the last of 101 active placement groups: 1.23 s, on drives of 8 ms."""
    (outage,) = timeline("faults=[{kind: osd_down, osd: 1, at: 10s, back_at: 30s}]").outages
    assert outage.whole_s - outage.back_s == pytest.approx(1.23, rel=0.15)
    assert rejoin_s(1e-3) == pytest.approx(1.0, abs=0.01), "on flash, the monitors decide"
    (given,) = timeline("faults=[{kind: osd_down, osd: 1, at: 10s, back_at: 30s, rejoin: 3s}]").outages
    assert given.whole_s - given.back_s == 3.0


def test_a_reshard_blocks_writes_for_seven_commits_and_the_copy():
    """Flags to removal of the old shards with some 100 entries: 0.33 s, on drives of 8 ms."""
    event = "faults=[{kind: reshard, at: 10s, shards: 23, entries: 100}]"
    (reshard,) = timeline(event).reshards
    assert reshard.blocked_s == pytest.approx(0.332, abs=0.12) and reshard.blocked_s > 0.2
    (two_phase,) = timeline(event, "release=tentacle").reshards
    assert two_phase.blocked_s == 0

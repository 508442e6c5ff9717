"""Ageing: extents of chunks in space that deletes have freed, and the accesses that they take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.fragmentation import mean_extents
from tests.ceph_clusters import READ, ceph, latency_s

KIB, MIB = 1 << 10, 1 << 20
DISK = ("device=hdd-7k2", 'db={"device": "nvme"}', "osd.random_write_fraction=0.5")


@pytest.mark.parametrize(
    ("stored_kib", "free_kib", "churn", "extents"),
    [(64, 4, 1, 16), (64, 16, 1, 4), (64, 16, 0.5, 2.5), (64, 16, 0, 1), (4, 16, 1, 1), (64, 1, 1, 16)],
)
def test_a_chunk_is_divided_among_free_extents(stored_kib, free_kib, churn, extents):
    assert mean_extents(stored_kib * KIB, free_kib * KIB, 4 * KIB, churn) == pytest.approx(extents)


@given(st.integers(1, 1000), st.integers(1, 1000), st.floats(0, 1))
def test_more_churn_never_makes_fewer_extents(units, free_units, churn):
    sizes = [mean_extents(units * 4096, free_units * 4096, 4096, fraction) for fraction in (0, churn, 1)]
    assert 1 <= sizes[0] <= sizes[1] <= sizes[2] <= units


def test_a_read_of_an_aged_chunk_accesses_each_extent():
    size = 64 * KIB
    new, aged = (latency_s(ceph(f"stored.churn={churn}", "stored.free_extent=16KiB"), "GET", size) for churn in (0, 1))
    assert aged - new == pytest.approx(3 * READ)
    equal = latency_s(ceph("stored.churn=1", f"stored.object_size={size}"), "GET", size)
    assert equal == pytest.approx(new), "deletes of objects of one size leave room for one of them"


def test_aged_disks_seek_for_each_write_and_extent():
    chunk = 128 * KIB  # not deferred
    for churn, seeks in ((0, 0.5), (0.5, 0.75 + 0.5 * 3), (1, 1 + 3)):
        costs = CostFunctions(ceph(*DISK, f"stored.churn={churn}", "stored.free_extent=32KiB"), chunk)
        assert costs.write_access(chunk).exclusive.constant == pytest.approx(costs.drive.write.constant * seeks)


def test_aged_deferred_writes_are_apart():
    def deferred_s(*more: str) -> float:
        return CostFunctions(ceph(*DISK, *more), 16 * KIB).deferred_write(16 * KIB).constant

    new_s, apart_s = deferred_s(), deferred_s("osd.random_write_fraction=1")
    assert new_s < apart_s
    aged_s = deferred_s("stored.churn=1", "stored.free_extent=16KiB")
    assert aged_s > apart_s  # over the whole drive
    again_s = deferred_s("stored.churn=1", "stored.free_extent=16KiB", "osd.random_write_fraction=1")
    assert again_s == pytest.approx(aged_s)
    assert deferred_s("stored.churn=1", "stored.free_extent=4KiB") == pytest.approx(4 * aged_s, rel=0.05)


def test_objects_in_freed_space_are_anywhere_on_the_drive():
    """A drive that is filled to a hundredth seeks over that only while it is new."""
    spans = [
        CostFunctions(ceph(*DISK, "stored.objects=1e6", f"stored.churn={churn}"), 4 * MIB).drive.disk.span
        for churn in (0, 0.5, 1)
    ]
    assert spans[0] < 0.3
    assert spans[1] == pytest.approx((1 + spans[0]) / 2)
    assert spans[2] == 1
    flash = (CostFunctions(ceph("device=nvme", f"stored.churn={churn}"), 4096).drive for churn in (0, 1))
    assert len({drive.write.constant for drive in flash}) == 1

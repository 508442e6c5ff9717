"""Ageing: extents of chunks in space that deletes have freed, and the accesses that they take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.fragmentation import mean_extents
from tests.ceph_clusters import READ, ceph, latency_s

KIB = 1 << 10
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
    assert deferred_s("stored.churn=1", "stored.free_extent=16KiB") == pytest.approx(apart_s)
    assert deferred_s("stored.churn=1", "stored.free_extent=4KiB") == pytest.approx(4 * apart_s, rel=0.05)

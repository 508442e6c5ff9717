"""The balancer evens out the placement groups of OSDs, without changing what failure domains promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.mechanisms.balancer import balanced
from models.ceph.mechanisms.crush import place
from models.store import spec_of
from tests.profiles import examples
from traces.errors import InputError


def _domains(hosts: int, drives: int) -> np.ndarray:
    return np.arange(hosts * drives) // drives


def _deviations(table: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.bincount(table.ravel(), minlength=len(weight)) - table.size * weight / weight.sum()


@examples(40)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(4, 9), st.integers(1, 6), st.integers(1, 8))
def test_osds_are_within_the_deviation_and_failure_domains_hold(seed, width, hosts, drives, most):
    by_crush = place(300, width, hosts, drives, "host", seed=seed)
    weight, domain = np.ones(hosts * drives), _domains(hosts, drives)
    table = balanced(by_crush, weight, domain, most)
    assert np.abs(_deviations(table, weight)).max() <= most
    assert all(len(set(row)) == width for row in domain[table].tolist())


def test_only_what_is_needed_moves():
    by_crush = place(4096, 6, 12, 16, "host")
    weight, domain = np.ones(192), _domains(12, 16)
    table = balanced(by_crush, weight, domain, 5)
    beyond = np.maximum(np.abs(_deviations(by_crush, weight)) - 5, 0)
    assert 0 < (table != by_crush).sum() <= np.ceil(beyond).sum()
    assert (balanced(by_crush, weight, domain, 4096) == by_crush).all()
    assert (balanced(table, weight, domain, 5) == table).all()


def test_osds_have_what_their_weights_are_worth():
    weight = np.tile([1.0, 2.0, 0.0], 8)
    table = balanced(place(2048, 3, 8, 3, weights=weight), weight, _domains(8, 3), 1)
    assert np.abs(_deviations(table, weight)).max() <= 1
    assert not np.bincount(table.ravel(), minlength=24)[2::3].any()


def test_domains_that_leave_no_choice_stay_uneven():
    """Each of three replicas has a host of its own, so OSDs of a host with two relieve each other only."""
    weight, domain = np.array([1.0, 1.0, 1.0, 1.0]), np.array([0, 0, 1, 2])
    by_crush = np.array([[0, 2, 3]] * 60 + [[1, 2, 3]] * 40, np.int32)
    counts = np.bincount(balanced(by_crush, weight, domain, 5).ravel())
    assert counts[2:].tolist() == [100, 100]
    assert abs(counts[0] - counts[1]) <= 1


_SPEC = {
    "store": "ceph",
    "workload": {"clients": 4, "operations": 100, "object_size": "64KiB", "mix": {"GET": 1}},
    "hosts": {"count": 12, "drives": 8},
    "device": {"preset": "nvme"},
    "pools": {"pg_num": 1024},
}


@pytest.mark.parametrize(
    ("release", "pools", "most"),
    [
        ("octopus", {}, None),
        ("pacific", {}, 5),
        ("squid", {"upmap_max_deviation": 1}, 1),
        ("squid", {"balancer": False}, None),
        ("luminous", {"balancer": True}, 5),
    ],
)
def test_the_balancer_is_on_since_pacific(release, pools, most):
    spec = spec_of(_SPEC | {"release": release, "pools": _SPEC["pools"] | pools}, "")
    table = PlacementRows(spec).data()
    deviation = np.abs(_deviations(table, np.ones(96))).max()
    assert deviation > 10 if most is None else deviation <= most


def test_exceptions_stay_while_other_osds_are_out():
    rows = PlacementRows(spec_of(_SPEC | {"release": "squid"}, ""))
    healthy, table = rows.data(), rows.data(frozenset({5}))
    assert (healthy == 5).any() and not (table == 5).any()
    assert (table[healthy != 5] == healthy[healthy != 5]).all()
    assert all(len(set(row)) == 3 for row in (table // 8).tolist())


def test_a_deviation_without_a_balancer_is_refused():
    pools = {"balancer": False, "upmap_max_deviation": 1}
    with pytest.raises(InputError, match=r"upmap_max_deviation.*balancer"):
        spec_of(_SPEC | {"release": "squid", "pools": pools}, "")

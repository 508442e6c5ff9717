"""Defaults by release, and what they change."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest

from models.ceph.mechanisms.releases import CHANGES, RELEASES, default
from tests.ceph_clusters import ceph, compiled


@pytest.mark.parametrize(
    ("option", "release", "rotational", "value"),
    [
        ("bluestore_min_alloc_size", "octopus", True, 64 << 10),
        ("bluestore_min_alloc_size", "octopus", False, 4 << 10),
        ("bluestore_min_alloc_size", "pacific", True, 4 << 10),
        ("write_buffer_size", "quincy", True, 256 << 20),
        ("write_buffer_size", "reef", True, 8 << 20),
        ("write_buffer_size", "tentacle", False, 16 << 20),
        ("rgw_thread_pool_size", "jewel", False, 100),
        ("osd_mclock_recovery_fraction", "reef", True, 0.5),
    ],
)
def test_defaults(option, release, rotational, value):
    assert default(option, release, rotational) == value


def test_changes_are_in_order_and_change_something():
    options = [option for option, _ in groupby(change.option for change in CHANGES)]
    assert len(options) == len(set(options)), "an option has its rows together"
    for option in options:
        rows = [change for change in CHANGES if change.option == option]
        order = [RELEASES.index(change.first) for change in rows]
        assert order == sorted(set(order))
        values = [(change.value, change.value if change.on_flash is None else change.on_flash) for change in rows]
        assert all(one != next_one for one, next_one in pairwise(values))


def test_an_option_before_its_first_release_is_refused():
    with pytest.raises(KeyError):
        default("osd_mclock_recovery_fraction", "pacific")


@pytest.mark.parametrize(
    ("release", "more", "slots"), [("jewel", (), 100), ("luminous", (), 512), ("jewel", ("gateways.threads=7",), 7)]
)
def test_threads_of_civetweb(release, more, slots):
    network, _ = compiled(ceph(f"release={release}", "gateways.frontend=civetweb", *more), "GET")
    assert {station.servers for station in network.stations if station.role == "rgw slots"} == {slots}

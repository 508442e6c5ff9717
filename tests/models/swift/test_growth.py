"""Growth of a Swift: effects, limits and the state that they follow from."""

from __future__ import annotations

from typing import Any

import pytest

from models.hosts.growth import holding, memory_or_drives
from models.store import spec_of
from models.swift.cluster.file_systems import lookup_of, objects_of_drive
from models.swift.growth import GROWTH
from models.swift.spec.spec import SwiftSpec
from sim.capacity.timeline import TimelinePlan, timeline
from traces.workload.generate import generate

CAPACITY = 8e12


def cluster(**more: Any) -> SwiftSpec:
    data = {
        "store": "swift",
        "workload": {"rate": 20, "duration": "10s", "object_size": "1MB", "mix": {"GET": 4, "PUT": 1}},
        "proxies": {"preset": "swift-2.30-proxy"},
        "hosts": {"count": 4, "preset": "swift-2.30-host", "cores": 16, "memory": "64GiB"},
        "drives": {"count": 6, "preset": "hdd-7k2", "capacity": "8TB"},
        "ring": {"part_power": 14},
        "stored": {"objects": 1e6, "object_size": "1MB"},
        "auditor": {},
        **more,
    }
    spec = spec_of(data, "spec")
    assert isinstance(spec, SwiftSpec)
    return spec


def state(spec: SwiftSpec, objects: float) -> dict[str, Any]:
    return GROWTH.state(holding(spec, objects), generate(spec.workload, 0))


def begins(spec: SwiftSpec, high: float = 1e11) -> dict[str, int]:
    found = GROWTH.effects(spec, generate(spec.workload, 0), 1.0, high)
    assert [effect.objects for effect in found] == sorted(effect.objects for effect in found)
    return {effect.name: effect.objects for effect in found}


def test_effects_begin_where_the_state_says() -> None:
    spec = cluster()
    first = begins(spec)
    assert first.keys() == {"inodes", "folders", "audit", "full"}
    for name, figure, limit in (
        ("inodes", "inode_miss_fraction", 0.5), ("folders", "folder_miss_fraction", 0.5), ("audit", "audit_days", 30),
        ("full", "fill_fraction", 0.99),
    ):  # fmt: skip
        assert state(spec, first[name])[figure] >= limit > state(spec, first[name] * 0.99)[figure]


def test_drives_are_full_of_pieces_and_inodes() -> None:
    """A copy of 1 MB takes 245 pages of 4 KiB, the inodes of its file and hash, and its part of that of the suffix."""
    spec = cluster()
    each = 245 * 4096 + 512 * 2
    fill = state(spec, 1e7)["fill_fraction"]
    assert 1e7 * 3 / 24 * each / CAPACITY < fill < 1e7 * 3 / 24 * (each + 512) / CAPACITY
    code = cluster(ring={"part_power": 14, "erasure": {"data": 4, "parity": 2}})
    assert state(code, 1e7)["fill_fraction"] == pytest.approx(fill / 2, rel=0.02)


def test_the_drive_with_the_greatest_weight_is_full_first() -> None:
    weights = [200.0, *[100.0] * 23]
    uneven = cluster(ring={"part_power": 14, "weights": weights})
    assert objects_of_drive(uneven) == pytest.approx(1e6 * 3 * 200 / sum(weights))
    assert begins(uneven)["full"] == pytest.approx(begins(cluster())["full"] * sum(weights) / 200 / 24, rel=0.01)


def test_an_audit_comes_to_each_object_at_its_limits() -> None:
    """Ten objects of 1 MB in a second by 10 MB/s, of 5 drives of a host one after the other."""
    days = state(cluster(), 1e7)["audit_days"]
    assert days == pytest.approx(1e7 * 3 / 4 / 10 / 86400)
    assert state(cluster(auditor={"concurrency": 2}), 1e7)["audit_days"] == pytest.approx(days / 2)
    assert state(cluster(auditor=None), 1e7)["audit_days"] == 0


def test_the_fill_is_not_known_without_a_capacity() -> None:
    spec = cluster(drives={"count": 6, "read": "8ms", "write": "8ms", "sync": "8ms"})
    assert state(spec, 1e9)["fill_fraction"] is None and "full" not in begins(spec)
    assert GROWTH.full(None) is None and "refuse writes" in (GROWTH.full(0.99) or "")


def test_look_ups_that_the_spec_gives_do_not_grow() -> None:
    spec = cluster(drives={"count": 6, "preset": "hdd-7k2", "lookup": "10ms"})
    assert begins(spec).keys() == {"audit", "full"}
    assert lookup_of(holding(spec, 1e9)).constant == 0.01


def test_memory_is_the_knob_of_metadata() -> None:
    found = memory_or_drives(cluster(), "folders")
    assert found is not None and (found.path, found.text(100)) == ("hosts.memory", "100GB")
    full = memory_or_drives(cluster(), "full")
    assert full is not None and (full.path, full.now) == ("drives.count", 6)
    assert memory_or_drives(cluster(), "audit") is None


def test_a_timeline_has_slower_reads_once_metadata_are_on_drives() -> None:
    found = timeline(cluster(), TimelinePlan(1e6, 3e8, states=2, window_s=10.0))
    first, last = (state["ops"]["GET"]["latency_s"]["p50"] for state in found.states)
    assert last > 1.3 * first
    assert [state["full"] is not None for state in found.states] == [False, True]

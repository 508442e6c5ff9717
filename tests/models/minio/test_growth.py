"""Growth of a MinIO: effects, limits and the state that they follow from."""

from __future__ import annotations

from typing import Any

import pytest

from models.hosts.growth import memory_or_drives
from models.minio.growth import GROWTH
from models.minio.spec.spec import MinioSpec
from models.store import spec_of
from sim.capacity.timeline import TimelinePlan, timeline
from traces.workload.generate import generate


def cluster(**more: Any) -> MinioSpec:
    data = {
        "store": "minio",
        "workload": {"rate": 100, "duration": "30s", "object_size": "256KB", "mix": {"GET": 4, "PUT": 1}},
        "hosts": {"count": 4, "cores": 16, "memory": "128GiB", "cpu": {"GET": "1ms", "PUT": "1ms"}},
        "drives": {"count": 12, "preset": "nl-sas", "capacity": "16TB", "commit_in": "queue"},
        "scanner": {"speed": "default"},
        "stored": {"objects": 1e6, "object_size": "256KB"},
        **more,
    }
    spec = spec_of(data, "spec")
    assert isinstance(spec, MinioSpec)
    return spec


def state(spec: MinioSpec, objects: float) -> dict[str, Any]:
    return GROWTH.state(GROWTH.grown(spec, objects), generate(spec.workload, 0))


def begins(spec: MinioSpec, high: float = 1e11) -> dict[str, int]:
    found = GROWTH.effects(spec, generate(spec.workload, 0), 1.0, high)
    assert [effect.objects for effect in found] == sorted(effect.objects for effect in found)
    return {effect.name: effect.objects for effect in found}


def test_effects_begin_where_the_state_says() -> None:
    spec = cluster()
    first = begins(spec)
    assert list(first) == ["inodes", "folders", "scanner", "full"]
    for name, figure, limit in (
        ("inodes", "inode_miss_fraction", 0.5), ("folders", "folder_miss_fraction", 0.5), ("scanner", "scan_days", 30),
        ("full", "fill_fraction", 0.99),
    ):  # fmt: skip
        assert state(spec, first[name])[figure] >= limit > state(spec, first[name] * 0.99)[figure]


def test_no_effect_is_named_that_has_begun_before() -> None:
    spec = cluster()
    after = GROWTH.effects(spec, generate(spec.workload, 0), begins(spec)["folders"], 1e11)
    assert [effect.name for effect in after] == ["scanner", "full"]


def test_drives_are_full_of_shards_or_of_inodes() -> None:
    """A shard of 12 is 21.4 kB with its checksum and metadata, in pages of 4 KiB, and two inodes of 512 bytes."""
    on_each = 1e9 * 16 / 48
    assert state(cluster(), 1e9)["fill_fraction"] == pytest.approx(on_each * (6 * 4096 + 1024) / 16e12)
    tiny = cluster(
        stored={"objects": 1, "object_size": 1}, drives={"count": 12, "preset": "nl-sas", "capacity": "60TB"}
    )
    assert state(tiny, 1e9)["fill_fraction"] == pytest.approx(on_each * 1024 / (0.01 * 60e12))
    assert GROWTH.full(0.98) is None and "refuse writes" in (GROWTH.full(0.99) or "")


def test_more_memory_and_fewer_drives_of_a_host_move_the_effects() -> None:
    plain, large = begins(cluster()), begins(cluster(hosts={**cluster().hosts.model_dump(), "memory": "256GiB"}))
    assert large["inodes"] == pytest.approx(2 * plain["inodes"], rel=0.01)
    without = begins(cluster(hosts={"count": 4, "cores": 16, "cpu": {"GET": "1ms", "PUT": "1ms"}}))
    assert list(without) == ["scanner", "full"]


def test_memory_is_the_knob_of_metadata() -> None:
    found = memory_or_drives(cluster(), "inodes")
    assert found is not None and (found.path, found.now, found.text(200)) == ("hosts.memory", 137, "200GB")
    full = memory_or_drives(cluster(), "full")
    assert full is not None and (full.path, full.now) == ("drives.count", 12)
    assert memory_or_drives(cluster(), "scanner") is None


def test_the_size_of_objects_follows_from_the_workload() -> None:
    spec = cluster(stored=None, scanner={})
    assert GROWTH.objects(spec) == 0 and GROWTH.holding(spec, 0) == spec
    assert GROWTH.state(spec, generate(spec.workload, 0))["fill_fraction"] == 0
    assert GROWTH.object_bytes(spec, generate(spec.workload, 0)) == 256_000
    grown = GROWTH.grown(spec, 5e6)
    assert grown.stored is not None and (grown.stored.objects, grown.stored.object_size) == (5e6, 256_000)
    assert GROWTH.with_object_size(spec, 1000).stored.object_size == 1000  # type: ignore[union-attr]


def test_a_timeline_bends_where_look_ups_miss_memory() -> None:
    spec = cluster(workload=cluster().workload.model_dump() | {"rate": 20}, scanner={})
    result = timeline(spec, TimelinePlan(1e6, 1e9, 2, window_s=5.0))
    few, many = (each["ops"]["GET"]["latency_s"]["p50"] for each in result.states)
    assert many > 2 * few
    assert [effect.name for effect in result.effects] == ["inodes", "folders"]

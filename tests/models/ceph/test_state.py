from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.ceph.demands.state import ONODE_BYTES, StateInputs, cache_bytes, events, state_at
from models.ceph.mechanisms.rocksdb import level_targets, rocksdb_defaults
from tests.profiles import examples
from traces.errors import InputError

GB, KIB, GIB = 1e9, 1 << 10, 1 << 30

# The published series of a billion objects: 64 KB on EC 4+2 with 64 KiB units, 112 OSDs, block.db 80 GB, Luminous.
BILLION = StateInputs(
    object_bytes=64 * KIB,
    shards_per_object=6,
    allocated_bytes_per_shard=64 * KIB,
    alloc_unit_bytes=64 * KIB,
    osds=112,
    device_bytes=3.1e12,
    db_bytes=80 * GB,
    rocks=rocksdb_defaults("luminous"),
    memory_target_bytes=4 * GIB,
    buckets=10_000,
    shards_per_bucket=16,
)
PER_OSD = 6 / 112  # shard objects for each object


def begins(inputs, name, low=1_000_000, high=2_000_000_000):
    return next(event.objects for event in events(inputs, low, high) if event.name == name)


def test_published_billion_objects():
    end = state_at(BILLION, 1_014_912_090)
    assert end.shard_objects == pytest.approx(54.4e6, rel=0.001)
    assert end.allocated_bytes / end.stored_bytes == pytest.approx(6)
    assert end.spilled_bytes > 80 * GB
    assert state_at(BILLION, 500_000_000).fill_fraction == pytest.approx(0.5, rel=0.2)
    assert state_at(BILLION, 850_000_000).fill_fraction == pytest.approx(0.9, rel=0.15)


def test_writes_feel_the_spill_in_the_second_half_only():
    # Published: writes decline from about 5e8 objects on, read as the spill of RocksDB's levels.
    early, half, late = (state_at(BILLION, objects) for objects in (250_000_000, 500_000_000, 1_000_000_000))
    assert early.slow_reads_per_lookup == early.slow_write_fraction == 0
    assert half.slow_reads_per_absent_lookup < 0.01 < 0.3 < late.slow_reads_per_absent_lookup
    assert 0 < half.slow_reads_per_lookup < late.slow_reads_per_lookup <= 2
    assert half.slow_write_fraction < late.slow_write_fraction


def test_reads_of_new_objects_stay_on_flash_while_writes_pay_for_the_spill():
    # Published: reads steady to the end. Each round read what it had written, 1.4 million objects.
    recent = state_at(replace(BILLION, working_set_objects=1_400_000), 1_000_000_000)
    assert recent.onode_hit_fraction == 1
    assert recent.slow_reads_per_lookup == 0
    assert recent.slow_reads_per_absent_lookup == state_at(BILLION, 1_000_000_000).slow_reads_per_absent_lookup


def test_events_begin_where_arithmetic_says():
    metadata = BILLION.rocks.metadata_bytes_per_object
    onodes, _ = cache_bytes(BILLION.memory_target_bytes)
    assert begins(BILLION, "spill L4") == pytest.approx(28 * GIB / metadata / PER_OSD, abs=1)
    assert begins(BILLION, "onode cache") == pytest.approx(2 * onodes / ONODE_BYTES / PER_OSD, abs=1)


def test_index_shards_are_too_full_with_one_entry_more():
    assert begins(replace(BILLION, buckets=100, shards_per_bucket=11), "index shards") == 100 * 11 * 100_000 + 1


@pytest.mark.parametrize(("name", "fraction"), [("nearfull", 0.85), ("backfillfull", 0.90), ("full", 0.95)])
def test_full_counts_what_is_allocated_and_what_is_spilled(name, fraction):
    # Beyond 28 GiB all metadata is on the data device.
    per_object = (64 * KIB + BILLION.rocks.metadata_bytes_per_object) * PER_OSD
    expected = (fraction * BILLION.device_bytes + 28 * GIB) / per_object
    assert begins(BILLION, name) == pytest.approx(expected, abs=1)


def test_each_level_spills_in_its_turn():
    small = replace(BILLION, db_bytes=2.5 * GIB)  # only L0 and L1 fit
    targets = level_targets(small.rocks)
    for level in (2, 3, 4):
        expected = sum(targets[:level]) / small.rocks.metadata_bytes_per_object / PER_OSD
        assert begins(small, f"spill L{level}") == pytest.approx(expected, abs=2)


def test_without_block_db_nothing_spills_and_all_lookups_are_on_the_data_device():
    alone = replace(BILLION, db_bytes=0)
    assert not [event for event in events(alone, 1, 2_000_000_000) if event.name.startswith("spill")]
    state = state_at(alone, 100_000_000)
    assert state.spilled_bytes == state.metadata_bytes
    assert state.slow_write_fraction == 1
    assert state.slow_reads_per_lookup > 0.8


ALL_EVENTS = {event.name: event.objects for event in events(BILLION, 0, 2 * 10**9)}


@examples(40)  # each bisects eight effects
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_events_are_those_of_the_range_in_order(low, more):
    found = events(BILLION, low, low + more)
    assert [event.objects for event in found] == sorted(event.objects for event in found)
    assert {event.name: event.objects for event in found} == {
        name: objects for name, objects in ALL_EVENTS.items() if low < objects <= low + more
    }


@settings(deadline=None)
@given(st.floats(0, 1e10), st.floats(1, 10))
def test_more_objects_never_make_it_better(objects, growth):
    before, after = state_at(BILLION, objects), state_at(BILLION, objects * growth)
    assert after.fill_fraction >= before.fill_fraction
    assert after.spilled_bytes >= before.spilled_bytes - 1
    assert after.onode_hit_fraction <= before.onode_hit_fraction
    assert after.block_cache_hit_fraction <= before.block_cache_hit_fraction
    assert after.slow_reads_per_absent_lookup >= before.slow_reads_per_absent_lookup - 1e-12
    assert 0 <= after.onode_hit_fraction <= 1


def test_an_empty_cluster_has_all_in_its_caches():
    state = state_at(BILLION, 0)
    assert (state.onode_hit_fraction, state.block_cache_hit_fraction, state.slow_reads_per_lookup) == (1, 1, 0)
    assert (state.fill_fraction, state.entries_per_index_shard) == (0, 0)
    with pytest.raises(InputError, match="objects is -1"):
        state_at(BILLION, -1)


def test_caches_get_what_the_daemon_leaves_of_its_target():
    onodes, blocks = cache_bytes(4 * GIB)
    assert onodes + blocks == pytest.approx(0.94 * (0.85 * 4 - 0.75) * GIB)
    assert sum(cache_bytes(GIB / 2)) == pytest.approx(0.94 * GIB / 8)  # not below osd_memory_cache_min


def test_a_level_that_has_some_room_on_block_db_spills_when_that_is_used_up():
    octopus = replace(BILLION, rocks=rocksdb_defaults("octopus"))
    extra = 0.95 * 80 * GB - (1 + 0.25 + 2.5 + 2 * 25) * GIB
    expected = (28 * GIB + extra) / octopus.rocks.metadata_bytes_per_object / PER_OSD
    assert begins(octopus, "spill L4") == pytest.approx(expected, abs=1)

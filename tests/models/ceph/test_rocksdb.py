from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.releases import RELEASES
from models.ceph.mechanisms.rocksdb import (
    Placement,
    RocksDb,
    block_cache_hit_fraction,
    level_bytes,
    level_targets,
    place,
    rocksdb_defaults,
    slow_reads_per_absent_lookup,
    slow_reads_per_lookup,
    table_room,
)
from tests.models.ceph.test_host_groups import S3, ceph, figures
from traces.errors import InputError

GB, MIB, GIB = 1e9, 1 << 20, 1 << 30
LUMINOUS = rocksdb_defaults("luminous")

any_options = st.builds(
    lambda release, families, policy: replace(rocksdb_defaults(release), column_families=families, policy=policy),
    st.sampled_from(RELEASES),
    st.integers(1, 4),
    st.sampled_from(["rocksdb_original", "use_some_extra", "fit_to_fast"]),
)
any_bytes = st.floats(0, 2000) | st.floats(0, 1e12)


def fast_bytes(placed):
    """Bytes on block.db without the write-ahead log."""
    return placed.total_bytes - placed.spilled_bytes


def test_levels_of_the_releases_are_those_published():
    assert [target / GIB for target in level_targets(LUMINOUS)[:5]] == [0.25, 0.25, 2.5, 25, 250]
    assert [target / GIB for target in level_targets(rocksdb_defaults("reef"))[:4]] == [3, 3, 24, 192]  # O(3)
    for release in ("luminous", "quincy", "reef", "squid"):  # about 1 GiB of memtables and of WAL in all of them
        options = rocksdb_defaults(release)
        assert options.memtables * options.memtable_bytes == options.wal_bytes == GIB


def test_a_spec_overrides_single_options_of_its_release():
    options = RocksDb.model_validate({"level_base_bytes": "512MiB", "policy": "fit_to_fast"}).options("quincy")
    assert options == replace(rocksdb_defaults("quincy"), level_base_bytes=512 * MIB, policy="fit_to_fast")
    assert RocksDb().options("squid") == rocksdb_defaults("squid")
    with pytest.raises(ValidationError, match="policy"):
        RocksDb.model_validate({"policy": "fastest"})


@settings(deadline=None)
@given(any_options, any_bytes)
def test_levels_fill_from_below(options, total):
    held, targets = level_bytes(options, total), level_targets(options)
    assert sum(held) == pytest.approx(total)
    assert len(held) == options.levels
    for level, size in enumerate(held[1:], start=1):
        assert size == 0 or held[level - 1] == targets[level - 1]
    assert all(size <= target for size, target in zip(held[:-1], targets[:-1], strict=True))


def test_a_database_has_no_negative_bytes():
    with pytest.raises(InputError, match="total_bytes is -1"):
        level_bytes(LUMINOUS, -1)


def test_published_billion_objects_spill_more_than_80_gb():
    # 112 OSDs, EC 4+2, Luminous, block.db 80 GB: levels 0 to 3 of about 28 GB there, the rest beyond 80 GB spilled.
    shard_objects = 1_014_912_090 * 6 / 112
    placed = place(LUMINOUS, shard_objects * LUMINOUS.metadata_bytes_per_object, 80 * GB)
    assert placed.spilled_bytes == pytest.approx(80 * GB, rel=0.05)
    assert placed.spilled_bytes > 80 * GB
    assert fast_bytes(placed) == 28 * GIB


def test_published_20_gib_block_db_spills_while_nearly_empty():
    # https://github.com/rook/rook/issues/3448: block.db of 20 GiB, 1.9 GiB used, 11 GiB spilled.
    # L3 does not fit; L0 to L2 need not be full.
    placed = place(LUMINOUS, 12.9 * GIB, 20 * GIB)
    assert 1.9 * GIB <= fast_bytes(placed) <= 3 * GIB
    assert placed.spilled_bytes == pytest.approx(11 * GIB, rel=0.15)


def test_measured_spill_of_small_levels():
    # A real Pacific OSD, block.db 96 MiB, L1 16 MiB, WAL up to 32 MiB, three column families: 85 MiB used, 206 spilled.
    options = replace(
        rocksdb_defaults("pacific"), memtable_bytes=8 * MIB, level_base_bytes=16 * MIB, wal_bytes=32 * MIB
    )
    logs = (32 + 4 * 8 + 16) * MIB
    placed = place(options, (85 + 206) * MIB - logs, 96 * MIB)
    assert placed.spilled_bytes == pytest.approx(206 * MIB, rel=0.15) and placed.is_full
    assert fast_bytes(placed) + logs == pytest.approx(85 * MIB, rel=0.15)


def test_measured_onset_of_a_spill():
    # benchmarks/box/ceph_spill.csv: nothing with 95 MiB of tables, 202 of 330 MiB.
    options = replace(
        rocksdb_defaults("pacific"), memtable_bytes=4 * MIB, level_base_bytes=16 * MIB, wal_bytes=16 * MIB,
        level_multiplier=4,
    )  # fmt: skip
    few, many = (place(options, tables * MIB, 256 * MIB) for tables in (95, 330))
    assert (few.spilled_bytes, few.is_full) == (0, False)
    assert many.spilled_bytes == pytest.approx(202 * MIB, rel=0.05) and many.is_full


def test_a_block_db_is_not_full_where_its_levels_end():
    # The next level does not belong there, so the log stays.
    assert not place(LUMINOUS, 200 * GB, 80 * GB).is_full
    assert place(LUMINOUS, 28 * GIB, 30 * GIB).is_full and not place(LUMINOUS, 200 * GB, 0).is_full


@pytest.mark.parametrize(("useful_gib", "level"), [(3, 2), (30, 3), (300, 4)])
def test_useful_sizes_of_block_db(useful_gib, level):
    # "3, 30, 300 GB": each holds one more level whole, and what is between the sizes is of no use.
    below = sum(level_targets(LUMINOUS)[: level + 1])
    held = {size: fast_bytes(place(LUMINOUS, 500 * GIB, size * useful_gib * GIB)) for size in (0.85, 1.1, 2.0)}
    assert held[0.85] < below / 2
    assert held[2.0] == pytest.approx(below, rel=0.2)
    assert held[1.1] == pytest.approx(min(below, table_room(LUMINOUS, 1.1 * useful_gib * GIB)))


def test_some_extra_lets_the_next_level_use_what_is_beyond_the_reserve():
    options = rocksdb_defaults("octopus")
    usable = 0.95 * 80 * GB
    reserve = (1 + 0.25 + 2.5 + 2 * 25) * GIB
    assert fast_bytes(place(options, 200 * GB, 80 * GB)) == pytest.approx(28 * GIB + usable - reserve)
    # 26 GiB: L3 is not whole there, nor the reserve that it would ask for.
    extra = 0.95 * 26 * GIB - (1 + 0.25 + 2 * 2.5) * GIB
    assert fast_bytes(place(options, 200 * GB, 26 * GIB)) == pytest.approx(3 * GIB + extra)


@settings(deadline=None)
@given(any_options, any_bytes, any_bytes)
def test_block_db_never_holds_more_than_it_can(options, total, db):
    placed = place(options, total, db)
    assert all(0 <= fraction <= 1 for fraction in placed.slow_fractions)
    assert fast_bytes(placed) <= max(0.0, db - options.wal_bytes) + 1e-6 * total
    assert placed.total_bytes == pytest.approx(total)
    if db == 0:
        assert set(placed.slow_fractions) == {1.0}


@settings(deadline=None)
@given(any_options, any_bytes, any_bytes)
def test_policies_in_their_order(options, total, db):
    original, extra, fit = (
        place(replace(options, policy=policy), total, db).spilled_bytes
        for policy in ("rocksdb_original", "use_some_extra", "fit_to_fast")
    )
    assert original >= extra - 1e-6 * total
    assert extra >= fit - 1e-6 * total
    assert fit == pytest.approx(max(0, total - table_room(options, db)), abs=1e-6 * total) or db == 0


@settings(deadline=None)
@given(any_options, any_bytes, any_bytes, st.floats(1, 2))
def test_a_larger_database_spills_more(options, total, db, growth):
    assert place(options, total * growth, db).spilled_bytes >= place(options, total, db).spilled_bytes - 1e-6 * total


def test_false_positives_of_bloom_filters():
    # RocksDB's documentation: about 1 % with 10 bits a key.
    assert replace(LUMINOUS, bloom_bits=10).false_positive_fraction == pytest.approx(0.01, rel=0.25)
    assert LUMINOUS.false_positive_fraction < 1e-4


SPILLED = place(LUMINOUS, 110 * GB, 80 * GB)
FRACTION = SPILLED.spilled_bytes / SPILLED.total_bytes


@pytest.mark.parametrize(
    ("cache", "reads"),
    [(0, 2 * FRACTION), (0.02 * 110 * GB, FRACTION), (0.52 * 110 * GB, FRACTION / 2), (1.1 * 110 * GB, 0)],
    ids=["nothing cached", "filters cached", "half of the blocks too", "all cached"],
)
def test_lookups_of_keys_in_one_spilled_level(cache, reads):
    assert slow_reads_per_lookup(LUMINOUS, SPILLED, cache) == pytest.approx(reads)


def test_a_key_that_is_absent_costs_filter_reads_only():
    filters = 0.02 * 110 * GB
    for bits, errs in ((10, 0.0082), (5, 0.0905)):  # 0.6185 ** bits
        options = replace(LUMINOUS, bloom_bits=bits)
        assert slow_reads_per_absent_lookup(options, SPILLED, filters) == pytest.approx(errs, rel=0.01)
        assert slow_reads_per_absent_lookup(options, SPILLED, 0) == pytest.approx(1 + errs, rel=1e-4)
        assert slow_reads_per_absent_lookup(options, SPILLED, 52 * filters) == 0


def test_the_newest_keys_are_in_the_upper_levels():
    # 28 GiB are on block.db; of the newest 60 GB the rest is in the spilled level.
    filters = 0.02 * 110 * GB
    assert slow_reads_per_lookup(LUMINOUS, SPILLED, filters, 20 * GB) == 0
    assert slow_reads_per_lookup(LUMINOUS, SPILLED, filters, 60 * GB) == pytest.approx(1 - 28 * GIB / (60 * GB))
    assert slow_reads_per_lookup(LUMINOUS, SPILLED, filters + 30 * GB, 60 * GB) == pytest.approx(
        (1 - 28 * GIB / (60 * GB)) / 2, rel=1e-4
    )
    assert slow_reads_per_lookup(LUMINOUS, SPILLED, filters, 900 * GB) == pytest.approx(FRACTION)


def test_a_key_below_spilled_levels_costs_their_filters_too():
    held = Placement((0, 0, 10.0, 0, 90.0, 0, 0), (1.0,) * 7)
    # One in ten: filter and data of the upper; the others: filter of the upper, filter and data of the lower.
    options = replace(LUMINOUS, bloom_bits=1000)
    assert slow_reads_per_lookup(options, held, 0) == pytest.approx(0.1 * 2 + 0.9 * 3)


@settings(deadline=None)
@given(any_options, any_bytes, any_bytes, any_bytes, st.floats(0, 1e11))
def test_more_cache_costs_no_more_reads(options, total, db, cache, more):
    placed = place(options, total, db)
    for reads in (slow_reads_per_lookup, slow_reads_per_absent_lookup):
        few = reads(options, placed, cache + more)
        assert 0 <= few <= reads(options, placed, cache) + 1e-9
        assert placed.spilled_bytes or few == 0


def test_the_cache_holds_blocks_uncompressed():
    squid = rocksdb_defaults("squid")
    assert block_cache_hit_fraction(squid, 1e9, 1.02 * 2.68e9) == pytest.approx(1)
    assert block_cache_hit_fraction(squid, 1e9, 0.52 * 2.68e9) == pytest.approx(0.5)
    assert block_cache_hit_fraction(squid, 0, 0) == 1


def test_commits_follow_to_the_slow_drive():
    def p50_s(objects: float) -> float:
        spec = ceph(
            {**S3, "workload": {**S3["workload"], "mix": {"PUT": 1}, "rate": 2, "operations": 30}},
            db={"device": "nvme", "size": "6GB"}, stored={"objects": objects}, release="reef",
        )  # fmt: skip
        assert CostFunctions(spec, 65536.0).logs_on_db == (objects < 1e6)
        return float(np.median(figures(spec)))

    assert p50_s(100e6) > 1.5 * p50_s(1e5)

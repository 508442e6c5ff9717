"""Index shards: the counts that releases choose, and the entries that a LIST requests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ceph.mechanisms.bucket_index import default_min_shards, entries_per_shard, needs_reshard, next_shards
from models.ceph.mechanisms.releases import RELEASES

PRIMES = {n for n in range(2, 2000) if all(n % d for d in range(2, n))}

releases = st.sampled_from(RELEASES)
counts = st.integers(1, 1998)


def test_sequence_of_a_real_bucket():
    # Ceph 16.2.15 with 1000 objects a shard: the objects at each reshard, and the shards before and after it.
    observed = [(1252, 1, 2), (2363, 2, 5), (6361, 5, 13), (13736, 13, 29)]
    for objects, before, after in observed:
        assert needs_reshard(objects, before, per_shard=1000)
        assert next_shards(objects, "pacific", per_shard=1000) == after


def test_published_series_doubles_its_16_shards():
    shards = [16]
    while needs_reshard(30e6, shards[-1]):
        shards.append(next_shards(shards[-1] * 100_000 + 1, "luminous"))
    assert shards == [16, 32, 64, 128, 256, 512]
    assert next_shards(1.72e6, "luminous") == 32  # the nearest: 34 would be room for twice the objects


@pytest.mark.parametrize(("wanted", "prime"), [(1, 1), (808, 809), (809, 809), (810, 811), (812, 821), (1998, 1999)])
def test_primes_of_rgw(wanted, prime):
    assert next_shards(wanted * 50_000, "quincy") == prime


def test_counts_beyond_its_primes_are_not_rounded():
    assert next_shards(2004 * 50_000, "quincy", max_shards=5000) == 2004


def test_limits_of_the_count():
    assert next_shards(1e9, "quincy") == 1999
    assert not needs_reshard(1e9, 1999)
    assert needs_reshard(1_100_001, 11) and not needs_reshard(1_100_000, 11)
    assert default_min_shards("reef") == 1
    assert next_shards(120_000, "reef") == 2
    assert next_shards(120_000, "squid") == 11
    assert next_shards(120_000, "squid", min_shards=3) == 3
    assert next_shards(1_120_000, "squid") == 23
    assert next_shards(1_120_000, "squid", multisite=True) == 89


@given(releases, counts, st.integers(1, 1_000_000), st.floats(1.0, 10.0, exclude_min=True), st.booleans())
def test_a_reshard_makes_room(release, shards, per_shard, excess, multisite):
    objects = math.floor(shards * per_shard * excess) + 1
    assert needs_reshard(objects, shards, per_shard)
    chosen = next_shards(objects, release, multisite=multisite, per_shard=per_shard)
    assert shards < chosen <= 1999
    assert not needs_reshard(objects, chosen, per_shard)
    if release in ("nautilus", "tentacle"):
        assert chosen in PRIMES


def test_entries_that_a_list_asks_of_a_shard():
    assert entries_per_shard(1001, 11) == 112
    assert entries_per_shard(1000, 1999) == 8
    assert entries_per_shard(1001, 1) == 1002


@given(st.integers(1, 10_000), st.integers(1, 2000))
def test_a_list_asks_for_more_than_it_returns(keys, shards):
    assert entries_per_shard(keys, shards) * shards > keys

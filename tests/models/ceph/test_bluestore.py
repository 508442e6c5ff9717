from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models.ceph.mechanisms.bluestore import METADATA_BYTES, BlueStore, deferred_write_s
from models.ceph.mechanisms.compression import Compression
from models.ceph.mechanisms.redundancy import Protection, stripes
from models.ceph.mechanisms.releases import RELEASES, since
from tests.profiles import examples

KIB, MIB = 1 << 10, 1 << 20
EC42, EC21, THREE = Protection(data=4, parity=2), Protection(data=2, parity=1), Protection(replicas=3)

settings_of_any_release = st.builds(
    lambda release, rotational: BlueStore().resolved(release, rotational), st.sampled_from(RELEASES), st.booleans()
)


def hdd(release="nautilus", **fields):
    return BlueStore(**fields).resolved(release, rotational=True)


def ssd(release="nautilus", **fields):
    return BlueStore(**fields).resolved(release, rotational=False)


def space_amplification(settings, size, protection):
    """Raw space over size of an S3 object, without compression."""
    spares = protection.is_ec and since(settings.release, "tentacle")  # data chunks that the object does not reach
    parity = protection.width - protection.data_shards
    raw_bytes = 0
    for part, count in stripes(size).items():
        chunks = protection.chunks_reached(part) + parity if spares else protection.width
        raw_bytes += count * chunks * settings.allocated_bytes(protection.chunk_bytes(part))
    return raw_bytes / size


@pytest.mark.parametrize(
    ("release", "hdd_alloc", "ssd_alloc", "hdd_deferred"),
    [("luminous", 64, 16, 32), ("nautilus", 64, 16, 32), ("octopus", 64, 4, 32), ("pacific", 4, 4, 64)],
)
def test_defaults_are_the_release_s(release, hdd_alloc, ssd_alloc, hdd_deferred):
    assert hdd(release).min_alloc_bytes == hdd_alloc * KIB
    assert ssd(release).min_alloc_bytes == ssd_alloc * KIB
    assert hdd(release).prefer_deferred_bytes == hdd_deferred * KIB
    assert ssd(release).prefer_deferred_bytes == 0
    assert (hdd(release).deferred_batch_ops, ssd(release).deferred_batch_ops) == (64, 16)


def test_given_settings_stay():
    given_settings = hdd(min_alloc_size="18KiB", prefer_deferred_size=0, deferred_batch_ops=7)
    assert given_settings.min_alloc_bytes == 18 * KIB
    assert not given_settings.is_deferred(1)
    assert given_settings.deferred_batch_ops == 7


@pytest.mark.parametrize("field", ["min_alloc_size", "deferred_batch_ops"])
def test_settings_of_nothing_are_refused(field):
    with pytest.raises(ValidationError, match=field):
        BlueStore(**{field: 0})


@pytest.mark.parametrize(
    ("settings", "objects", "measured"),
    [
        # Lab, 64 KiB allocation, replicated: allocated over stored, cumulative as objects were added.
        (hdd("nautilus"), [(1 * KIB, 1009)], 64.4),
        (hdd("nautilus"), [(1 * KIB, 1009), (20_000, 782)], 7.35),
        (hdd("nautilus"), [(1 * KIB, 1009), (20_000, 782), (100_000, 625)], 2.59),
    ],
)
def test_allocation_is_what_a_real_osd_allocated(settings, objects, measured):
    allocated = sum(settings.allocated_bytes(size) * count for size, count in objects)
    assert allocated / sum(size * count for size, count in objects) == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize(
    ("settings", "size", "protection", "amplification"),
    [
        (hdd("luminous"), 64 * KIB, EC42, 6),  # ceph_redhat_billion_objects.csv
        (hdd("pacific"), 64 * KIB, EC42, 1.5),
        (hdd("pacific"), 1 * KIB, EC21, 12),  # lab: 12 KiB raw for each 1 KiB object
        (hdd("squid"), 1 * KIB, EC42, 24),
        (hdd("tentacle"), 1 * KIB, EC42, 12),
        (hdd("luminous"), 1 * KIB, THREE, 192),
        (hdd("luminous", min_alloc_size="18KiB"), 64 * KIB, EC42, 6 * 18 / 64),  # the series' second run
        (hdd("luminous"), 4 * MIB + 1, THREE, 3 * (4 * MIB + 64 * KIB) / (4 * MIB + 1)),
        # Each RADOS object of 4 MiB is padded: 342 stripe units of 4 KiB in each of 5 chunks.
        (hdd("reef"), 8 * MIB, Protection(data=3, parity=2), 2 * 342 * 4 * KIB * 5 / (8 * MIB)),
    ],
)
def test_space_amplification(settings, size, protection, amplification):
    assert space_amplification(settings, size, protection) == pytest.approx(amplification)


@given(settings_of_any_release, st.integers(1, 64 * MIB), st.sampled_from([EC42, EC21, THREE]))
@examples(60)
def test_space_is_never_less_than_the_protection_needs(rules, size, protection):
    ideal = protection.width / protection.data_shards
    amplification = space_amplification(rules, size, protection)
    assert amplification >= (ideal if rules.release != "tentacle" else 1 + (ideal - 1) / protection.data_shards)
    assert rules.allocated_bytes(size) - rules.min_alloc_bytes < size <= rules.allocated_bytes(size)


def test_a_small_chunk_on_an_hdd_is_in_the_log_when_it_is_acknowledged():
    # The 16 KiB chunk of a 64 KiB object on 4+2: why the published cluster's PUT is faster than its GET.
    plan = hdd("luminous").write_plan(16 * KIB)
    assert plan.data_bytes_before_commit == 0
    assert plan.wal_bytes == METADATA_BYTES + 16 * KIB
    assert (plan.deferred_bytes, plan.allocated_bytes) == (16 * KIB, 64 * KIB)
    assert plan.compress_s == 0


def test_a_large_chunk_is_at_its_place_when_it_is_acknowledged():
    plan = hdd("luminous").write_plan(MIB)
    assert (plan.data_bytes_before_commit, plan.deferred_bytes, plan.wal_bytes) == (MIB, 0, METADATA_BYTES)


def test_ssds_defer_nothing():
    assert not ssd("luminous").is_deferred(4096)
    assert ssd("reef").write_plan(4096).data_bytes_before_commit == 4096


def test_the_limit_itself_is_deferred_up_to_octopus_only():
    assert hdd("octopus").is_deferred(32 * KIB)
    assert not hdd("octopus").is_deferred(32 * KIB + 1)
    assert not hdd("pacific").is_deferred(64 * KIB)
    assert hdd("pacific").is_deferred(60 * KIB)
    # Padding counts.
    assert not hdd("pacific").is_deferred(60 * KIB + 1)


@given(settings_of_any_release, st.integers(1, 8 * MIB))
def test_every_byte_is_written_now_or_later(rules, chunk):
    plan = rules.write_plan(chunk)
    written = plan.data_bytes_before_commit + plan.deferred_bytes
    assert chunk <= written < chunk + 4096
    assert plan.wal_bytes == METADATA_BYTES + plan.deferred_bytes
    assert plan.allocated_bytes == rules.allocated_bytes(chunk)


# ceph_redhat_compression.csv
PUBLISHED = [(48190908, 26669868, 60988112896, 121976225792), (594148, 1991191, 200351744, 400703488)]


@pytest.mark.parametrize(("kept", "rejected", "allocated", "original"), PUBLISHED)
def test_compression_saves_what_was_published(kept, rejected, allocated, original):
    pool = Compression(mode="aggressive", compressible=kept / (kept + rejected))
    plan = ssd(min_alloc_size="4KiB", compression=pool)
    stored = pool.write(8 * KIB, plan.compression_blob_bytes, 4 * KIB, 4 * KIB)
    writes = original / (8 * KIB) / pool.compressible
    assert writes * stored.kept_bytes == pytest.approx(original)
    assert writes * (8 * KIB - stored.allocated_bytes) == pytest.approx(original - allocated)
    assert (kept + rejected) * stored.kept_bytes / (8 * KIB) == pytest.approx(kept)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.5])
def test_8_kib_in_units_of_4_are_stored_two_to_one_or_not_at_all(ratio):
    halved = Compression(mode="force", ratio=ratio).write(8 * KIB, 8 * KIB, 4 * KIB, 4 * KIB)
    assert (halved.allocated_bytes, halved.written_bytes, halved.kept_bytes) == (4 * KIB, 4 * KIB, 8 * KIB)
    rejected = Compression(mode="force", ratio=0.51).write(8 * KIB, 8 * KIB, 4 * KIB, 4 * KIB)
    assert (rejected.allocated_bytes, rejected.kept_bytes, rejected.tried_bytes) == (8 * KIB, 0, 8 * KIB)


@pytest.mark.parametrize(("ratio", "kept"), [(0.8125, True), (0.875, True), (0.876, False), (1.0, False)])
def test_the_required_ratio_decides(ratio, kept):
    stored = Compression(mode="force", ratio=ratio).write(64 * KIB, 64 * KIB, 4 * KIB, 4 * KIB)
    assert (stored.kept_bytes > 0) == kept


@pytest.mark.parametrize(
    ("mode", "hint", "tries"),
    [
        ("none", "compressible", False),
        ("passive", "none", False),
        ("passive", "compressible", True),
        ("aggressive", "none", True),
        ("aggressive", "incompressible", False),
        ("force", "incompressible", True),
    ],
)
def test_mode_and_hint_decide_what_is_tried(mode, hint, tries):
    pool = Compression(mode=mode, hint=hint)
    assert (pool.write(64 * KIB, 64 * KIB, 4 * KIB, 4 * KIB).tried_bytes > 0) == tries


def test_what_fits_an_allocation_unit_is_never_tried():
    pool = Compression(mode="force")
    assert hdd("luminous", compression=pool).write_plan(16 * KIB).compress_s == 0
    # Blobs are two units at least, and the end that fills no unit stays as it is.
    stored = pool.write(20_000, 8 * KIB, 4 * KIB, 4 * KIB)
    assert stored.tried_bytes == 16 * KIB
    assert stored.allocated_bytes == 3 * 4 * KIB
    assert pool.write(12 * KIB, 8 * KIB, 4 * KIB, 4 * KIB).tried_bytes == 8 * KIB


def test_blobs_are_the_release_s():
    def blobs(pool, release, rotational=True, **fields):
        return BlueStore(compression=pool, **fields).resolved(release, rotational).compression_blob_bytes // KIB

    pool, sequential = Compression(), Compression(sequential=True)
    assert [blobs(pool, release) for release in ("mimic", "reef")] == [128, 8]
    assert [blobs(pool, release, rotational=False) for release in ("octopus", "reef")] == [8, 64]
    assert [blobs(sequential, release) for release in ("mimic", "reef")] == [512, 64]
    assert blobs(pool, "nautilus", rotational=False) == 32
    assert blobs(pool, "nautilus", rotational=False, min_alloc_size="4KiB") == 8
    assert blobs(Compression(min_blob_size="16KiB"), "reef") == 16
    assert blobs(Compression(min_blob_size="1MiB"), "reef") == 64


@given(
    st.integers(1, 4 * MIB),
    st.sampled_from([4 * KIB, 16 * KIB, 64 * KIB]),
    st.floats(0, 1),
    st.floats(0.01, 1),
    st.sampled_from(["snappy", "lz4", "zstd", "zlib"]),
)
def test_compression_never_takes_more_space(size, min_alloc, fraction, ratio, algorithm):
    pool = Compression(mode="force", compressible=fraction, ratio=ratio, algorithm=algorithm)
    plain = BlueStore(min_alloc_size=min_alloc).resolved("reef", False)
    packed = BlueStore(min_alloc_size=min_alloc, compression=pool).resolved("reef", False)
    result = packed.write_plan(size)
    assert result.allocated_bytes <= plain.allocated_bytes(size) + 1e-6
    assert result.allocated_bytes >= (1 - fraction) * plain.allocated_bytes(size) - 1e-6
    assert result.compress_s >= 0
    assert result.decompress_s <= result.compress_s + 1e-12


def test_cpu_is_what_the_algorithm_takes():
    plan = ssd("reef", compression=Compression(mode="force")).write_plan(MIB)
    assert plan.compress_s == pytest.approx(MIB / 520e6)
    assert plan.decompress_s == pytest.approx(MIB / 1500e6)
    half = ssd("reef", compression=Compression(mode="force", compressible=0.5)).write_plan(MIB)
    assert half.compress_s == plan.compress_s
    assert half.decompress_s == pytest.approx(plan.decompress_s / 2)
    quick = ssd("reef", compression=Compression(mode="force", compress="2GB/s")).write_plan(MIB)
    assert quick.compress_s == pytest.approx(MIB / 2e9)


def _simulated_deferred_s(batch: int, seek_s: tuple[float, float, float], span: float) -> float:
    """One seek between neighbours of batch + 1 random points, drawn."""
    points = np.sort(np.random.default_rng(1).random((40_000, batch + 1)), axis=1) * span
    d = np.diff(points, axis=1)
    a, b, c = seek_s
    return float((a + b * np.sqrt(d) + c * d).mean())


@pytest.mark.parametrize("batch", [1, 2, 7, 64])
def test_deferred_writes_seek_between_neighbours(batch):
    seek_s = (0.5e-3, 10e-3, 6e-3)
    computed = deferred_write_s(batch, 0, seek_s, 0.8, turn_s=0.0, per_byte_s=0.0)
    assert computed == pytest.approx(_simulated_deferred_s(batch, seek_s, 0.8), rel=0.01)


def test_a_batch_of_one_seeks_as_between_two_random_points():
    assert deferred_write_s(1, 0, (0, 0, 3e-3), 1.0, 0, 0) == pytest.approx(1e-3)
    assert deferred_write_s(1, 4096, (0, 0, 0), 1.0, 8.3e-3, 1e-8) == pytest.approx(4.15e-3 + 4.096e-5)


@given(st.integers(1, 1000), st.floats(0.01, 1))
def test_larger_batches_and_smaller_spans_cost_less(batch, span):
    curve = (1e-3, 8e-3, 5e-3)
    cost = deferred_write_s(batch, 4096, curve, span, 8.3e-3, 1e-8)
    assert deferred_write_s(batch + 1, 4096, curve, span, 8.3e-3, 1e-8) < cost
    assert deferred_write_s(batch, 4096, curve, span / 2, 8.3e-3, 1e-8) < cost
    assert math.isfinite(cost)

"""Growth of a MinIO: how full its drives are, how much of their metadata is in memory, and how long a scan takes."""

from __future__ import annotations

from collections.abc import Iterator

from models.capabilities import Effect, Growth, StateFigures
from models.devices import file_system
from models.hosts.growth import Threshold, effects_between, file_system_thresholds
from models.minio.background.maintenance import visited_s
from models.minio.cluster.file_systems import metadata_of, objects_of_drive, reads_of
from models.minio.cluster.stations import Pool, Stations
from models.minio.spec.maintenance_sections import Stored
from models.minio.spec.spec import MinioSpec
from traces.trace import Trace
from traces.workload.generate import generate

FULL = 0.99
"""Fraction of a drive that MinIO fills (diskFillFraction, cmd/globals.go)."""
_SLOW_SCAN_S = 30 * 86_400.0  # assumed: expiry and usage are a month late then
_DAY_S = 86_400.0


def _stored(spec: MinioSpec) -> Stored:
    if spec.stored is not None:
        return spec.stored
    return Stored(objects=1, object_size=max(1, round(generate(spec.workload, 0).size_bytes.mean())))


def holding(spec: MinioSpec, objects: float) -> MinioSpec:
    """Return the spec with another number of objects; one that says nothing of any stays so without any."""
    if objects <= 0 and spec.stored is None:
        return spec
    return spec.model_copy(update={"stored": _stored(spec).model_copy(update={"objects": max(objects, 1.0)})})


def with_object_size(spec: MinioSpec, size_bytes: int) -> MinioSpec:
    """Return the spec with this size of the stored objects."""
    return spec.model_copy(update={"stored": _stored(spec).model_copy(update={"object_size": size_bytes})})


def _pools(spec: MinioSpec) -> Iterator[tuple[int, Pool]]:
    yield from enumerate(Stations(spec).pools)


def fill_fraction(spec: MinioSpec) -> float | None:
    """Return how full the fullest drives are, of space or of inodes; None: no pool has a capacity."""
    found = [
        file_system.fill_fraction(metadata_of(spec, pool), objects_of_drive(spec, number, pool), pool.drives.capacity)
        for number, pool in _pools(spec)
        if pool.drives.capacity is not None
    ]
    return max(found, default=None)


def state(spec: MinioSpec, trace: Trace) -> StateFigures:
    """Return the figures of the state, each of the pool in which it is greatest."""
    objects = spec.stored.objects if spec.stored is not None else 0.0
    spec = holding(spec, max(objects, 1.0))
    fill = fill_fraction(spec)
    reads = [reads_of(spec, number, pool) for number, pool in _pools(spec)]
    worst = max(reads, key=lambda each: sum(each.found))
    needed = [metadata_of(spec, p).bytes_each * objects_of_drive(spec, n, p) * p.drives.count for n, p in _pools(spec)]
    scans = [0.0]
    if spec.scanner.speed != "off":
        buckets = spec.workload.total_buckets
        scans = [visited_s(spec, buckets, number, pool) / _DAY_S for number, pool in _pools(spec)]
    return {
        "objects": objects,
        "fill_fraction": fill if objects or fill is None else 0.0,
        "memory_bytes": max(needed),
        "reads_per_lookup": sum(worst.found),
        "folder_miss_fraction": max(worst.folders, default=0.0),
        "inode_miss_fraction": max(worst.files, default=0.0),
        "scan_days": max(scans),
    }


_THRESHOLDS = file_system_thresholds(
    FULL,
    Threshold(
        "scanner",
        "the scanner takes more than 30 days to come to each object",
        lambda now: now["scan_days"] * _DAY_S > _SLOW_SCAN_S,
    ),
)


def effects(spec: MinioSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """Return the effects that begin between two numbers of objects, in order, without those present at the lower."""
    return effects_between(_THRESHOLDS, lambda objects: state(holding(spec, objects), trace), low, high)


GROWTH = Growth[MinioSpec](
    objects=lambda spec: spec.stored.objects if spec.stored is not None else 0.0,
    object_bytes=lambda spec, trace: float(_stored(spec).object_size),
    has_object_size=lambda spec: True,  # that of the workload if it is not given
    with_object_size=with_object_size,
    holding=holding,
    grown=holding,
    state=state,
    effects=effects,
    full_fraction=FULL,
    full_text="the drives are {:.0%} full and refuse writes",
    columns=("objects", "fill_fraction", "memory_bytes", "reads_per_lookup", "scan_days"),
    evidence=("objects", "fill_fraction", "memory_bytes", "reads_per_lookup", "scan_days"),
)
"""How a MinIO's state follows from the objects in it."""

"""Growth of a Swift: how full its drives are, how much of their metadata is in memory, and how long an audit takes."""

from __future__ import annotations

import math

from models.capabilities import Effect, StateFigures
from models.devices import file_system
from models.hosts.growth import Threshold, effects_between, file_system_thresholds, holding, object_bytes, stored_growth
from models.swift.cluster.file_systems import metadata_of, objects_of_drive, reads_of
from models.swift.spec.spec import SwiftSpec
from traces.trace import Trace

FULL = 0.99
"""Fraction of a drive that Swift fills (fallocate_reserve, 1 % in etc/object-server.conf-sample)."""
_SLOW_AUDIT_S = 30 * 86_400.0  # assumed: damaged copies are found a month late then
_DAY_S = 86_400.0


def state(spec: SwiftSpec, trace: Trace) -> StateFigures:
    """Return the figures of the state, those of the fullest drive."""
    objects = spec.stored.objects
    size_bytes = object_bytes(spec, trace)
    spec = holding(spec, max(objects, 1.0))
    spec = spec.model_copy(update={"stored": spec.stored.model_copy(update={"object_size": max(1, round(size_bytes))})})
    metadata, held, reads, capacity = metadata_of(spec), objects_of_drive(spec), reads_of(spec), spec.drives.capacity
    fill = None if capacity is None else file_system.fill_fraction(metadata, held, capacity)
    return {
        "objects": objects,
        "fill_fraction": fill if objects or fill is None else 0.0,
        "memory_bytes": metadata.bytes_each * objects * spec.pieces / spec.hosts.count,
        "reads_per_lookup": sum(reads.found),
        "folder_miss_fraction": max(reads.folders, default=0.0),
        "inode_miss_fraction": max(reads.files, default=0.0),
        "audit_days": _audit_s(spec, held) / _DAY_S,
    }


def _audit_s(spec: SwiftSpec, held: float) -> float:
    """Return the time in which the auditor reads all objects of a host at its limits; 0: there is none."""
    auditor = spec.auditor
    if auditor is None or spec.stored.object_size is None:
        return 0.0
    size_bytes = max(spec.stored.object_size / spec.data_pieces, 1.0)
    rate_ops = min(auditor.files_per_second, auditor.bytes_per_second / size_bytes)
    drives_each = math.ceil(spec.drives.count / min(auditor.concurrency, spec.drives.count))
    return held * drives_each / rate_ops if rate_ops else math.inf


_THRESHOLDS = file_system_thresholds(
    FULL,
    Threshold(
        "audit",
        "the auditor takes more than 30 days to read each object",
        lambda now: now["audit_days"] * _DAY_S > _SLOW_AUDIT_S,
    ),
)


def effects(spec: SwiftSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """Return the effects that begin between two numbers of objects, in order, without those present at the lower."""
    return effects_between(_THRESHOLDS, lambda objects: state(holding(spec, objects), trace), low, high)


GROWTH = stored_growth(
    state,
    effects,
    ("objects", "fill_fraction", "memory_bytes", "reads_per_lookup", "audit_days"),
    FULL,
    "the drives are {:.0%} full and refuse writes",
)
"""How a Swift's state follows from the objects in it."""

"""Growth of a cluster: how full its drives are, and how large the bases of its directory."""

from __future__ import annotations

import math

from models.capabilities import Effect, Knob
from models.hosts.growth import drives_if_full, holding, object_bytes, stored_growth
from models.openio.spec import OpenioSpec
from traces.trace import Trace

FULL = 0.8
"""Used fraction from which drives get no new chunks, as the score for writes is 0 with less than 20 % free
(etc/service-types.conf-sample)."""
RESTORE_BYTES = 1023 << 20
"""Largest base that is restored while a request waits, sqliterepo.dump.max_size in conf.json."""
_ROW_BYTES = 800  # of an object in a base, with its name, indices and properties (assumed)
_CHUNK_BYTES = 300  # of a chunk in a base (assumed)


def fill_fraction(spec: OpenioSpec, mean_bytes: float) -> float:
    """Return the used fraction of the drives with objects of this mean size."""
    held = spec.stored.objects * mean_bytes * spec.protection.width / spec.protection.data
    return held / (spec.drives.capacity * spec.total_drives)


def base_bytes(spec: OpenioSpec, mean_bytes: float) -> float:
    """Return the size of a container's base, if objects of this mean size are evenly distributed over containers."""
    return _objects_per_container(spec) * _entry_bytes(spec, mean_bytes)


def _objects_per_container(spec: OpenioSpec) -> float:
    return spec.stored.objects / (spec.workload.total_buckets * spec.directory.containers_per_bucket)


def _entry_bytes(spec: OpenioSpec, mean_bytes: float) -> float:
    metachunks = max(1, math.ceil(mean_bytes / spec.metachunk_bytes))
    return _ROW_BYTES + metachunks * spec.protection.width * _CHUNK_BYTES


def state(spec: OpenioSpec, trace: Trace) -> dict[str, float]:
    """Return the figures of the state."""
    mean_bytes = object_bytes(spec, trace)
    return {
        "objects": spec.stored.objects,
        "fill_fraction": fill_fraction(spec, mean_bytes),
        "objects_per_container": _objects_per_container(spec),
        "base_bytes": base_bytes(spec, mean_bytes),
    }


def effects(spec: OpenioSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """Return when drives are full, and when bases are too large to be restored at once."""
    mean_bytes, one = object_bytes(spec, trace), holding(spec, 1.0)
    found = []
    for name, of_one, most, text in (
        ("base", base_bytes(one, mean_bytes), RESTORE_BYTES, "bases exceed sqliterepo.dump.max_size, 1,023 MiB: a copy "
         "that was lost is restored in the background only"),
        ("full", fill_fraction(one, mean_bytes), FULL, "drives get no more chunks"),
    ):  # fmt: skip
        objects = math.ceil(most / of_one) if of_one else 0
        if low < objects <= high:
            found.append(Effect(name, objects, text))
    return tuple(sorted(found, key=lambda effect: effect.objects))


def knob(spec: OpenioSpec, limit: str) -> Knob | None:
    """Return the field that avoids a limit: more containers, which have smaller bases, or drives."""
    if limit != "base":
        return drives_if_full(spec, limit)
    return Knob("directory.containers_per_bucket", spec.directory.containers_per_bucket)


GROWTH = stored_growth(
    state,
    effects,
    ("objects", "fill_fraction", "objects_per_container", "base_bytes"),
    FULL,
    "the drives are {:.0%} full and get no more chunks",
)
"""How a cluster's state follows from the objects in it."""

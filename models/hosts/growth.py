"""Growth of stores whose state follows from the number and the mean size of objects, in a section `stored`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from models.capabilities import Effect, Growth, Knob, StateFigures
from traces.trace import Trace


def object_bytes(spec: Any, trace: Trace) -> float:
    """Return the mean size of stored objects, which follows from the requests if it is not given."""
    if spec.stored.object_size is not None:
        return float(spec.stored.object_size)
    return float(trace.size_bytes.mean()) if len(trace) else 0.0


def _with_stored(spec: Any, **stored: Any) -> Any:
    """Return the spec with other values of `stored`."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update=stored)})


def holding(spec: Any, objects: float) -> Any:
    """Return the spec with another number of objects."""
    return _with_stored(spec, objects=objects)


def stored_growth(
    state: Callable[[Any, Trace], dict[str, float]],
    effects: Callable[[Any, Trace, float, float], tuple[Effect, ...]],
    columns: tuple[str, ...],
    full: float,
    full_text: str = "the drives are {:.0%} full",
) -> Growth[Any]:
    """Return the growth of a store with a section `stored` (`StoredObjects`), given what its state is."""
    return Growth[Any](
        objects=lambda spec: spec.stored.objects,
        object_bytes=object_bytes,
        has_object_size=lambda spec: spec.stored.object_size is not None,
        with_object_size=lambda spec, size: _with_stored(spec, object_size=size),
        holding=holding,
        grown=holding,
        state=state,
        effects=effects,
        full_fraction=full,
        full_text=full_text,
        columns=columns,
        evidence=columns,
    )


@dataclass(frozen=True)
class Threshold:
    """An effect of a state, and whether it has begun, given the figures of the state."""

    name: str
    text: str
    holds: Callable[[StateFigures], bool]


def effects_between(
    thresholds: Sequence[Threshold], at: Callable[[float], StateFigures], low: float, high: float
) -> tuple[Effect, ...]:
    """Return the effects that begin between two numbers of objects, in order, without those present at the lower.

    Args:
        thresholds: effects that do not end once they have begun.
        at: returns the figures of the state with a number of objects.
        low, high: numbers of objects.
    """
    found = []
    for each in thresholds:
        objects = _first(at, each.holds, low, high)
        if objects is not None:
            found.append(Effect(each.name, objects, each.text))
    return tuple(sorted(found, key=lambda effect: effect.objects))


def _first(
    at: Callable[[float], StateFigures], holds: Callable[[StateFigures], bool], low: float, high: float
) -> int | None:
    """Return the least number of objects above `low`, up to `high`, at which an effect holds, within 0.1 %."""
    if holds(at(low)) or not holds(at(high)):
        return None
    low = max(low, 1.0)
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(at(middle)) else (middle, high)
    return math.ceil(high)


_HALF = 0.5


def file_system_thresholds(full: float, *own: Threshold) -> tuple[Threshold, ...]:
    """Return the effects of a store on file systems: metadata that memory does not hold, and full drives.

    Args:
        full: used fraction from which the store refuses writes.
        own: further effects of the store.
    """
    return (
        Threshold(
            "inodes",
            "look-ups read more than half of the inodes from drives",
            lambda now: now["inode_miss_fraction"] > _HALF,
        ),
        Threshold(
            "folders",
            "look-ups read more than half of the blocks of folders from drives",
            lambda now: now["folder_miss_fraction"] > _HALF,
        ),
        *own,
        Threshold(
            "full",
            "drives have no space or no inodes: writes are refused",
            lambda now: (now["fill_fraction"] or 0.0) >= full,
        ),
    )


def memory_or_drives(spec: Any, limit: str) -> Knob | None:
    """Return the field that avoids a limit of file systems: memory for metadata, or drives."""
    if limit not in ("inodes", "folders") or spec.hosts.memory is None:
        return drives_if_full(spec, limit)
    return Knob("hosts.memory", round(spec.hosts.memory / 1e9), "GB")


def drives_if_full(spec: Any, limit: str) -> Knob | None:
    """Return the field that avoids full drives: more of them on each host; None: the limit is another."""
    return Knob("drives.count", spec.drives.count) if limit == "full" else None


def growth_of(
    stored_bytes: Callable[[Any, float], float], capacity_bytes: Callable[[Any], float], full: float = 0.95
) -> Growth[Any]:
    """Return the growth of a store that is full when its drives are.

    Args:
        stored_bytes: bytes on all drives of a stored object of a mean size, given the spec.
        capacity_bytes: bytes that all drives take.
        full: used fraction from which the store refuses writes.
    """

    def state(spec: Any, trace: Trace) -> dict[str, float]:
        each = stored_bytes(spec, object_bytes(spec, trace))
        used = spec.stored.objects * each
        return {"objects": spec.stored.objects, "fill_fraction": used / capacity_bytes(spec), "bytes_per_object": each}

    def effects(spec: Any, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
        each = stored_bytes(spec, object_bytes(spec, trace))
        objects = math.ceil(full * capacity_bytes(spec) / each) if each else 0
        return (Effect("full", objects, "drives are full"),) if low < objects <= high else ()

    return stored_growth(state, effects, ("objects", "fill_fraction", "bytes_per_object"), full)

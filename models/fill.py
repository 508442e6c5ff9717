"""How full the drives of a store are, for stores whose state is little else: the capability `growth`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from models.capabilities import Effect, Growth
from traces.trace import Trace


def growth_of(
    stored_bytes: Callable[[Any, float], float], capacity_bytes: Callable[[Any], float], full: float = 0.95
) -> Growth[Any]:
    """Return the growth of a store that is full when its drives are.

    Its spec has a section `stored` with `objects` and `object_size`.

    Args:
        stored_bytes: bytes on all drives of a stored object of a mean size, given the spec.
        capacity_bytes: bytes that all drives take.
        full: used fraction from which the store refuses writes.
    """

    def object_bytes(spec: Any, trace: Trace) -> float:
        if spec.stored.object_size is not None:
            return float(spec.stored.object_size)
        return float(trace.size_bytes.mean()) if len(trace) else 0.0

    def with_stored(spec: Any, **stored: Any) -> Any:
        return spec.model_copy(update={"stored": spec.stored.model_copy(update=stored)})

    def holding(spec: Any, objects: float) -> Any:
        return with_stored(spec, objects=objects)

    def state(spec: Any, trace: Trace) -> dict[str, float]:
        each = stored_bytes(spec, object_bytes(spec, trace))
        used = spec.stored.objects * each
        return {"objects": spec.stored.objects, "fill_fraction": used / capacity_bytes(spec), "bytes_per_object": each}

    def effects(spec: Any, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
        each = stored_bytes(spec, object_bytes(spec, trace))
        objects = math.ceil(full * capacity_bytes(spec) / each) if each else 0
        return (Effect("full", objects, "drives are full"),) if low < objects <= high else ()

    columns = ("objects", "fill_fraction", "bytes_per_object")
    return Growth[Any](
        objects=lambda spec: spec.stored.objects,
        object_bytes=object_bytes,
        has_object_size=lambda spec: spec.stored.object_size is not None,
        with_object_size=lambda spec, size: with_stored(spec, object_size=size),
        holding=holding,
        grown=holding,
        state=state,
        effects=effects,
        full_fraction=full,
        full_text="the drives are {:.0%} full",
        columns=columns,
        evidence=columns,
    )

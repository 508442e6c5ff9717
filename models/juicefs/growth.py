"""Growth of a JuiceFS: the memory that its metadata take in Redis, next to what grows in the store below."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

from models.capabilities import Effect, Growth, Knob
from models.juicefs.sections import CHUNK_BYTES
from models.juicefs.spec import JuiceFSSpec
from models.juicefs.spreads import MEMORY_SPREADS
from traces.trace import Trace
from traces.workload.generate import generate

_GB = 1e9
_FEW = 500  # requests from which the mean size of files follows


def file_bytes(spec: JuiceFSSpec, size_bytes: float) -> float:
    """Return the memory of a Redis for a file of this size in B; of larger ones, chunk by chunk."""
    metadata = spec.metadata
    further = max(metadata.slices_per_chunk - 1, 0.0)
    of_chunk = metadata.chunk_memory + metadata.slice_memory * further
    return metadata.file_memory + max(1, math.ceil(size_bytes / CHUNK_BYTES)) * of_chunk


def mean_size_bytes(spec: JuiceFSSpec, trace: Trace | None = None) -> float:
    """Return the mean size of the files of a trace, or of the spec's workload."""
    few = generate(spec.workload.limited(_FEW), 0) if trace is None else trace
    return float(few.size_bytes.mean()) if len(few) else 0.0


def memory_bytes(spec: JuiceFSSpec, trace: Trace | None = None) -> float:
    """Return the memory of the metadata of all files in a Redis, in B."""
    return spec.metadata.files * file_bytes(spec, mean_size_bytes(spec, trace))


def memory_range_bytes(spec: JuiceFSSpec) -> tuple[float, float]:
    """Return the least and the greatest memory by the ranges of what files, chunks and slices take, in B."""
    return memory_bytes(_with_memory(spec, "low")), memory_bytes(_with_memory(spec, "high"))


def _with_memory(spec: JuiceFSSpec, end: Literal["low", "high"]) -> JuiceFSSpec:
    of_each = {name: getattr(spec.metadata, name) * getattr(spread, end) for name, spread in MEMORY_SPREADS.items()}
    return spec.model_copy(update={"metadata": spec.metadata.model_copy(update=of_each)})


def _limit_bytes(spec: JuiceFSSpec) -> float:
    """Return the memory of the engine if it holds all metadata there; infinite: it does not, or has enough."""
    return spec.metadata.memory if spec.metadata.engine == "redis" and spec.metadata.memory else math.inf


def with_engine(below: Growth[Any]) -> Growth[Any]:
    """Return the growth of the store below with that of the files, of which each has as many of its objects as others.

    If the spec does not say how many files there are, they are those of the objects in the store below.
    """

    def files_of(spec: JuiceFSSpec) -> float:
        return spec.metadata.files or below.objects(spec) / below.created_each(spec)

    def holding(spec: JuiceFSSpec, objects: float) -> JuiceFSSpec:
        files = files_of(spec) + (objects - below.objects(spec)) / below.created_each(spec)
        return _with_files(below.holding(spec, objects), files)

    def grown(spec: JuiceFSSpec, objects: float) -> JuiceFSSpec:
        files = files_of(spec) + (objects - below.objects(spec)) / below.created_each(spec)
        return _with_files(below.grown(spec, objects), files)

    def state(spec: JuiceFSSpec, trace: Trace) -> dict[str, float]:
        whole = _with_files(spec, files_of(spec))
        held = memory_bytes(whole, trace) if spec.metadata.engine == "redis" else 0.0
        return below.state(spec, trace) | {"files": whole.metadata.files, "engine_bytes": held}

    def effects(spec: JuiceFSSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
        found, limit = list(below.effects(spec, trace, low, high)), _limit_bytes(spec)
        if math.isfinite(limit):
            most = limit / file_bytes(spec, mean_size_bytes(spec, trace))
            objects = below.objects(spec) + (most - files_of(spec)) * below.created_each(spec)
            if low < math.ceil(objects) <= high:
                text = f"Redis has no memory left with {most:,.0f} files: operations that create or write fail"
                found.append(Effect("metadata", math.ceil(objects), text))
        return tuple(sorted(found, key=lambda effect: effect.objects))

    return replace(
        below,
        holding=holding,
        grown=grown,
        state=state,
        effects=effects,
        columns=(*below.columns, "files", "engine_bytes"),
        evidence=(*below.evidence, "files", "engine_bytes"),
    )


def _with_files(spec: JuiceFSSpec, files: float) -> JuiceFSSpec:
    return spec.model_copy(update={"metadata": spec.metadata.model_copy(update={"files": max(files, 0.0)})})


def knob(spec: JuiceFSSpec, limit: str) -> Knob | None:
    """Return the field that avoids a limit: a larger memory of Redis has more files."""
    if limit != "metadata":
        return None
    return Knob("metadata.memory", math.ceil(spec.metadata.memory / _GB), "GB")

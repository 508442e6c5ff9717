"""Caches of a store: which requests they serve is computed before the run, from the order of the trace's keys.

A cache is simulated exactly as LRU by bytes, or has a hit ratio by its size, for a workload whose keys do not have the
locality of the real ones. A store's compiler gives requests that hit a route of their own, without visits to what is
behind the cache. The order is that of arrival (of the rows in a closed loop): a request that overtakes another one in a
queue does not change what is cached, and a GET that arrives while the same object is being read is a hit at once. Equal
caches with different objects, such as those of OSDs, act as one of their total size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, model_validator

from models.network.placement import key_hashes
from traces.operations import rows_that
from traces.random_streams import stream_id, uniforms
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, Fraction
from traces.statistics.lru import lru_hits
from traces.trace import Trace
from traces.workload.distributions import Strict

Hits = NDArray[np.bool_]


class HitCurve(Strict):
    """A hit ratio by cache size: 0 without a cache, linear between the points, and constant after the last one."""

    sizes: tuple[Bytes, ...] = Field(
        min_length=1, description="Bytes that a cache holds at each point of the curve, ascending."
    )
    hit_ratios: tuple[Fraction, ...] = Field(
        min_length=1, description="Fraction of the reads that a cache of each of these sizes serves."
    )

    @model_validator(mode="after")
    def _is_curve(self) -> HitCurve:
        if len(self.sizes) != len(self.hit_ratios):
            raise ValueError(f"sizes has {len(self.sizes)} values and hit_ratios {len(self.hit_ratios)}")
        if not all(np.diff([0, *self.sizes]) > 0):
            raise ValueError("sizes must ascend from above 0")
        if any(np.diff([0, *self.hit_ratios]) < 0) or self.hit_ratios[-1] > 1:
            raise ValueError("hit_ratios must not descend, and are at most 1")
        return self

    def hit_ratio(self, size_bytes: float) -> float:
        """Return the hit ratio of a cache of a size."""
        return float(np.interp(size_bytes, [0, *self.sizes], [0.0, *self.hit_ratios]))


class PageCache(Strict):
    """The page cache of a host, by the fraction of reads that it serves."""

    hit_ratio: Annotated[Fraction, Basis("assumed: cold reads", 0, 1)] = Field(
        0.0, ge=0, le=1, description="Fraction of reads that the page cache serves."
    )


class Cache(Strict):
    """A cache: LRU by bytes, with the keys of the requests in their order; at first it is empty."""

    size: Annotated[Bytes, Basis("assumed: no cache", 1 << 20, 1 << 42)] = Field(
        0, ge=0, description="Size of each cache; 0: no cache."
    )
    curve: HitCurve | None = Field(
        None,
        description="Hit ratio by size, for a workload whose keys are not those of the real one: each read hits with "
        "this probability. Absent: the keys of the requests decide.",
    )

    @property
    def present(self) -> bool:
        """Whether there is a cache."""
        return self.size > 0


def has_cache(section: BaseModel) -> bool:
    """Return whether a spec, or a section of one, has a cache whose contents the keys of the requests decide."""
    if isinstance(section, Cache):
        return section.present and section.curve is None
    below = (getattr(section, name) for name in type(section).model_fields)
    return any(has_cache(each) for each in below if isinstance(each, BaseModel))


@dataclass(frozen=True)
class Part:
    """A part of each object that is cached as a whole, such as its metadata or its data.

    Attributes:
        size_bytes: its size for each request, shape (requests,).
        loads: which requests read or write it, so that the cache has it afterwards, same shape.
        drops: which other requests remove it from the cache, same shape.
        by_range: whether each range of an object that is read is cached by itself.
    """

    size_bytes: NDArray[np.int64]
    loads: Hits
    drops: Hits
    by_range: bool = False


def object_hits(
    cache: Cache,
    trace: Trace,
    caches: int = 1,
    has_writes: bool = True,
    reaches: Hits | None = None,
) -> Hits:
    """Return which GETs a cache of whole objects serves, shape (requests,); see `hits`.

    Args:
        cache: its settings.
        trace: the requests, in the order in which they reach the cache.
        caches: number of equal caches that hold different objects, and together act as one.
        has_writes: whether the cache has what a PUT wrote.
        reaches: which GETs reach the cache, shape (requests,); None: all of them.
    """
    gets, puts, removed = (rows_that(trace.op, has) for has in ("reads", "creates", "removes"))
    if reaches is not None:
        gets &= reaches
    part = Part(
        np.where(rows_that(trace.op, "reads"), trace.transfer_bytes, trace.size_bytes), gets | (puts & has_writes),
        removed | (puts & (not has_writes)), by_range=True,
    )  # fmt: skip
    return np.asarray(hits(cache, trace, [part], caches)[0] & gets, bool)


def hits(cache: Cache, trace: Trace, parts: Sequence[Part], caches: int = 1) -> list[Hits]:
    """Return for each part which of its requests find it in the cache, shape (requests,).

    Rows that are repeated find what the repetition before them left.

    Args:
        cache: its settings.
        trace: the requests, in the order in which they reach the cache.
        parts: of an object, in the order in which a request accesses them.
        caches: number of equal caches that hold different objects, and together act as one.
    """
    count = len(trace)
    if not cache.present:
        return [np.zeros(count, bool) for _ in parts]
    accesses = np.stack([part.loads | part.drops for part in parts], axis=1)
    if cache.curve is not None:
        drawn = uniforms(0, stream_id("cache hits"), 0, count) < cache.curve.hit_ratio(cache.size)
        return list((drawn[:, None] & accesses).T)
    whole = key_hashes(trace)
    ranges = _ranges(trace, whole) if any(part.by_range for part in parts) else whole
    objects = [(ranges if part.by_range else whole) + np.uint64(number) for number, part in enumerate(parts)]
    entries = np.stack(objects, axis=1)[accesses].view(np.int64)
    sizes = np.stack([part.size_bytes for part in parts], axis=1)[accesses]
    drops = np.stack([part.drops for part in parts], axis=1)[accesses]
    made = len(entries)
    if trace.pacing.repeat:
        entries, sizes, drops = (np.concatenate([each, each]) for each in (entries, sizes, drops))
    found = lru_hits(entries, sizes, cache.size * caches, drops if drops.any() else None)
    held = np.zeros(accesses.shape, bool)
    held[accesses] = found[len(found) - made :]
    return list(held.T)


def _ranges(trace: Trace, objects: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each object or range of it that a request reads."""
    start = trace.table.column("range_start_bytes")
    if start.null_count == len(start):
        return objects
    with np.errstate(over="ignore"):
        first = start.fill_null(0).to_numpy().astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        ranges = (first ^ trace.transfer_bytes.astype(np.uint64)) * np.uint64(0xD1B54A32D192ED03)
        return np.where(start.is_valid().to_numpy(), objects ^ ranges, objects)

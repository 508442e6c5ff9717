"""Fit keys with measured reuse: classes of popularity, the gaps between requests for an object, sizes and operations.

Objects are grouped by their number of requests, in classes that double. The gaps of a class are quantiles of those
measured. Requests of different phases of a trace are mixed when they are generated, so the same gaps have other objects
in between: therefore the gaps are then adjusted until the generated reuse distances are those of the trace.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traces.fitting.independence import FEW_REUSES, HIT_SLACK, byte_hits
from traces.fitting.object_sizes import class_sizes
from traces.fitting.operations import operations_in_order, places
from traces.operations import rows_that
from traces.statistics.reuse_distance import Indices, middle, previous, reuse_distances
from traces.workload.distributions import Floats
from traces.workload.reuse import OperationsInOrder, PopularityClass, ReuseKeys
from traces.workload.sizes import SizeDistribution

_LEAST_GAPS = 64  # of a class: with fewer, it is joined with the next; assumed
_STEPS = 16  # of the quantiles of gaps
_ROUNDS = 5  # of adjustment
_ADJUSTED = 0.01  # mean relative error of distances at which adjustment ends
_DAMPING = 0.8  # of an adjustment: a gap changes the distances of others
_COMPARED = np.linspace(0.01, 0.99, 50)  # probabilities at which distances are adjusted
_SIZE_SPLITS = 2  # of a class by size, at most; assumed
_SPLITS_OF_REQUESTS, _SPLITS_OF_BYTES = (0.25, 0.5, 0.75), (0.5, 0.8)
_DIFFERENT = 0.1  # distance of the distributions of gaps beyond which small and large objects differ; assumed
_CRITICAL = 1.36  # of sqrt(n) D at the 5 % level, as in `traces.fitting.sizes`


def fit_reuse(objects: Indices, op: NDArray[np.int32], size_bytes: Indices, default: SizeDistribution) -> ReuseKeys:
    """Fit classes of popularity, gaps, sizes and the order of operations.

    Classes are divided by size only if the hit ratios of caches of limited bytes are otherwise not those of the trace.

    Args:
        objects: the object number of each request, shape (requests,).
        op: operation of each request as an index into `OPS`, shape (requests,).
        size_bytes: the size of the object of each request, shape (requests,); -1: not known.
        default: sizes of the objects of the workload.
    """
    distinct, objects = np.unique(objects, return_inverse=True)
    sizes = np.full(len(distinct), -1, np.int64)
    np.maximum.at(sizes, objects, size_bytes)
    has_one = len(np.unique(op)) == 1 and not rows_that(op[:1], "removes")[0]
    order = None if has_one else operations_in_order(op, places(objects))
    target = byte_hits(objects, np.maximum(sizes, 0)[objects])
    found: list[tuple[float, ReuseKeys]] = []
    for splits in (0, _SIZE_SPLITS):
        keys = _adjusted(ReuseKeys(classes=_classes(objects, sizes, default, splits)), objects)
        generated = keys.choose(0, len(objects))
        drawn = np.rint(keys.sizes(0, generated, default)).astype(np.int64)
        found.append((float(np.abs(byte_hits(generated, drawn) - target).mean()), keys))
        if found[-1][0] <= HIT_SLACK:
            break
    keys = min(found, key=lambda each: each[0])[1]
    return keys if order is None else keys.model_copy(update={"operations": OperationsInOrder(**order)})


def _classes(objects: Indices, sizes: Indices, default: SizeDistribution, splits: int) -> tuple[PopularityClass, ...]:
    """Fit the classes; each is halved by size up to a number of times if that makes a difference to gaps.

    Args:
        objects: the object number of each request, shape (requests,).
        sizes: size of each object, bytes; -1: not known, shape (objects,).
        default: sizes of the objects of the workload.
        splits: how many times to halve a class at most.
    """
    counts = np.bincount(objects, minlength=len(sizes))
    last = previous(objects)
    again = np.flatnonzero(last >= 0)
    gap, of_gap = again - last[again], objects[again]
    lasting = _in_both_halves(objects, len(sizes))
    classes = []
    for members in _members(counts, sizes, gap, of_gap, splits):
        own = counts[members]
        least, most, mean = int(own.min()), int(own.max()), float(f"{own.mean():.6g}")
        fields: dict[str, Any] = {"objects": len(own), "requests": mean}
        if (least, most) != (math.floor(mean), math.ceil(mean)):
            fields |= {"least": least, "most": most}
        if most > 1:
            fields["gaps"] = _quantiles(gap[members[of_gap]])
        even = 1 - 2.0 ** (1 - own)  # chance to be in both halves, of requests at random times
        fields["lasting"] = round(min(float(lasting[members].sum() / even.sum()), 1.0), 3) if most > 1 else 0.0
        own_sizes = class_sizes(sizes[members & (sizes >= 0)], default)
        if own_sizes is not None:
            fields["object_size"] = own_sizes
        classes.append(PopularityClass(**fields))
    return tuple(classes)


def _bounds(counts: Indices) -> list[tuple[int, int]]:
    """Return the least and most requests for an object of each class, the most popular first."""
    upper = 1 << np.arange(int(counts.max()).bit_length() + 1)  # 1, 2, 4, …: 1, 2, 3 to 4, 5 to 8, …
    number = np.searchsorted(upper, counts)
    gaps = np.bincount(number, counts - 1, minlength=len(upper))
    bounds: list[tuple[int, int]] = []
    most, found = 0, 0.0
    for i in reversed(range(1, len(upper))):
        most = most or int(upper[i])
        found += gaps[i]
        if found >= _LEAST_GAPS:
            bounds.append((int(upper[i - 1]) + 1, most))
            most, found = 0, 0.0
    if found and bounds:
        bounds[-1] = 2, bounds[-1][1]
    elif found:
        bounds.append((2, most))
    return [*bounds, (1, 1)] if (counts == 1).any() else bounds


def _quantiles(gaps: Indices) -> tuple[float, ...]:
    """Return quantiles of gaps at equal steps; the last one such that gaps drawn in the last step have the right mean.

    Gaps with a larger mean would not fit into the trace: an object with many requests is requested throughout.
    """
    steps = min(_STEPS, len(gaps))
    quantiles = np.quantile(gaps, np.linspace(0, 1, steps + 1))
    begin, mean = float(quantiles[-2]), float(gaps[gaps >= quantiles[-2]].mean())
    low, high = mean, max(float(quantiles[-1]) * 8, mean)
    for _ in range(60 if begin < mean else 0):
        end = (low + high) / 2
        low, high = (end, high) if (end - begin) / math.log(end / begin) < mean else (low, end)
    quantiles[-1] = low
    return _short(np.maximum.accumulate(quantiles))


def _members(
    counts: Indices, sizes: Indices, gap: Indices, of_gap: Indices, splits: int
) -> Iterator[NDArray[np.bool_]]:
    """Yield the objects of each class: of similar popularity, and of similar size if that makes a difference to gaps.

    Args:
        counts: number of requests for each object, shape (objects,).
        sizes: size of each object, bytes; -1: not known, shape (objects,).
        gap: gaps between requests for an object, shape (gaps,).
        of_gap: the object of each gap, shape (gaps,).
        splits: how many times to halve a class at most.
    """
    for least, most in _bounds(counts):
        parts = [(counts >= least) & (counts <= most)]
        for _ in range(splits if most > 1 else 0):
            parts = [half for part in parts for half in _split_by_size(part, sizes, gap, of_gap)]
        yield from parts


def _split_by_size(
    members: NDArray[np.bool_], sizes: Indices, gap: Indices, of_gap: Indices
) -> list[NDArray[np.bool_]]:
    """Return the small and the large objects of a class, or all together if their gaps have the same distribution.

    The limit is the quantile of sizes, weighted by requests or by bytes, at which the distributions differ most.
    """
    rows = members[of_gap]
    order = np.argsort(gap[rows], kind="stable")
    size = sizes[of_gap[rows]][order]  # by ascending gap
    ranked = np.sort(size)
    moved = np.cumsum(ranked)
    at = [int(u * len(size)) for u in _SPLITS_OF_REQUESTS]
    at += [int(np.searchsorted(moved, u * moved[-1])) for u in _SPLITS_OF_BYTES]
    best, found = 0.0, [members]
    for limit in np.unique(ranked[np.minimum(at, len(size) - 1)] if len(size) else ranked).tolist():
        is_small = size <= limit
        small, large = int(is_small.sum()), int((~is_small).sum())
        if min(small, large) < _LEAST_GAPS:
            continue
        distance = float(np.abs(np.cumsum(is_small) / small - np.cumsum(~is_small) / large).max())
        significance = distance * math.sqrt(small * large / (small + large))
        if distance > _DIFFERENT and significance > max(_CRITICAL, best):
            best, found = significance, [members & (sizes <= limit), members & (sizes > limit)]
    return found


def _in_both_halves(objects: Indices, distinct: int) -> NDArray[np.bool_]:
    half = len(objects) // 2
    before, after = (np.bincount(part, minlength=distinct) for part in (objects[:half], objects[half:]))
    both: NDArray[np.bool_] = (before > 0) & (after > 0)
    return both


def _adjusted(keys: ReuseKeys, objects: Indices) -> ReuseKeys:
    """Return the keys with gaps that result in the reuse distances of a trace."""
    target = _log_distances(objects)
    if target is None:
        return keys
    best, least = keys, np.inf
    for _ in range(_ROUNDS):
        generated = middle(keys.choose(0, len(objects)))
        found = _log_distances(generated)
        if found is None:
            return best
        error = target - found
        mean = float(np.abs(error).mean())
        if mean < least:
            best, least = keys, mean
        if least < _ADJUSTED:
            break
        last = previous(generated)
        again = np.flatnonzero(last >= 0)
        gap, at = np.unique(np.log(np.quantile(again - last[again], _COMPARED)), return_index=True)
        keys = _stretched(keys, gap, _DAMPING * error[at])
    return best


def _log_distances(objects: Indices) -> Floats | None:
    distances = reuse_distances(middle(objects))
    if len(distances) < FEW_REUSES:
        return None
    result: Floats = np.log1p(np.quantile(distances, _COMPARED))
    return result


def _stretched(keys: ReuseKeys, log_gap: Floats, log_factor: Floats) -> ReuseKeys:
    """Return the keys with each gap multiplied by a factor that depends on it."""
    total = sum(each.objects * each.requests for each in keys.classes)
    classes = []
    for each in keys.classes:
        logs = np.log(each.gaps) if each.gaps else np.empty(0)
        moved = np.clip(np.exp(logs + np.interp(logs, log_gap, log_factor)), 1.0, max(total, 1.0))
        classes.append(each.model_copy(update={"gaps": _short(np.maximum.accumulate(moved))}))
    return keys.model_copy(update={"classes": tuple(classes)})


def _short(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{value:.4g}") for value in values.tolist())

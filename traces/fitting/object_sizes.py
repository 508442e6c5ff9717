"""Fit the sizes of objects such that their footprint is kept, of all objects or of those of one popularity."""

from __future__ import annotations

import math

import numpy as np

from traces.fitting.sizes import fit_sizes, ks_distance
from traces.statistics.reuse_distance import Indices
from traces.workload.sizes import HistogramSize, SizeDistribution

_FEW_SIZES = 8
_SIZE_BINS = 8  # of equal numbers, and as many of equal bytes
_ATOM_FRACTION = 0.02  # of the objects of a class that have exactly the same size
_POINTS = 10_000
_SAME_MEAN = 0.02  # relative difference of mean sizes that is ignored; assumed
_CRITICAL = 1.36  # of sqrt(n) D at the 5 % level, as in `traces.fitting.sizes`


def object_sizes(sizes: Indices) -> SizeDistribution:
    """Fit the sizes of objects, one element for each: all distinct sizes if they are few, or a histogram."""
    few = len(np.unique(sizes)) <= _FEW_SIZES
    return fit_sizes(sizes, np.arange(len(sizes))) if few else _histogram(sizes)


def class_sizes(sizes: Indices, default: SizeDistribution) -> SizeDistribution | None:
    """Fit the sizes of the objects of a class; None if they have the distribution of all objects."""
    if not len(sizes):
        return None
    mean, n = float(sizes.mean()), len(sizes)
    drawn = float(default.quantile((np.arange(_POINTS) + 0.5) / _POINTS).mean())
    same_mean = abs(drawn - mean) <= _SAME_MEAN * mean
    if same_mean and ks_distance(default, np.sort(sizes)) < max(_CRITICAL / math.sqrt(n), 0.01):
        return None
    return object_sizes(sizes)


def _histogram(sizes: Indices) -> HistogramSize:
    """Return a histogram of sizes with bins of about equal numbers of objects, and bins of about equal total bytes.

    A size that many objects have exactly has a bin of its own. As sizes are uniform within bins, each bin is divided at
    the mean of its sizes, into parts whose weights keep this mean: the footprint is the sum of all sizes.
    """
    ranked = np.sort(sizes)
    steps = np.linspace(0, 1, _SIZE_BINS + 1)
    bytes_below = np.cumsum(ranked)
    by_bytes = np.searchsorted(bytes_below, steps * bytes_below[-1])
    at = np.concatenate([(steps * (len(ranked) - 1)).astype(np.int64), np.minimum(by_bytes, len(ranked) - 1)])
    values, sharing = np.unique(ranked, return_counts=True)
    atoms = values[sharing >= max(_ATOM_FRACTION * len(ranked), 3)]
    edges = np.unique(np.concatenate([ranked[at], atoms, atoms + 1, ranked[-1:] + 1]))
    found: list[tuple[int, float]] = []  # begin and weight of each bin
    for begin, end in zip(edges.tolist(), edges[1:].tolist(), strict=False):
        first, last = np.searchsorted(ranked, [begin, end])
        weight = float(last - first) / len(ranked)
        mean = round(float(ranked[first:last].mean())) if last > first else begin
        if begin < mean < end:
            below = weight * (end - mean) / (end - begin)
            found += [(begin, below), (mean, weight - below)]
        else:
            found.append((begin, weight))
    weights = tuple(float(f"{weight:.5g}") for _, weight in found)
    return HistogramSize(edges=(*(begin for begin, _ in found), int(edges[-1])), weights=weights)

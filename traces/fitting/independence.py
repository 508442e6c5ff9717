"""Whether popularity alone describes the keys of a trace: requests that are independent of each other.

The independent reference model: each request draws its key from the same distribution (Coffman and Denning, "Operating
Systems Theory", 1973).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from traces.random_streams import stream_id, uniforms
from traces.statistics.hit_ratio import FRACTIONS, hit_ratios
from traces.statistics.reuse_distance import Indices, middle, reuse_distances
from traces.workload.distributions import Floats
from traces.workload.sizes import SizeDistribution

FEW_REUSES = 100
"""Repeated requests, with fewer of which popularity alone describes the keys; assumed."""

HIT_SLACK = 0.01
"""Difference of hit ratios that is ignored: half of what `traces.fitting.similarity` allows."""

_DISTANCE_SLACK = 0.05  # relative difference of reuse distances that is ignored: half of what is allowed, too
_CHECKED_REQUESTS = 200_000  # from the middle of a trace, that decide whether popularity alone describes it
_SEEDS = 3  # of sizes
_DRAWS = 8  # of keys that are independent of each other, which show what chance explains
_DEVIATIONS = 3.0  # standard deviations of these that are ignored
_LONG = 100_000  # requests, from which on a trace's own sizes of popular objects are kept


def is_independent(objects: Indices, keys: Any) -> bool:
    """Whether keys that are drawn independently of each other have the reuse of a trace, apart from chance.

    Args:
        objects: the object number of each request, shape (requests,).
        keys: a choice of keys by popularity alone.
    """
    if len(objects) - len(np.unique(objects)) < FEW_REUSES:
        return True
    found = np.array([_locality(keys.choose(seed, len(objects))) for seed in range(_DRAWS)])
    own = _locality(objects)
    hits = len(FRACTIONS) + 1
    slack = np.full(len(own), _DISTANCE_SLACK)
    slack[:hits] = np.maximum(HIT_SLACK, _DISTANCE_SLACK * own[:hits])
    slack += _DEVIATIONS * found.std(axis=0, ddof=1)
    return bool((np.abs(own - found.mean(axis=0)) <= slack).all())


def has_sizes(objects: Indices, size_bytes: Indices, keys: Any, sizes: SizeDistribution) -> bool:
    """Whether sizes that do not depend on popularity give caches of limited bytes the hit ratios of a long trace.

    In any trace, the few most popular objects have some sizes by chance. Those of a long trace are reproduced.

    Args:
        objects: the object number of each request, shape (requests,).
        size_bytes: the size of the object of each request, shape (requests,).
        keys: a choice of keys by popularity alone.
        sizes: the sizes of objects.
    """
    if len(objects) < _LONG or len(np.unique(size_bytes)) == 1:
        return True
    target = byte_hits(np.unique(objects, return_inverse=True)[1], size_bytes)
    for seed in range(_SEEDS):
        distinct, generated = np.unique(keys.choose(seed, len(objects)), return_inverse=True)
        drawn = np.rint(sizes.quantile(uniforms(seed, stream_id("fit/sizes"), 0, len(distinct)))).astype(np.int64)
        error = np.abs(byte_hits(generated, drawn[generated]) - target)
        if (error > np.maximum(2 * HIT_SLACK, 2 * _DISTANCE_SLACK * target)).any():
            return False
    return True


def _locality(objects: Indices) -> Floats:
    """Return the fraction of repeated requests, LRU hit ratios, and logarithms of quantiles of the reuse distance."""
    first = max((len(objects) - _CHECKED_REQUESTS) // 2, 0)
    part = objects[first : first + _CHECKED_REQUESTS]
    distances = np.sort(reuse_distances(part))
    capacity = np.array(FRACTIONS) * len(np.unique(part))
    hits = np.searchsorted(distances, capacity) / len(part)
    quantiles = np.log1p(np.quantile(distances, [0.25, 0.5, 0.9])) if len(distances) else np.zeros(3)
    return np.concatenate([[len(distances) / len(part)], hits, quantiles])


def byte_hits(objects: Indices, sizes: Indices) -> Floats:
    """Return the hit ratios of caches of limited bytes, by requests and by bytes."""
    found = hit_ratios(middle(objects), middle(sizes))
    return np.array([ratio for each in found for ratio in (each.of_bytes, each.bytes_of_bytes)])

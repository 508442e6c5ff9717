"""Fit the distribution of object sizes: the simplest one that a Kolmogorov-Smirnov test does not reject."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from traces.spec.units import MOST_CV
from traces.workload.distributions import Floats
from traces.workload.sizes import FixedSize, HistogramSize, LognormalSize, MixtureSize, SizeComponent, SizeDistribution

Part = FixedSize | LognormalSize | HistogramSize
Indices = NDArray[np.int64]

_FEW = 8  # up to this many distinct sizes are all listed
_ATOM_OBJECTS, _ATOM_FRACTION = 3, 0.01  # a size that 3 objects, and 1 % of them, have exactly is an atom; assumed
_CRITICAL = 1.36  # of sqrt(n) D at the 5 % level (Smirnov, Annals of Mathematical Statistics 19, 1948)
_NEAR = 0.01  # a distribution with a smaller distance is accepted for any number of objects; assumed
_SAME_MEAN = 1.1  # factor by which equal means may differ, in addition to chance; assumed
_POINTS = 2000
_BINS = 64
_ITERATIONS = 200
_LEAST_SIGMA = 0.01


def fit_sizes(size_bytes: Indices, objects: Indices) -> SizeDistribution:
    """Fit the distribution of object sizes, weighted by requests.

    Sizes that many objects share become atoms; the others become a mixture of one to three lognormals, or a histogram.

    Args:
        size_bytes: size of the object that each request names, shape (requests,), not empty.
        objects: object number of each request, shape (requests,); the size of an object counts once in the tests.
    """
    values, counts = np.unique(size_bytes, return_counts=True)
    if len(values) <= _FEW:
        return _mixture([(int(c), FixedSize(size=int(v))) for v, c in zip(values, counts, strict=True)])
    first = np.unique(objects, return_index=True)[1]
    own, sharing = np.unique(size_bytes[first], return_counts=True)
    atoms = own[(sharing >= _ATOM_OBJECTS) & (sharing >= _ATOM_FRACTION * len(first))]
    listed = np.isin(values, atoms)
    parts: list[tuple[float, Part]] = [
        (int(c), FixedSize(size=int(v))) for v, c in zip(values[listed], counts[listed], strict=True)
    ]
    rest = ~np.isin(size_bytes, atoms)
    if rest.any():
        hits = np.unique(objects[rest], return_counts=True)[1].astype(np.float64)
        effective = hits.sum() ** 2 / (hits**2).sum()  # Kish's effective sample size
        ranked = np.sort(size_bytes[rest])
        found = next(c for c in _candidates(ranked) if _is_table(c) or _fits(c, ranked, effective))
        parts += [(weight * len(ranked), part) for weight, part in found]
    return _mixture(parts)


def _fits(parts: list[tuple[float, Part]], ranked: Indices, effective: float) -> bool:
    """Whether a candidate agrees with ascending samples in distance and mean, given their effective sample size."""
    sizes = _mixture(parts)
    if ks_distance(sizes, ranked) >= max(_CRITICAL / math.sqrt(effective), _NEAR):
        return False
    if any(isinstance(part, LognormalSize) and part.mean > ranked[-1] for _, part in parts):
        return False
    mean = float(ranked.mean())
    chance = 3 * float(ranked.std()) / mean / math.sqrt(effective)
    drawn = float(sizes.quantile((np.arange(_POINTS) + 0.5) / _POINTS).mean())
    return abs(math.log(drawn / mean)) < math.log(_SAME_MEAN) + chance


def ks_distance(sizes: SizeDistribution, ranked: Indices) -> float:
    """Return the Kolmogorov-Smirnov distance between a distribution and ascending samples."""
    u = (np.arange(_POINTS) + 0.5) / _POINTS
    drawn = np.sort(np.rint(sizes.quantile(u)))
    at = np.unique(np.concatenate([drawn, ranked[np.linspace(0, len(ranked) - 1, _POINTS).astype(np.int64)]]))
    below = np.searchsorted(drawn, at, side="right") / len(drawn)
    return float(np.abs(below - np.searchsorted(ranked, at, side="right") / len(ranked)).max())


def _mixture(parts: list[tuple[float, Part]]) -> SizeDistribution:
    if len(parts) == 1:
        return parts[0][1]
    total = sum(weight for weight, _ in parts)
    components = (SizeComponent(weight=float(f"{weight / total:.4g}"), size=part) for weight, part in parts)
    return MixtureSize(components=tuple(components))


def _candidates(ranked: Indices) -> Iterator[list[tuple[float, Part]]]:
    """Fit candidate distributions to ascending sizes, from the simplest to a histogram."""
    logs = np.log(np.maximum(ranked, 1))
    points = logs[((np.arange(_POINTS) + 0.5) / _POINTS * len(logs)).astype(np.int64)]
    for components in (1, 2, 3):
        weight, mu, sigma = _gaussians(points, components)
        yield [
            (float(w), _lognormal(float(m), float(s), int(ranked[-1])))
            for w, m, s in zip(weight, mu, sigma, strict=True)
        ]
    yield [(1.0, _table(ranked))]


def _is_table(parts: list[tuple[float, Part]]) -> bool:
    return isinstance(parts[0][1], HistogramSize)


def _lognormal(mu: float, sigma: float, most: int) -> LognormalSize:
    cv = min(math.sqrt(math.expm1(sigma**2)), MOST_CV)
    return LognormalSize(mean=max(round(math.exp(mu + sigma**2 / 2)), 1), cv=float(f"{cv:.4g}"), max=most)


def _gaussians(points: Floats, components: int) -> tuple[Floats, Floats, Floats]:
    """Fit a mixture of Gaussians by expectation maximisation; return weights, means and standard deviations."""
    parts = np.array_split(points, components)  # points ascend
    weight = np.full(components, 1 / components)
    mu = np.array([part.mean() for part in parts])
    sigma = np.maximum([part.std() for part in parts], _LEAST_SIGMA)
    for _ in range(_ITERATIONS if components > 1 else 0):
        log = np.log(weight) - np.log(sigma) - ((points[:, None] - mu) / sigma) ** 2 / 2
        membership = np.exp(log - log.max(1, keepdims=True))
        membership /= membership.sum(1, keepdims=True)
        members = np.maximum(membership.sum(0), 1e-9)
        weight, mu = members / len(points), membership.T @ points / members
        sigma = np.maximum(np.sqrt((membership * (points[:, None] - mu) ** 2).sum(0) / members), _LEAST_SIGMA)
    return weight, mu, sigma


def _table(ranked: Indices) -> HistogramSize:
    """Return a histogram whose bins contain about the same number of samples."""
    edges = np.unique(ranked[np.linspace(0, len(ranked) - 1, _BINS + 1).astype(np.int64)])
    edges[-1] += 1
    counts, _ = np.histogram(ranked, bins=edges)
    return HistogramSize(edges=tuple(edges.tolist()), weights=tuple((counts / counts.sum()).round(6).tolist()))

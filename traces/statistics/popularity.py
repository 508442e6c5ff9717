"""How skewed the choice of objects is: a Zipf law fitted to how often each was asked for.

An object is a bucket and a key; a LIST names none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from traces.tables import LIST
from traces.trace import Trace

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_SINGLE = 10  # counts up to here are classes of their own, greater ones go together by thirds
_RANKS = 200  # likewise ranks
_BLOCKS = 150
_MOST_EXPONENT = 5.0
_APART = ((0.0, 0.5), (0.4, 0.9))  # starts: how much less skewed than without, share of the objects asked for once
_GAIN = 10.0  # of log-likelihood that a share of objects asked for once has to bring; assumed


def objects_of(trace: Trace, rows: NDArray[np.bool_] | None = None) -> Indices:
    """A number for the object of each request that names one (of those `rows` select), numbered from 0."""
    named = trace.op != LIST
    named = named if rows is None else named & rows
    bucket, key = (trace.table.column(name).combine_chunks().indices.to_numpy()[named] for name in ("bucket", "key"))
    _, number = np.unique(bucket.astype(np.int64) << 32 | key, return_inverse=True)
    result: Indices = number.astype(np.int64)
    return result


@dataclass(frozen=True)
class Zipf:
    """A Zipf law over objects, some requests apart that name an object asked for once.

    Attributes:
        count: objects there are, also those that no request happened to name.
        exponent: skew; 0 is uniform.
        one_hit: share of requests that name an object which no other does, beyond those of the law.
    """

    count: int
    exponent: float
    one_hit: float = 0.0


def fit_zipf(hits: Indices) -> Zipf:
    """The law under which so many objects were asked for so often.

    Maximum likelihood over how many objects were asked for once, twice, and so on. Ranks by observed count would be
    biased: chance alone orders objects that are equally popular. The number of objects asked for k times is taken as
    Poisson, its mean the sum over ranks r of the Poisson probability of k at mean n p(r), p(r) in proportion to
    r^-exponent.

    Args:
        hits: requests of each object that was asked for, at least one object.
    """
    if len(hits) == 1 or hits.max() == 1:
        return Zipf(len(hits), 0.0)
    upper = _classes(int(hits.max()))
    seen = np.bincount(np.searchsorted(upper, hits), minlength=len(upper)).astype(np.float64)
    requests, distinct = float(hits.sum()), len(hits)

    def misfit(exponent: float, beyond: float = 0.0, once: float = 0.0) -> float:
        """Minus the log-likelihood; `beyond` is how many more objects there are than were seen, logarithmic."""
        popular = distinct - once * requests
        if not 0 <= exponent <= _MOST_EXPONENT or not 0 <= beyond <= 12 or not once >= 0 or popular < 1:
            return math.inf
        expected = _expected(exponent, popular * math.exp(beyond), requests * (1 - once), upper)
        expected[0] += requests * once
        expected = np.maximum(expected, 1e-12)
        return float((expected - seen * np.log(expected)).sum())

    singles = float((hits == 1).sum()) / requests
    uniform = _least(lambda x: misfit(0.0, x[0]), [[0.02], [1.0]])
    zipf = _least(lambda x: misfit(x[0], x[1]), [[s, b] for s in (0.1, 0.9) for b in (0.02, 1.0)])
    apart = _least(lambda x: misfit(*x), [[max(zipf[0][0] - d, 0.1), 0.1, singles * share] for d, share in _APART])
    if uniform[1] < zipf[1] + 2:
        zipf = [0.0, *uniform[0]], uniform[1]
    exponent, beyond, once = apart[0] if apart[1] < zipf[1] - _GAIN else [*zipf[0], 0.0]
    return Zipf(max(round((distinct - once * requests) * math.exp(beyond)), 1), exponent, once)


def _least(misfit: Callable[[list[float]], float], starts: list[list[float]]) -> tuple[list[float], float]:
    """Where it is least, of what is found from some starts, and how much it is there."""
    options = {"xatol": 1e-3, "fatol": 1e-2, "maxiter": 300}
    found = [scipy.optimize.minimize(misfit, start, method="Nelder-Mead", options=options) for start in starts]
    best = min(found, key=lambda one: float(one.fun))
    return best.x.tolist(), float(best.fun)


def _classes(most: int) -> Indices:
    """The greatest count of each class of counts."""
    wide = math.ceil(math.log(max(most / _SINGLE, 1)) / math.log(4 / 3)) + 1
    edges = np.concatenate([np.arange(1, _SINGLE + 1), np.ceil(_SINGLE * (4 / 3) ** np.arange(1, wide + 1))])
    return np.unique(edges.astype(np.int64))


def _expected(exponent: float, count: float, requests: float, upper: Indices) -> Floats:
    """How many objects are in each class of counts, on average."""
    head = np.arange(1, min(_RANKS, int(count)) + 1, dtype=np.float64)
    edges = np.geomspace(head[-1] + 0.5, max(count, head[-1]) + 0.5, _BLOCKS + 1)
    rank = np.concatenate([head, np.sqrt(edges[1:] * edges[:-1])])
    objects = np.concatenate([np.ones(len(head)), np.diff(edges)])
    weight = rank**-exponent
    mean = requests * weight / (weight * objects).sum()
    at_most = scipy.special.pdtr(np.concatenate([[0], upper])[:, None], mean)
    result: Floats = np.diff(at_most, axis=0) @ objects
    return result

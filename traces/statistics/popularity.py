"""Object popularity: a Zipf law fitted to the number of requests per object.

An object is a bucket and a key; a LIST names none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from traces.operations import rows_that
from traces.trace import Trace

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_SINGLE = 10  # counts up to here are classes of their own; greater ones share classes that grow by a third
_RANKS = 200  # ranks up to here are summed one by one; greater ones in blocks
_BLOCKS = 150
_MOST_EXPONENT = 5.0
_STARTS = ((0.0, 0.5), (0.4, 0.9))  # starting points: reduction of the exponent, one-hit fraction of the singletons
_GAIN = 10.0  # minimum gain in log-likelihood that justifies a one-hit fraction; assumed


def objects_of(trace: Trace, rows: NDArray[np.bool_] | None = None) -> Indices:
    """Number the objects from 0 and return the object of each request that names one, shape (requests,).

    Args:
        trace: the requests; LISTs name no object and are left out.
        rows: mask of the requests to use (default: all).
    """
    named = rows_that(trace.op, "names_object")
    named = named if rows is None else named & rows
    bucket, key = (trace.table.column(name).combine_chunks().indices.to_numpy()[named] for name in ("bucket", "key"))
    _, number = np.unique(bucket.astype(np.int64) << 32 | key, return_inverse=True)
    result: Indices = number.astype(np.int64)
    return result


@dataclass(frozen=True)
class Zipf:
    """A Zipf law over objects, mixed with requests for one-hit objects.

    Attributes:
        count: number of objects, including those that no request happened to name.
        exponent: skew; 0 is uniform.
        one_hit: fraction of requests that name an object no other request names, beyond those expected of the Zipf law.
    """

    count: int
    exponent: float
    one_hit: float = 0.0


def fit_zipf(hits: Indices) -> Zipf:
    """Fit a Zipf law to the number of requests of each object.

    Maximum likelihood of the number of objects requested once, twice, and so on. Regression on ranks by observed count
    would be biased: chance alone orders objects of equal popularity. The number of objects requested k times is taken
    as Poisson with mean sum over ranks r of P(k; n p(r)), where P(k; m) is the Poisson probability of k at mean m and
    p(r) is proportional to r^-exponent.

    Args:
        hits: requests of each object that was requested at least once, shape (objects,), not empty.
    """
    if len(hits) == 1 or hits.max() == 1:
        return Zipf(len(hits), 0.0)
    upper = _classes(int(hits.max()))
    seen = np.bincount(np.searchsorted(upper, hits), minlength=len(upper)).astype(np.float64)
    requests, distinct = float(hits.sum()), len(hits)

    def cost(exponent: float, beyond: float = 0.0, once: float = 0.0) -> float:
        """Return the negative log-likelihood; `beyond` is the log of the ratio of existing to observed objects."""
        popular = distinct - once * requests
        if not 0 <= exponent <= _MOST_EXPONENT or not 0 <= beyond <= 12 or not once >= 0 or popular < 1:
            return math.inf
        expected = _expected(exponent, popular * math.exp(beyond), requests * (1 - once), upper)
        expected[0] += requests * once
        expected = np.maximum(expected, 1e-12)
        return float((expected - seen * np.log(expected)).sum())

    singles = float((hits == 1).sum()) / requests
    uniform = _minimum(lambda x: cost(0.0, x[0]), [[0.02], [1.0]])
    zipf = _minimum(lambda x: cost(x[0], x[1]), [[s, b] for s in (0.1, 0.9) for b in (0.02, 1.0)])
    starts = [[max(zipf[0][0] - less, 0.1), 0.1, singles * fraction] for less, fraction in _STARTS]
    mixture = _minimum(lambda x: cost(*x), starts)
    if uniform[1] < zipf[1] + 2:
        zipf = [0.0, *uniform[0]], uniform[1]
    exponent, beyond, once = mixture[0] if mixture[1] < zipf[1] - _GAIN else [*zipf[0], 0.0]
    return Zipf(max(round((distinct - once * requests) * math.exp(beyond)), 1), exponent, once)


def _minimum(cost: Callable[[list[float]], float], starts: list[list[float]]) -> tuple[list[float], float]:
    """Minimise a cost function from several starting points; return the best point and its cost."""
    options = {"xatol": 1e-3, "fatol": 1e-2, "maxiter": 300}
    found = [scipy.optimize.minimize(cost, start, method="Nelder-Mead", options=options) for start in starts]
    best = min(found, key=lambda one: float(one.fun))
    return best.x.tolist(), float(best.fun)


def _classes(most: int) -> Indices:
    """Return the upper limit of each class of counts, up to at least `most`."""
    wide = math.ceil(math.log(max(most / _SINGLE, 1)) / math.log(4 / 3)) + 1
    edges = np.concatenate([np.arange(1, _SINGLE + 1), np.ceil(_SINGLE * (4 / 3) ** np.arange(1, wide + 1))])
    return np.unique(edges.astype(np.int64))


def _expected(exponent: float, count: float, requests: float, upper: Indices) -> Floats:
    """Return the expected number of objects in each class of counts."""
    head = np.arange(1, min(_RANKS, int(count)) + 1, dtype=np.float64)
    edges = np.geomspace(head[-1] + 0.5, max(count, head[-1]) + 0.5, _BLOCKS + 1)
    rank = np.concatenate([head, np.sqrt(edges[1:] * edges[:-1])])
    objects = np.concatenate([np.ones(len(head)), np.diff(edges)])
    weight = rank**-exponent
    mean = requests * weight / (weight * objects).sum()
    at_most = scipy.special.pdtr(np.concatenate([[0], upper])[:, None], mean)
    result: Floats = np.diff(at_most, axis=0) @ objects
    return result

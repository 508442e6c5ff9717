"""A request without contention: how long it takes, and how long it holds tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from models.network.route import Route, Stage
from traces.workload.distributions import Shape

Floats = NDArray[np.float64]

_GRID = 1 << 14


def path_s(route: Route, stay_s: Floats, least_s: Floats) -> Floats:
    """The time of each request's stages when nothing waits, shape (requests,).

    Args:
        route: the requests' route.
        stay_s, least_s: of each visit, its time, and the least that this can be; shape (requests, visits). Only
            the latter says something of a branch that is done before others.
    """
    total_s = np.zeros(len(stay_s))
    for stage, firsts in zip(route.stages, route.forks, strict=True):
        total_s += _stage_s(stage, firsts, stay_s, least_s)
    return total_s


def _stage_s(stage: Stage, firsts: tuple[int, ...], stay_s: Floats, least_s: Floats) -> Floats:
    times = stay_s if stage.need == len(stage.branches) else least_s
    ends = [times[:, at : at + len(branch)].sum(axis=1) for at, branch in zip(firsts, stage.branches, strict=True)]
    done: Floats = np.sort(np.stack(ends), axis=0)[stage.need - 1]
    return done


def held_s(route: Route, visits: Sequence[int], stay_s: Floats, least_s: Floats) -> Iterator[tuple[int, Floats | None]]:
    """How long each token is held at least that `visits` to one pool take, by the index of the visit; None: unknown.

    The other arguments are those of `path_s`. A token is held until a later visit to its pool that `releases`, or
    until all branches of the request are done. Which of several tokens a visit gives back makes no difference to
    the time that they are held in all, so takes and releases are paired where that is simplest: inside a branch, else
    with a take of an earlier stage. Where branches are not all needed a token may be taken late, and counts as 0.
    """
    pairs = _pairs(route, visits)
    for take in visits:
        if not route.visits[take].releases:
            yield take, None if pairs is None else _between_s(route, take, pairs.get(take), stay_s, least_s)


def _pairs(route: Route, visits: Sequence[int]) -> dict[int, int] | None:
    """The release of each take that has one; None where a token may be given back before another is taken."""
    pairs: dict[int, int] = {}
    open_takes: list[int] = []
    loose: list[int] = []
    for v in visits:
        if not route.visits[v].releases:
            open_takes.append(v)
        elif open_takes and route.places[open_takes[-1]] == route.places[v]:
            pairs[open_takes.pop()] = v
        elif any(take < v for take in visits if not route.visits[take].releases):
            loose.append(v)
    for v in loose:
        earlier = [
            take for take in open_takes if route.places[take][0] < route.places[v][0] and _all_needed(route, take)
        ]
        if not earlier:
            return None
        open_takes.remove(earlier[0])
        pairs[earlier[0]] = v
    return pairs


def _all_needed(route: Route, visit: int) -> bool:
    stage = route.stages[route.places[visit][0]]
    return stage.need == len(stage.branches)


def _between_s(route: Route, take: int, release: int | None, stay_s: Floats, least_s: Floats) -> Floats:
    """The time between two visits, or from one to the end of all."""
    stage, last = route.places[take]
    if not _all_needed(route, take):
        return np.zeros(len(stay_s))
    if release is not None and route.places[release] == (stage, last):
        return np.asarray(stay_s[:, take + 1 : release].sum(axis=1))
    total_s = stay_s[:, take + 1 : last + 1].sum(axis=1)
    end = len(route.stages) if release is None else route.places[release][0]
    for s in range(stage + 1, end):
        total_s += _stage_s(route.stages[s], route.forks[s], stay_s, least_s)
    if release is not None:
        first = max(f for f in route.forks[end] if f <= release)
        total_s += stay_s[:, first:release].sum(axis=1)
    return np.asarray(total_s)


@cache
def _quantiles(shape: Shape) -> tuple[Floats, Floats]:
    """The least value of each of many equally likely cells of the law, in order, and the running sums of that."""
    values = shape.quantile(np.arange(_GRID) / _GRID)
    # A mixture starts anew at each of its components: a cell that two of them share may hold anything.
    values[:-1][np.diff(values) < 0] = 0.0
    values.sort()
    return values, np.concatenate([[0.0], np.cumsum(values)])


def limited_mean(shape: Shape, limit: Floats) -> Floats:
    """The mean of min(X, limit) at least, same shape as `limit`: X has the shape's law (and mean 1).

    Known in actuarial science as the limited expected value (Klugman, Panjer, Willmot, "Loss models", section 3.1).
    """
    values, sums = _quantiles(shape)
    below = np.searchsorted(values, limit)
    beyond = _GRID - below
    return np.asarray((sums[below] + np.where(beyond, limit, 0.0) * beyond) / _GRID)

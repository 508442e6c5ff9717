"""Requests without contention: their response time, and how long they hold tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from models.network.route import Route, Stage
from traces.workload.distributions import Shape

Floats = NDArray[np.float64]

_GRID = 1 << 14


def path_s(route: Route, stay_s: Floats, least_s: Floats) -> Floats:
    """Return the no-contention response time of each request, shape (requests,).

    Args:
        route: the requests' route.
        stay_s, least_s: expected and least duration of each visit, shape (requests, visits). Only the latter bounds a
            branch that ends before others.
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


@dataclass(frozen=True)
class Hold:
    """A token of a pool that a request holds.

    Attributes:
        take: index of the visit that takes it.
        release: that of the visit that returns it; None: it is held until all branches of the request are done.
    """

    take: int
    release: int | None


def holds_of(route: Route, visits: Sequence[int]) -> tuple[list[Hold], list[int]]:
    """Return the tokens taken by `visits` to one pool, and the visits that take one for a time that is not known.

    A token is held until a later visit to its pool that `releases`, or the service before an early one, or until all
    branches of the request are done. The total holding time does not depend on which of several tokens a visit
    returns, so takes and releases are paired in the simplest way: within a branch, else with a take of an earlier
    stage. If a request may pass by some of the visits and make others, the pairs are unknown.
    """
    together = len({(route.visits[v].chance, route.visits[v].demand.occasion == 1) for v in visits}) == 1
    pairs = _pairs(route, visits) if together else None
    takes = [take for take in visits if not route.visits[take].releases]
    return ([], takes) if pairs is None else ([Hold(take, pairs.get(take)) for take in takes], [])


def _pairs(route: Route, visits: Sequence[int]) -> dict[int, int] | None:
    """Return the release of each take that has one; None if a token may be returned before another is taken."""
    pairs: dict[int, int] = {}
    open_takes: list[int] = []
    unpaired: list[int] = []
    for v in visits:
        if not route.visits[v].releases:
            open_takes.append(v)
        elif open_takes and route.places[open_takes[-1]] == route.places[v]:
            pairs[open_takes.pop()] = v
        elif any(take < v for take in visits if not route.visits[take].releases):
            unpaired.append(v)
    for v in unpaired:
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


def held_s(route: Route, hold: Hold, stay_s: Floats, least_s: Floats) -> Floats:
    """Return the least time for which each request holds a token, shape (requests,).

    The times are those of `path_s`. If not all branches are needed, a token may be taken late, and its holding time
    counts as 0.
    """
    take, release = hold.take, hold.release
    stage, last = route.places[take]
    if not _all_needed(route, take):
        return np.zeros(len(stay_s))
    until = -1 if release is None else release - route.visits[release].early
    if release is not None and route.places[release] == (stage, last):
        return np.asarray(stay_s[:, take + 1 : until].sum(axis=1))
    total_s = stay_s[:, take + 1 : last + 1].sum(axis=1)
    end = len(route.stages) if release is None else route.places[release][0]
    for s in range(stage + 1, end):
        total_s += _stage_s(route.stages[s], route.forks[s], stay_s, least_s)
    if release is not None:
        first = max(f for f in route.forks[end] if f <= release)
        total_s += stay_s[:, first:until].sum(axis=1)
    return np.asarray(total_s)


@cache
def _quantiles(shape: Shape) -> tuple[Floats, Floats]:
    """Return lower bounds of the values in equally likely intervals of a shape, sorted, and their partial sums."""
    values = shape.quantile(np.arange(_GRID) / _GRID)
    # The quantiles of a mixture start again at each component: an interval with two components has lower bound 0.
    values[:-1][np.diff(values) < 0] = 0.0
    values.sort()
    return values, np.concatenate([[0.0], np.cumsum(values)])


def limited_mean(shape: Shape, limit: Floats) -> Floats:
    """Return a lower bound of the mean of min(X, limit), same shape as `limit`: X has the given shape, and mean 1.

    This is the limited expected value of actuarial science (Klugman, Panjer, Willmot, "Loss models", section 3.1).
    """
    values, sums = _quantiles(shape)
    below = np.searchsorted(values, limit)
    beyond = _GRID - below
    return np.asarray((sums[below] + np.where(beyond, limit, 0.0) * beyond) / _GRID)

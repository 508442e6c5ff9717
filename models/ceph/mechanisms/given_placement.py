"""Placement groups as a real cluster has them: as many on each OSD, and as many of them as the primary.

CRUSH distributes placement groups at random, by weight; real clusters differ, because a balancer moved some
(pg-upmap-items, pg-upmap-primary), or because weights changed. Where both numbers of each OSD are known, CRUSH gets
weights with which it comes near to them, and a few placement groups are moved, as by pg-upmap-items.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from models.ceph.mechanisms.crush import NO_OSD

Osds = NDArray[np.int32]
Counts = NDArray[np.float64]
Move = tuple[int, int, int]
"""A placement group, the position in it, and the OSD there afterwards."""

_ROUNDS = 24
_NEAR = 0.01  # of all, as a sum over OSDs: few enough to be moved
_STEP = 0.7  # of the logarithm of a weight: a whole step overshoots where OSDs of a host compete


def targets(given: Sequence[float], total: int) -> NDArray[np.int64]:
    """Return whole numbers in proportion to those given, with this sum, shape (len(given),)."""
    exact = np.array(given, float) / sum(given) * total
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: total - int(counts.sum())]] += 1
    return counts


def fitted_weights(place: Callable[[Counts], Osds], weights: Counts, wanted: NDArray[np.int64]) -> Counts:
    """Return the weights, of those tried, with which the numbers of placement groups are the nearest to those wanted.

    Args:
        place: returns the OSDs of placement groups for weights of OSDs.
        weights: to begin with, above 0 where an OSD is wanted, shape (osds,).
        wanted: number of placement groups of each OSD, shape (osds,).
    """
    now = np.where(wanted > 0, np.where(weights > 0, weights, weights.max()), 0.0)
    best, least = now, np.inf
    for _ in range(_ROUNDS):
        counts = _counts(place(now), len(wanted))
        wrong = float(np.abs(counts - wanted).sum())
        if wrong < least:
            best, least = now, wrong
        if wrong <= _NEAR * wanted.sum():
            break
        ratio = np.where(wanted > 0, wanted / np.maximum(counts, 0.5), 1.0)
        now = now * ratio**_STEP
        now = now / now.max()
    return best


def moves(table: Osds, wanted: NDArray[np.int64], domain: NDArray[np.int64]) -> list[Move]:
    """Return the moves after which OSDs have as many placement groups as wanted, or nearly: none twice in a domain.

    Args:
        table: the OSDs of each placement group, shape (pgs, width).
        wanted: number of placement groups of each OSD, shape (osds,).
        domain: failure domain of each OSD, shape (osds,).
    """
    now, found = table.copy(), list[Move]()
    excess = _counts(now, len(wanted)) - wanted
    for osd in np.argsort(-excess, kind="stable").tolist():
        if excess[osd] <= 0:
            break
        for pg, position in zip(*np.nonzero(now == osd), strict=True):
            if excess[osd] <= 0:
                break
            others = domain[np.delete(now[pg], position)]
            free = np.where(np.isin(domain, others), 0, excess)
            to = int(free.argmin())
            if free[to] < 0:
                found.append((int(pg), int(position), to))
                now[pg, position] = to
                excess[osd] -= 1
                excess[to] += 1
    return found


def moved(table: Osds, of: Sequence[Move]) -> Osds:
    """Return the table after moves."""
    result = table.copy()
    for pg, position, to in of:
        result[pg, position] = to
    return result


def without(table: Osds, again: Osds, domain: NDArray[np.int64], weight: Counts, out: Collection[int]) -> Osds:
    """Return the table with other OSDs in place of those that are out; `NO_OSD` if no failure domain is left.

    Args:
        table: the OSDs of each placement group, shape (pgs, width).
        again: those that CRUSH chooses while these are out, from which others are taken first.
        domain: failure domain of each OSD, shape (osds,).
        weight: of each OSD, shape (osds,); those of weight 0 have no data.
        out: the OSDs that are out.
    """
    usable = weight > 0
    usable[list(out)] = False
    result = table.copy()
    for pg, position in zip(*np.nonzero(~usable[table]), strict=True):
        others = np.delete(result[pg], position)
        free = usable & ~np.isin(domain, domain[others[others != NO_OSD]])
        chosen = [osd for osd in (again[pg, position], *again[pg]) if osd != NO_OSD and free[osd]]
        left = chosen or np.roll(np.flatnonzero(free), -int(pg)).tolist()
        result[pg, position] = left[0] if left else NO_OSD
    return result


def primaries(table: Osds, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of the primary of each placement group, shape (pgs,), for the wanted numbers, or nearly.

    A placement group gives its turn to another of its OSDs, along the shortest way from one with too many to one with
    too few.
    """
    chosen = np.zeros(len(table), np.int64)
    excess = _counts(table[:, :1], len(wanted)) - wanted
    held: list[set[int]] = [set() for _ in wanted]
    for pg, osd in enumerate(table[:, 0].tolist()):
        held[osd].add(pg)
    rows = table.tolist()
    for start in range(len(wanted)):
        while excess[start] > 0:
            way = _way(start, excess, held, rows)
            if not way:
                break
            excess[start] -= 1
            for pg, position in way:
                held[rows[pg][chosen[pg]]].discard(pg)
                chosen[pg] = position
                held[rows[pg][position]].add(pg)
            last_pg, last = way[-1]
            excess[rows[last_pg][last]] += 1
    return chosen


def _way(start: int, excess: NDArray[np.int64], held: list[set[int]], rows: list[list[int]]) -> list[tuple[int, int]]:
    """Return placement groups, each with the position of its next primary, that end at an OSD with too few; or none."""
    before: dict[int, tuple[int, int, int]] = {}
    waiting = deque([start])
    while waiting:
        osd = waiting.popleft()
        for pg in sorted(held[osd]):
            for position, other in enumerate(rows[pg]):
                if other == start or other in before:
                    continue
                before[other] = osd, pg, position
                if excess[other] < 0:
                    way = []
                    while other != start:
                        other, pg, position = before[other]
                        way.append((pg, position))
                    return way[::-1]
                waiting.append(other)
    return []


def in_front(table: Osds, position: NDArray[np.int64], unless: NDArray[np.bool_]) -> Osds:
    """Return the table with the OSD at a position of each placement group in front, in exchange for the first one.

    `unless`: placement groups that stay as they are, shape (pgs,).
    """
    rows = np.flatnonzero((position > 0) & ~unless)
    result = table.copy()
    result[rows, 0], result[rows, position[rows]] = table[rows, position[rows]], table[rows, 0]
    return result


def _counts(table: Osds, osds: int) -> NDArray[np.int64]:
    return np.bincount(table[table != NO_OSD], minlength=osds)

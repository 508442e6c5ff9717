"""Bounds of the working time of stations, from the demands of visits."""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from models.network.network import Network
from sim.demands.visit_places import Places
from sim.engine.outcome import Floats

_MOST_CELLS = 4_000_000
"""Requests times places whose times are added up at a time. It affects results, because sums are rounded."""


class StationWork:
    """Bounds of the working time of a network's stations, from the visits to its places.

    Pools and gates take no time. A batch takes its first member's demand, `batch_item_s` for each further one, and at
    most `flush_s`.
    Which members are first is unknown. When a batch begins, its first member's demand is independent of the past, so
    the bounds hold for expectations as well as for drawn demands.
    The lower bound of a place with several stations is the smallest of theirs.

    Attributes:
        works: whether a visit takes time at some station of the place, shape (places,).
        holds, may_hold: whether all of its stations are pools, and whether any is, shape (places,).
        least_square_s2: sum over requests of the squares of their certain time at a place, shape (places,).
        queueing_s, delay_s: sums over the visits of `add_most`, at stations with a queue and at infinite servers.
    """

    def __init__(self, network: Network, places: Places, background: bool):
        """`background`: there is a background load, so any job may be the first of a batch."""
        self.places = places
        kinds = [station.discipline for station in network.stations]
        item_s = np.array([s.batch_item_s for s in network.stations])
        commits, passes = np.array([d.batches for d in kinds]), np.array([not d.takes_time for d in kinds])
        infinite, holds = np.array([d.infinite for d in kinds]), np.array([d.holds_tokens for d in kinds])
        self.is_commit = places.of_each(commits, np.any)
        self.is_idle = places.of_each(passes, np.any)
        self.works = ~places.of_each(passes, np.all)
        self.holds = places.of_each(holds, np.all)
        self.may_hold = places.of_each(holds, np.any)
        self.least_item_s = places.of_each(np.where(commits, item_s, np.inf), np.min)
        self.most_item_s = places.of_each(np.where(commits, item_s, 0.0), np.max)
        longer_s = [s.setup_s + s.flush_s + (s.caches.cold_penalty_s if s.caches else 0.0) for s in network.stations]
        self.longer_s = places.of_each(np.array(longer_s), np.max)  # after idling or in a batch, at most
        self.is_delay = places.of_each(infinite, np.any)
        self.is_queue = places.of_each(~passes & ~infinite, np.any)
        # If not all visits are known, the first demand of a batch is unknown.
        self.is_known = np.full(len(places), not background)
        self.is_known[places.stations :] = False
        self.is_known[: places.stations] &= ~(places.columns[places.tabled :] > 0).any(axis=0)
        self.head_s = np.where(self.is_known, np.inf, 0.0) * np.ones((2, 1))
        self.least_s, self.most_s, self.least_square_s2 = (np.zeros(len(places)) for _ in range(3))
        self.queueing_s = self.delay_s = 0.0
        self._of_roots: list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]] = []

    def at(self, places: Places) -> StationWork:
        """Return the work at the same places, of whose fractions others are known."""
        found = copy(self)
        found.places = places
        return found

    def add_batch_starts(self, place: NDArray[np.int64], demand_s: Floats, least_s: Floats) -> None:
        """Add all visits that may begin a batch, also those of failed requests; all shape (visits,)."""
        mine = self.is_commit[place]
        where, demand_s, least_s = place[mine], demand_s[mine], least_s[mine]
        np.minimum.at(self.head_s[0], where, demand_s)
        np.minimum.at(self.head_s[1], where, least_s)

    def add_least(
        self, place: NDArray[np.int64], demand_s: Floats, made: Floats, root: NDArray[np.int64] | None = None
    ) -> None:
        """Add visits that certainly take place if they are `made` (expected number); all shape (requests, visits).

        `root`: the request that each sub-request descends from, shape (requests,); its square counts at `end_sheet`.
        """
        spent_s = np.where(self.is_idle[place], 0.0, np.minimum(demand_s, self.least_item_s[place]) * made)
        if root is not None:
            self.least_s += np.bincount(place.ravel(), spent_s.ravel(), len(self.places))
            self._of_roots.append((np.repeat(root, place.shape[1]), place.ravel(), spent_s.ravel()))
            return
        count = len(self.places)
        # The visits of a request in the order of their places, and those of one place as one.
        order = np.argsort(place, axis=1, kind="stable")
        places = np.take_along_axis(place, order, axis=1)
        begins = np.ones(place.shape, bool)
        np.not_equal(places[:, 1:], places[:, :-1], out=begins[:, 1:])
        which = np.cumsum(begins) - 1
        each_s = np.bincount(which, np.take_along_axis(spent_s, order, axis=1).ravel())
        # Sums are rounded by part, as they were of a table of all places.
        rows, at = np.nonzero(begins)
        part = rows // max(1, _MOST_CELLS // count)
        cell = part * count + places[rows, at]
        for total, figures in ((self.least_s, each_s), (self.least_square_s2, each_s**2)):
            for of_part in np.bincount(cell, figures, (int(part.max(initial=-1)) + 1) * count).reshape(-1, count):
                total += of_part

    def end_sheet(self) -> None:
        """Add the squares of the time of each request at each place, that of its descendants included."""
        if not self._of_roots:
            return
        root, place, spent_s = (np.concatenate(parts) for parts in zip(*self._of_roots, strict=True))
        cell, which = np.unique(root * len(self.places) + place, return_inverse=True)
        each_s = np.bincount(which, spent_s, len(cell))
        self.least_square_s2 += np.bincount(cell % len(self.places), each_s**2, len(self.places))
        self._of_roots.clear()

    def add_most(self, place: NDArray[np.int64], demand_s: Floats, made: Floats, repeated: NDArray[np.bool_]) -> None:
        """Add visits that may take place if they are `made` (expected number), or more often if `repeated`.

        All have the shape (visits,).
        """
        spent_s = (np.maximum(demand_s, self.most_item_s[place]) + self.longer_s[place]) * self.works[place] * made
        spent_s[repeated & (spent_s > 0)] = np.inf
        self.queueing_s += np.inf if repeated.any() else 0.0  # pauses, too
        self.most_s += np.bincount(place, spent_s, len(self.places))
        slow_s = spent_s / self.places.slowest[place]
        self.queueing_s += slow_s[self.is_queue[place]].sum()
        self.delay_s += slow_s[self.is_delay[place]].sum()

    def errors_s(self, held_s: Floats, held_square_s2: Floats, count: float) -> Floats:
        """Return the standard errors of the lower bounds of `totals_s`, shape (resources,), if requests are random.

        They are those of the differences between stations: work that is distributed among stations by known fractions
        is more or less at all of them by chance, and has none.

        Args:
            held_s, held_square_s2: holding times of tokens, and sums of their squares; shape (places,).
            count: number of requests.
        """
        total_s = np.where(self.holds, held_s, self.least_s)
        square_s2 = np.where(self.holds, held_square_s2, self.least_square_s2)
        error_s = np.sqrt(np.maximum(square_s2 - total_s**2 / max(count, 1), 0.0)) / self.places.fastest
        error_s[self.places.stations :][self.places.known_fraction] = 0.0
        return self.places.certain(error_s)

    def totals_s(self, held_s: Floats) -> tuple[Floats, Floats]:
        """Return bounds of the resources' working time, shape (resources,); `held_s`: of tokens, shape (places,)."""
        low_s = np.where(self.holds, held_s, self.least_s / self.places.fastest)
        return self.places.certain(low_s), self.places.possible(self.most_s / self.places.slowest)

    def stay_s(self, place: NDArray[np.int64], demand_s: Floats, row: int) -> Floats:
        """Return the least duration of each visit, same shape: a commit may join another job's batch."""
        joined_s = self.head_s[row][place] + self.least_item_s[place]
        spent_s = np.where(self.is_idle[place], 0.0, np.minimum(demand_s, joined_s))
        return np.asarray(spent_s / self.places.fastest[place])

"""Service demands of a mix of requests at each station, and its no-contention response time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests, Sheet, draw_sheet
from models.network.descendants import at_a_time
from models.network.network import Network
from models.network.route import Route, Visit
from models.network.station import Bound, Member
from sim.demands.certainty import are_hedged, are_sure, is_done, is_hedged, lasting_pools, may_refuse, repeated
from sim.demands.changed_networks import with_all_visits, with_service_demands
from sim.demands.key_odds import KeyOdds
from sim.demands.lineage import Lineage, Weights, family_s, flattened, parents_first
from sim.demands.no_contention import Hold, held_s, holds_of, limited_mean, path_s
from sim.demands.station_work import StationWork
from sim.demands.supported_features import uncounted_feature
from sim.demands.visit_places import Places, Resource, stations_of, visits_together
from sim.engine.outcome import Floats
from traces.errors import InputError
from traces.workload.distributions import Deterministic, Shape

BLOCK = 4096
"""Requests whose demands are drawn at a time. It affects results, because sums are rounded by block."""
_KEPT = 5 * BLOCK  # requests, at most, whose sheets are kept for the second pass
_KEPT_VISITS = 1_000_000  # visits, at most, of which blocks are kept, at 48 bytes each


@dataclass(frozen=True)
class LeastDemands:
    """The least service demands per successful request.

    Attributes:
        resources: the stations, and all members of a group together.
        low_s: lower bound of the resource's working time per request of the mix, shape (resources,).
        low_error_s: standard error of `low_s` as that of all requests of the workload, shape (resources,).
    """

    resources: tuple[Resource, ...]
    low_s: Floats
    low_error_s: Floats


@dataclass(frozen=True)
class Demands(LeastDemands):
    """Service demands per successful request.

    The time of a GROUP_COMMIT station for a request depends on its batches, and that of a group member on the requests
    bound to it, so only bounds, `low_s` and `high_s`, are known. The same applies to a request that may have several
    attempts: at least one, at most all that its policy allows. A pool's demand is the time that its tokens are held: at
    least that of a request without contention, without an upper bound.

    Attributes:
        fraction: of each route among the requests, shape (routes,).
        visits: visits of one attempt, spread evenly over group members, shape (routes, stations).
        mean_s: service time of one attempt, each visit as if in a batch of its own, shape (routes, stations).
        requested: visits of one attempt of the mix (for pools: tokens taken), shape (resources,).
        high_s: upper bound of the resource's working time per request of the mix, shape (resources,).
        queueing_s, delay_s: upper bounds per request of the mix for all attempts in sequence: service time at stations
            with a queue, and time at infinite servers.
        no_contention_s: lower bound of a route's mean response time, shape (routes,): the critical path of its forks
            without waiting. Requests that time out count with the time they took, refused ones do not count.
        unknown_pools: pools with an unknown holding time of tokens.
    """

    fraction: Floats
    visits: Floats
    mean_s: Floats
    requested: Floats
    high_s: Floats
    queueing_s: float
    delay_s: float
    no_contention_s: Floats
    unknown_pools: tuple[str, ...]


@dataclass(frozen=True)
class _Block:
    """Successful requests of one route, or sub-requests of such: the visits of the successful attempt, shape (requests,
    visits). The successful attempt of a sub-request is taken to be its first one.

    Attributes:
        rows: their rows in the flattened Sheet, shape (requests,).
        demand_s, least_s: expected and least demand, if the visit is made.
        made: the expected number of visits: 1, 0 if the request passes by, between them if that is not known.
        winner: the successful attempt, shape (requests,).
        every_s, every_made: the same of all attempts, shape (requests, attempts, visits).
    """

    k: int
    route: Route
    rows: NDArray[np.int64]
    winner: NDArray[np.int64]
    place: NDArray[np.int64]
    demand_s: Floats
    least_s: Floats
    made: Floats
    every_s: Floats
    every_made: Floats


_Flat = tuple[Sheet, Sheet, NDArray[np.int64], Lineage, tuple[_Block, ...]]
"""Sheets of all rows with demands and least demands, the successful attempts, who starts whom, and the blocks."""

_Chunks = Callable[[], Iterator[tuple[Sheet, Sheet, NDArray[np.int64]]]]
"""Sheets with demands, Sheets with least possible demands, and the successful attempt of each request (-1: none)."""


def mean_demands(
    network: Network,
    requests: Requests,
    any_keys: Collection[int] = (),
    settled: bool = False,
    even_clients: bool = False,
) -> Demands:
    """Return the expected demands of all rows of `requests`, each counted once, from the means of service demands.

    If a stage needs all of its branches, the expected end of the last is at least the largest of the branches'
    expectations. The first of several branches or attempts ends no earlier than with its least possible demand; so
    random demands count as 0 in `no_contention_s` if a stage needs only some of its branches, and if another attempt
    may end earlier, only the time until then counts.

    Stations of visits that certainly take place have their demand in expectation even if requests are hedged, cancelled
    or time out: a job in service stays to the end, and a visit begins before its demand affects anything.

    Args:
        network: the network.
        requests: its requests.
        any_keys: routes whose demands are those expected of other keys, which select all rows of placement tables
            equally often. Holding times of tokens are those of the keys at hand.
        settled: whether the run is long enough for branches that no stage needs to get the tokens that they wait for.
        even_clients: whether all client machines issue equally many requests, as in an open loop.

    Raises:
        InputError: there are no requests, or the network has an unsupported feature.
    """
    return MeanDemands(network, requests, settled).demands(any_keys, even_clients)


class MeanDemands:
    """The expected demands of some requests, with other keys and clients, of which the service demands are drawn once.

    Arguments are those of `mean_demands`. `key_odds`: the other keys of some routes.
    """

    def __init__(
        self, network: Network, requests: Requests, settled: bool, key_odds: Mapping[int, KeyOdds] | None = None
    ):
        self._network, self._requests, self._settled = network, requests, settled
        self._key_odds = key_odds or {}
        self._chunks = _mean_chunks(network, requests)
        self._sums: DemandSums | None = None

    def demands(self, any_keys: Collection[int] = (), even_clients: bool = False) -> Demands:
        """Return the demands, as `mean_demands` does."""
        if self._sums is None or not self._sums.is_of(any_keys, even_clients):
            self._sums = self._of(any_keys, even_clients)
        return self._sums.demands(self._chunks)

    def least(self, any_keys: Collection[int] = (), even_clients: bool = False) -> LeastDemands:
        """Return the least demands, equal to those that `demands` would return, in a part of the time."""
        if self._sums is None:
            self._sums = self._of(any_keys, even_clients=False)
        return self._sums.least(self._chunks, any_keys, even_clients)

    def _of(self, any_keys: Collection[int], even_clients: bool) -> DemandSums:
        network, requests = self._network, self._requests
        routes, background = np.unique(requests.route).tolist(), bool(requests.background)
        return DemandSums(network, routes, background, True, any_keys, self._settled, even_clients, self._key_odds)


def _mean_chunks(network: Network, requests: Requests) -> _Chunks:
    made = with_all_visits(network)
    mean = with_service_demands(made, lambda demand: demand.model_copy(update={"distribution": Deterministic()}))
    least = with_service_demands(
        made, lambda demand: demand if isinstance(demand.distribution, Deterministic) else demand.scaled(0.0)
    )

    block = at_a_time(network, requests, BLOCK)

    @cache
    def chunk(first: int) -> tuple[Sheet, Sheet, NDArray[np.int64]]:
        count = min(block, len(requests) - first)
        means, leasts = (draw_sheet(drawn, requests, 0, first, count) for drawn in (mean, least))
        return means, leasts, np.zeros(count, np.int64)

    kept = chunk if len(requests) <= _KEPT else chunk.__wrapped__

    def chunks() -> Iterator[tuple[Sheet, Sheet, NDArray[np.int64]]]:
        return map(kept, range(0, len(requests), block))

    return chunks


class DemandSums:
    """Sums over the requests of a network, by place."""

    def __init__(
        self, network: Network, routes: list[int], background: bool, expected: bool,
        any_keys: Collection[int] = (), settled: bool = False, even_clients: bool = False,
        key_odds: Mapping[int, KeyOdds] | None = None,
    ):  # fmt: skip
        feature = uncounted_feature(network)
        if feature is not None:
            raise InputError(f"analysis without simulation does not support {feature}")
        self.network, self.routes, self.background, self.expected = network, routes, background, expected
        self.order, self._key_odds = parents_first(network), key_odds
        self.places = self._places(any_keys, even_clients)
        self.work = StationWork(network, self.places, background)
        shape = (len(network.routes), len(self.places))
        self.present = np.zeros(len(network.routes))
        self.visits, self.total_s, self.taken = np.zeros(shape), np.zeros(shape), np.zeros(shape[1])
        self.ever_taken = np.zeros(shape[1])
        self.held_s, self.held_square_s2, self.unknown = np.zeros(shape[1]), np.zeros(shape[1]), set[int]()
        self.no_contention_s = np.zeros(shape[0])
        self._any_keys, self._even_clients = frozenset(any_keys), even_clients
        self._least: dict[frozenset[int], StationWork] = {}
        self._has_no_contention = False
        self._found: Demands | None = None
        self._kept: list[_Flat] = []
        self._batching: dict[int | Member | Bound, bool] = {}
        self._lasting = frozenset(range(len(network.stations))) if settled else lasting_pools(network)

    def _places(self, any_keys: Collection[int], even_clients: bool) -> Places:
        own = set(any_keys).union(set(self.network.with_sub_requests(any_keys)).difference(self.routes))
        routes = self.network.with_sub_requests(self.routes)
        return Places(self.network, routes, self.expected, own, even_clients, self._key_odds)

    def is_of(self, any_keys: Collection[int], even_clients: bool) -> bool:
        """Whether the sums are those with these keys and clients."""
        return self._any_keys == frozenset(any_keys) and self._even_clients == even_clients

    def demands(self, chunks: _Chunks) -> Demands:
        """Return the demands."""
        if self._found is None:
            self._found = self._demands(chunks)
        return self._found

    def _demands(self, chunks: _Chunks) -> Demands:
        self._add_certain(chunks)
        for _, _, winner, lineage, blocks in self._flat(chunks):
            weights = Weights.of(lineage, winner)
            for block in blocks:
                self._add(block, lineage, weights)
        if not self._has_no_contention:
            self._add_times(chunks, held=False)
        count = self.present.sum()
        requested = np.maximum(self.present, 1)
        resources = self.places.resources()
        low_s, high_s = self.work.totals_s(self.held_s)
        is_pool = np.array([r.kind == "pool" for r in resources])
        holds = [any(self.work.holds[k] for k in r.stations) for r in resources]
        visits = self.places.certain(self.visits.sum(axis=0))
        return Demands(
            resources=resources,
            fraction=self.present / count,
            visits=self.places.evenly(self.visits) / requested[:, None],
            mean_s=self.places.evenly(self.total_s) * ~self.work.is_idle[: self.places.stations] / requested[:, None],
            requested=np.where(is_pool, self.places.certain(self.taken), visits) / count,
            low_s=low_s / count,
            low_error_s=self.work.errors_s(self.held_s, self.held_square_s2, count) / count,
            high_s=np.where(holds & (self.places.possible(self.ever_taken) > 0), np.inf, high_s / count),
            queueing_s=float(self.work.queueing_s / count),
            delay_s=float(self.work.delay_s / count),
            no_contention_s=self.no_contention_s / requested,
            unknown_pools=tuple(self.network.stations[k].name for k in sorted(self.unknown)),
        )

    def _add_certain(self, chunks: _Chunks) -> None:
        """Add what least demands consist of: the least work, and how long tokens are held; once."""
        if self._any_keys in self._least:
            return
        commits = self.work.is_commit.any()
        for flat, least, winner, lineage, blocks in self._flat(chunks):
            if commits:
                self.work.add_batch_starts(*self._possible(flat, least))
            weights = Weights.of(lineage, winner)
            for block in blocks:
                self.present[block.k] += (block.rows < lineage.requests).sum()
                self._weigh_children(block, lineage, weights)
                spread = self.places.of_any_key(block.k, block.place)
                self._add_least(self.work, block, spread, lineage, weights.sure[block.rows, None])
            self.work.end_sheet()
        if not self.present.sum():
            raise InputError("there are no requests, so there are no service demands")
        if self.work.may_hold.any():
            self._add_times(chunks, held=True)
        self._least[self._any_keys] = self.work

    def _add_times(self, chunks: _Chunks, held: bool) -> None:
        """Add how long requests hold tokens (`held`), or how long they take without contention.

        While visits wait for sub-requests, how long these take tells how long tokens are held, so both are added. The
        least duration of a commit depends on all requests, so all work comes first.
        """
        families = self.network.has_sub_requests
        for _, _, winner, lineage, blocks in self._flat(chunks):
            weights = Weights.of(lineage, winner)
            for block in blocks if families else ():
                self._weigh_children(block, lineage, weights)
            time_s = np.zeros((2, len(lineage.root)))
            for block in reversed(blocks) if families else blocks:
                stay_s = self.work.stay_s(block.place, block.demand_s, 0) * block.made
                least_s = self.work.stay_s(block.place, block.least_s, 1) * (block.made == 1)
                families_s = self._families_s(block, lineage, time_s)
                if held:
                    sure = weights.sure[block.rows]
                    self._add_held(block, stay_s + families_s[0], least_s + families_s[1], sure)
                if families or not held:
                    self._add_no_contention(block, lineage, stay_s, least_s, families_s, time_s)
        self._has_no_contention |= families or not held

    def _flat(self, chunks: _Chunks) -> Iterator[_Flat]:
        """Yield the chunks with their blocks; of few visits, blocks are made once for all passes."""
        if self._kept:
            yield from self._kept
            return
        kept: list[_Flat] = []
        visits = 0
        for sheet, least, winner in chunks():
            lineage = Lineage.of(self.network, sheet)
            responded = np.where(winner[lineage.root] >= 0, 0, -1)
            responded[: lineage.requests] = winner
            flat, flat_least = flattened(sheet), flattened(least)
            found = flat, flat_least, responded, lineage, tuple(self._blocks(flat, flat_least, responded))
            visits += len(flat.station)
            kept = [*kept, found] if visits <= _KEPT_VISITS else []
            yield found
        self._kept = kept if visits <= _KEPT_VISITS else []

    def _possible(self, sheet: Sheet, least: Sheet) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return the places, demands and least demands of visits of all attempts that may be made; shape (visits,)."""
        place = np.zeros(len(sheet.station), np.int64)
        for k, mine, at in self._rows(sheet):
            route = self.network.routes[k]
            once = self.places.of(route, sheet.station[at[:, 0]], sheet.key_hash[mine])
            place[at] = once[:, None, :]
        made = sheet.demand_s >= 0
        return place[made], sheet.demand_s[made], least.demand_s[made]

    def _rows(self, sheet: Sheet) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Yield each route, its requests, and the indices of their visits: shape (requests, attempts, visits)."""
        for k in self.order:
            route, mine = self.network.routes[k], np.flatnonzero(sheet.route == k)
            if len(mine):
                width, attempts = len(route.visits), route.policy.attempts
                steps = np.arange(attempts * width).reshape(attempts, width)
                yield k, mine, sheet.first_visit[mine][:, None, None] + steps

    def _blocks(self, sheet: Sheet, least: Sheet, winner: NDArray[np.int64]) -> Iterator[_Block]:
        for k, mine, at in self._rows(sheet):
            responded = winner[mine] >= 0
            mine, at = mine[responded], at[responded]
            if not len(mine):
                continue
            route, won = self.network.routes[k], at[np.arange(len(mine)), winner[mine]]
            place = self.places.of(route, sheet.station[won], sheet.key_hash[mine])
            fraction = np.array([visit.fraction for visit in route.visits]) if self.expected else 1.0
            made, every_made = (np.where(sheet.demand_s[of] >= 0, fraction, 0.0) for of in (won, at))
            demand_s, least_s, every_s = (
                np.maximum(times, 0.0) for times in (sheet.demand_s[won], least.demand_s[won], sheet.demand_s[at])
            )
            yield _Block(k, route, mine, winner[mine], place, demand_s, least_s, made, every_s, every_made)

    def _add(self, block: _Block, lineage: Lineage, weights: Weights) -> None:
        places = len(self.places)
        self._weigh_children(block, lineage, weights)
        won, every = (of[block.rows, None] for of in (weights.won, weights.every))
        hedged = is_hedged(block.route)
        usual = np.flatnonzero(~np.array(hedged))
        spread = self.places.of_any_key(block.k, block.place)
        made = block.made[:, usual] * won
        for k, mine in self._of_requests(block, lineage):
            place, of_route = spread[mine][:, usual].ravel(), made[mine].ravel()
            self.visits[k] += np.bincount(place, of_route, places)
            self.total_s[k] += np.bincount(place, of_route * block.demand_s[mine][:, usual].ravel(), places)
        takes = np.array([not visit.releases for visit in block.route.visits])
        surely, ever = np.flatnonzero(takes & ~np.array(hedged)), np.flatnonzero(takes)
        self.taken += np.bincount(block.place[:, surely].ravel(), (block.made[:, surely] * won).ravel(), places)
        # Another attempt may make visits that the successful one passes by.
        most = block.every_made.max(axis=1) * every
        self.ever_taken += np.bincount(block.place[:, ever].ravel(), most[:, ever].ravel(), places)
        all_places = np.broadcast_to(spread[:, None, :], block.every_s.shape)
        made = (block.every_made * every[:, None]).ravel()
        endless = np.broadcast_to(repeated(self.network, block.route), block.every_s.shape).ravel()
        self.work.add_most(all_places.ravel(), block.every_s.ravel(), made, endless & (made > 0))

    def _add_least(
        self, work: StationWork, block: _Block, spread: NDArray[np.int64], lineage: Lineage, sure: Floats
    ) -> None:
        done = np.flatnonzero(is_done(self.network, block.route, self._lasting))
        root = lineage.root[block.rows] if self.network.has_sub_requests else None
        work.add_least(spread[:, done], block.demand_s[:, done], block.made[:, done] * sure, root)

    def least(self, chunks: _Chunks, any_keys: Collection[int], even_clients: bool) -> LeastDemands:
        """Return the least demands with other keys and clients.

        Holding times of tokens are those of the keys at hand: only the columns of placement tables differ.
        """
        self._add_certain(chunks)
        places = self._places(any_keys, even_clients)
        stations, tabled = places.stations, self.places.tabled
        held_s, held_square_s2 = (
            np.concatenate([held[:stations], np.zeros(places.tabled), held[stations + tabled :]])
            for held in (self.held_s, self.held_square_s2)
        )
        work, count = self._least_work(chunks, any_keys).at(places), self.present.sum()
        low_error_s = work.errors_s(held_s, held_square_s2, count) / count
        return LeastDemands(places.resources(), work.totals_s(held_s)[0] / count, low_error_s)

    def _least_work(self, chunks: _Chunks, any_keys: Collection[int]) -> StationWork:
        """Return the work with other keys, of which the least is added up once: it is the same for all clients."""
        keys = frozenset(any_keys)
        if keys not in self._least:
            places = self._places(any_keys, even_clients=False)
            work = StationWork(self.network, places, self.background)
            stations, further = places.stations, places.tabled - self.places.tabled
            for _, _, winner, lineage, blocks in self._flat(chunks):
                weights = Weights.of(lineage, winner)
                for block in blocks:
                    self._weigh_children(block, lineage, weights)
                    place = np.where(block.place < stations, block.place, block.place + further)
                    spread = places.of_any_key(block.k, place)
                    self._add_least(work, block, spread, lineage, weights.sure[block.rows, None])
                work.end_sheet()
            self._least[keys] = work
        return self._least[keys]

    def _of_requests(self, block: _Block, lineage: Lineage) -> Iterator[tuple[int, slice | NDArray[np.int64]]]:
        """Yield the routes of the requests that a block's rows descend from, and these rows."""
        if not self.network.has_sub_requests:
            yield block.k, slice(None)
            return
        of = lineage.route[lineage.root[block.rows]]
        for k in np.unique(of).tolist():
            yield k, np.flatnonzero(of == k)

    def _weigh_children(self, block: _Block, lineage: Lineage, weights: Weights) -> None:
        """Set the weights of the sub-requests that a block's rows start."""
        if not block.route.starts:
            return
        of_row = np.full(len(lineage.root), -1)
        of_row[block.rows] = np.arange(len(block.rows))
        children = np.flatnonzero(of_row[lineage.parent] >= 0)
        hedged, done = are_hedged(block.route), is_done(self.network, block.route, self._lasting)
        known = self.expected or block.route.policy.attempts == 1
        for position, sub in block.route.starts:
            mine = children[lineage.position[children] == position]
            at, attempt, row = of_row[lineage.parent[mine]], lineage.attempt[mine], lineage.requests + mine
            parent, won = block.rows[at], attempt == block.winner[at]
            is_known = known | (parent < lineage.requests)
            alone = all(self.network.routes[route].policy.attempts == 1 for route in sub.routes)
            is_single = self.expected or alone
            sure = done[position] and not hedged[position] and is_single and are_sure(self.network, sub, self._lasting)
            weights.won[row] = weights.won[parent] * won * block.made[at, position] * (not hedged[position])
            weights.sure[row] = weights.sure[parent] * won * is_known * block.made[at, position] * sure
            weights.every[row] = weights.every[parent] * block.every_made[at, attempt, position]

    def _add_no_contention(
        self, block: _Block, lineage: Lineage, stay_s: Floats, least_s: Floats, families_s: Floats, time_s: Floats
    ) -> None:
        """Add the block's response times without contention; those of sub-requests go into `time_s`, shape (2, rows):
        expected and least."""
        if self.expected:
            each_s = self._expected_no_contention_s(block, stay_s, least_s, families_s)
        else:
            each_s = path_s(block.route, stay_s + families_s[0], least_s + families_s[1])
        own = block.rows < lineage.requests
        if not self.expected and block.route.policy.attempts > 1:  # which attempt of a sub-request wins is not known
            each_s = np.where(own, each_s, np.minimum(each_s, self._end_s(block.route, np.zeros(len(own)))))
        self.no_contention_s[block.k] += each_s.sum() if own.all() else each_s[own].sum()
        time_s[0, block.rows] = each_s
        least_path_s = path_s(block.route, least_s + families_s[1], least_s + families_s[1])
        time_s[1, block.rows] = np.minimum(each_s, np.minimum(least_path_s, self._end_s(block.route, least_path_s)))

    def _families_s(self, block: _Block, lineage: Lineage, time_s: Floats) -> Floats:
        """Return how long the visits of a block wait for sub-requests, at least; expected and least, shape (2,
        requests, visits)."""
        result = np.zeros((2, *block.demand_s.shape))
        for ordinal, (position, sub) in enumerate(block.route.starts):
            first, end = lineage.children(block.rows, block.winner * len(block.route.starts) + ordinal)
            expected_s, least_s = family_s(sub, first, end, *time_s[:, lineage.requests :])
            result[0, :, position] = expected_s * block.made[:, position]
            result[1, :, position] = least_s * (block.made[:, position] == 1)
        return result

    def _add_held(self, block: _Block, stay_s: Floats, least_s: Floats, sure: Floats) -> None:
        """Add the holding times of tokens, for requests grouped by the visits that take tokens of the same pool.

        `sure`: how often a sub-request is certainly executed, shape (requests,).
        """
        at = np.flatnonzero(self.work.may_hold[block.place].any(axis=0))
        place, count = block.place[:, at], len(self.places)
        wide = (place >= self.places.stations).any(axis=0)
        known_s: dict[Hold, Floats] = {}
        for mine, together in visits_together(place):
            pool = place[mine, together[0]]
            holds = self.work.holds[pool]
            # Visits to other places may return tokens of this place.
            others = slice(None) if (pool >= self.places.stations).any() else wide
            mixed = self.places.meet(pool[:, None], place[mine][:, others]).any(axis=1)
            known, at_known = pool[holds & ~mixed], mine[holds & ~mixed]
            tokens, unknown = holds_of(block.route, at[together].tolist())
            for hold in tokens:
                if hold not in known_s:
                    of_all_s = held_s(block.route, hold, stay_s, least_s)
                    known_s[hold] = of_all_s * block.made[:, hold.take] * sure
                held = known_s[hold][at_known]
                self.held_s += np.bincount(known, held, count)
                self.held_square_s2 += np.bincount(known, held**2, count)
            if tokens or unknown:
                for each in np.unique(pool[holds] if unknown else pool[holds & mixed]).tolist():
                    self.unknown.update(self.places.members(each))

    def _expected_no_contention_s(self, block: _Block, stay_s: Floats, least_s: Floats, families_s: Floats) -> Floats:
        """Return the expected time until the first attempt ends, or until something else may end the request.

        With this time `end_s`, and weights w that add up to 1: min(sum of X, end_s) >= sum of min(X, w x end_s).
        The weights are proportional to the means. Of the time that visits wait for sub-requests, `families_s`, only the
        least counts then.
        """
        route = block.route
        all_least_s = least_s + families_s[1]
        no_contention_s = path_s(route, stay_s + families_s[0], all_least_s)
        least_path_s = path_s(route, all_least_s, all_least_s)
        end_s = self._end_s(route, least_path_s)
        if np.isinf(end_s).all():
            return no_contention_s
        ratio = np.divide(end_s, no_contention_s, out=np.full_like(end_s, np.inf), where=no_contention_s > 0)
        cut_s = np.stack([
            stay_s[:, v] * np.min([limited_mean(shape, ratio * made) for shape in self._shapes(visit)], axis=0)
            for v, (visit, made) in enumerate((visit, visit.fraction) for visit in route.visits)
        ], axis=1)  # fmt: skip
        if families_s.any():
            # 0 x infinity: a time of 0 is not limited.
            limit_s = np.multiply(families_s[0], ratio[:, None], out=np.zeros_like(stay_s), where=families_s[0] > 0)
            cut_s += np.minimum(families_s[1], limit_s)
        cut_path_s = path_s(route, cut_s, all_least_s * np.minimum(ratio, 1.0)[:, None])
        return np.maximum(cut_path_s, np.minimum(least_path_s, end_s))

    def _end_s(self, route: Route, least_s: Floats) -> Floats:
        """Return the earliest time when a request may end other than by its first attempt, shape (requests,)."""
        policy = route.policy
        second_s = min(policy.hedge_after_s, policy.tied_after_s, 0.0 if policy.hedge_quantile else np.inf)
        if any(may_refuse(self.network, visit) for visit in route.visits):
            second_s = 0.0
        return np.minimum(second_s + least_s, policy.timeout_s)

    def _shapes(self, visit: Visit) -> set[Shape]:
        """Return the possible distributions of a visit's duration: a commit may join another job's batch."""
        shapes: set[Shape] = {visit.demand_if_made.distribution}
        return shapes | self._commit_shapes if self._commits(visit) else shapes

    @cached_property
    def _commit_shapes(self) -> set[Shape]:
        visits = (visit for route in self.network.routes for visit in route.visits)
        return {visit.demand_if_made.distribution for visit in visits if self._commits(visit)}

    def _commits(self, visit: Visit) -> bool:
        if visit.station not in self._batching:
            stations = stations_of(self.network, visit.station)
            self._batching[visit.station] = any(self.network.stations[k].discipline.batches for k in stations)
        return self._batching[visit.station]

"""The rate that a store serves in the long run, from simulation, where expected service demands do not tell it.

They do not if requests hold tokens while they wait, as only holding times without waiting follow from demands, or if
they are repeated. Holding times are a fixed point: of the rate follow the queues, of these the holding times, and of
these how many tokens are taken. Where tokens suffice, the number of requests in flight settles; where they do not, it
grows as long as the rate lasts (Loynes, "The stability of a queue with non-independent inter-arrival and service
times", Proceedings of the Cambridge Philosophical Society 58, 1962). So rates are tried, in ever smaller intervals.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.station import UNBOUNDED
from models.shared.work import WORKERS
from models.store import Spec
from sim.demands.visit_places import stations_of
from sim.engine.outcome import Floats
from sim.saturation.even_sample import Kinds
from sim.saturation.station_load import StationLoad, busiest, utilizations
from sim.simulate import simulate
from traces.random_streams import stream_id, uniforms
from traces.trace import Pacing, Trace
from traces.workload.distributions import Exponential

_REQUESTS, _LEAST_REQUESTS, _MOST_REQUESTS = 8_000, 1_000, 60_000  # usual number of those of a trial, and its range
_LATENCIES, _LEAST_LATENCIES = 20.0, 5.0  # usual length of a trial, and the least, in mean latencies at a light load
_LIGHT, _FEW, _LEAST_FEW = 0.1, 500, 20  # fraction of the rate by demands, and requests, of the trial with a light load
_NEARLY = 0.97  # of a rate, which counts as this rate: nearer to saturation a backlog takes longer to show
_HIGHER, _MOST = 1.1, 2.0  # ratio of rates tried above that by demands, and greatest one of any of them to it
_GROWTH = 0.025  # of the requests of the last half of a trial, by which more wait at its end than before
_FLUCTUATION = 0.3  # of the requests in flight, by which their number may grow by chance or as a trial begins
_WINDOWS = (0.4, 0.6), (0.8, 1.0)  # parts of the time of arrivals in which requests in flight are counted
_FULL = 0.985  # fraction of a pool's tokens that are taken on average if there are too few
_CROWDED, _FEW_VISITS = 0.7, 4_000  # load from which a pool may be full, which too few visits of it do not show
_GROWN = 1.5  # ratio of the requests in flight at the end of a long trial to those in its middle, if ever more wait
_BUSY = 0.75  # mean utilisation of equal stations near saturation, of which single ones have more
_PRECISION = 1.04  # greatest ratio of the rates between which the limit is
_FEW_ERRORS = 0.005  # fraction of the requests that fail at a light load, which may be too high
_WIDEST = 1.4  # greatest ratio of a rate to the next one tried on the same side of the limit
_OBSTRUCTED = 0.9  # responses in overload per request of a stable rate, below which requests obstruct each other
_LONGER = 3  # times as many requests of a trial that checks a doubtful one


Bound = Literal["at", "at most", "at least"]


@dataclass(frozen=True)
class RateLimit:
    """The rate in requests per second at which a store saturates in a stretch of a run, and the resource that does.

    Attributes:
        from_s, until_s: beginning and end of the stretch; an end that is not known is infinite.
        is_tried: whether simulations show that a rate slightly below is served.
        bound: whether the store saturates at this rate, or at most or least at it, as far as is known.
        is_warm: whether it is the rate when caches have filled, which are empty at first.
        again: beginning and end in s of the other stretches with the same limit, in order.
    """

    station: str
    role: str
    ops: float
    from_s: float = 0.0
    until_s: float = math.inf
    is_tried: bool = False
    bound: Bound = "at"
    is_warm: bool = False
    again: tuple[tuple[float, float], ...] = ()

    @property
    def stretch(self) -> tuple[float | None, float | None]:
        """Beginning and end of the stretch; None: it is the whole run, or the end is not known."""
        until_s = None if math.isinf(self.until_s) else self.until_s
        return (None, None) if until_s is None and not self.from_s else (self.from_s, until_s)

    def is_same(self, other: RateLimit) -> bool:
        """Whether it is the same as that of another stretch, as exactly as trials tell."""
        same = self.role == other.role and self.bound == other.bound
        return same and max(self.ops, other.ops) <= _PRECISION * min(self.ops, other.ops)


def pools_of(network: Network, requests: Requests) -> dict[str, bool]:
    """Return the names of the pools whose tokens requests take, and whether each refuses requests if many wait."""
    pools = {k for k, s in enumerate(network.stations) if s.discipline.holds_tokens and s.role != WORKERS}
    routes = (network.routes[k] for k in network.with_sub_requests(np.unique(requests.route).tolist()))
    places = {visit.station for route in routes for visit in route.visits}
    found = {k for place in places for k in pools.intersection(stations_of(network, place))}
    return {network.stations[k].name: network.stations[k].queue_limit < UNBOUNDED for k in sorted(found)}


def with_other_work(network: Network, requests: Requests) -> frozenset[str]:
    """Return the names of the stations that background work visits."""
    routes = (network.routes[k] for k in network.with_sub_requests({load.route for load in requests.background}))
    places = {visit.station for route in routes for visit in route.visits}
    return frozenset(network.stations[k].name for place in places for k in stations_of(network, place))


def batching_of(network: Network) -> frozenset[str]:
    """Return the names of the stations that serve a queue in batches."""
    return frozenset(station.name for station in network.stations if station.discipline.batches)


def repeats(network: Network, requests: Requests) -> bool:
    """Return whether requests may have several attempts."""
    routes = network.with_sub_requests(np.unique(requests.route).tolist())
    return any(network.routes[k].policy.attempts > 1 for k in routes)


def tried(
    spec: Spec, trace: Trace, network: Network, requests: Requests, by_demands: RateLimit, warming: int = 0
) -> RateLimit:
    """Return the greatest rate that a store serves in the long run, as far as it can be tried.

    If the scenario changes the network, more may be served in a stretch than by the demands of the whole run.

    Args:
        spec: of the store.
        trace: its rows have the mix of the requests.
        network, requests: as compiled from these.
        by_demands: the rate that follows from demands.
        warming: number of the first rows, which are not simulated, but decide what caches hold.
    """
    trials = _Trials.of(spec, trace, network, requests, by_demands, warming)
    if trials is None:
        return replace(by_demands, bound="at most")
    limit, stable = _of_all(trials, network, by_demands)
    if not stable.is_crowded:
        return limit
    longer = replace(trials, count=_MOST_REQUESTS, seed=1)
    again = longer.at(stable.rate_ops)
    if again.is_stable:
        return limit
    return _between(by_demands, trials.calm, *_narrowed(longer, trials.calm, again, near=False))


def _of_all(trials: _Trials, network: Network, by_demands: RateLimit) -> tuple[RateLimit, _Trial]:
    """Return the greatest rate at which all requests in flight settle, and a trial at or below it in which they do."""
    low, high = trials.calm, trials.at(_NEARLY * by_demands.ops)
    if high.is_stable:
        if not network.scenario:
            return replace(by_demands, is_tried=True), high
        low, high = _above(trials, high)
        if high.is_stable:
            return replace(_at(by_demands, high.busiest, high.rate_ops), bound="at least"), high
        if low.rate_ops < by_demands.ops:
            # Demands of stations that faults exchange for each other do not tell which of them saturates.
            is_single = by_demands.station in {station.name for station in network.stations}
            return _at(by_demands, None if is_single else low.busiest, by_demands.ops), low
    low, high = _narrowed(trials, low, high)
    if low is not trials.calm and _is_doubtful(low, high):
        longer = replace(trials, count=_LONGER * trials.count, seed=1)
        again = longer.at(low.rate_ops)
        low, high = (again, high) if again.is_stable else _narrowed(longer, trials.calm, again, near=False)
    return _between(by_demands, trials.calm, low, high), low


def _between(by_demands: RateLimit, calm: _Trial, low: _Trial, high: _Trial) -> RateLimit:
    """Return the rate between two trials, the first of which is stable, with the station that limits it."""
    first = high.refusing or high.full_pool or low.busiest
    if low is calm:  # less may be served, but that was not tried
        return replace(_at(by_demands, first, high.rate_ops), bound="at most")
    most_ops = min(high.rate_ops, max(low.served_ops, high.completed_ops))
    return _at(by_demands, first, math.sqrt(low.served_ops * most_ops))


def _at(by_demands: RateLimit, first: StationLoad | None, ops: float) -> RateLimit:
    """Return a rate that was tried, with the station that limits it; None: that by demands."""
    limit = replace(by_demands, ops=ops, is_tried=True)
    return limit if first is None else replace(limit, station=first.station, role=first.role)


def _narrowed(trials: _Trials, low: _Trial, high: _Trial, near: bool = True) -> tuple[_Trial, _Trial]:
    """Return trials between which the limit is, given a stable and an unstable one.

    From the first on, steps double until the limit is between two trials; then intervals are halved.

    Args:
        near: whether what is served in overload tells where the limit is; otherwise it is slightly below the rate.
    """
    last, step = high, _PRECISION
    while high.rate_ops > _PRECISION * low.rate_ops:
        if last is low:
            next_ops = low.rate_ops * step
        else:
            next_ops = high.rate_ops / step
            if near and (guess_ops := _guessed_ops(low.rate_ops, high)) is not None:
                next_ops = min(guess_ops, next_ops) if step > _PRECISION else guess_ops
        step = min(step * step, _WIDEST)
        if not low.rate_ops < next_ops * _NEARLY or not next_ops < high.rate_ops * _NEARLY:
            next_ops = math.sqrt(low.rate_ops * high.rate_ops)
        last = trials.at(next_ops)
        low, high = (last, high) if last.is_stable else (low, last)
    return low, high


def _is_doubtful(low: _Trial, high: _Trial) -> bool:
    """Whether it may be luck that a rate was stable, given a slightly higher one that was not.

    If requests obstruct each other, such as by retries, less is served in overload than before it, and a store may go
    on for long before it changes from one state to the other. And a pool may be full while no more requests wait.
    """
    return high.completed_ops < _OBSTRUCTED * low.rate_ops or (high.full_pool is not None and high.growth <= _GROWTH)


def _above(trials: _Trials, low: _Trial) -> tuple[_Trial, _Trial]:
    """Return two trials of rates, the second of which is higher and not stable, unless all rates tried are.

    `low`: at that by demands, and stable.
    """
    high, most_ops = trials.at(_HIGHER * low.rate_ops), _MOST * low.rate_ops
    while high.is_stable and high.rate_ops < most_ops:
        low, high = high, trials.at(_HIGHER * high.rate_ops)
    return low, high


def _guessed_ops(low_ops: float, high: _Trial) -> float | None:
    """Return a rate near the limit by what is served in overload; None: requests obstruct each other there."""
    near: tuple[float, ...] = (high.completed_ops * _NEARLY, high.completed_ops / _NEARLY)
    if high.full_pool is not None and high.full_pool.load > 1 / _NEARLY:  # of requests that hold tokens for longer
        near = (high.rate_ops / high.full_pool.load, *near)
    least_ops = max(low_ops, high.rate_ops / 2)
    found = (each for each in near if least_ops < each * _NEARLY and each < high.rate_ops * _NEARLY)
    return next(found, None)


@dataclass(frozen=True)
class _Trial:
    """A simulation of an open loop with a constant rate.

    Attributes:
        growth: by how many more requests are in flight at the end of the arrivals than after half of them, and fail in
            this half beyond those that fail at a light load; as a fraction of the requests of the half.
        completed_ops: responses per second in the same time.
        errors: fraction of the requests that fail.
        latency_s: mean time of a request.
        busiest: the station with the highest utilisation, if it tells how near to saturation it is.
        full_pool: the fullest pool, if it has no idle token, or requests bring it more work than it can do in the time
            of their arrivals, such as one of many that few requests need.
        refusing: the fullest pool that refuses requests, if most of the growth is of those that fail.
        in_flight: mean number of requests in flight after half of the arrivals, as a fraction like `growth`.
        is_crowded: whether a pool may be full, but has too few visits to tell it from chance.
        is_long: whether it is one of the longest, in which more requests in flight are not due to chance.
    """

    rate_ops: float
    growth: float
    completed_ops: float
    errors: float
    latency_s: float
    busiest: StationLoad | None
    full_pool: StationLoad | None
    refusing: StationLoad | None = None
    in_flight: float = 0.0
    is_crowded: bool = False
    is_long: bool = False

    @property
    def served_ops(self) -> float:
        """Requests per second that do not add to those in flight."""
        return self.rate_ops * (1 - max(self.growth, 0.0))

    @property
    def is_stable(self) -> bool:
        """Whether the requests in flight settle, and those of single stations."""
        grows = self.growth > _GROWTH or (self.is_long and self.growth > (_GROWN - 1) * self.in_flight)
        return not grows and self.full_pool is None

    @property
    def may_be_stable(self) -> bool:
        """Whether more requests may be in flight at the end by chance, given how many are in flight at all."""
        return self.full_pool is None and self.growth <= max(_GROWTH, _FLUCTUATION * self.in_flight)


@dataclass(frozen=True)
class _Trials:
    """Simulations at constant rates in a stretch of a run.

    Attributes:
        pools: names of those whose tokens requests take, and whether each refuses requests.
        others: stations that background work visits, too.
        batching: stations that serve a queue in batches, so that they may have no idle time at any load.
        kinds: of the requests.
        count: of the requests of each simulation.
        calm: the one at a light load.
        warming: as of `tried`.
        seed: of the arrivals, and of the simulations.
    """

    spec: Spec
    trace: Trace
    from_s: float
    until_s: float
    pools: Mapping[str, bool]
    others: frozenset[str]
    batching: frozenset[str]
    kinds: Kinds
    count: int
    calm: _Trial
    warming: int = 0
    seed: int = 0

    @staticmethod
    def of(
        spec: Spec, trace: Trace, network: Network, requests: Requests, stretch: RateLimit, warming: int
    ) -> _Trials | None:
        """Return the simulations; None: too few requests arrive in the stretch, or too many in the time of one."""
        length_s, light_ops = stretch.until_s - stretch.from_s, _LIGHT * stretch.ops
        few = int(min(_FEW, length_s * light_ops))
        if few < _LEAST_FEW:
            return None
        pools = pools_of(network, requests)
        kinds, batching = Kinds.of(network, requests, pools), batching_of(network)
        others = with_other_work(network, requests)

        def light(rate_ops: float, count: int) -> _Trial:
            issued = _at_rate(trace, kinds, rate_ops, count, stretch.from_s, warming)
            return _run(spec, issued, rate_ops, 0.0, pools, others, batching, warming)

        calm = light(light_ops, few)
        less = int(min(few, length_s * _LIGHT * light_ops))
        if calm.errors > _FEW_ERRORS and less >= _LEAST_FEW:  # as where a pool refuses requests
            lighter = light(_LIGHT * light_ops, less)
            calm = lighter if lighter.errors < calm.errors / 2 else calm
        during_one = calm.latency_s * stretch.ops
        count = int(min(max(_REQUESTS, _LATENCIES * during_one), length_s * stretch.ops))
        if not max(_LEAST_REQUESTS, _LEAST_LATENCIES * during_one) <= count <= _MOST_REQUESTS:
            return None
        return _Trials(
            spec, trace, stretch.from_s, stretch.until_s, pools, others, batching, kinds, count, calm, warming
        )

    def at(self, rate_ops: float) -> _Trial:
        """Simulate at a rate, with more requests if it is not clear whether those in flight settle."""
        trial = self._of(rate_ops, self.count)
        if trial.is_stable or not trial.may_be_stable:
            return trial
        return self._of(rate_ops, _LONGER * self.count)

    def _of(self, rate_ops: float, most: int) -> _Trial:
        count = max(_LEAST_FEW, int(min(most, (self.until_s - self.from_s) * rate_ops)))
        issued = _at_rate(self.trace, self.kinds, rate_ops, count, self.from_s, self.warming, self.seed)
        return _run(
            self.spec, issued, rate_ops, self.calm.errors, self.pools, self.others, self.batching, self.warming,
            self.seed,
        )  # fmt: skip


def _run(
    spec: Spec,
    trace: Trace,
    rate_ops: float,
    usual_errors: float,
    pools: Mapping[str, bool],
    others: Collection[str],
    batching: Collection[str],
    warming: int,
    seed: int = 0,
) -> _Trial:
    """Simulate requests at a rate, given the fraction of them that fails at a light load."""
    run = simulate(spec, trace, seed=seed, first=warming, is_trial=True)
    arrival_s, end_s = run.column("arrival_s"), np.sort(run.column("end_s"))
    first_s, last_s = float(arrival_s[0]), float(arrival_s[-1])
    half_s = (first_s + last_s) / 2
    (arrived, all_arrived), (done, all_done) = (
        np.searchsorted(times, (half_s, last_s), side="right") for times in (arrival_s, end_s)
    )
    late = max(1, int(all_arrived - arrived))
    lost = float(run.failed[arrived:].mean()) - usual_errors if late > 1 else 0.0
    assert run.stations is not None
    loads = utilizations([run.stations.to_pylist()])
    ratio, is_long = run.info["course"]["clock_s"] / max(last_s - first_s, 1e-12), len(run) >= _MOST_REQUESTS
    offered = _offered(loads, ratio, pools.keys() - others)
    # Work of the store may take any idle token of a single pool: whether requests wait there, longer trials tell.
    telling = pools.keys() - others if len(run) >= _LONGER * _REQUESTS else pools.keys()
    before, after = _in_flight(arrival_s, run.column("end_s"))
    growth = (after - before) / late + max(0.0, lost)
    refusing = busiest(each for each in loads if pools.get(each.station))
    return _Trial(
        rate_ops,
        growth,
        float(all_done - done) / (last_s - half_s) if last_s > half_s else 0.0,
        float(run.failed.mean()),
        float((run.column("end_s") - arrival_s).mean()),
        _first_full(loads, batching),
        _full_pool(busiest(each for each in loads if each.station in telling), busiest(offered)),
        refusing if lost > growth / 2 > 0 else None,
        before / late,
        any(each.load >= _CROWDED and each.visits < _FEW_VISITS for each in offered),
        is_long,
    )


def _offered(loads: Iterable[StationLoad], ratio: float, pools: Collection[str]) -> list[StationLoad]:
    """Return the work that requests bring to each pool per time of their arrivals, above 1 if it is too much.

    `ratio`: of the time over which utilisations are averaged, until the last request has released its tokens, to that
    of the arrivals.
    """
    return [replace(each, load=each.load * ratio) for each in loads if each.station in pools]


def _full_pool(taken: StationLoad | None, offered: StationLoad | None) -> StationLoad | None:
    """Return the pool with the most tokens taken, or else with the most work offered, if that is too much."""
    if offered is not None and offered.load >= 1 + 1 / math.sqrt(max(offered.visits, 1.0)):
        return offered
    return taken if taken is not None and taken.load >= _FULL else None


def _in_flight(arrival_s: Floats, end_s: Floats) -> tuple[float, float]:
    """Return how many requests are in flight after half of the arrivals, and at their end if the number grows evenly.

    At both times it is the mean of a fifth of the time, as batches and pauses change the number from moment to moment.
    """
    from_s, until_s = float(arrival_s[0]), float(arrival_s[-1])
    before, after = (
        float((np.clip(end_s, *within) - np.clip(arrival_s, *within)).sum()) / max(within[1] - within[0], 1e-12)
        for within in (from_s + np.array(part) * (until_s - from_s) for part in _WINDOWS)
    )
    return before, before + float(after - before) * 0.5 / (_WINDOWS[1][0] - _WINDOWS[0][0])


def _first_full(loads: Sequence[StationLoad], batching: Collection[str]) -> StationLoad | None:
    """Return the busiest station; one that serves a queue in batches only if no other is nearly full."""
    others = busiest(each for each in loads if each.station not in batching)
    return others if others is not None and others.load >= _BUSY else busiest(loads)


def _at_rate(
    trace: Trace, kinds: Kinds, rate_ops: float, count: int, from_s: float, warming: int, seed: int = 0
) -> Trace:
    """Return requests with the rows of a trace as a Poisson process with a rate, from a time on.

    The rows are some of a longer trace, of each kind as many as its fraction, or those of a shorter one repeatedly. If
    some fill caches, they are these, with arrivals before the time, and others in their order.
    """
    u = uniforms(seed, stream_id("stable rate", "arrivals"), 0, warming + count)
    after_s = np.cumsum(Exponential().quantile(u)) / rate_ops
    if warming:
        rest = len(trace) - warming
        rows = np.concatenate([np.arange(warming), warming + (seed * count + np.arange(count)) % rest])
        return at_times(trace, rows, from_s - after_s[warming - 1] + after_s)
    rows = kinds.sample(count, seed) if len(kinds) > count else np.arange(count) % len(kinds)
    return at_times(trace, rows, from_s + after_s)


def at_times(trace: Trace, rows: NDArray[np.int64], arrival_s: Floats) -> Trace:
    """Return an open loop of some rows of a trace with these arrivals, shape (rows,)."""
    table, count = trace.table.take(pa.array(rows)), len(rows)
    for name, values in (("arrival_s", arrival_s), ("think_s", np.zeros(count)), ("phase", np.zeros(count, np.int32))):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return Trace(table, Pacing())

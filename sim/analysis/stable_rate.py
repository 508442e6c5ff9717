"""The rate that a store serves in the long run, from simulation, where expected service demands do not tell it.

They do not if requests hold tokens while they wait, as only holding times without waiting follow from demands, or if
they are repeated. Holding times are a fixed point: of the rate follow the queues, of these the holding times, and of
these how many tokens are taken. Where tokens suffice, the number of requests in flight settles; where they do not, it
grows as long as the rate lasts (Loynes, "The stability of a queue with non-independent inter-arrival and service
times", Proceedings of the Cambridge Philosophical Society 58, 1962). So rates are tried, in ever smaller intervals.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec
from models.work import WORKERS
from sim.analysis.station_load import StationLoad, busiest, utilizations
from sim.analysis.visit_places import stations_of
from sim.simulate import simulate
from traces.random_streams import stream_id, uniforms
from traces.trace import Pacing, Trace
from traces.workload.distributions import Exponential

_REQUESTS, _MOST_REQUESTS = 8_000, 60_000  # range of the number of those of a trial
_LATENCIES = 20.0  # least length of a trial, in mean latencies at a light load
_LIGHT, _FEW = 0.1, 500  # fraction of the greatest rate, and requests, of the trial that shows these latencies
_NEARLY = 0.97  # of a rate, which counts as this rate: nearer to saturation a backlog takes longer to show
_GROWTH = 0.025  # of the requests of the last half of a trial, by which more wait at its end than before
_FULL = 0.985  # fraction of a pool's tokens that are taken on average if there are too few
_PRECISION = 1.04  # greatest ratio of the rates between which the limit is


@dataclass(frozen=True)
class StableRate:
    """The greatest rate that is served in the long run, and the station that is busiest there."""

    ops: float
    station: str
    role: str


def pools_of(network: Network, requests: Requests) -> frozenset[str]:
    """Return the names of the pools whose tokens requests take."""
    pools = {k for k, s in enumerate(network.stations) if s.discipline.holds_tokens and s.role != WORKERS}
    routes = (network.routes[k] for k in np.unique(requests.route).tolist())
    places = {visit.station for route in routes for visit in route.visits}
    return frozenset(
        network.stations[k].name for place in places for k in pools.intersection(stations_of(network, place))
    )


def repeats(network: Network, requests: Requests) -> bool:
    """Return whether requests may have several attempts."""
    return any(network.routes[k].policy.attempts > 1 for k in np.unique(requests.route).tolist())


def stable_rate(spec: Spec, trace: Trace, most_ops: float, pools: Collection[str]) -> StableRate | None:
    """Return the greatest rate that a store serves in the long run; None: it serves `most_ops`, as far as is known.

    Args:
        spec: of the store.
        trace: its rows have the mix of the requests.
        most_ops: requests per second that no load exceeds.
        pools: names of those that have no idle token in overload.
    """
    calm = _Trial.of(spec, trace, _LIGHT * most_ops, _FEW, 0.0, pools)
    count = max(_REQUESTS, math.ceil(_LATENCIES * calm.latency_s * most_ops))
    if count > _MOST_REQUESTS:
        return None

    def tried(rate_ops: float) -> _Trial:
        return _Trial.of(spec, trace, rate_ops, count, calm.errors, pools)

    low, high = calm, tried(_NEARLY * most_ops)
    if high.is_stable:
        return None
    while high.rate_ops > _PRECISION * low.rate_ops:
        trial = tried(_next_ops(low.rate_ops, high))
        low, high = (trial, high) if trial.is_stable else (low, trial)
    first = low.busiest or high.busiest
    if first is None:
        return None
    return StableRate(math.sqrt(low.rate_ops * high.rate_ops), first.station, first.role)


def _next_ops(low_ops: float, high: _Trial) -> float:
    """Return the next rate to try: near what is served in overload, unless requests obstruct each other there."""
    near = (high.completed_ops * _NEARLY, high.completed_ops / _NEARLY)
    least_ops = max(low_ops, high.rate_ops / 2)
    found = (each for each in near if least_ops < each * _NEARLY and each < high.rate_ops * _NEARLY)
    return next(found, math.sqrt(low_ops * high.rate_ops))


@dataclass(frozen=True)
class _Trial:
    """A simulation of an open loop with a constant rate.

    Attributes:
        growth: by how many more requests wait at the end of the arrivals than after half of them, and fail in this half
            beyond those that fail at a light load; as a fraction of the requests of the half.
        completed_ops: responses per second in the same time.
        errors: fraction of the requests that fail.
        latency_s: mean time of a request.
        busiest: the station with the highest utilisation.
        is_full: whether a pool has no idle token.
    """

    rate_ops: float
    growth: float
    completed_ops: float
    errors: float
    latency_s: float
    busiest: StationLoad | None
    is_full: bool

    @property
    def is_stable(self) -> bool:
        """Whether the requests in flight settle."""
        return self.growth <= _GROWTH and not self.is_full

    @staticmethod
    def of(
        spec: Spec, trace: Trace, rate_ops: float, count: int, usual_errors: float, pools: Collection[str]
    ) -> _Trial:
        """Simulate as many requests at a rate, given the fraction of them that fails at a light load."""
        run = simulate(spec, _at_rate(trace, rate_ops, count))
        arrival_s, end_s = run.column("arrival_s"), np.sort(run.column("end_s"))
        half_s, last_s = float(arrival_s[-1]) / 2, float(arrival_s[-1])
        (arrived, all_arrived), (done, all_done) = (
            np.searchsorted(times, (half_s, last_s), side="right") for times in (arrival_s, end_s)
        )
        late = max(1, int(all_arrived - arrived))
        lost = float(run.failed[arrived:].mean()) - usual_errors if late > 1 else 0.0
        growth = ((all_arrived - all_done) - (arrived - done)) / late + max(0.0, lost)
        assert run.stations is not None
        loads = utilizations([run.stations.to_pylist()])
        fullest = busiest(each for each in loads if each.station in pools)
        return _Trial(
            rate_ops, growth, (all_done - done) / half_s, float(run.failed.mean()),
            float((run.column("end_s") - arrival_s).mean()), busiest(loads),
            fullest is not None and fullest.load >= _FULL,
        )  # fmt: skip


def _at_rate(trace: Trace, rate_ops: float, count: int) -> Trace:
    """Return requests with the rows of a trace as a Poisson process with a rate.

    The rows are a random one of each of as many parts of a longer trace, or those of a shorter one again and again.
    """
    u = uniforms(0, stream_id("stable rate", "arrivals"), 0, count)
    arrival_s = np.cumsum(Exponential().quantile(u)) / rate_ops
    rows, within = np.arange(count), uniforms(0, stream_id("stable rate", "rows"), 0, count)
    if len(trace) > count:
        rows = ((rows + within) * (len(trace) / count)).astype(np.int64)
    table = trace.table.take(pa.array(rows % len(trace)))
    for name, values in (("arrival_s", arrival_s), ("think_s", np.zeros(count)), ("phase", np.zeros(count, np.int32))):
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return Trace.of(table, Pacing())

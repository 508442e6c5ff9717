"""Random specs with what is calculated from them once, and runs of them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, compile_spec, warms
from sim.demands.visit_places import stations_of
from sim.saturation.capacity import Capacity, capacity_of
from sim.saturation.stable_rate import pools_of
from sim.simulate import simulate
from tests.random_specs import Mapping, RandomSpec
from traces.errors import InputError
from traces.run import Run
from traces.trace import Trace
from traces.workload.generate import generate

LENGTHS = (1_500, 6_000, 24_000)
"""Requests of a run, and of those that repeat it if they contradict a forecast."""
LONGEST = 96_000
"""The same, if chance decides by more than `CHANCE` in the last of these how busy the first station to saturate is."""
ROWS = 1_000
"""Requests from which the rate at saturation is calculated."""
WARMING = 20_000
"""Requests after which caches that are empty at first are filled."""
CHANCE, MOST_CHANCE = 0.03, 0.05
"""Standard errors of the load of the station that saturates first, as fractions of it: a longer run has at most the
first; of one with more than the second, a rate 10 % higher or lower tells nothing."""


@dataclass(frozen=True)
class Subject:
    """A random spec with what is calculated from it once."""

    random: RandomSpec

    def open_loop(self, rate_ops: float, operations: int, **more: object) -> Spec:
        """Return the spec with an open loop."""
        return self.random.spec({"rate": rate_ops, "operations": operations}, **more)

    def closed_loop(self, clients: int, operations: int) -> Mapping:
        """Return the pacing of a closed loop; a duration limits the store's own work, which needs one."""
        pacing: Mapping = {"clients": clients, "operations": operations}
        if self.has_background:
            pacing["duration"] = operations / (self.capacity_ops or 100.0) * 2
        return pacing

    @cached_property
    def has_own_work(self) -> bool:
        """Whether the store has work of its own in an open loop without faults."""
        return bool(self.compiled[1].background)

    @cached_property
    def has_background(self) -> bool:
        """Whether a closed loop needs a duration, as for the store's own work, perhaps after a short run, or failures.

        Its own work may follow from its faults; failures may take no time.
        """
        if self.random.has_groups:
            return False
        faults = self.random.faults_in(0.1)
        spec = self.open_loop(100.0, 20, faults=faults)
        if compile_spec(spec, generate(spec.workload, 0))[1].background:
            return True
        try:
            spec = self.random.spec({"clients": self.random.clients, "operations": 20}, faults=faults)
            compile_spec(spec, generate(spec.workload, 0))
        except InputError as error:
            return any(text in str(error) for text in ("workload.duration", "a closed loop would never end"))
        return False

    @cached_property
    def compiled(self) -> tuple[Network, Requests]:
        """The network of the store for its workload, in an open loop, and requests."""
        spec = self.open_loop(1.0, ROWS)
        return compile_spec(spec, generate(spec.workload, 0))

    @cached_property
    def pools(self) -> frozenset[str]:
        """The names of the pools whose tokens requests take."""
        return frozenset(pools_of(*self.compiled))

    def chance(self, operations: int) -> float:
        """Return the standard error of the load, in a run, of the station that saturates first, as a fraction of it.

        It is that of a sum of independent visits, which are as often at each station of a role, each with the
        distribution of its service demand, and that of the sizes of the objects, which other seeds have differently. Of
        a pool, whose holding times are not known, each request counts equally.
        """
        first = self.capacity.least
        if first is None:
            return 0.0
        network, requests = self.compiled
        roles, mean, square, of_sizes = first.role.split(" and "), 0.0, 0.0, 0.0
        of_role = {k for k, station in enumerate(network.stations) if station.role in roles}
        are_pools = self.pools.issuperset(network.stations[k].name for k in of_role)
        counts = np.bincount(requests.route, minlength=len(network.routes)) / len(requests)
        used = len(of_role.intersection(_visited(network, counts)))
        has_sub_requests = network.has_sub_requests and not are_pools
        for k in np.flatnonzero(counts).tolist():
            size = requests.size_bytes[requests.route == k]
            visits = [v for v in network.routes[k].visits if of_role.intersection(stations_of(network, v.station))]
            if visits and are_pools:
                mean, square = mean + counts[k], square + counts[k]
                continue
            if has_sub_requests:
                total_s, visited = _spent_s(network, k, size, of_role)
                mean += counts[k] * float(total_s.mean())
                each = np.minimum(np.maximum(visited, 1), used)  # stations that a request visits
                square += counts[k] * float((total_s**2 / each).mean())
                of_sizes += counts[k] * float(total_s.var()) / float(each.max())
                continue
            spent_s = np.array([visit.mean_s(size) for visit in visits]).reshape(-1, len(size))
            made = np.array([visit.chance.fraction if visit.chance else 1.0 for visit in visits])
            scv = np.array([visit.demand.distribution.scv for visit in visits])
            mean += counts[k] * float(spent_s.mean(axis=1).sum())
            square += counts[k] * float(((spent_s**2).mean(axis=1) / made * (1 + scv)).sum())
            of_sizes += counts[k] * float(spent_s.sum(axis=0).var())
        objects = getattr(self.open_loop(1.0, ROWS).workload.keys, "count", math.inf)
        return math.sqrt(used * (square / operations + of_sizes / objects)) / mean if mean else 0.0

    @cached_property
    def capacity(self) -> Capacity:
        """The capacity of the store for its workload; of an open loop, whose rate does not matter."""
        spec = self.open_loop(1.0, ROWS)
        return capacity_of(spec, generate(spec.workload, 0))

    def run_at(self, rate_ops: float, operations: int) -> tuple[Spec, Run]:
        """Return an open loop and its run; of a store whose caches are empty at first, after they have filled."""
        first = WARMING if warms(self.open_loop(1.0, 1)) else 0
        longer = self.open_loop(rate_ops, first + operations)
        return self.open_loop(rate_ops, operations), simulate(longer, _from_row(longer, first), seed=1, first=first)

    @cached_property
    def light(self) -> Run:
        """A run at a light load, whose latencies and failed requests are the least."""
        assert self.capacity_ops is not None
        return self.run_at(0.1 * self.capacity_ops, LENGTHS[0])[1]

    @property
    def bound(self) -> str:
        """The word before the rate at saturation: ``at``, ``at most`` or ``at least``."""
        return "at" if self.capacity.least is None else self.capacity.least.bound

    @cached_property
    def capacity_ops(self) -> float | None:
        """The rate at saturation; None: no station limits the rate, or it is not known."""
        return None if self.random.has_groups else self.capacity.capacity_ops


def _from_row(spec: Spec, first: int) -> Trace:
    """Return the requests of a spec, with those before a row before the start of time."""
    trace = generate(spec.workload, 1)
    if not first:
        return trace
    column = trace.table.column_names.index("arrival_s")
    arrival_s = trace.arrival_s - trace.arrival_s[first - 1]
    return replace(trace, table=trace.table.set_column(column, "arrival_s", pa.array(arrival_s)))


def _visited(network: Network, counts: np.ndarray) -> set[int]:
    """Return the stations that requests of the routes with a count above 0 may visit."""
    routes = network.with_sub_requests(np.flatnonzero(counts).tolist())
    places = {visit.station for k in routes for visit in network.routes[k].visits}
    return {k for place in places for k in stations_of(network, place)}


def _spent_s(network: Network, k: int, size: np.ndarray, stations: Collection[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the time in s of each request of a route at stations, and its visits there, with its sub-requests."""
    visits = [v for v in network.routes[k].visits if set(stations).intersection(stations_of(network, v.station))]
    total_s, count = np.sum([v.mean_s(size) for v in visits], axis=0) + np.zeros(len(size)), np.full(len(size), 0.0)
    count += len(visits)
    for _, sub in network.routes[k].starts:
        first = sub.sizes(size, np.zeros_like(size))
        each = np.mean([_spent_s(network, route, first, stations) for route in sub.routes], axis=0)
        total_s, count = total_s + sub.counts(size) * each[0], count + sub.counts(size) * each[1]
    return total_s, count

"""The benchmarks' models as SimPy's tutorials have them: a Resource each station, processes awaiting each other."""

from __future__ import annotations

import random

import simpy

from models.network.demand_sheet import Sheet
from models.network.network import Network
from models.network.retry_policy import HEDGE_SAMPLES
from models.network.visit_draws import bound_of
from sim.engine.latency_histogram import LatencyHistogram


def fork_join(network: Network, sheet: Sheet) -> list[float]:
    """The same requests as SimPy's tutorials would have them: a Resource each station, a process each visit chain."""
    environment = simpy.Environment()
    resources = [None if s.discipline.infinite else simpy.Resource(environment, s.servers) for s in network.stations]
    latencies = [0.0] * len(sheet)

    def visit(station, demand_s):
        if resources[station] is None:
            yield environment.timeout(demand_s)
        else:
            with resources[station].request() as turn:
                yield turn
                yield environment.timeout(demand_s)

    def branch(visits):
        for station, demand_s in visits:
            yield environment.process(visit(station, demand_s))

    def request(index, route, visits):
        begun = environment.now
        at = 0
        for stage in route.stages:
            parts = []
            for one in stage.branches:
                parts.append(environment.process(branch(visits[at : at + len(one)])))
                at += len(one)
            yield environment.all_of(parts)
        latencies[index] = environment.now - begun

    def source():
        for index in range(len(sheet)):
            yield environment.timeout(max(sheet.arrival_s[index] - environment.now, 0))
            route = network.routes[sheet.route[index]]
            first = sheet.first_visit[index]
            last = first + len(route.visits)
            visits = list(zip(sheet.station[first:last].tolist(), sheet.demand_s[first:last].tolist(), strict=True))
            environment.process(request(index, route, visits))

    environment.process(source())
    environment.run()
    return latencies


class HedgedClient:
    """Sends hedged requests to the gateway with least outstanding: a timer raced by any_of, the loser interrupted."""

    def __init__(self, environment: simpy.Environment, network: Network, requests: int):
        self.environment = environment
        self.resources = [
            None if s.discipline.infinite else simpy.Resource(environment, s.servers) for s in network.stations
        ]
        (self.route,), (self.gateways,) = network.routes, network.groups
        self.outstanding = [0] * len(self.gateways.members)
        self.seen = LatencyHistogram(self.route.policy.hedge_quantile)
        self.begun = self.hedged = 0
        self.latencies = [0.0] * requests

    def visit(self, station, demand_s):
        """Wait and be served; an interrupt ends the wait, but not the service."""
        try:
            if self.resources[station] is None:
                yield self.environment.timeout(demand_s)
                return
            with self.resources[station].request() as turn:
                yield turn
                service = self.environment.timeout(demand_s)
                try:
                    yield service
                except simpy.Interrupt:
                    yield service
        except simpy.Interrupt:
            pass

    def branch(self, visits, member):
        """A chain of visits."""
        for station, demand_s in visits:
            if station < 0:
                station = member[bound_of(station).position]
            part = self.environment.process(self.visit(station, demand_s))
            try:
                yield part
            except simpy.Interrupt:
                _interrupt(part)
                return

    def attempt(self, visits, gateway):
        """All stages; an interrupt is handed on to the branches."""
        self.outstanding[gateway] += 1
        member, at, parts = self.gateways.members[gateway].tolist(), 0, []
        try:
            for stage in self.route.stages:
                parts = []
                for one in stage.branches:
                    parts.append(self.environment.process(self.branch(visits[at : at + len(one)], member)))
                    at += len(one)
                yield self.environment.all_of(parts)
        except simpy.Interrupt:
            for part in parts:
                _interrupt(part)
        self.outstanding[gateway] -= 1

    def least_outstanding(self, other_than=None):
        """Return the gateway with the fewest outstanding attempts."""
        gateways = [g for g in range(len(self.outstanding)) if g != other_than]
        return min(gateways, key=lambda g: self.outstanding[g])

    def request(self, index, visits):
        """A request, hedged when it is late."""
        start_s, policy, width = self.environment.now, self.route.policy, len(self.route.visits)
        self.begun += 1
        gateway = self.least_outstanding()
        attempts = [self.environment.process(self.attempt(visits[:width], gateway))]
        if self.seen.total >= HEDGE_SAMPLES:
            yield attempts[0] | self.environment.timeout(self.seen.quantile_s())
            if attempts[0].is_alive and self.hedged + 1 <= policy.hedge_budget * self.begun:
                self.hedged += 1
                second = self.attempt(visits[width:], self.least_outstanding(gateway))
                attempts.append(self.environment.process(second))
        yield self.environment.any_of(attempts)
        for attempt in attempts:
            _interrupt(attempt)
        self.latencies[index] = self.environment.now - start_s
        self.seen.add(self.latencies[index])


def _interrupt(process: simpy.Process) -> None:
    """Interrupt a process that has not ended."""
    if process.is_alive:
        process.interrupt()


def hedged(network: Network, sheet: Sheet) -> list[float]:
    """The same requests through a group and with a hedge each, one kind of request."""
    environment = simpy.Environment()
    client = HedgedClient(environment, network, len(sheet))
    width = len(client.route.visits) * client.route.policy.attempts

    def source():
        for index in range(len(sheet)):
            yield environment.timeout(max(sheet.arrival_s[index] - environment.now, 0))
            visits = slice(sheet.first_visit[index], sheet.first_visit[index] + width)
            pairs = zip(sheet.station[visits].tolist(), sheet.demand_s[visits].tolist(), strict=True)
            environment.process(client.request(index, list(pairs)))

    environment.process(source())
    environment.run()
    return client.latencies


def mm1(count: int, rho: float) -> None:
    """M/M/1 as SimPy's tutorials would have it."""
    environment = simpy.Environment()
    server = simpy.Resource(environment)

    def customer():
        with server.request() as turn:
            yield turn
            yield environment.timeout(random.expovariate(1 / rho))

    def source():
        for _ in range(count):
            yield environment.timeout(random.expovariate(1.0))
            environment.process(customer())

    environment.process(source())
    environment.run()

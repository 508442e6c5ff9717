"""What a request costs: idiomatic SimPy, the SimPy engine and the compiled engine, and M/M/1 on other simulators.

    python benchmarks/engines.py [--json] [--rounds N]

All are timed in turn, in one interpreter, round after round; the figures are microseconds of CPU time a request
(median over the rounds), the drawing of the Sheet counted in. Only ratios between them mean anything.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import simpy

from models.demand import ServiceDemand
from models.network import Discipline, Member, Network, Stage, Station, Visit, single
from models.network import Route as NetworkRoute
from models.sheet import Requests, Sheet
from sim import compiled_engine, simpy_engine
from sim.outcome import Program
from traces.distributions import Exponential
from traces.streams import uniforms

DRIVES, HOSTS, GROUPS = 112, 7, 1024
UTILISATION = 0.6  # of the drives
MM1_RHO = 0.8


def exponential(mean_s: float) -> ServiceDemand:
    """A demand with this mean."""
    return ServiceDemand(constant=mean_s, distribution=Exponential())


def put_ec42() -> Network:
    """An EC 4+2 PUT over 112 drives: 3 visits at the gateway, then 4 on each of 6 branches."""
    drives = tuple(Station(f"drive {d}", "drive", Discipline.FIFO) for d in range(DRIVES))
    others = (
        Station("gateway cpu", "gateway cpu", Discipline.FIFO, servers=64),
        Station("gateway nic", "nic", Discipline.FIFO, servers=8),
        Station("network", "network", Discipline.DELAY),
        *(Station(f"osd cpu {h}", "osd cpu", Discipline.FIFO, servers=16) for h in range(HOSTS)),
    )
    gateway, nic, network, osd = DRIVES, DRIVES + 1, DRIVES + 2, DRIVES + 3
    rng = np.random.default_rng(7)
    placement = np.array([rng.permutation(DRIVES)[:6] for _ in range(GROUPS)], np.int32)
    cpus = (osd + placement % HOSTS).astype(np.int32)
    branches = tuple(
        (
            Visit(network, exponential(0.0001)),
            Visit(Member(1, b), exponential(0.0002)),
            Visit(Member(0, b), exponential(0.008)),
            Visit(Member(0, b), exponential(0.002)),
        )
        for b in range(6)
    )
    head = single(
        Visit(gateway, exponential(0.001)), Visit(nic, exponential(0.0001)), Visit(network, exponential(0.0001))
    )
    route = NetworkRoute("PUT", (head, Stage(branches, 6)))
    assert len(route.visits) == 27
    return Network(drives + others, (route,), (placement, cpus))


def mm1() -> Network:
    """One exponential server."""
    station = Station("server", "server", Discipline.FIFO)
    return Network((station,), (NetworkRoute("job", (single(Visit(0, exponential(MM1_RHO))),)),))


def requests(count: int, rate_ops: float, seed: int) -> Requests:
    """Poisson arrivals of one kind of request."""
    gaps = Exponential().quantile(uniforms(seed, 1, 0, count)) / rate_ops
    keys = (uniforms(seed, 2, 0, count) * 2**40).astype(np.uint64)
    zeros = np.zeros(count)
    return Requests(
        zeros.astype(np.int32), zeros.astype(np.int64), keys, np.cumsum(gaps), zeros, zeros.astype(np.int32)
    )


def idiomatic(network: Network, sheet: Sheet) -> list[float]:
    """The same requests as SimPy's tutorials would have them: a Resource each station, a process each visit chain."""
    environment = simpy.Environment()
    resources = [
        None if s.discipline is Discipline.DELAY else simpy.Resource(environment, s.servers) for s in network.stations
    ]
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


def mm1_simpy(count: int) -> None:
    """M/M/1 as SimPy's tutorials would have it."""
    environment = simpy.Environment()
    server = simpy.Resource(environment)

    def customer():
        with server.request() as turn:
            yield turn
            yield environment.timeout(random.expovariate(1 / MM1_RHO))

    def source():
        for _ in range(count):
            yield environment.timeout(random.expovariate(1.0))
            environment.process(customer())

    environment.process(source())
    environment.run()


def mm1_ciw(count: int) -> None:
    """M/M/1 on Ciw."""
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(1.0)],
        service_distributions=[ciw.dists.Exponential(1 / MM1_RHO)],
        number_of_servers=[1],
    )
    ciw.Simulation(network).simulate_until_max_customers(count, method="Finish")


def mm1_salabim(count: int) -> None:
    """M/M/1 on salabim, generator style."""
    import salabim

    salabim.yieldless(False)
    environment = salabim.Environment(trace=False)
    server = salabim.Resource("server")

    class Customer(salabim.Component):
        def process(self):
            yield self.request(server)
            yield self.hold(random.expovariate(1 / MM1_RHO))
            self.release()

    class Source(salabim.Component):
        def process(self):
            for _ in range(count):
                yield self.hold(random.expovariate(1.0))
                Customer()

    Source()
    environment.run()


def contestants() -> dict[str, dict[str, tuple[Callable[[int], object], int]]]:
    """What is timed: a function of a number of requests, and how many it is given."""
    from mm1_cimba import mm1_cimba

    put, single_server = put_ec42(), mm1()
    put_rate = UTILISATION * DRIVES / (6 * 0.010)
    made: dict[tuple[str, int], Requests] = {}

    def asked(name: str, count: int) -> Requests:
        rate = put_rate if name == "put" else 1.0
        return made.setdefault((name, count), requests(count, rate, seed=3))

    def program(name: str, count: int) -> Program:
        return Program.of(put if name == "put" else single_server, asked(name, count), seed=3)

    def put_idiomatic(count: int) -> object:
        work = program("put", count)
        return idiomatic(put, work.draw(0, count))

    return {
        "put_ec42": {
            "simpy_idiomatic": (put_idiomatic, 2_000),
            "simpy": (lambda n: simpy_engine.run(program("put", n)), 8_000),
            "compiled": (lambda n: compiled_engine.run(program("put", n)), 100_000),
        },
        "mm1": {
            "simpy_idiomatic": (mm1_simpy, 20_000),
            "simpy": (lambda n: simpy_engine.run(program("mm1", n)), 60_000),
            "compiled": (lambda n: compiled_engine.run(program("mm1", n)), 1_000_000),
            "ciw": (mm1_ciw, 5_000),
            "salabim": (mm1_salabim, 5_000),
            "cimba": (mm1_cimba, 1_000_000),
        },
    }


def measure(rounds: int) -> dict[str, dict[str, float]]:
    """Microseconds of CPU time a request, median over interleaved rounds."""
    table = contestants()
    for group in table.values():
        for run, count in group.values():
            run(count)  # compiles, warms up, and makes the arrivals
    times: dict[tuple[str, str], list[float]] = {(g, n): [] for g, group in table.items() for n in group}
    for r in range(rounds):
        for (group, name), taken in times.items():
            run, count = table[group][name]
            begun = time.process_time()
            run(count)
            taken.append((time.process_time() - begun) / count * 1e6)
        print(f"round {r + 1} of {rounds}", file=sys.stderr)
    return {g: {n: statistics.median(times[g, n]) for n in group} for g, group in table.items()}


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    if arguments.json:
        print(json.dumps(result, indent=1))
        return
    for group, row in result.items():
        print(group)
        for name, us in row.items():
            print(f"  {name:16} {us:10.3f} us  {row['simpy_idiomatic'] / us:8.1f} x")


if __name__ == "__main__":
    main()

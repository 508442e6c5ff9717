"""CPU time per request: idiomatic SimPy, the SimPy engine and the compiled engine, and M/M/1 on other simulators.

    python benchmarks/engine/engines.py [--json] [--rounds N] [--size F]

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

import idiomatic_simpy
import numpy as np

from models.network.demand_sheet import Requests, Sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Route as NetworkRoute
from models.network.route import Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from sim.engine.reference import engine as simpy_engine
from traces.random_streams import uniforms
from traces.workload.distributions import Exponential

DRIVES, HOSTS, GROUPS = 112, 7, 1024
FRONT = DRIVES + 1 + HOSTS  # the gateways' first station
GATEWAYS = 4
UTILISATION = 0.6  # of the drives
PUT_RATE_OPS = UTILISATION * DRIVES / (6 * 0.010)
MM1_RHO = 0.8


def exponential(mean_s: float) -> ServiceDemand:
    """A demand with this mean."""
    return ServiceDemand(constant=mean_s, distribution=Exponential())


def _put_ec42(
    front: tuple[Station, ...], cpu: int | Bound, nic: int | Bound, *groups: Group, policy: Policy
) -> Network:
    """An EC 4+2 PUT over 112 drives: 3 visits at the front and on the network, then 4 on each of 6 branches."""
    drives = tuple(Station(f"drive {d}", "drive", Discipline.FIFO, indices=(d,)) for d in range(DRIVES))
    others = (
        Station("network", "network", Discipline.INFINITE_SERVER),
        *(Station(f"osd cpu {h}", "osd cpu", Discipline.FIFO, 16, (h,)) for h in range(HOSTS)),
    )
    network, osd = DRIVES, DRIVES + 1
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
    head = single(Visit(cpu, exponential(0.001)), Visit(nic, exponential(0.0001)), Visit(network, exponential(0.0001)))
    route = NetworkRoute("PUT", (head, Stage(branches, 6)), policy=policy)
    assert len(route.visits) == 27
    return Network(drives + others + front, (route,), (placement, cpus), groups=groups)


def _gateway(name: str, cores: int, nics: int) -> tuple[Station, Station]:
    """A gateway's stations."""
    return (
        Station(f"{name} cpu", "gateway cpu", Discipline.FIFO, cores, (name,)),
        Station(f"{name} nic", "nic", Discipline.FIFO, nics, (name,)),
    )


def put_ec42() -> Network:
    """The PUT through one gateway."""
    return _put_ec42(_gateway("gateway", 64, 8), FRONT, FRONT + 1, policy=NO_POLICY)


def put_ec42_hedged() -> Network:
    """The PUT through the one of 4 gateways with least outstanding, hedged at the 95th percentile."""
    front = tuple(station for g in range(GATEWAYS) for station in _gateway(f"gateway {g}", 16, 2))
    members = FRONT + np.arange(len(front), dtype=np.int32).reshape(GATEWAYS, -1)
    group = Group(Choice.LEAST_OUTSTANDING, members)
    policy = Policy(hedge_quantile=0.95, hedge_budget=0.1)
    return _put_ec42(front, Bound(0, 0), Bound(0, 1), group, policy=policy)


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
    """A function to time, and the number of requests that it is called with."""
    from mm1_cimba import mm1_cimba

    networks = {
        "put_ec42": (put_ec42(), PUT_RATE_OPS),
        "put_ec42_hedged": (put_ec42_hedged(), PUT_RATE_OPS),
        "mm1": (mm1(), 1.0),
    }
    made: dict[tuple[str, int], Requests] = {}

    def program(name: str, count: int) -> Program:
        network, rate_ops = networks[name]
        if (name, count) not in made:
            made[name, count] = requests(count, rate_ops, seed=3)
        return Program.of(network, made[name, count], seed=3)

    def on_simpy(idiomatic: Callable[[Network, Sheet], list[float]], name: str, count: int) -> list[float]:
        return idiomatic(networks[name][0], program(name, count).draw(0, count))

    return {
        "put_ec42": {
            "simpy_idiomatic": (lambda n: on_simpy(idiomatic_simpy.fork_join, "put_ec42", n), 2_000),
            "simpy": (lambda n: simpy_engine.run(program("put_ec42", n)), 8_000),
            "compiled": (lambda n: compiled_engine.run(program("put_ec42", n)), 100_000),
        },
        "put_ec42_hedged": {
            "simpy_idiomatic": (lambda n: on_simpy(idiomatic_simpy.hedged, "put_ec42_hedged", n), 2_000),
            "simpy": (lambda n: simpy_engine.run(program("put_ec42_hedged", n)), 8_000),
            "compiled": (lambda n: compiled_engine.run(program("put_ec42_hedged", n)), 100_000),
        },
        "mm1": {
            "simpy_idiomatic": (lambda n: idiomatic_simpy.mm1(n, MM1_RHO), 20_000),
            "simpy": (lambda n: simpy_engine.run(program("mm1", n)), 60_000),
            "compiled": (lambda n: compiled_engine.run(program("mm1", n)), 1_000_000),
            "ciw": (mm1_ciw, 5_000),
            "salabim": (mm1_salabim, 5_000),
            "cimba": (mm1_cimba, 1_000_000),
        },
    }


def measure(rounds: int, size: float) -> dict[str, dict[str, float]]:
    """Return CPU time per request in microseconds, median over interleaved rounds of a fraction of the requests."""
    table = {
        group: {name: (run, max(20, int(count * size))) for name, (run, count) in row.items()}
        for group, row in contestants().items()
    }
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
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--rounds", type=int, default=5, help="number of measurements of each (default: %(default)s)")
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full number of requests (default: %(default)s)"
    )
    arguments = parser.parse_args()
    result = measure(arguments.rounds, arguments.size)
    if arguments.json:
        print(json.dumps(result, indent=1))
        return
    for group, row in result.items():
        print(group)
        for name, us in row.items():
            print(f"  {name:16} {us:10.3f} us  {row['simpy_idiomatic'] / us:8.1f} x")


if __name__ == "__main__":
    main()

"""Scaling of the compiled engine: CPU time per visit and peak memory by number of requests and drives.

    python benchmarks/engine/scale.py [--json] [--rounds N] [--size F]

Requests: ten thousand to ten million through one network. Arrivals are drawn chunk by chunk and forgotten, so what
grows is their results. Drives: a hundred to a hundred thousand; 16 of them have a host, a gateway and 8 closed-loop
clients, each has ten placement groups; and the example of 112 hard disks of Ceph, once as it is and ten times as large.
Every size runs in a process of its own; building the network is not counted in. Figures are medians over the
rounds.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from engines import PUT_RATE_OPS, exponential, mm1, put_ec42, requests

from models.network.demand_sheet import Requests, Sheet, draw_sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Stage, Visit, single
from models.network.station import Bound, Choice, Group, Member, Station
from models.store import compile_spec, load_spec
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Program
from traces.random_streams import uniforms
from traces.trace import Pacing
from traces.workload.generate import generate

NETWORKS = {"put_ec42": (put_ec42, PUT_RATE_OPS), "mm1": (mm1, 1.0)}
SIZES = {"put_ec42": (10**4, 10**5, 10**6), "mm1": (10**4, 10**5, 10**6, 10**7)}
DRIVES = (10**2, 10**3, 10**4, 10**5)
PUTS = 400_000
DRIVES_PER_HOST, CLIENTS_PER_HOST, GROUPS_PER_DRIVE = 16, 8, 10
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ceph" / "redhat-112-hdd.yaml"
EXAMPLE_HOSTS = (7, 70)
EXAMPLE_PUTS = 20_000
LEAST = 1_000
"""Least number of requests; as many load the kernel before memory and time are taken."""


@dataclass(frozen=True)
class Cost:
    """What a run cost: CPU time a request and a visit; its process's peak, and how much of it the requests added."""

    us_per_request: float
    us_per_visit: float
    peak_bytes: float
    bytes_per_request: float


class Source:
    """Poisson arrivals without end, taken in order; each chunk has a seed of its own."""

    def __init__(self, network: Network, rate_ops: float, count: int):
        self.network, self.rate_ops, self.count = network, rate_ops, count
        self.last_s = 0.0

    def draw(self, first: int, count: int) -> Sheet:
        """The next chunk."""
        chunk = requests(min(count, self.count - first), self.rate_ops, seed=first)
        chunk = replace(chunk, arrival_s=chunk.arrival_s + self.last_s)
        if len(chunk):
            self.last_s = float(chunk.arrival_s[-1])
        return replace(draw_sheet(self.network, chunk, first, 0, len(chunk)), first=first)


def cluster(drives: int) -> Network:
    """An EC 4+2 PUT over `drives` drives, through the gateway with the fewest outstanding requests."""
    hosts = drives // DRIVES_PER_HOST
    stations = [
        *(Station(f"drive {d}", "drive", Discipline.FIFO, indices=(d,)) for d in range(drives)),
        Station("network", "network", Discipline.INFINITE_SERVER),
        *(Station(f"osd cpu {h}", "osd cpu", Discipline.FIFO, 16, (h,)) for h in range(hosts)),
    ]
    front = len(stations)
    for g in range(hosts):
        stations.append(Station(f"gateway {g} cpu", "gateway cpu", Discipline.FIFO, 16, (g,)))
        stations.append(Station(f"gateway {g} nic", "nic", Discipline.FIFO, 2, (g,)))
    placement = np.random.default_rng(7).integers(0, drives, (drives * GROUPS_PER_DRIVE, 6)).astype(np.int32)
    cpus = (drives + 1 + placement % hosts).astype(np.int32)
    branches = tuple(
        (
            Visit(drives, exponential(0.0001)),
            Visit(Member(1, b), exponential(0.0002)),
            Visit(Member(0, b), exponential(0.008)),
            Visit(Member(0, b), exponential(0.002)),
        )
        for b in range(6)
    )
    head = single(
        Visit(Bound(0, 0), exponential(0.001)),
        Visit(Bound(0, 1), exponential(0.0001)),
        Visit(drives, exponential(1e-4)),
    )
    group = Group(Choice.LEAST_OUTSTANDING, front + np.arange(2 * hosts, dtype=np.int32).reshape(hosts, 2))
    return Network(tuple(stations), (Route("PUT", (head, Stage(branches, 6))),), (placement, cpus), (group,))


def cluster_program(drives: int, count: int) -> Program:
    """`count` PUTs to a cluster of `drives` drives."""
    zeros = np.zeros(count)
    keys = (uniforms(3, 2, 0, count) * 2**40).astype(np.uint64)
    clients = CLIENTS_PER_HOST * (drives // DRIVES_PER_HOST)
    pacing = Pacing("closed", clients, stagger_s=0.001 / clients)
    puts = Requests(zeros.astype(np.int32), zeros.astype(np.int64), keys, zeros, zeros, zeros.astype(np.int32), pacing)
    return Program.of(cluster(drives), puts, seed=3)


def example_program(hosts: int, count: int) -> Program:
    """`count` PUTs to the example with `hosts` hosts, gateways and buckets, and 8 clients per host."""
    sizes = ("hosts.count", "client.machines", "gateways.count", "workload.buckets")
    spec = load_spec(
        EXAMPLE,
        [
            *(f"{path}={hosts}" for path in sizes),
            f"workload.clients={CLIENTS_PER_HOST * hosts}",
            f"workload.operations={count}",
            f"pools.pg_num={4096 * hosts // EXAMPLE_HOSTS[0]}",
        ],
    )
    return Program.of(*compile_spec(spec, generate(spec.workload, 3)), seed=3)


def peak_bytes() -> int:
    """The most memory this process has had resident so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def run(name: str, size: int, fraction: float) -> Cost:
    """Execute a size in this process: a number of requests, or of the clusters' drives or hosts.

    Args:
        fraction: of the number of PUTs to the clusters.
    """

    def program(length: int) -> Program:
        if name == "drives":
            return cluster_program(size, length)
        if name == "example":
            return example_program(size, length)
        build, rate_ops = NETWORKS[name]
        network = build()
        return Program(network, Source(network, rate_ops, length).draw, seed=3)

    puts = {"drives": PUTS, "example": EXAMPLE_PUTS}
    count = max(LEAST, int(puts[name] * fraction)) if name in puts else size
    compiled_engine.run(program(LEAST))
    measured = program(count)
    before_bytes, begun_s = peak_bytes(), time.process_time()
    outcome = compiled_engine.run(measured)
    us = (time.process_time() - begun_s) * 1e6
    peak = peak_bytes()
    return Cost(us / count, us / int(outcome.visits.sum()), peak, (peak - before_bytes) / count)


def in_child(name: str, count: int, fraction: float) -> Cost:
    """The same in a fresh process, whose peak is its own."""
    command = [sys.executable, __file__, "--child", name, str(count), str(fraction)]
    return Cost(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def measure(rounds: int, fraction: float) -> dict[str, dict[int, Cost]]:
    """Medians over interleaved rounds, of sizes up to a fraction of the largest."""
    largest = max(max(row) for row in SIZES.values())
    sizes = {name: _up_to(row, fraction * largest) for name, row in SIZES.items()}
    sizes |= {"drives": _up_to(DRIVES, fraction * max(DRIVES)), "example": list(EXAMPLE_HOSTS)}
    taken: dict[tuple[str, int], list[Cost]] = {(name, size): [] for name, row in sizes.items() for size in row}
    for r in range(rounds):
        for (name, size), costs in taken.items():
            costs.append(in_child(name, size, fraction))
        print(f"round {r + 1} of {rounds}", file=sys.stderr)
    result: dict[str, dict[int, Cost]] = {name: {} for name in sizes}
    for (name, size), costs in taken.items():
        columns = zip(*(asdict(cost).values() for cost in costs), strict=True)
        result[name][size] = Cost(*(statistics.median(column) for column in columns))
    return result


def _up_to(sizes: tuple[int, ...], limit: float) -> list[int]:
    return [size for size in sizes if size <= max(limit, sizes[0])]


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements of each (default: %(default)s)")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of requests and drives (default: %(default)s)",
    )
    parser.add_argument("--child", nargs=3, metavar=("NETWORK", "SIZE", "FRACTION"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, size, fraction = arguments.child
        print(json.dumps(asdict(run(name, int(size), float(fraction)))))
        return
    result = measure(arguments.rounds, arguments.size)
    if arguments.json:
        print(json.dumps({n: {s: asdict(cost) for s, cost in row.items()} for n, row in result.items()}, indent=1))
        return
    for name, row in result.items():
        print(name)
        least = next(iter(row.values())).us_per_visit
        for size, cost in row.items():
            what = {"drives": "drives", "example": "hosts"}.get(name, "requests")
            print(
                f"  {size:>10,} {what:8} {cost.us_per_request:8.3f} us a request {cost.us_per_visit:7.4f} us a visit"
                f" ({cost.us_per_visit / least:.2f} x) {cost.peak_bytes / 2**20:8.0f} MiB at most"
                f" {cost.bytes_per_request:8.0f} bytes a request"
            )


if __name__ == "__main__":
    main()

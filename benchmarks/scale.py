"""How the compiled engine scales: CPU time a visit, and peak memory, from ten thousand requests to ten million.

    python benchmarks/scale.py [--json] [--rounds N] [--quick]

Every size runs in a process of its own. Arrivals are drawn chunk by chunk and forgotten, so what grows with the number
of requests is their results. Figures are medians over the rounds.
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

from engines import PUT_RATE_OPS, mm1, put_ec42, requests

from models.network import Network
from models.sheet import Sheet, draw_sheet
from sim.engine.compiled import engine as compiled_engine
from sim.outcome import Program

NETWORKS = {"put_ec42": (put_ec42, PUT_RATE_OPS), "mm1": (mm1, 1.0)}
SIZES = {"put_ec42": (10**4, 10**5, 10**6), "mm1": (10**4, 10**5, 10**6, 10**7)}
QUICK_LIMIT = 10**6
WARM_UP = 1_000
"""Requests that load the kernel before memory and time are taken."""


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


def peak_bytes() -> int:
    """The most memory this process has had resident so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def run(name: str, count: int) -> Cost:
    """Execute so many requests in this process."""
    build, rate_ops = NETWORKS[name]
    network = build()

    def program(length: int) -> Program:
        return Program(network, Source(network, rate_ops, length).draw, seed=3)

    compiled_engine.run(program(WARM_UP))
    before_bytes, begun_s = peak_bytes(), time.process_time()
    outcome = compiled_engine.run(program(count))
    us = (time.process_time() - begun_s) * 1e6
    peak = peak_bytes()
    return Cost(us / count, us / int(outcome.visits.sum()), peak, (peak - before_bytes) / count)


def in_child(name: str, count: int) -> Cost:
    """The same in a fresh process, whose peak is its own."""
    command = [sys.executable, __file__, "--child", name, str(count)]
    return Cost(**json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def measure(rounds: int, limit: int) -> dict[str, dict[int, Cost]]:
    """Medians over interleaved rounds, of the sizes up to a limit."""
    in_child("mm1", WARM_UP)  # compiles where that has not been done: compiling takes more memory than running
    taken: dict[tuple[str, int], list[Cost]] = {(n, s): [] for n in SIZES for s in SIZES[n] if s <= limit}
    for r in range(rounds):
        for (name, size), costs in taken.items():
            costs.append(in_child(name, size))
        print(f"round {r + 1} of {rounds}", file=sys.stderr)
    result: dict[str, dict[int, Cost]] = {name: {} for name in SIZES}
    for (name, size), costs in taken.items():
        columns = zip(*(asdict(cost).values() for cost in costs), strict=True)
        result[name][size] = Cost(*(statistics.median(column) for column in columns))
    return result


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help=f"no more than {QUICK_LIMIT:,} requests")
    parser.add_argument("--child", nargs=2, metavar=("NETWORK", "REQUESTS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, count = arguments.child
        print(json.dumps(asdict(run(name, int(count)))))
        return
    result = measure(arguments.rounds, QUICK_LIMIT if arguments.quick else 10**7)
    if arguments.json:
        print(json.dumps({n: {s: asdict(cost) for s, cost in row.items()} for n, row in result.items()}, indent=1))
        return
    for name, row in result.items():
        print(name)
        for size, cost in row.items():
            print(
                f"  {size:>10,} requests {cost.us_per_request:8.3f} us a request {cost.us_per_visit:7.4f} us a visit"
                f" {cost.peak_bytes / 2**20:8.0f} MiB at most {cost.bytes_per_request:8.0f} bytes a request"
            )


if __name__ == "__main__":
    main()

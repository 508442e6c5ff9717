"""CPU time and memory per sub-request, next to requests that make the same visits, in the compiled engine.

    python benchmarks/engine/sub_requests.py [--children N] [--json]

Requests of 64 sub-requests each, at most 16 of them in progress, at 64 servers that are 60 % busy; and one request
whose sub-requests are all in progress at the same time. Times are the least of three runs. Memory is the peak of a
process of its own, less that of the same process with one sub-request (Linux).

A million of each: 0.21 us of CPU time for a request as for a sub-request if few are in progress, 1.2 us and 390 bytes
if all are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from models.network.sub_requests import SubRequests
from sim.engine.compiled import engine
from sim.engine.outcome import Program
from traces.random_streams import uniforms
from traces.workload.distributions import Exponential

EACH, PARALLEL, SERVERS, UTILISATION = 64, 16, 64, 0.6
ALL_AT_ONCE_S = 1000.0


def requests(count: int, rate_ops: float) -> Requests:
    """Poisson arrivals of the first route."""
    arrival_s = np.cumsum(Exponential().quantile(uniforms(3, 1, 0, count))) / rate_ops
    zeros = np.zeros(count)
    of_first = zeros.astype(np.int32)
    return Requests(of_first, zeros.astype(np.int64), zeros.astype(np.uint64), arrival_s, zeros, of_first)


def part(station: int, mean_s: float) -> Route:
    """Two visits: a server, and a delay."""
    exponential = ServiceDemand(constant=mean_s, distribution=Exponential())
    return Route("part", (single(Visit(station, exponential), Visit(1, ServiceDemand(constant=mean_s))),))


STATIONS = (
    Station("servers", "servers", Discipline.FIFO, SERVERS),
    Station("delay", "delay", Discipline.INFINITE_SERVER),
)


def plain(count: int) -> Program:
    """Requests that make the visits of a sub-request."""
    return Program.of(Network(STATIONS, (part(0, 1.0),)), requests(count, UTILISATION * SERVERS), 3)


def divided(count: int) -> Program:
    """The same visits as sub-requests of fewer requests."""
    sub = SubRequests(1, count=EACH, parallel=PARALLEL)
    parent = Route("all", (single(Visit(1, ServiceDemand(), starts=sub)),))
    network = Network(STATIONS, (parent, part(0, 1.0)))
    return Program.of(network, requests(max(count // EACH, 1), UTILISATION * SERVERS / EACH), 3)


def at_once(count: int) -> Program:
    """One request, all of whose sub-requests are in progress at the same time."""
    parent = Route("all", (single(Visit(1, ServiceDemand(), starts=SubRequests(1, count=count))),))
    return Program.of(Network(STATIONS, (parent, part(1, ALL_AT_ONCE_S))), requests(1, 1.0), 3)


PROGRAMS = {"requests": plain, "sub-requests": divided, "sub-requests, all at once": at_once}


def measured(name: str, count: int) -> dict[str, float]:
    """Return CPU time in microseconds for each of `count` requests or sub-requests: in all, and in the kernel."""
    total_s, kernel_s = [], []
    for _ in range(3):
        program = PROGRAMS[name](count)
        in_kernel_s, begun_s = engine.kernel_s(), time.process_time()
        engine.run(program)
        total_s.append(time.process_time() - begun_s)
        kernel_s.append(engine.kernel_s() - in_kernel_s)
    return {"total_us": min(total_s) / count * 1e6, "kernel_us": min(kernel_s) / count * 1e6}


def peak_bytes(name: str, count: int) -> int:
    """Return the peak memory of one run in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--children", str(count)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--children", type=int, default=1_000_000, help="number of requests or sub-requests (default: %(default)s)"
    )
    parser.add_argument("--one", choices=PROGRAMS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    count = arguments.children
    if arguments.one:
        engine.run(PROGRAMS[arguments.one](count))
        status = Path("/proc/self/status").read_text()
        print(1024 * int(status.partition("VmHWM:")[2].split()[0]))
        return
    table = {name: measured(name, count) for name in PROGRAMS}
    for name, row in table.items():
        row["peak_bytes"] = (peak_bytes(name, count) - peak_bytes(name, 1)) / count
    if arguments.json:
        print(json.dumps(table, indent=1))
        return
    for name, row in table.items():
        print(
            f"{name:26} {row['total_us']:8.3f} us, {row['kernel_us']:.3f} us of it in the kernel, "
            f"{row['peak_bytes']:6.0f} B at the peak"
        )


if __name__ == "__main__":
    main()

"""How often 95 % intervals contain the long-run value, for runs that carry no warning, by length and kind of load.

    python benchmarks/interval_coverage.py [--size F] [--load open|busy|closed] [--out coverage.csv]

A MinIO of one core, whose requests take exponential times, with open loops of 60 and 80 % load and a closed loop,
without and with a garbage collector. Each experiment simulates 5 replications with a seed of its own. Where no warning
is printed (`sim.replication.steadiness`), intervals of mean, p99 and op/s must contain the long-run value as often as
they claim: a binomial test of all lengths of a load together must not reject that at 1 %. Of runs ten times as long as
needed, at most 5 % may carry a warning; the length needed is the shortest with which at most half of them do.

Exits with 1 if one of these does not hold. The 3,240 experiments take some twenty minutes on one core.
`benchmarks/interval_coverage.csv` has all of the open loops at 60 %, the others with `--size 0.4`.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from models.store import Spec, spec_of
from sim.replication.replicate import replicate
from sim.replication.summaries import CONFIDENCE
from sim.simulate import simulate
from traces.random_streams import stream_id

REPLICATIONS = 5
LENGTHS = {300: 50, 1_000: 100, 3_000: 250, 10_000: 100, 30_000: 40}
"""Number of experiments by the requests of a replication."""
LONGER = {"busy": 5}
"""Factors of the lengths for loads whose queues change more slowly: in proportion to `1 / (1 - load)^2`."""
LONG, LONG_REPLICATIONS = 300_000, 10
FIGURES = ("mean", "p99", "throughput_ops")
SIGNIFICANCE, MOST_WARNED = 0.01, 0.05
LOADS: dict[str, dict[str, Any]] = {
    "open": {"rate": 600},
    "busy": {"rate": 800},
    "closed": {"clients": 10, "think_time": {"mean": "10ms", "distribution": {"kind": "exponential"}}},
}
COLLECTOR = {"mark_work": "20ms", "allocation_interval": 1_000_000, "allocations": {"GET": {"constant": 4000}}}
"""A collection in 250 requests, of 20 requests' CPU time."""


@dataclass(frozen=True)
class Row:
    """The experiments with one load and length: `contained` of `unwarned` intervals contain the long-run value."""

    load: str
    collections: bool
    requests: int
    experiments: int
    warned: int
    figure: str
    long_run: float
    contained_of_all: int
    unwarned: int
    contained: int


def store(load: str, collections: bool, requests: int) -> Spec:
    """Return the spec of a load."""
    cpu = {"constant": "1ms", "distribution": {"kind": "exponential"}}
    hosts = {"cores": 1, "cpu": {"GET": cpu}, "garbage_collector": COLLECTOR if collections else {}}
    workload = {**LOADS[load], "operations": requests, "object_size": "4KiB", "mix": {"GET": 1}}
    spec = {"store": "minio", "workload": workload, "hosts": hosts, "drives": {"read": 0}, "inline_limit": 0}
    return spec_of(spec, f"{load} loop")


def rows(load: str, collections: bool, size: float) -> Iterator[Row]:
    """Yield the rows of a load, those of short runs first."""
    longer = LONGER.get(load, 1)
    length = round(longer * LONG * min(1.0, max(0.2, size)))
    long_run = replicate(partial(simulate, store(load, collections, length)), seed=1, replications=LONG_REPLICATIONS)
    truth = {figure: long_run.figures["GET"][figure].value for figure in FIGURES}
    truth["throughput_ops"] = store(load, collections, 1).workload.rate or truth["throughput_ops"]
    for shortest, full in LENGTHS.items():
        requests = longer * shortest
        experiments = max(2, round(full * size))
        simulation = partial(simulate, store(load, collections, requests))
        warned, found = [], {figure: list[bool]() for figure in FIGURES}
        for number in range(experiments):
            seed = stream_id("coverage", load, collections, requests, number)
            done = replicate(simulation, seed=seed, replications=REPLICATIONS)
            warned.append(bool(done.unsettled))
            for figure, value in truth.items():
                interval = done.figures["GET"][figure].interval()
                found[figure].append(interval.low <= value <= interval.high)
        for figure, contained in found.items():
            kept = [each for each, is_warned in zip(contained, warned, strict=True) if not is_warned]
            yield Row(
                load, collections, requests, experiments, sum(warned), figure, truth[figure], sum(contained),
                len(kept), sum(kept),
            )  # fmt: skip


def findings(found: list[Row]) -> Iterator[tuple[str, bool]]:
    """Yield what must hold for the rows of a load, and whether it does."""
    for figure in FIGURES:
        mine = [row for row in found if row.figure == figure]
        unwarned, contained = sum(row.unwarned for row in mine), sum(row.contained for row in mine)
        if unwarned:
            test = binomtest(contained, unwarned, CONFIDENCE, alternative="less")
            says = f"{figure}: {contained} of {unwarned} intervals contain {mine[0].long_run:.6g} (p {test.pvalue:.2g})"
            yield says, test.pvalue >= SIGNIFICANCE
    of_length = [row for row in found if row.figure == FIGURES[0]]
    needed = next((row.requests for row in of_length if 2 * row.warned <= row.experiments), None)
    if needed is None:
        yield "no length settles", False
        return
    for row in of_length:
        if row.requests >= 10 * needed:
            says = f"{row.requests:,} requests, needed {needed:,}: {row.warned} of {row.experiments} runs are warned of"
            test = binomtest(row.warned, row.experiments, MOST_WARNED, alternative="greater")
            yield says, test.pvalue >= SIGNIFICANCE


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=1.0, help="multiple of the experiments (default: 1)")
    parser.add_argument("--load", choices=tuple(LOADS), help="only this kind of load (default: all)")
    parser.add_argument("--out", type=Path, help="CSV file to write (default: none)")
    arguments = parser.parse_args()
    everything, holds = [], True
    for load in LOADS if arguments.load is None else (arguments.load,):
        for collections in (False, True):
            print(f"{load} loop, {'with' if collections else 'without'} garbage collections", flush=True)
            found = list(rows(load, collections, arguments.size))
            everything += found
            for says, is_so in findings(found):
                print(f"  {'holds' if is_so else 'DOES NOT HOLD'}: {says}", flush=True)
                holds &= is_so
            if arguments.out:
                with arguments.out.open("w", newline="", encoding="utf-8") as file:
                    writer = csv.DictWriter(file, list(asdict(everything[0])), lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(asdict(row) for row in everything)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

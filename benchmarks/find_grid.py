"""Compares `find` with a brute-force grid of the same resolution: whether both find the same, and simulations needed.

    python benchmarks/find_grid.py [SEARCH ...] [--json] [--workers N] [--size F]

The grid has the search's seeds, and steps as fine as its tolerance about the answer. Of a limit it says between which
two neighbours the objective ceases to be kept for good, and where it does so first: where chance makes the figure rise
and fall about the limit, the search ends at one of the crossings between them.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cli.parse.goal import parse_goal, parse_target
from cli.parse.slo import parse_slo
from sim.experiments.find.find_best import find_best
from sim.experiments.find.find_limit import find_limit
from sim.experiments.measures import Measures
from sim.experiments.sweep import PointTask, Settings, sweep
from sim.experiments.variants import Variants, assignment

TOLERANCE = 0.01
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
Model = tuple[str, list[str], int]
"""An example, overrides, and the number of requests."""
MINIO: Model = ("minio.yaml", ["workload.rate=800/s", "workload.duration=null"], 6000)
SLOW_READS = "hosts.cpu.GET.distribution={kind: slow_mode, probability: 0.02, factor: 40}"
CEPH: Model = ("ceph/redhat-112-hdd.yaml", [], 3000)
FEWEST = 4
"""Least number of points of a grid."""

LIMITS: dict[str, tuple[Model, str, str, list[float]]] = {
    "rate": (MINIO, "max workload.rate", "GET.p99<20ms", np.geomspace(400, 3200, 210).tolist()),
    "cores": (
        (MINIO[0], [*MINIO[1], "workload.rate=3000/s"], MINIO[2]),
        "min hosts.cores.count",
        "PUT.p99<10ms",
        list(range(1, 17)),
    ),
    "clients": (CEPH, "max workload.clients", "PUT.p99<60ms", list(range(8, 257, 4))),
}
HEDGE = "hedge"
BEST = (
    (MINIO[0], [*MINIO[1], SLOW_READS, "client.hedge.budget=null", "hosts.cores.count=8"], MINIO[2]),
    "best client.hedge.after in 0.3ms..20ms", "GET.p99", 0.03, np.geomspace(0.3e-3, 20e-3, 85).tolist(),
)  # fmt: skip


def requested(model: Model, workers: int, size: float) -> Variants:
    """The variants of an example, with a fraction of its requests."""
    name, overrides, operations = model
    overrides = [*overrides, f"workload.operations={max(50, int(operations * size))}"]
    return Variants.of(EXAMPLES / name, overrides, Settings(seed=1, replications=5), workers)


def thinned(values: list[float], size: float) -> list[float]:
    """A fraction of the points of a grid, with its ends."""
    count = min(len(values), max(FEWEST, int(len(values) * size)))
    return [values[n] for n in np.linspace(0, len(values) - 1, count).astype(int)]


def grid_of(variants: Variants, path: str, values: list[float]) -> dict[float, Measures]:
    """Simulate all values; infeasible values are omitted."""
    jobs = [PointTask(variants.spec([assignment(path, value)]), variants.settings) for value in values]
    results = zip(values, sweep(jobs, workers=variants.workers), strict=True)
    return {value: result for value, result in results if isinstance(result, Measures)}


def limit(model: Model, goal: str, objective: str, values: list[float], workers: int, size: float) -> dict[str, Any]:
    """Compare a search for a limit with its grid."""
    variants, slo = requested(model, workers, size), parse_slo(objective)
    begun_s = time.perf_counter()
    found = find_limit(variants, parse_goal(goal), [slo], tolerance=TOLERANCE)
    search_s = time.perf_counter() - begun_s
    grid = grid_of(variants, found.path, thinned(values, size))
    order = sorted(grid, reverse=found.find == "min")
    kept = [slo.evaluate(grid[value]).value < slo.limit for value in order]
    first_broken, last_kept = kept.index(False), len(kept) - 1 - kept[::-1].index(True)
    low, high = sorted((order[max(first_broken - 1, 0)], order[min(last_kept + 1, len(order) - 1)]))
    return {
        "spec": model[0],
        "find": goal,
        "objective": objective,
        "found": found.value,
        "beyond": found.beyond,
        "grid_crosses_between": [low, high],
        "grid_crossings": sum(a != b for a, b in pairwise(kept)),
        "agrees": low * (1 - TOLERANCE) <= found.value <= high * (1 + TOLERANCE),
        "simulated": len(found.trials),
        "grid_simulated": len(grid),
        "search_s": search_s,
    }


def best(workers: int, size: float) -> dict[str, Any]:
    """Compare a search for the best delay with its grid: by how much the grid's best is better."""
    model, goal, target, most, values = BEST
    variants, values = requested(model, workers, size), thinned(values, size)
    begun_s = time.perf_counter()
    found = find_best(variants, parse_goal(goal), parse_target(target), most_extra_load=most)
    search_s = time.perf_counter() - begun_s
    latency = parse_target(target)
    op, name = latency.op, latency.figure
    grid = {value: found_at[1] for value, found_at in _with_load(variants, found.path, values, op, name).items()
            if found_at[0] <= most}  # fmt: skip
    value = min(grid, key=lambda v: grid[v])
    return {
        "spec": model[0],
        "find": goal,
        "most_extra_load": most,
        "found": found.value,
        "found_s": found.best.target.value,
        "base_s": found.base.target.value,
        "grid": value,
        "grid_s": grid[value],
        "above_grid": found.best.target.value / grid[value] - 1,
        "agrees": found.best.target.value <= 1.02 * grid[value],
        "simulated": len(found.trials) + 1,
        "grid_simulated": len(values),
        "search_s": search_s,
    }


def _with_load(
    variants: Variants, path: str, values: list[float], op: str, name: str
) -> dict[float, tuple[float, float]]:
    """Extra load and latency of each value."""
    found = {}
    with variants.simulations() as simulations:
        for value in values:
            measures = simulations([assignment(path, value)])
            found[value] = measures.extra_load, measures.interval(op, name).value
    return found


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    searches = [*LIMITS, HEDGE]
    parser.add_argument("searches", nargs="*", metavar="SEARCH", help=f"of {', '.join(searches)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--workers", type=int, default=1, help="number of processes (default: %(default)s)")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of requests and of points of the grids (default: %(default)s)",
    )
    options = parser.parse_args()
    if unknown := set(options.searches) - set(searches):
        parser.error(f"no search {', '.join(sorted(unknown))}; there are {', '.join(searches)}")
    chosen = options.searches or searches
    rows = [limit(*case, options.workers, options.size) for name, case in LIMITS.items() if name in chosen]
    if HEDGE in chosen:
        rows.append(best(options.workers, options.size))
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(
            ", ".join(
                f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
            )
        )


if __name__ == "__main__":
    main()

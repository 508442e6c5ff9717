"""A what-if analysis with 100 points of the Ceph example: points per minute, and CPU time outside the engine.

    python benchmarks/whatif_points.py [--json] [--workers N] [--replications N] [--size F]

Points a minute are of so many processes, their start included. Shares are of CPU time in one process: the engine draws
the demands and runs the events; the rest reads specs, generates requests, builds networks, and makes figures.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import sim.experiments.sweep
import sim.simulate
import traces.workload.kept_traces
from cli.parse.vary import parse_variation
from models.store import spec_of
from sim.engine.compiled import engine as compiled_engine
from sim.experiments.measures import Measures
from sim.experiments.sweep import PointTask, Settings, sweep
from sim.experiments.variation import grid
from sim.replication.summaries import Replication
from traces.run import Run
from traces.spec.spec_file import load_mapping, override

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "ceph" / "redhat-112-hdd.yaml"
_OPERATIONS = 5000
VARIED = ("gateways.count=5..14", "buckets.shards=8,16,32,64,128", "client.hedge.after=null,p95")

PARTS: dict[str, tuple[Any, str]] = {
    "engine": (compiled_engine, "run"),
    "networks built": (sim.simulate, "compile_spec"),
    "requests generated": (traces.workload.kept_traces, "generate"),
    "tables of the Runs": (Run, "of"),
    "figures of the Runs": (Replication, "of"),
    "figures of the points": (Measures, "of"),
}
"""Where time goes: the functions that spend it."""


def jobs(settings: Settings, size: float) -> list[PointTask]:
    """The points, or a fraction of them with a fraction of their requests."""
    data = load_mapping(EXAMPLE)
    count = max(20, int(_OPERATIONS * size))
    data = override(data, [f"workload.operations={count}"])
    points = grid([parse_variation(text) for text in VARIED])
    points = points[: max(2, int(len(points) * size))]
    specs = [spec_of(override(data, [f"{path}={value}" for path, value in point.items()]), "") for point in points]
    return [PointTask(spec, settings) for spec in specs]


def points_a_minute(settings: Settings, workers: int, size: float) -> float:
    """Of a sweep over so many processes, as the command makes it."""
    begun_s = time.perf_counter()
    requested = jobs(settings, size)
    sweep(requested, workers=workers)
    return 60 * len(requested) / (time.perf_counter() - begun_s)


def shares(settings: Settings, size: float) -> dict[str, float]:
    """The shares of CPU time in this process, of all points."""
    sweep(jobs(settings, size)[:1])
    spent_s = dict.fromkeys(PARTS, 0.0)
    with contextlib.ExitStack() as stack:
        for name, (owner, function) in PARTS.items():
            stack.enter_context(mock.patch.object(owner, function, _timed(spent_s, name, getattr(owner, function))))
        begun_s = time.process_time()
        sweep(jobs(settings, size))
        total_s = time.process_time() - begun_s
    return {name: value / total_s for name, value in spent_s.items()}


def _timed(spent_s: dict[str, float], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def timed(*arguments: Any, **named: Any) -> Any:
        begun_s = time.process_time()
        result = function(*arguments, **named)
        spent_s[name] += time.process_time() - begun_s
        return result

    return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--workers", type=int, default=2, help="number of processes (default: %(default)s)")
    parser.add_argument("--replications", type=int, default=5, help="replications of each point (default: %(default)s)")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of requests and points (default: %(default)s)",
    )
    options = parser.parse_args()
    settings = Settings(replications=options.replications)
    spent = shares(settings, options.size)
    result = {"outside_engine": 1 - spent["engine"], "shares": spent,
              "points_a_minute": points_a_minute(settings, options.workers, options.size)}  # fmt: skip
    if options.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{result['points_a_minute']:.0f} points a minute, {options.replications} replications each")
    print(f"outside the engine: {result['outside_engine']:.1%} of CPU time")
    for name, fraction in spent.items():
        print(f"  {name:24} {fraction:6.1%}")


if __name__ == "__main__":
    main()

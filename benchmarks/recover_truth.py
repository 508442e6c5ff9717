"""Recovers known truth: Runs are simulated from hidden parameters, a calibration gets the Runs only.

    python benchmarks/recover_truth.py [SPEC.yaml] [--json] [--trials N] [--seed N] [--workers N] [--size F]

In each trial every parameter that the spec (a MinIO's; else the example) can fit is drawn at random, up to a factor of
two either way of the spec's value. Eight Runs (1 and 4 clients, GET and PUT, 4 KiB and 1 MiB) are simulated with it,
and their CPU times are recorded with the error that the calibration assumes of such records. An interval should cover
the truth as often as it claims. Exits with 1 when the coverage over all identified parameters is less than claimed
beyond chance.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from models.spec.spec_values import value_at, with_values
from models.store import Spec, compile_spec, spec_of
from sim.simulate import simulate
from traces.random_streams import stream_id, uniforms
from traces.run import Run
from traces.spec.spec_file import load_mapping, override
from traces.workload.generate import generate
from validate.calibration.calibrate import calibrate
from validate.calibration.parameters import Parameter, parameters_of
from validate.calibration.profile import Profile
from validate.compare.figures import CPU_NOISE
from validate.replay.cpu_usage import modelled_cpu_s

SPEC = Path(__file__).resolve().parent.parent / "examples" / "minio.yaml"
CELLS = tuple((clients, op, size) for clients in (1, 4) for op in ("GET", "PUT") for size in ("4KiB", "1MiB"))
OPERATIONS = 5000
"""Number of requests of a Run."""
FACTOR = 2.0
"""Maximum factor between the true values and the spec's."""


@dataclass(frozen=True)
class Trial:
    """The hidden values by path, and the values found by calibration."""

    truth: dict[str, float]
    profile: Profile

    def off(self, path: str) -> float:
        """ln(found / truth)."""
        return math.log(self.profile.parameters[path].value / self.truth[path])

    def covered(self, path: str) -> bool:
        """Whether the interval holds the truth."""
        estimate = self.profile.parameters[path]
        return estimate.low <= self.truth[path] <= estimate.high


def trial(
    data: dict[str, Any],
    seed: int,
    cells: tuple[tuple[int, str, str], ...] = CELLS,
    operations: int = OPERATIONS,
    confidence: float = 0.95,
    workers: int = 1,
) -> Trial:
    """Hide a truth, simulate Runs of the cells (clients, operation, object size), and calibrate `data` from them."""
    requested = {op for _, op, _ in cells}
    spec = spec_of(data, "spec")
    parameters = [p for p in parameters_of(spec) if not _named(p.path) or _named(p.path) & requested]
    u = uniforms(seed, stream_id("recover/truth"), 0, len(parameters))
    truth = {p.path: _drawn(spec, p, float(x)) for p, x in zip(parameters, u, strict=True)}
    runs = [(f"run-{i}", _run(data, truth, cell, operations, seed, i)) for i, cell in enumerate(cells)]
    # Some draws make a store so fast that its Runs would be judged too short.
    profile = calibrate(spec, runs, seed=seed + 1, confidence=confidence, workers=workers, anyway=True)
    return Trial(truth, profile)


def _drawn(spec: Spec, parameter: Parameter, u: float) -> float:
    """A value up to `FACTOR` either way of the spec's, within the parameter's bounds; its logarithm is uniform."""
    value = value_at(spec, parameter.path)
    low, high = max(value / FACTOR, parameter.low), min(value * FACTOR, parameter.high)
    return float(low * (high / low) ** u)


def _named(path: str) -> set[str]:
    return set(path.split(".")) & {"GET", "PUT", "HEAD", "DELETE", "LIST"}


def _run(
    data: dict[str, Any], truth: dict[str, float], cell: tuple[int, str, str], operations: int, seed: int, index: int
) -> Run:
    clients, op, size = cell
    requested = [
        f"clients={clients}",
        f"mix={{{op}: 1}}",
        f"object_size={size}",
        f"operations={operations}",
        "duration=null",
    ]
    spec = with_values(spec_of(override(data, [f"workload.{value}" for value in requested]), "spec"), truth)
    trace = generate(spec.workload, seed=1)
    run = simulate(spec, trace, seed=1_000_003 * seed + index)
    errors = stats.norm.ppf(uniforms(seed, stream_id(f"recover/cpu/{index}"), 0, 2)) * CPU_NOISE
    cpu = {
        f"{side}_per_op_s": cpu_s * math.exp(error)
        for (side, cpu_s), error in zip(modelled_cpu_s(spec, *compile_spec(spec, trace)).items(), errors, strict=True)
    }
    return replace(run, info=run.info | {"cpu": cpu})


def table(trials: list[Trial], confidence: float) -> dict[str, Any]:
    """Coverage by parameter and over all, of the trials in which it was identified."""
    rows = {}
    for path in trials[0].truth:
        known = [t for t in trials if t.profile.parameters[path].identified]
        widths = [math.log(t.profile.parameters[path].high / t.profile.parameters[path].low) / 2 for t in known]
        rows[path] = {
            "identified": len(known),
            "covered": sum(t.covered(path) for t in known),
            "median_abs_log_error": float(np.median([abs(t.off(path)) for t in known])) if known else None,
            "median_half_width": float(np.median(widths)) if known else None,
        }
    identified = sum(row["identified"] for row in rows.values())
    covered = sum(row["covered"] for row in rows.values())
    # Parameters of a trial are not independent, trials are: so a trial counts as one draw.
    least = stats.binom.ppf(0.005, len(trials), confidence) / len(trials)
    return {
        "trials": len(trials),
        "claimed": confidence,
        "covered": covered / max(identified, 1),
        "least": float(least),
        "parameters": rows,
    }


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The table as text."""
    yield f"{'parameter':42} identified  covered  median error  median half width"
    for path, row in result["parameters"].items():
        fraction = f"{row['covered'] / row['identified']:8.0%}" if row["identified"] else "       -"
        figures = f"{row['median_abs_log_error']:13.1%} {row['median_half_width']:18.1%}" if row["identified"] else ""
        yield f"{path:42} {row['identified']:6}/{result['trials']:<3} {fraction} {figures}"
    yield f"all: {result['covered']:.1%} covered, {result['claimed']:.0%} claimed"


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "spec", nargs="?", type=Path, default=SPEC, help="spec of a MinIO (default: examples/minio.yaml)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--trials", type=int, default=50, help="number of trials (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first trial (default: %(default)s)")
    parser.add_argument("--confidence", type=float, default=0.95, help="level of the intervals (default: %(default)s)")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of requests and Runs (default: %(default)s)",
    )
    parser.add_argument("--workers", type=int, default=1, help="number of processes (default: %(default)s)")
    arguments = parser.parse_args()
    data = load_mapping(arguments.spec)
    spec_of(data, str(arguments.spec))
    count = max(2, int(len(CELLS) * arguments.size))
    cells = tuple(CELLS[n] for n in np.linspace(0, len(CELLS) - 1, count).astype(int))
    trials = []
    for i in range(arguments.trials):
        done = trial(
            data,
            arguments.seed + i,
            cells=cells,
            operations=max(20, int(OPERATIONS * arguments.size)),
            confidence=arguments.confidence,
            workers=arguments.workers,
        )
        trials.append(done)
        missed = [path for path in done.truth if not done.covered(path)]
        print(f"trial {i + 1} of {arguments.trials}: missed {', '.join(missed) or 'none'}", file=sys.stderr)
    result = table(trials, arguments.confidence)
    print(json.dumps(result, indent=1) if arguments.json else "\n".join(lines(result)))
    sys.exit(1 if result["covered"] < result["least"] else 0)


if __name__ == "__main__":
    main()

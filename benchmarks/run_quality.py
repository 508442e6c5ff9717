"""False alarms of the run-quality check on simulated stationary Runs.

    python benchmarks/run_quality.py [--trials N] [--size F]

Prints, for each load, the fraction of Runs with each quality issue, and the fraction of detected changes among Runs in
which the store's CPU demand grows by a factor half-way.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from models.store import Spec, spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.workload.generate import generate
from validate.compare.run_quality import check_quality

STORE = {
    "store": "minio",
    "client": {"placement": "storage_hosts", "cpu": {"GET": "0.25ms", "PUT": "0.3ms"}},
    "hosts": {
        "cores": {"count": 2},
        "cpu": {
            "GET": {"constant": "0.5ms", "distribution": {"kind": "lognormal", "cv": 0.5}},
            "PUT": {"constant": "1.5ms", "distribution": {"kind": "lognormal", "cv": 0.5}},
        },
    },
    "drives": {
        "read": 0,
        "write": 0,
        "commit": {"constant": "0.5ms", "distribution": {"kind": "slow_mode", "probability": 0.01, "factor": 10}},
    },
}  # fmt: skip
MIX = {"GET": 70, "PUT": 30}
CAPACITY_OPS = 2 / (0.7 * 0.75e-3 + 0.3 * 1.8e-3)
CHANGES = (1.2, 1.3, 1.5)
DURATIONS_S = (3, 10)


def loads(duration: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Names and workloads: closed loops, and open ones at shares of the capacity."""
    base = {"object_size": "32KiB", "mix": MIX, "duration": duration, "keys": {"kind": "uniform", "count": 500}}
    for clients in (1, 4, 16, 32):
        yield f"{clients} clients, {duration}", base | {"clients": clients}
    for fraction in (0.3, 0.6, 0.8, 0.9):
        yield f"open at {fraction:.0%}, {duration}", base | {"rate": CAPACITY_OPS * fraction}


def run_of(workload: dict[str, object], seed: int, slower: float = 1.0) -> Run:
    """A Run; its second half is simulated with CPU demands so many times as long."""
    trace = generate(_spec(workload, 1.0).workload, seed)
    first = simulate(_spec(workload, 1.0), trace, seed=seed)
    if slower == 1.0:
        return first
    second = simulate(_spec(workload, slower), trace, seed=seed)
    half_s = first.duration_s / 2
    kept = [r.requests.filter(pa.array(side)) for r, side in (
        (first, first.column("arrival_s") < half_s), (second, second.column("arrival_s") >= half_s))]  # fmt: skip
    return replace(first, requests=pa.concat_tables(kept).unify_dictionaries().combine_chunks())


def _spec(workload: dict[str, object], slower: float) -> Spec:
    host = {**STORE["hosts"], "cpu": {op: law | {"constant": float(law["constant"][:-2]) * 1e-3 * slower}
                                     for op, law in STORE["hosts"]["cpu"].items()}}  # fmt: skip
    return spec_of(STORE | {"hosts": host, "workload": workload}, "benchmark")


def faults_of(workload: dict[str, object], trials: int, slower: float = 1.0) -> list[Mapping[str, str]]:
    """Return the quality issues of each of `trials` Runs."""
    return [check_quality(run_of(workload, seed, slower)).issues for seed in range(trials)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200, help="Runs of each load (default: %(default)s)")
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full number of requests (default: %(default)s)"
    )
    given = parser.parse_args()
    trials = given.trials
    print(f"{'load':26} {'any issue':>9}  issues; drift found of a change by {', '.join(f'x{c}' for c in CHANGES)}")
    total = []
    for duration_s in DURATIONS_S:
        for name, workload in loads(f"{duration_s * given.size:g}s"):
            issues = [check_quality(run_of(workload, seed)).issues for seed in range(trials)]
            total += [bool(f) for f in issues]
            kinds = Counter(kind for issue in issues for kind in issue)
            power = [
                np.mean(
                    [
                        "drifted" in check_quality(run_of(workload, seed, factor)).issues
                        for seed in range(max(trials // 4, 1))
                    ]
                )
                for factor in CHANGES
            ]
            told = ", ".join(f"{kind} {count / trials:.1%}" for kind, count in kinds.items()) or "none"
            print(f"{name:26} {total.count(True) and np.mean(total[-trials:]):9.1%}  {told}; "
                  f"{', '.join(f'{p:.0%}' for p in power)}", flush=True)  # fmt: skip
    print(f"{'all':26} {np.mean(total):9.1%}")


if __name__ == "__main__":
    main()

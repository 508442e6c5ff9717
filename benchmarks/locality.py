"""Shows how far a learned workload has the locality of its trace: figures, latencies behind a cache, time and memory.

    python benchmarks/locality.py TRACE.parquet [...] [--seeds N]

For each trace: hit ratios, reuse distances and burstiness next to those of a trace generated from its workload; p50
and p99 of GETs of a store with a page cache of 1 % and of 10 % of the bytes requested, for both traces; and how long
the fit, the generation and the cache took, with the peak of memory.

The store is a MinIO of one host whose drives read in a gamma distributed time with a CV of 0.5. There are eight, so
that a burst has some room; the mean time is chosen so that with the original, the drives are busy for 30 % of the time,
or in its busiest 10 s for 80 % if that is less. Import traces of coarse clocks with `--spread`: otherwise all requests
of a tick arrive at once.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from models.shared.store_spec import StoreSpec
from models.store import spec_of
from sim.simulate import simulate
from traces.fitting.similarity import comparable_trace, compare_figures
from traces.fitting.workload import fit_workload
from traces.operations import GET, S3
from traces.run import Run, read_trace_or_run
from traces.statistics.hit_ratio import footprint_bytes, lru_hits
from traces.statistics.popularity import objects_of
from traces.statistics.summary import quantiles
from traces.trace import Trace

T = TypeVar("T")
CACHED = (0.01, 0.1)
DRIVES, BUSY, BUSIEST, WINDOW_S = 8, 0.3, 0.8, 10.0
QUANTILES = (0.5, 0.99)
SHOWN = ("LRU hits", "reuse distance", "peak to mean", "dispersion", "CV of inter-arrival")


def store(cache_bytes: float, read_s: float) -> StoreSpec:
    """Return a MinIO with a page cache and drives of a mean time per access."""
    access = {"constant": read_s, "distribution": {"kind": "gamma", "cv": 0.5}}
    data = {
        "store": "minio",
        "workload": {"operations": 1, "object_size": "4KiB"},
        "hosts": {"cores": 64, "cpu": dict.fromkeys(S3, 0), "page_cache": {"size": int(cache_bytes)}},
        "drives": {"count": DRIVES, "read": access, "write": access, "commit": 0, "commit_in": "queue"},
    }
    return spec_of(data, "locality")


def busy(run: Run) -> float:
    """Return the mean utilization of the drives of a simulated Run."""
    assert run.stations is not None
    of = dict(zip(*(run.stations.column(name).to_pylist() for name in ("name", "utilization")), strict=True))
    return float(np.mean([value for name, value in of.items() if name.startswith("drive")]))


def peak_to_mean(trace: Trace) -> float:
    """Return the requests of the busiest window over those of the mean one."""
    counts = np.bincount((trace.arrival_s // WINDOW_S).astype(np.int64))
    return float(counts.max() / counts.mean())


def latencies_s(spec: StoreSpec, trace: Trace, seeds: int) -> np.ndarray:
    """Return quantiles of the latency of GETs, each the median over seeds, shape (quantiles,)."""
    runs = (simulate(spec, trace, seed=seed) for seed in range(seeds))
    return np.median([quantiles(run.latency_s[run.op == GET], list(QUANTILES)) for run in runs], axis=0)


def timed(action: Callable[[], T]) -> tuple[T, float]:
    """Return a result, and the seconds that it took."""
    start_s = time.perf_counter()
    return action(), time.perf_counter() - start_s


def compare(path: Path, seeds: int) -> tuple[list[str], list[str], str]:
    """Compare a trace with generated ones.

    Returns:
        rows of the table of latencies, rows of the table of figures, and a row of the table of times.
    """
    name = path.stem
    trace, _ = read_trace_or_run(path)
    fitted, fit_s = timed(lambda: fit_workload(trace))
    generated, generate_s = timed(lambda: comparable_trace(fitted, trace, 1))
    compared = compare_figures(trace, None, generated)
    figures = [
        f"| {name} | {one.name} | {one.original:.3g} | {one.generated:.3g} | {'' if one.agrees else 'outside'} |"
        for one in compared
        if one.name.startswith(SHOWN) and "sliding" not in one.name
    ]
    objects = objects_of(trace)
    footprint = footprint_bytes(objects, trace.size_bytes)
    rows, load = [], min(BUSY, BUSIEST / peak_to_mean(trace))
    for fraction in CACHED:
        capacity = fraction * footprint
        hits, hits_s = timed(lambda: lru_hits(objects, trace.size_bytes, capacity))  # noqa: B023
        read_s = 1e-6 * load / busy(simulate(store(capacity, 1e-6), trace, seed=0))
        spec = store(capacity, read_s)
        original_s, generated_s = (latencies_s(spec, each, seeds) for each in (trace, generated))
        cells = " | ".join(
            f"{1e3 * one:.4g} | {1e3 * two:.4g} | {two / one - 1 if one else 0.0:+.1%}"
            for one, two in zip(original_s, generated_s, strict=True)
        )
        theirs = lru_hits(objects_of(generated), generated.size_bytes, capacity)
        rows.append(f"| {name} | {fraction:.0%} | {hits.mean():.3f} | {theirs.mean():.3f} | {cells} |")
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    times = f"| {name} | {len(trace):,} | {fit_s:.1f} | {generate_s:.1f} | {hits_s:.1f} | {peak_gib:.1f} |"
    return rows, figures, times


def main() -> int:
    """Print the tables of all traces as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="traces, in Parquet")
    parser.add_argument("--seeds", type=int, default=5, help="simulations of each trace (default: 5)")
    given = parser.parse_args()
    latencies, figures, times = [], [], []
    for path in given.traces:
        rows, shown, took = compare(path, given.seeds)
        latencies += rows
        figures += shown
        times.append(took)
        print(*rows, took, sep="\n", file=sys.stderr, flush=True)
    print("| trace | cache | hits | generated | p50 ms | generated | error | p99 ms | generated | error |")
    print("|---|---|---|---|---|---|---|---|---|---|", *latencies, "", sep="\n")
    print("| trace | figure | original | generated | |\n|---|---|---|---|---|", *figures, "", sep="\n")
    print("| trace | requests | fit s | generate s | LRU s | peak GiB |\n|---|---|---|---|---|---|", *times, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares hit ratio and latency of GETs with a live MinIO of limited page cache, for reads with and without reuse.

    python benchmarks/page_cache.py measure --out OUT [--cache 2MiB …] [--requests N] [--rate R]
    python benchmarks/page_cache.py predict --out OUT

The store is one drive in a box, with the service times of a hard disk and a page cache of known size. A trace writes
all objects, waits, and reads them as an open loop. In the trace with locality, objects are popular for a while, one
after the other; its twin has the same GETs in random order. Runs are in ``OUT/TRACE-CACHE``.

The forecast is of the trace of each Run. The time of a GET without the drive has the distribution of latencies in the
Run whose cache has all objects, with the disturbances of the machine; every other time is that of the shape.

With caches of 1 and 3 MiB, hit ratios of reads with locality and of the same ones shuffled were 0.843, 0.142, 0.859 and
0.388 (model: 0.843, 0.145, 0.853, 0.396); 98 to 99.6 % of the single decisions agreed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.minio.cluster.cached import cached
from models.minio.spec.spec import MinioSpec
from models.store import spec_of
from sim.simulate import simulate
from traces.operations import GET
from traces.run import Run
from traces.spec.units import parse_bytes
from traces.statistics.summary import quantiles
from traces.trace import TRACE_SCHEMA, Pacing, Trace
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import Shape
from validate.lab.store import Form
from validate.replay.plan import Options
from validate.replay.replay import replay

DRIVE = {
    "read": {"constant": "20ms", "per_byte": "1ns", "distribution": {"kind": "gamma", "cv": 0.5}},
    "write": {"constant": "1ms", "per_byte": "1ns"},
    "fsync": "0.2ms",
}
OBJECTS, POPULAR = 240, 16
PUT_RATE, PAUSE_S = 25.0, 3.0
ALL = "64MiB"
SEEDS = 10


def trace(shuffled: bool, requests: int, rate: float) -> Trace:
    """Return PUTs of all objects, then GETs of those that are popular at the time, or the same in random order."""
    random = np.random.default_rng(1)
    sizes = np.exp(random.normal(np.log(24_000), 1.0, OBJECTS)).clip(500, 600_000).astype(np.int64)
    first = np.arange(requests) * (OBJECTS - POPULAR) // requests
    read = (first + random.integers(0, POPULAR, requests)) % OBJECTS
    read = random.permutation(OBJECTS)[read]  # written in another order than they become popular
    gaps_s = random.exponential(1 / rate, requests)
    if shuffled:
        read = random.permutation(read)
    put_s = np.arange(OBJECTS) / PUT_RATE
    get_s = put_s[-1] + PAUSE_S + np.cumsum(gaps_s)
    objects = np.concatenate([np.arange(OBJECTS), read])
    count = len(objects)
    columns: dict[str, Any] = {
        "arrival_s": np.concatenate([put_s, get_s]), "think_s": np.zeros(count), "phase": np.zeros(count, np.int32),
        "op": ["PUT"] * OBJECTS + ["GET"] * requests, "bucket": ["b"] * count, "key": [f"k{o}" for o in objects],
        "size_bytes": sizes[objects],
    }  # fmt: skip
    arrays = [
        pa.array(columns[f.name]).cast(f.type) if f.name in columns else pa.nulls(count, f.type) for f in TRACE_SCHEMA
    ]
    return Trace.of(pa.Table.from_arrays(arrays, schema=TRACE_SCHEMA), Pacing())


def measure(out: Path, caches: list[str], requests: int, rate: float) -> None:
    """Measure each trace with each size of the cache, and one with all objects in the cache."""
    for shuffled, cache in [(False, ALL), *((s, c) for c in caches for s in (False, True))]:
        folder = out / f"{'shuffled' if shuffled else 'local'}-{cache}"
        if folder.exists():
            continue
        shape = Shape.model_validate({"drives": {**DRIVE, "page_cache": cache}})
        store = lab.up("minio", Form(1, 1), print, shape, seed=7)
        try:
            run = replay(trace(shuffled, requests, rate), store.target, Options())
            assert store.box is not None
            run = with_accesses(store.box, run)
            folder.parent.mkdir(parents=True, exist_ok=True)
            run.write(folder)
        finally:
            lab.down("minio")
        print(folder, f"hit ratio {measured_hits(run).mean():.3f}", _times(run.latency_s[of_gets(run)]), flush=True)


def of_gets(run: Run) -> np.ndarray:
    """Return which requests are GETs that succeeded."""
    return np.asarray((run.op == GET) & ~run.failed)


def measured_hits(run: Run) -> np.ndarray:
    """Return which GETs made no read of the drive."""
    assert run.drive_accesses is not None
    kinds = run.drive_accesses.column("kind").to_pylist()
    owners = run.drive_accesses.column("request").to_pylist()
    read = {owner for kind, owner in zip(kinds, owners, strict=True) if kind == "read" and owner is not None}
    return np.array([row not in read for row in np.flatnonzero(of_gets(run)).tolist()])


def spec(cache: str, cached_s: np.ndarray) -> MinioSpec:
    """Return the store of the box, given latencies of GETs that are cached."""
    probabilities = np.array([0, *np.linspace(0.05, 0.95, 19), 0.98, 0.99, 1])
    values = quantiles(cached_s, probabilities)
    shape = {"kind": "empirical", "probabilities": probabilities.tolist(), "values": values.tolist()}
    mean_s = float(np.trapezoid(values, probabilities))
    cpu = {"constant": mean_s, "distribution": shape}
    data = {
        "store": "minio",
        "workload": {"operations": 1, "object_size": "4KiB"},
        "hosts": {"cores": 1000, "cpu": {"GET": cpu, "PUT": cpu}, "page_cache": {"size": cache}},
        "drives": {
            "read": DRIVE["read"], "write": DRIVE["write"], "commit": DRIVE["fsync"], "commit_in": "queue",
            "direct": True,
        },
    }  # fmt: skip
    found = spec_of(data, "box")
    assert isinstance(found, MinioSpec)
    return found


def predicted_hits(spec: MinioSpec, trace: Trace) -> np.ndarray:
    """Return which GETs find all that they read in the page cache."""
    count = len(trace)
    inline = trace.size_bytes <= spec.inline_bytes
    metadata, data = cached(spec, trace, np.zeros(count, np.int64), inline, np.zeros(count, bool))
    return np.asarray((data & (metadata | inline))[trace.op == GET])


def predict(out: Path) -> None:
    """Print measured values next to those of the forecast."""
    known = Run.read(out / f"local-{ALL}")
    print(f"{'trace-cache':20} {'':10} {'hits':>6} {'same':>6} {'p50':>8} {'p90':>8} {'p99':>8}  (ms)")
    for folder in sorted(out.iterdir()):
        run = Run.read(folder)
        store = spec(folder.name.split("-")[1], known.latency_s[of_gets(known)])
        assert run.trace is not None
        hits, expected = measured_hits(run), predicted_hits(store, run.trace)
        gets = [simulate(store, run.trace, seed=seed) for seed in range(SEEDS)]
        latencies = np.concatenate([each.latency_s[of_gets(each)] for each in gets])
        print(f"{folder.name:20} measured   {hits.mean():6.3f} {'':6} {_times(run.latency_s[of_gets(run)])}")
        same = (hits == expected).mean() if len(hits) == len(expected) else float("nan")
        print(f"{'':20} predicted  {expected.mean():6.3f} {same:6.3f} {_times(latencies)}", flush=True)


def _times(latency_s: np.ndarray) -> str:
    return " ".join(f"{1000 * value:8.2f}" for value in quantiles(latency_s, [0.5, 0.9, 0.99]))


def main() -> int:
    """Measure or predict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "step", choices=["measure", "predict"], help="measure a MinIO in boxes, or predict what was measured"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument(
        "--cache", nargs="+", default=["1MiB", "3MiB"], help="sizes of the page cache (default: 1MiB 3MiB)"
    )
    parser.add_argument("--requests", type=int, default=900, help="number of GETs (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=20.0, help="GETs per second (default: %(default)s)")
    given = parser.parse_args()
    if given.step == "measure":
        for size in given.cache:
            parse_bytes(size)
        measure(given.out, given.cache, given.requests, given.rate)
    else:
        predict(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

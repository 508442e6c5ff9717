"""Loads of stores in boxes, next to their predictions: what `swift_box.py` and `ceph_box.py` have in common."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import scipy

from traces.operations import OPS
from traces.run import Run
from traces.spec.spec_file import validated
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys
from traces.workload.workload import Workload
from validate.lab.box.set_up import with_accesses
from validate.lab.store import Store
from validate.replay.plan import Options
from validate.replay.replay import replay

QUANTILES = (0.5, 0.9, 0.99)
_TAIL = 10
_BUSY = 0.5
_FITS, _LEAST_S = 3, 1e-5

Cpu = dict[str, dict[str, float]]
"""CPU times of a server in s, by operation: ``constant``, and ``per_byte``."""


@dataclass(frozen=True)
class Load:
    """A load.

    Attributes:
        gets: fraction of GETs; the others are PUTs of new names.
        clients: of a closed loop; 0: an open loop.
        rate_ops: of an open loop.
        keys: number of objects that GETs read.
    """

    name: str
    size: str = "4KiB"
    gets: float = 1.0
    clients: int = 0
    rate_ops: float = 20.0
    duration_s: float = 8.0
    keys: int = 60

    def trace(self) -> Trace:
        """Return the requests."""
        pace: dict[str, Any] = (
            {"clients": self.clients, "operations": 2000} if self.clients else {"rate": self.rate_ops}
        )
        mix = {op: fraction for op, fraction in (("GET", self.gets), ("PUT", 1 - self.gets)) if fraction}
        keys = UniformKeys(count=self.keys)
        requested = {"object_size": self.size, "mix": mix, "keys": keys, "duration": self.duration_s}
        trace = generate(validated(Workload, requested | pace, self.name), 1)
        names = trace.table.column("key").to_pylist()
        for n, row in enumerate(np.flatnonzero(trace.op == OPS.index("PUT")).tolist()):
            names[row] = f"written-{n:05d}"
        column = trace.table.column_names.index("key")
        table = trace.table.set_column(column, "key", pa.array(names).dictionary_encode())
        return Trace.of(table, replace(trace.pacing, repeat=False), self.name)


L = TypeVar("L", bound=Load)


def sized(load: L, size: float) -> L:
    """Return a load with a fraction of its duration."""
    return replace(load, duration_s=size * load.duration_s)


UNSHAPED = "10GB/s"
"""Rate of a link for objects of up to 64 KiB: the token bucket of a box's link passes them at once."""


def unshaped(data: Mapping[str, Any], size: str, sections: Sequence[str]) -> dict[str, Any]:
    """Return a spec whose sections have NICs as objects of a size meet them: those of up to 64 KiB need not wait.

    They use less than a third of the rate, so that the bucket is full again before the next one.
    """
    is_small = not size.endswith("MiB")
    return {**data, **{name: data[name] | {"nic": UNSHAPED} for name in sections if is_small}}


def measure(load: Load, store: Store, folder: Path, look: Callable[[], dict[str, Any]] = dict) -> None:
    """Measure a load, and write its Run with the accesses of the drives; its objects stay, as deletes would go on.

    Args:
        look: finds facts about the store while the load runs, which are added to those of the Run.
    """
    with ThreadPoolExecutor(1) as threads:
        facts = threads.submit(look)
        run = replay(load.trace(), store.target, Options(max_in_flight=512, keep=True))
        run = replace(run, info=run.info | facts.result())
    if store.box is not None:
        run = with_accesses(store.box, run)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run.write(folder)
    cpu = run.info["cpu"]
    say(f"{folder.name}: {len(run)} requests, {run.failed.sum()} errors, busy {cpu['busy_share']:.0%}, "
        f"others {cpu['other_share']:.0%}")  # fmt: skip


def calibrated(
    light: Mapping[L, Run], predict: Callable[[Cpu, L, Run], Run], first: Mapping[str, Mapping[str, float]]
) -> Cpu:
    """Return the CPU times of a server at which light loads of one client have the measured p50.

    Args:
        light: for each operation a load of 4 KiB, which gives the time of a request, and one of 1 MiB, for that of a
            byte, if there is one.
        predict: from CPU times, load and measured Run to the predicted one.
        first: CPU times to begin with, by operation: ``constant`` and ``per_byte``.
    """
    cpu = {op: dict(times) for op, times in first.items()}
    for _ in range(_FITS):
        for load, run in light.items():
            op = "GET" if load.gets else "PUT"
            name, bytes_ = ("constant", 1) if load.size == "4KiB" else ("per_byte", 1 << 20)
            off_s = float(np.median(run.latency_s) - np.median(predict(cpu, load, run).latency_s))
            cpu[op][name] = max(_LEAST_S / bytes_, cpu[op][name] + off_s / bytes_)
    say(f"CPU times from the light loads: {json.dumps(cpu)}")
    return cpu


@dataclass(frozen=True)
class Figures:
    """The requests of one operation: throughput in op/s and sorted latencies in s."""

    ops: float
    latency_s: np.ndarray[Any, np.dtype[np.float64]]

    def quantile_ms(self, q: float) -> float:
        """Return a quantile of the latencies."""
        return 1000 * float(np.quantile(self.latency_s, q))


def figures(run: Run) -> dict[str, Figures]:
    """Return the figures of each operation."""
    end_s = run.column("end_s")
    ops, found = np.array(run.requests.column("op").to_pylist()), {}
    for op in sorted(set(ops)):
        rows = (ops == op) & ~run.failed
        latency_s = np.sort(run.latency_s[rows])
        found[str(op)] = Figures(rows.sum() / end_s[rows].max(), latency_s)
    return found


def errors(ours: Figures, other: Figures) -> dict[str, float]:
    """Return relative errors of a prediction: op/s, p50, p99 (p95 of fewer than 1,000 requests), Wasserstein distance.

    The last is a fraction of the mean latency. A tail with fewer than ten requests beyond it is left out.
    """
    found = {"op/s": other.ops / ours.ops - 1, "p50": other.quantile_ms(0.5) / ours.quantile_ms(0.5) - 1}
    q = 0.99 if len(ours.latency_s) * 0.01 >= _TAIL else 0.95
    if len(ours.latency_s) * (1 - q) >= _TAIL:
        found["tail"] = other.quantile_ms(q) / ours.quantile_ms(q) - 1
    distance_s = scipy.stats.wasserstein_distance(ours.latency_s, other.latency_s)
    found["W1"] = float(distance_s / ours.latency_s.mean())
    return found


def folders(names: Sequence[str], repeats: int) -> list[tuple[str, str]]:
    """Return the folders of the Runs of loads and of their repetitions, each with the name of its load."""
    return [(name + (f".{n}" if n else ""), name) for n in range(repeats) for name in names]


def print_table(names: Iterable[str], out: Path, predict: Callable[[str, Run], Run], fitted: Sequence[str]) -> None:
    """Print the table of Runs and predictions, and the medians of rows that are neither fitted nor bound by the CPU.

    Args:
        names: of the loads.
        out: folder of the Runs, and of a repetition of some of them (`folders`).
        predict: from name and measured Run to the predicted one.
        fitted: names of the loads that the model was calibrated on.
    """
    print("| case | op | requests | CPU | measured op/s; p50, p90, p99 in ms | predicted | "
          "errors of op/s, p50, tail, W1 | "
          "repetitions differ |\n|---|---|---:|---:|---|---|---|---|")  # fmt: skip
    ours_of: dict[str, list[float]] = {}
    repeated: dict[str, list[float]] = {}
    for name in names:
        again = f"{name}.1"
        run = Run.read(out / name)
        second = Run.read(out / again) if (out / again).is_dir() else None
        forecast = figures(predict(name, run))
        busy = run.info["cpu"]["busy_share"] - run.info["cpu"]["other_share"]
        mark = " (calibrated)" if name in fitted else " \\*" if busy >= _BUSY else ""
        for op, ours in figures(run).items():
            found = errors(ours, forecast[op])
            differ = errors(ours, figures(second)[op]) if second is not None else {}
            if not mark:
                for what, value in found.items():
                    ours_of.setdefault(what, []).append(abs(value))
                for what, value in differ.items():
                    repeated.setdefault(what, []).append(abs(value))
            print(f"| {name}{mark} | {op} | {len(ours.latency_s)} | {busy:.0%} | {_short(ours)} | "
                  f"{_short(forecast[op])} | {_percents(found)} | {_percents(differ)} |")  # fmt: skip
    print("\n| figure | rows | median | worst | median difference of two repetitions |\n|---|---:|---:|---:|---:|")
    for what, values in ours_of.items():
        differ_text = f"{np.median(repeated[what]):.1%}" if what in repeated else "-"
        print(f"| {what} | {len(values)} | {np.median(values):.1%} | {max(values):.0%} | {differ_text} |")


def _short(one: Figures) -> str:
    return f"{one.ops:.3g}; " + ", ".join(f"{one.quantile_ms(q):.3g}" for q in QUANTILES)


def _percents(found: Mapping[str, float]) -> str:
    return " / ".join(f"{abs(found[what]):.0%}" if what in found else "-" for what in ("op/s", "p50", "tail", "W1"))


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the arguments of a benchmark of loads."""
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="GLOB", help="loads by name; repeatable (default: all)")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--predict-only", action="store_true", help="measure nothing")
    only.add_argument("--measure-only", action="store_true", help="predict nothing")
    parser.add_argument(
        "--repeats", type=int, default=1, help="times that each load is measured (default: %(default)s)"
    )
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full duration of each load (default: %(default)s)"
    )
    return parser.parse_args()


def chosen(names: Iterable[str], patterns: Sequence[str] | None) -> list[str]:
    """Return the names that match one of the patterns; all if there are none."""
    return [name for name in names if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)]


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)

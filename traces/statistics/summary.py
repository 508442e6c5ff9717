"""Statistics of a Run, always computed from raw samples: quantiles of parts are never averaged.

Quantiles are numpy's ``linear`` (type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The American
Statistician 50(4), 1996): interpolated linearly between the order statistics around rank 1 + p (n - 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from traces.operations import OPS
from traces.run import Run
from traces.statistics.spans import span_s

Floats = NDArray[np.float64]

QUANTILES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
"""The quantiles of a summary and their probabilities."""


LEAST_BEYOND = 10
"""Least number of requests beyond a quantile that support it; with fewer, it is hardly more than the maximum."""


def requests_for(name: str) -> int:
    """Return the number of successful requests that a quantile of `QUANTILES` needs: p99 1,000, p99_9 10,000."""
    return round(LEAST_BEYOND / (1 - QUANTILES[name]))


def too_few(count: int) -> list[str]:
    """Return the quantiles that this number of successful requests does not support."""
    return [name for name in QUANTILES if count < requests_for(name)]


class RunOpSummary(TypedDict):
    """The figures of an operation in a Run.

    Attributes:
        count, errors: numbers of requests, and of those that failed.
        throughput_ops, throughput_bytes: of successful requests per second, over the time of their phase (`span_s`),
            which is the whole Run unless operations follow each other.
        latency_s: ``mean``, ``min``, `QUANTILES` and ``max`` of successful requests, from the intended start; NaN
            without any.
    """

    count: int
    errors: int
    throughput_ops: float
    throughput_bytes: float
    latency_s: dict[str, float]


NO_REQUESTS = RunOpSummary(count=0, errors=0, throughput_ops=math.nan, throughput_bytes=math.nan, latency_s={})
"""The figures of an operation that is absent."""


class RunSummary(TypedDict):
    """The figures of a Run.

    Attributes:
        ops: by operation, of those that have requests. If the Run has groups of clients, the operations of all requests
            are followed by those of each group, named ``backup.PUT``.
        duration_s: from the first start to the last end.
    """

    ops: dict[str, RunOpSummary]
    duration_s: float


def summarise(run: Run) -> RunSummary:
    """Compute the summary statistics of a Run by operation."""
    return {"ops": {op: _summary(run, op) for op in subjects_of(run)}, "duration_s": run.duration_s}


def _summary(run: Run, op: str) -> RunOpSummary:
    issued = run.has(op)
    done = issued & ~run.failed
    begin_s, end_s = span_s(run, op)
    window_s = end_s - begin_s
    moved = float(run.column("transfer_bytes")[done].sum())
    return {
        "count": int(issued.sum()),
        "errors": int((issued & run.failed).sum()),
        "throughput_ops": float(done.sum()) / window_s if window_s > 0 else float("nan"),
        "throughput_bytes": moved / window_s if window_s > 0 else float("nan"),
        "latency_s": describe(run.latency_s[done]),
    }


def describe(samples: Floats) -> dict[str, float]:
    """Return mean, min, max and the `QUANTILES` of samples; all NaN without samples."""
    at = quantiles(samples, [0.0, *QUANTILES.values(), 1.0]).tolist()
    mean = float(samples.mean()) if len(samples) else float("nan")
    return {"mean": mean, "min": at[0], **dict(zip(QUANTILES, at[1:-1], strict=True)), "max": at[-1]}


def ops_of(run: Run) -> list[str]:
    """Return the operations that occur in a Run, in the order of `OPS`."""
    counts = np.bincount(run.op, minlength=len(OPS))
    return [op for op, count in zip(OPS, counts, strict=True) if count]


def subjects_of(run: Run) -> list[str]:
    """Return the operations that occur in a Run, then those of each group of clients, such as ``backup.PUT``."""
    of_groups = [f"{group}.{op}" for group in run.groups for op in ops_of(run)]
    return [*ops_of(run), *(subject for subject in of_groups if run.has(subject).any())]


def in_order(subjects: Iterable[str]) -> list[str]:
    """Return distinct operations in the order of `OPS`: those of all requests, then those of each group."""
    known = {subject: subject.rpartition(".") for subject in subjects}
    return sorted(known, key=lambda subject: (known[subject][0], OPS.index(known[subject][2])))


def latencies(run: Run, op: str) -> Floats:
    """Return the latencies of an operation's successful requests in seconds, in order of intended start."""
    done = np.flatnonzero(run.has(op) & ~run.failed)
    in_time = done[np.argsort(run.column("arrival_s")[done], kind="stable")]
    result: Floats = run.latency_s[in_time]
    return result


def merged_latencies(runs: Sequence[Run]) -> dict[str, Floats]:
    """Merge the latencies of several Runs by operation, in seconds, for quantiles over repetitions."""
    ops = in_order(op for run in runs for op in subjects_of(run))
    return {op: np.concatenate([latencies(run, op) for run in runs]) for op in ops}


def quantiles(samples: Floats, probabilities: ArrayLike) -> Floats:
    """Return the quantiles (type 7) at the probabilities, in the same shape; NaN without samples."""
    if not len(samples):
        return np.full(np.shape(probabilities), np.nan)
    return np.quantile(samples, np.asarray(probabilities, dtype=np.float64))


def tukey_outliers(samples: Floats) -> dict[str, int]:
    """Count the outliers by Tukey's fences, in the classes of the criterion benchmark library.

    Mild outliers lie more than 1.5 interquartile ranges from the nearer quartile, severe outliers more than 3 (Tukey,
    "Exploratory Data Analysis", 1977, chapter 2).

    Returns:
        ``{"low_severe", "low_mild", "high_mild", "high_severe"}``; mild excludes severe.
    """
    q1, q3 = quantiles(samples, [0.25, 0.75])
    mild, severe = 1.5 * (q3 - q1), 3 * (q3 - q1)
    low, low_severe = int((samples < q1 - mild).sum()), int((samples < q1 - severe).sum())
    high, high_severe = int((samples > q3 + mild).sum()), int((samples > q3 + severe).sum())
    return {
        "low_severe": low_severe,
        "low_mild": low - low_severe,
        "high_mild": high - high_severe,
        "high_severe": high_severe,
    }


def tail_points(samples: Floats, extremes: int = 100, points: int = 200) -> tuple[Floats, Floats]:
    """Thin the empirical CDF for a plot of the CDF, or of 1 - CDF on logarithmic axes.

    The result contains the greatest `extremes` samples, `points` ranks spaced geometrically from the top, and `points`
    ranks spaced evenly: a million samples become a few hundred points, none of them interpolated.

    Returns:
        Ascending values, shape (m,), and the fraction of samples at or above each: 1 at the least value, 1/n at the
        greatest, never 0, so that a logarithmic axis can show it.
    """
    n = len(samples)
    if not n:
        return np.empty(0), np.empty(0)
    ranked = np.sort(samples)
    from_top = np.concatenate([
        np.arange(min(extremes, n)),
        np.geomspace(1, n, points).astype(np.int64) - 1,
        np.linspace(0, n - 1, points).astype(np.int64),
    ])  # fmt: skip
    values = np.unique(ranked[n - 1 - np.unique(from_top)])
    return values, (n - np.searchsorted(ranked, values, side="left")) / n


@dataclass(frozen=True)
class Timeline:
    """Throughput and latency of an operation's successful requests over time; all arrays have shape (windows,).

    Attributes:
        middle_s: the middle of each window, seconds since the Run's first intended start.
        throughput_ops, throughput_bytes: requests and bytes per second, of requests that ended in the window.
        count: number of requests whose intended start is in the window.
        latency_s: latency quantiles of those requests by name, seconds; NaN in a window without requests.
    """

    middle_s: Floats
    throughput_ops: Floats
    throughput_bytes: Floats
    count: NDArray[np.int64]
    latency_s: dict[str, Floats]


def timeline(run: Run, op: str, windows: int = 100, names: Sequence[str] = ("p50", "p99")) -> Timeline:
    """Compute throughput and latency quantiles (`names` of `QUANTILES`) in equal windows over the Run's duration."""
    done = run.has(op) & ~run.failed
    zero_s = float(run.column("arrival_s").min()) if len(run) else 0.0
    edges_s = np.linspace(0, run.duration_s or 1.0, windows + 1)
    width_s = edges_s[1]
    ended = np.minimum(((run.column("end_s")[done] - zero_s) / width_s).astype(np.int64), windows - 1)
    begun = np.minimum(((run.column("arrival_s")[done] - zero_s) / width_s).astype(np.int64), windows - 1)
    order = np.argsort(begun, kind="stable")
    count = np.bincount(begun, minlength=windows)
    parts = np.split(run.latency_s[done][order], np.cumsum(count)[:-1])
    by_window = np.array([quantiles(part, [QUANTILES[name] for name in names]) for part in parts])
    return Timeline(
        middle_s=(edges_s[1:] + edges_s[:-1]) / 2,
        throughput_ops=np.bincount(ended, minlength=windows) / width_s,
        throughput_bytes=np.bincount(ended, run.column("transfer_bytes")[done], minlength=windows) / width_s,
        count=count,
        latency_s={name: by_window[:, i] for i, name in enumerate(names)},
    )

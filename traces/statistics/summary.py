"""Statistics of a Run, always made from its raw samples: a quantile of parts is never averaged into one of the whole.

Quantiles are numpy's ``linear`` (type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The American
Statistician 50(4), 1996): linear between the order statistics around rank 1 + p (n - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from traces.run import Run
from traces.tables import OPS

Floats = NDArray[np.float64]

QUANTILES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
"""The quantiles of a summary and their probabilities."""


def summarise(run: Run) -> dict[str, Any]:
    """The figures of a Run, by operation.

    Returns:
        ``{"ops": {"GET": {"count", "errors", "throughput_ops", "throughput_bytes", "latency_s": {"mean", "min",
        "p25", "p50", "p75", "p90", "p95", "p99", "p99_9", "max"}}, …}, "duration_s"}``. `count` is all requests of the
        operation, `errors` those of them that failed. Latencies are those of the successful requests, in seconds from
        the intended start; NaN where there is none. Throughput is that of the successful requests over the operation's
        own window, first intended start to last end; so a phase of writes does not dilute the reads after it. An
        operation without requests is absent.
    """
    return {"ops": {op: _summary(run, op) for op in ops_of(run)}, "duration_s": run.duration_s}


def _summary(run: Run, op: str) -> dict[str, Any]:
    asked = run.op == OPS.index(op)
    done = asked & ~run.failed
    window_s = float(run.column("end_s")[asked].max() - run.column("arrival_s")[asked].min())
    moved = float(run.column("transfer_bytes")[done].sum())
    return {
        "count": int(asked.sum()),
        "errors": int((asked & run.failed).sum()),
        "throughput_ops": float(done.sum()) / window_s if window_s > 0 else float("nan"),
        "throughput_bytes": moved / window_s if window_s > 0 else float("nan"),
        "latency_s": describe(run.latency_s[done]),
    }


def describe(samples: Floats) -> dict[str, float]:
    """Mean, least, greatest and the `QUANTILES` of samples; all NaN where there are none."""
    at = quantiles(samples, [0.0, *QUANTILES.values(), 1.0]).tolist()
    mean = float(samples.mean()) if len(samples) else float("nan")
    return {"mean": mean, "min": at[0], **dict(zip(QUANTILES, at[1:-1], strict=True)), "max": at[-1]}


def ops_of(run: Run) -> list[str]:
    """The operations that a Run has requests of, in the order of `OPS`."""
    counts = np.bincount(run.op, minlength=len(OPS))
    return [op for op, count in zip(OPS, counts, strict=True) if count]


def latencies(run: Run, op: str) -> Floats:
    """Latencies in seconds of an operation's successful requests, in order of their intended start."""
    done = np.flatnonzero((run.op == OPS.index(op)) & ~run.failed)
    in_time = done[np.argsort(run.column("arrival_s")[done], kind="stable")]
    result: Floats = run.latency_s[in_time]
    return result


def pooled(runs: Sequence[Run]) -> dict[str, Floats]:
    """Latencies of several Runs merged, by operation: what quantiles over repetitions are to be made from."""
    ops = [op for op in OPS if any(op in ops_of(run) for run in runs)]
    return {op: np.concatenate([latencies(run, op) for run in runs]) for op in ops}


def quantiles(samples: Floats, probabilities: ArrayLike) -> Floats:
    """Quantiles at the probabilities, same shape (see the module for which); NaN where there are no samples."""
    if not len(samples):
        return np.full(np.shape(probabilities), np.nan)
    return np.quantile(samples, np.asarray(probabilities, dtype=np.float64))


def tukey_classes(samples: Floats) -> dict[str, int]:
    """How many samples are outliers by Tukey's fences, classed as the criterion benchmark library does.

    Mild beyond 1.5 interquartile ranges from the nearer quartile, severe beyond 3 (Tukey, "Exploratory Data Analysis",
    1977, chapter 2).

    Returns:
        ``{"low_severe", "low_mild", "high_mild", "high_severe"}``; mild does not count the severe.
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
    """The empirical tail, thinned for a plot of the CDF or of 1 - CDF on logarithmic axes.

    Kept are the greatest `extremes` samples one by one, `points` ranks that thin out geometrically towards the least,
    and `points` ranks evenly spaced: so a million samples become some hundred points, none of which is interpolated.

    Returns:
        ascending values, shape (m,), and the share of samples at or above each: 1 at the least value, 1/n at the
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
    """An operation's successful requests in equal windows of time, each array of shape (windows,).

    Attributes:
        middle_s: the middle of each window, seconds since the Run's first intended start.
        throughput_ops, throughput_bytes: a second, of requests that ended in the window.
        count: requests intended to start in the window.
        latency_s: quantile name to that quantile of those requests' latencies; NaN in a window without one.
    """

    middle_s: Floats
    throughput_ops: Floats
    throughput_bytes: Floats
    count: NDArray[np.int64]
    latency_s: dict[str, Floats]


def timeline(run: Run, op: str, windows: int = 100, names: Sequence[str] = ("p50", "p99")) -> Timeline:
    """Throughput and latency quantiles (`names` of `QUANTILES`) of an operation over the Run's whole duration."""
    done = (run.op == OPS.index(op)) & ~run.failed
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

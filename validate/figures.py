"""The figures of a Run that a calibration fits, all as logarithms, and how far they move from one Run to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from traces.bootstrap import resample
from traces.run import Run
from traces.statistics import QUANTILES, latencies, ops_of, summarise
from validate.cpu import measured_cpu_s

Floats = NDArray[np.float64]
Label = tuple[str, str]
"""An operation and the name of a figure of it; the CPU of all operations together has the operation ``all``."""

THROUGHPUT = "throughput_ops"
_NAMES = ("p25", "p50", "p75", "p90", "p95", "p99", "p99_9")
_BEYOND = 4  # requests that must lie beyond a quantile before it is fitted
_LEAST_NOISE = 0.003  # times come from clocks and machines that are no better than this

CPU_NOISE = 0.2
"""Standard deviation of the logarithm of CPU time per request about what the model's demands are: accounting by
processes counts what they do besides, and idle threads that wake for each request. A GET of 4 KiB cost MinIO 0.60 ms
with one client and 0.34 ms with four (2 cores of an AMD EPYC)."""


def labels_of(run: Run) -> list[Label]:
    """The figures that a measured Run has to offer: throughput and quantiles by operation, CPU where it was recorded.

    A quantile is there when at least 4 successful requests lie beyond it.
    """
    labels: list[Label] = []
    for op in ops_of(run):
        count = len(latencies(run, op))
        names = [name for name in _NAMES if count * (1 - QUANTILES[name]) >= _BEYOND]
        labels += [(op, name) for name in (THROUGHPUT, *names)] if count else []
    return labels + [("all", f"{side}_cpu_s") for side in measured_cpu_s(run)]


def figures_of(run: Run, labels: Sequence[Label], cpu_s: dict[str, float]) -> Floats:
    """The logarithms of these figures; `cpu_s` is the CPU time per request of ``client`` and ``server``.

    A figure that the Run does not have, because nothing of its operation succeeded, is NaN.
    """
    ops = summarise(run)["ops"]

    def value(label: Label) -> float:
        op, name = label
        if op == "all":
            return cpu_s[name.removesuffix("_cpu_s")]
        figures = ops.get(op)
        if figures is None:
            return float("nan")
        return float(figures[name] if name == THROUGHPUT else figures["latency_s"][name])

    values = np.array([value(label) for label in labels])
    return np.log(np.where(values > 0, values, np.nan))


def sampling_noise(run: Run, labels: Sequence[Label], seed: int) -> Floats:
    """The covariance of a Run's log-figures over its block-bootstrap resamples, shape (labels, labels)."""
    columns: dict[Label, Floats] = {}
    for op in dict.fromkeys(op for op, _ in labels if op != "all"):
        names = [name for of, name in labels if of == op and name != THROUGHPUT]
        resamples = resample(run, op, names, seed, f"calibrate.{op}")
        columns[op, THROUGHPUT] = np.log(resamples.throughput_ops)
        columns |= {(op, name): np.log(np.fmax(resamples.latency_s[name], 1e-12)) for name in names}
    covariance = np.zeros((len(labels), len(labels)))
    sampled = [i for i, label in enumerate(labels) if label in columns]
    if sampled:
        drawn = np.stack([columns[labels[i]] for i in sampled])
        covariance[np.ix_(sampled, sampled)] = np.atleast_2d(np.cov(drawn))
    least = [_LEAST_NOISE if label in columns else CPU_NOISE for label in labels]
    covariance += np.diag(np.square(least))
    return covariance


def direction(label: Label) -> float:
    """Which way a figure goes when the whole machine slows down: throughput falls, times rise."""
    return -1.0 if label[1] == THROUGHPUT else 1.0

"""The figures of a Run that a calibration fits, all as logarithms, and how far they move from one Run to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from traces.run import Run
from traces.statistics.bootstrap import resample
from traces.statistics.summary import QUANTILES, latencies, ops_of, summarise
from validate.compare.server_share import SHARES, shares_of
from validate.replay.cpu_usage import measured_cpu_s

Floats = NDArray[np.float64]
Label = tuple[str, str]
"""An operation and the name of a figure of it; the CPU of all operations together has the operation ``all``.

A quantile has the name ``p50``, that of the server's share of the latency ``server_p50``, of the rest ``rest_p50``.
"""

THROUGHPUT = "throughput_ops"
_NAMES = ("p25", "p50", "p75", "p90", "p95", "p99", "p99_9")
_OF_SHARES = _NAMES[:4]
_KNOWN = 0.9  # of an operation's requests, the share whose time at the server must be known
_BEYOND = 4  # requests that must lie beyond a quantile before it is fitted
_LEAST_NOISE = 0.003  # times come from clocks and machines that are no better than this

CPU_NOISE = 0.2
"""Standard deviation of the logarithm of CPU time per request about what the model's demands are: accounting by
processes counts what they do besides, and idle threads that wake for each request. A GET of 4 KiB cost MinIO 0.60 ms
with one client and 0.34 ms with four (2 cores of an AMD EPYC)."""

SHARE_ERROR_S = 50e-6
"""Standard deviation of the server's share of a latency, and of the rest, about what the model has there: the server's
clock starts when it has read a request's head, and stops before its answer is flushed. Assumed."""


def labels_of(run: Run, server_s: Floats | None = None) -> list[Label]:
    """The figures that a measured Run has to offer: throughput and quantiles by operation, CPU where it was recorded.

    A quantile is there when at least 4 successful requests lie beyond it. Those of the server's share and the rest are
    where `server_s` (seconds at the server, shape (requests,), NaN: unknown) is known of nine in ten requests.
    """
    shares = {} if server_s is None else shares_of(run, server_s)
    labels: list[Label] = []
    for op in ops_of(run):
        count = len(latencies(run, op))
        names = [name for name in _NAMES if count * (1 - QUANTILES[name]) >= _BEYOND]
        labels += [(op, name) for name in (THROUGHPUT, *names)] if count else []
        known = [share for share, of in shares.items() if len(latencies(of, op)) >= max(1.0, _KNOWN * count)]
        labels += [(op, f"{share}_{name}") for share in known for name in names if name in _OF_SHARES]
    return labels + [("all", f"{side}_cpu_s") for side in measured_cpu_s(run)]


def of_share(label: Label) -> tuple[str, str]:
    """The share of the latency that a figure is of (none: the whole), and its name there."""
    share, _, name = label[1].partition("_")
    return (share, name) if share in SHARES and name in QUANTILES else ("", label[1])


def figures_of(run: Run, labels: Sequence[Label], cpu_s: dict[str, float], server_s: Floats | None = None) -> Floats:
    """The logarithms of these figures; `cpu_s` is the CPU time per request of ``client`` and ``server``.

    A figure that the Run does not have, because nothing of its operation succeeded, is NaN.
    """
    parts = {"": run} | ({} if server_s is None else shares_of(run, server_s))
    ops = {share: summarise(part)["ops"] for share, part in parts.items()}

    def value(label: Label) -> float:
        op, (share, name) = label[0], of_share(label)
        if op == "all":
            return cpu_s[name.removesuffix("_cpu_s")]
        figures = ops[share].get(op)
        if figures is None:
            return float("nan")
        return float(figures[name] if name == THROUGHPUT else figures["latency_s"][name])

    values = np.array([value(label) for label in labels])
    return np.log(np.where(values > 0, values, np.nan))


def sampling_noise(run: Run, labels: Sequence[Label], seed: int, server_s: Floats | None = None) -> Floats:
    """The covariance of a Run's log-figures over its block-bootstrap resamples, shape (labels, labels)."""
    parts = {"": run} | ({} if server_s is None else shares_of(run, server_s))
    columns: dict[Label, Floats] = {}
    for op, share in dict.fromkeys((label[0], of_share(label)[0]) for label in labels if label[0] != "all"):
        own = {label: of_share(label)[1] for label in labels if label[0] == op and of_share(label)[0] == share}
        names = [name for name in own.values() if name != THROUGHPUT]
        # With one stream the resamples of all shares hold the same requests.
        resamples = resample(parts[share], op, names, seed, f"calibrate.{op}")
        drawn = resamples.latency_s | {THROUGHPUT: resamples.throughput_ops}
        columns |= {label: np.log(np.fmax(drawn[name], 1e-12)) for label, name in own.items()}
    covariance = np.zeros((len(labels), len(labels)))
    sampled = [i for i, label in enumerate(labels) if label in columns]
    if sampled:
        together = np.stack([columns[labels[i]] for i in sampled])
        covariance[np.ix_(sampled, sampled)] = np.atleast_2d(np.cov(together))
    for i, label in enumerate(labels):
        covariance[i, i] += (CPU_NOISE if label[0] == "all" else _LEAST_NOISE) ** 2
        if of_share(label)[0]:
            covariance[i, i] += (SHARE_ERROR_S / float(np.exp(np.median(columns[label])))) ** 2
    return covariance


def direction(label: Label) -> float:
    """Which way a figure goes when the whole machine slows down: throughput falls, times rise."""
    return -1.0 if label[1] == THROUGHPUT else 1.0

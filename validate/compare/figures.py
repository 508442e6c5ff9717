"""The figures of a Run that a calibration fits, all as logarithms, and how far they move from one Run to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.capabilities import Side
from traces.run import Run
from traces.statistics.bootstrap import resample
from traces.statistics.summary import QUANTILES, latencies, ops_of, summarise
from validate.compare.server_share import SHARES, shares_of

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


def parts_of(run: Run, server_s: Floats | None = None) -> dict[str, Run]:
    """The Run under the empty name and, where `server_s` is known (`shares_of`), those of the shares under theirs."""
    return {"": run} | ({} if server_s is None else shares_of(run, server_s))


def labels_of(parts: Mapping[str, Run], cpu: Iterable[str] = ()) -> list[Label]:
    """The figures that a measured Run has to offer: throughput and quantiles by operation, CPU of the sides in `cpu`.

    A quantile is there when at least 4 successful requests lie beyond it. Those of the server's share and the rest are
    where `parts` (`parts_of`) has nine in ten requests of them.
    """
    labels: list[Label] = []
    for op in ops_of(parts[""]):
        count = len(latencies(parts[""], op))
        names = [name for name in _NAMES if count * (1 - QUANTILES[name]) >= _BEYOND]
        labels += [(op, name) for name in (THROUGHPUT, *names)] if count else []
        shares = [
            fraction
            for fraction in parts
            if fraction and len(latencies(parts[fraction], op)) >= max(1.0, _KNOWN * count)
        ]
        labels += [(op, f"{fraction}_{name}") for fraction in shares for name in names if name in _OF_SHARES]
    return labels + [("all", f"{side}_cpu_s") for side in cpu]


def of_share(label: Label) -> tuple[str, str]:
    """The share of the latency that a figure is of (none: the whole), and its name there."""
    fraction, _, name = label[1].partition("_")
    return (fraction, name) if fraction in SHARES and name in QUANTILES else ("", label[1])


def figures_of(parts: Mapping[str, Run], labels: Sequence[Label], cpu_s: Mapping[Side, float]) -> Floats:
    """The logarithms of these figures; `cpu_s` is the CPU time per request of each side.

    A figure that the Run does not have, because nothing of its operation succeeded, is NaN.
    """
    of_side = {f"{side}_cpu_s": s for side, s in cpu_s.items()}
    ops = {fraction: summarise(part)["ops"] for fraction, part in parts.items()}

    def value(label: Label) -> float:
        op, (fraction, name) = label[0], of_share(label)
        if op == "all":
            return of_side[name]
        figures = ops[fraction].get(op)
        if figures is None:
            return float("nan")
        return float(figures[name] if name == THROUGHPUT else figures["latency_s"][name])

    values = np.array([value(label) for label in labels])
    return np.log(np.where(values > 0, values, np.nan))


def sampling_noise(parts: Mapping[str, Run], labels: Sequence[Label], seed: int) -> Floats:
    """The covariance of a Run's log-figures over its block-bootstrap resamples, shape (labels, labels)."""
    columns: dict[Label, Floats] = {}
    for op, fraction in dict.fromkeys((label[0], of_share(label)[0]) for label in labels if label[0] != "all"):
        own = {label: of_share(label)[1] for label in labels if label[0] == op and of_share(label)[0] == fraction}
        names = [name for name in own.values() if name != THROUGHPUT]
        # With one stream the resamples of all shares hold the same requests.
        resamples = resample(parts[fraction], op, names, seed, f"calibrate.{op}")
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

"""The figures of a Run that a calibration fits, as logarithms, and their variation from one Run to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.capabilities import Side
from traces.run import Run
from traces.statistics.bootstrap import resample
from traces.statistics.summary import QUANTILES, latencies, ops_of, summarise
from validate.compare.server_part import PARTS, latency_parts

Floats = NDArray[np.float64]
Label = tuple[str, str]
"""An operation and the name of one of its figures; CPU times have the operation ``all``.

A quantile is named ``p50``, that of the server part of the latency ``server_p50``, that of the rest ``rest_p50``.
"""

THROUGHPUT = "throughput_ops"
_NAMES = ("p25", "p50", "p75", "p90", "p95", "p99", "p99_9")
_OF_PARTS = _NAMES[:4]
_KNOWN = 0.9  # minimum fraction of an operation's requests with a known server time
_BEYOND = 4  # minimum number of requests beyond a fitted quantile
_LEAST_NOISE = 0.003  # accuracy of clocks and machines

CPU_NOISE = 0.2
"""Standard deviation of the logarithm of measured CPU time per request about the model's demands. Accounting by process
includes other work, and idle threads that wake for each request. A GET of 4 KiB cost MinIO 0.60 ms with one client and
0.34 ms with four (2 cores of an AMD EPYC)."""

PART_ERROR_S = 50e-6
"""Standard deviation of the measured server part of a latency, and of the rest, about the model's. The server starts
its clock when it has read the head of a request, and stops it before the response is flushed. Assumed."""


def parts_of(run: Run, server_s: Floats | None = None) -> dict[str, Run]:
    """Return the Run under the empty name and, if `server_s` is known, its `latency_parts` under their names."""
    return {"": run} | ({} if server_s is None else latency_parts(run, server_s))


def labels_of(parts: Mapping[str, Run], cpu: Iterable[str] = ()) -> list[Label]:
    """Return the figures of a measured Run: throughput and quantiles by operation, CPU of the sides in `cpu`.

    A quantile is included when at least 4 successful requests lie beyond it. Those of the server part and the rest are
    included when `parts` (`parts_of`) has them for at least nine in ten requests.
    """
    labels: list[Label] = []
    for op in ops_of(parts[""]):
        count = len(latencies(parts[""], op))
        names = [name for name in _NAMES if count * (1 - QUANTILES[name]) >= _BEYOND]
        labels += [(op, name) for name in (THROUGHPUT, *names)] if count else []
        split = [part for part in parts if part and len(latencies(parts[part], op)) >= max(1.0, _KNOWN * count)]
        labels += [(op, f"{part}_{name}") for part in split for name in names if name in _OF_PARTS]
    return labels + [("all", f"{side}_cpu_s") for side in cpu]


def part_of(label: Label) -> tuple[str, str]:
    """Return the part of the latency to which a figure belongs (empty: the whole), and its name there."""
    part, _, name = label[1].partition("_")
    return (part, name) if part in PARTS and name in QUANTILES else ("", label[1])


def figures_of(parts: Mapping[str, Run], labels: Sequence[Label], cpu_s: Mapping[Side, float]) -> Floats:
    """Return the logarithms of these figures; `cpu_s` is the CPU time per request of each side.

    A figure of an operation without successful requests is NaN.
    """
    of_side = {f"{side}_cpu_s": s for side, s in cpu_s.items()}
    ops = {name: summarise(part)["ops"] for name, part in parts.items()}

    def value(label: Label) -> float:
        op, (part, name) = label[0], part_of(label)
        if op == "all":
            return of_side[name]
        figures = ops[part].get(op)
        if figures is None:
            return float("nan")
        return float(figures["throughput_ops"] if name == THROUGHPUT else figures["latency_s"][name])

    values = np.array([value(label) for label in labels])
    return np.log(np.where(values > 0, values, np.nan))


def sampling_noise(parts: Mapping[str, Run], labels: Sequence[Label], seed: int) -> Floats:
    """Return the covariance of a Run's log-figures over block-bootstrap resamples, shape (labels, labels)."""
    columns: dict[Label, Floats] = {}
    for op, part in dict.fromkeys((label[0], part_of(label)[0]) for label in labels if label[0] != "all"):
        own = {label: part_of(label)[1] for label in labels if label[0] == op and part_of(label)[0] == part}
        names = [name for name in own.values() if name != THROUGHPUT]
        # With one stream, the resamples of all parts contain the same requests.
        resamples = resample(parts[part], op, names, seed, f"calibrate.{op}")
        drawn = resamples.latency_s | {THROUGHPUT: resamples.throughput_ops}
        columns |= {label: np.log(np.fmax(drawn[name], 1e-12)) for label, name in own.items()}
    covariance = np.zeros((len(labels), len(labels)))
    sampled = [i for i, label in enumerate(labels) if label in columns]
    if sampled:
        together = np.stack([columns[labels[i]] for i in sampled])
        covariance[np.ix_(sampled, sampled)] = np.atleast_2d(np.cov(together))
    for i, label in enumerate(labels):
        covariance[i, i] += (CPU_NOISE if label[0] == "all" else _LEAST_NOISE) ** 2
        if part_of(label)[0]:
            covariance[i, i] += (PART_ERROR_S / float(np.exp(np.median(columns[label])))) ** 2
    return covariance


def direction(label: Label) -> float:
    """Return the sign of a figure's change when the whole machine slows down: throughput falls, times rise."""
    return -1.0 if label[1] == THROUGHPUT else 1.0

"""Configurations: Runs with the same workload repeat each other, with one trace or with several seeds of it.

They have the same pacing and client, and no distribution of their workloads differs significantly, as between
independent draws. Seeds of arrivals with long bursts are therefore different configurations: their workloads differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from traces.errors import InputError
from traces.operations import OPS
from traces.run import Run
from traces.spec.units import binary_size
from traces.statistics.summary import Floats
from traces.tables import with_column
from traces.trace import Pacing, Trace
from validate.replay.recorded_faults import same_faults

_LEVEL = 1e-4
"""Significance level of each test that two workloads differ."""


@dataclass(frozen=True)
class Distribution:
    """An empirical distribution: distinct values in ascending order, and the number of occurrences of each."""

    values: Floats
    counts: NDArray[np.int64]

    @staticmethod
    def of(samples: NDArray[np.generic]) -> Distribution:
        """Return the distribution of samples."""
        values, counts = np.unique(samples, return_counts=True)
        return Distribution(values.astype(np.float64), counts)

    @property
    def size(self) -> int:
        """The number of samples."""
        return int(self.counts.sum())

    def differs(self, other: Distribution) -> bool:
        """Test whether two samples are of different distributions, by Kolmogorov and Smirnov or by their means.

        The first test uses the asymptotic critical value (Smirnov, "Table for estimating the goodness of fit of
        empirical distributions", Annals of Mathematical Statistics 19(2), 1948), which is conservative for
        distributions with atoms. The second assumes normal means, and finds different rates before their shapes differ.
        Both have the level `_LEVEL`.
        """
        if not self.size or not other.size:
            return self.size != other.size
        values = np.union1d(self.values, other.values)
        gap = float(np.abs(self._below(values) - other._below(values)).max())
        if gap > math.sqrt(-math.log(_LEVEL / 2) / 2 * (1 / self.size + 1 / other.size)):
            return True
        (mean, error), (other_mean, other_error) = self._mean(), other._mean()
        apart = abs(mean - other_mean)
        return apart > 1e-9 * abs(mean) and apart > -scipy.special.ndtri(_LEVEL / 2) * math.hypot(error, other_error)

    def _mean(self) -> tuple[float, float]:
        """Return the mean and its standard error, assuming independent samples."""
        mean = float(self.values @ self.counts) / self.size
        variance = float((self.values - mean) ** 2 @ self.counts) / self.size
        return mean, math.sqrt(variance / self.size)

    def _below(self, values: Floats) -> Floats:
        fraction = np.concatenate([[0.0], np.cumsum(self.counts) / self.size])
        return fraction[np.searchsorted(self.values, values, side="right")]


@dataclass(frozen=True)
class RequestedWorkload:
    """The workload of a Run, without the seed.

    Attributes:
        pacing: pacing of the trace, at the speed of the replay.
        client: the client library and its timeouts, retries and hedging; of a store of the lab its hosts, drives and
            shape; and the faults that were staged; as far as recorded.
        distributions: of operations and phases, interarrival times (open loop) or think times (closed loop), requests
            per key, and for each operation object sizes and transferred bytes.
    """

    pacing: Pacing
    client: str
    distributions: dict[str, Distribution]

    def same_workload(self, other: RequestedWorkload) -> bool:
        """Whether both are of one configuration: same pacing and client, no distribution differs significantly."""
        mine, others = self.distributions, other.distributions
        return (
            (self.pacing, self.client, mine.keys()) == (other.pacing, other.client, others.keys())
            and not any(mine[name].differs(others[name]) for name in mine)
        )  # fmt: skip

    @property
    def label(self) -> str:
        """A short name, such as ``16 clients, GET 70 % PUT 30 %, 32KiB``."""
        ops = self.distributions["op"]
        named = [OPS[int(op)] for op in ops.values]
        mix = " ".join(f"{op} {count / ops.size:.0%}" for op, count in zip(named, ops.counts, strict=True))
        sizes = {text: None for op in named for text in [_sizes(self.distributions[f"{op} size"])]}
        if self.pacing.loop == "open":
            gaps = self.distributions["gap"]
            span_s = float(gaps.values @ gaps.counts)
            who = f"{gaps.size / span_s:.3g}/s" if span_s else "all at once"
        else:
            who = f"{self.pacing.clients} client{'' if self.pacing.clients == 1 else 's'}"
        return f"{who}, {mix if len(named) > 1 else named[0]}, {' and '.join(sizes)}"


def requested_trace(run: Run) -> Trace:
    """Return the trace of a Run at the speed of the replay.

    Raises:
        InputError: the Run has no trace.
    """
    trace, speed = run.trace, float(run.info.get("speed", 1.0))
    if trace is None:
        raise InputError("the Run has no trace.parquet, so its workload is unknown; Runs of tailcast replay have one")
    if speed == 1.0:
        return trace
    limit_s = trace.pacing.duration_s
    table = with_column(trace.table, "arrival_s", [trace.arrival_s / speed])
    return Trace.of(table, replace(trace.pacing, duration_s=None if limit_s is None else limit_s / speed))


def requested_of(run: Run) -> RequestedWorkload:
    """Return the workload of a Run, without the seed.

    Raises:
        InputError: the Run has no trace, or the trace no requests.
    """
    trace = requested_trace(run)
    if not trace.issued:
        raise InputError("the Run's trace has no requests")
    issued = slice(trace.issued)
    op, size_bytes, moved_bytes = trace.op[issued], trace.size_bytes[issued], trace.transfer_bytes[issued]
    keys = trace.table.column("key").combine_chunks().indices.to_numpy()[issued]
    # Keys, not rows: the size of a popular key is in many rows, but was drawn once.
    distributions = {
        "op": Distribution.of(op),
        "phase": Distribution.of(trace.phase[issued]),
        "namings of a key": Distribution.of(np.unique(keys, return_counts=True)[1]),
    }
    if trace.pacing.loop == "open":
        distributions["gap"] = Distribution.of(np.diff(trace.arrival_s[issued]))
    else:
        distributions["think time"] = Distribution.of(trace.think_s)
    for code in np.unique(op):
        rows = np.flatnonzero(op == code)
        rows = rows[np.unique(keys[rows], return_index=True)[1]]
        distributions[f"{OPS[code]} size"] = Distribution.of(size_bytes[rows])
        distributions[f"{OPS[code]} moved"] = Distribution.of(moved_bytes[rows])
    client = (run.info.get("data_path") or {}).get("name"), run.info.get("client_policies")
    store = run.info.get("lab"), same_faults(run.info.get("faults") or ())
    return RequestedWorkload(trace.pacing, json.dumps((client, store), sort_keys=True), distributions)


def configurations_of(requested: Sequence[RequestedWorkload]) -> list[list[int]]:
    """Return the indices of each configuration's members; each joins the first one whose first member is the same."""
    configurations: list[list[int]] = []
    for i, own in enumerate(requested):
        home = next(
            (configuration for configuration in configurations if own.same_workload(requested[configuration[0]])), None
        )
        if home is None:
            configurations.append([i])
        else:
            home.append(i)
    return configurations


def labels_of(requested: Sequence[RequestedWorkload]) -> list[str]:
    """Return the labels of the workloads; equal ones are numbered."""
    labels: list[str] = []
    for own in requested:
        equal = sum(label == own.label or label.startswith(f"{own.label} (") for label in labels)
        labels.append(f"{own.label} ({equal + 1})" if equal else own.label)
    return labels


def _sizes(sizes: Distribution) -> str:
    least, greatest = (binary_size(int(value)) for value in (sizes.values[0], sizes.values[-1]))
    return least if least == greatest else f"{least} to {greatest}"

"""Cells: Runs that were asked the same workload repeat each other, be it with one trace or with several seeds of it.

The rule: equal pacing and client, and no distribution of what was asked differs by more than chance among independent
draws. So seeds of arrivals in long bursts are cells of their own: they ask for different things.
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
from traces.run import Run
from traces.statistics.summary import Floats
from traces.tables import OPS
from traces.trace import Pacing, Trace
from traces.units import binary_size

_LEVEL = 1e-4
"""How often chance would set two seeds of one workload apart, by each of their distributions."""


@dataclass(frozen=True)
class Distribution:
    """Distinct values, ascending, and how often each occurs."""

    values: Floats
    counts: NDArray[np.int64]

    @staticmethod
    def of(samples: NDArray[np.generic]) -> Distribution:
        """The distribution of samples."""
        values, counts = np.unique(samples, return_counts=True)
        return Distribution(values.astype(np.float64), counts)

    @property
    def size(self) -> int:
        """How many samples it has."""
        return int(self.counts.sum())

    def differs(self, other: Distribution) -> bool:
        """Whether two samples are of two laws, by the test of Kolmogorov and Smirnov or by that of their means.

        The asymptotic critical value (Smirnov, "Table for estimating the goodness of fit of empirical distributions",
        Annals of Mathematical Statistics 19(2), 1948), which for laws with atoms is on the safe side, and a normal one:
        two rates differ in their means before they do in shape. Both at `_LEVEL`.
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
        """The mean and its standard error, of independent samples."""
        mean = float(self.values @ self.counts) / self.size
        variance = float((self.values - mean) ** 2 @ self.counts) / self.size
        return mean, math.sqrt(variance / self.size)

    def _below(self, values: Floats) -> Floats:
        fraction = np.concatenate([[0.0], np.cumsum(self.counts) / self.size])
        return fraction[np.searchsorted(self.values, values, side="right")]


@dataclass(frozen=True)
class Requested:
    """What a Run was asked, apart from the seed.

    Attributes:
        pacing: of the trace, at the speed it was replayed with.
        client: what asked, where the Run says so: the library, and what it does about late and failed answers.
        distributions: of the operations and phases, the gaps between arrivals (open loop) or the think times (closed
            loop), how often each key is named, and for each operation the sizes of its objects and what it moves.
    """

    pacing: Pacing
    client: str
    distributions: dict[str, Distribution]

    def same_workload(self, other: Requested) -> bool:
        """Whether both are of one cell: equal pacing and client, and no distribution differs by more than chance."""
        mine, others = self.distributions, other.distributions
        return (
            (self.pacing, self.client, mine.keys()) == (other.pacing, other.client, others.keys())
            and not any(mine[name].differs(others[name]) for name in mine)
        )  # fmt: skip

    @property
    def label(self) -> str:
        """A short name: ``16 clients, GET 70 % PUT 30 %, 32KiB``."""
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
    """What the Run was asked, at the speed it was replayed with.

    Raises:
        InputError: the Run does not keep its trace.
    """
    trace, speed = run.trace, float(run.info.get("speed", 1.0))
    if trace is None:
        raise InputError("the Run has no trace.parquet, so what was asked is not known")
    if speed == 1.0:
        return trace
    limit_s = trace.pacing.duration_s
    at = trace.table.schema.get_field_index("arrival_s")
    table = trace.table.set_column(at, trace.table.schema.field(at), [trace.arrival_s / speed])
    return Trace.of(table, replace(trace.pacing, duration_s=None if limit_s is None else limit_s / speed))


def requested_of(run: Run) -> Requested:
    """What the Run was asked, apart from the seed.

    Raises:
        InputError: the Run does not keep its trace, or was asked nothing.
    """
    trace = requested_trace(run)
    if not trace.issued:
        raise InputError("the Run's trace has no requests")
    issued = slice(trace.issued)
    op, size_bytes, moved_bytes = trace.op[issued], trace.size_bytes[issued], trace.transfer_bytes[issued]
    keys = trace.table.column("key").combine_chunks().indices.to_numpy()[issued]
    # Keys, not rows: a popular key's size stands in many rows, but was drawn once.
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
    return Requested(trace.pacing, json.dumps(client, sort_keys=True), distributions)


def cells_of(requested: Sequence[Requested]) -> list[list[int]]:
    """The indices of what is of one cell, cell by cell; each belongs to the first cell whose first member it equals."""
    cells: list[list[int]] = []
    for i, own in enumerate(requested):
        home = next((cell for cell in cells if own.same_workload(requested[cell[0]])), None)
        if home is None:
            cells.append([i])
        else:
            home.append(i)
    return cells


def labels_of(requested: Sequence[Requested]) -> list[str]:
    """Their labels; those that would be equal are numbered."""
    labels: list[str] = []
    for own in requested:
        alike = sum(label == own.label or label.startswith(f"{own.label} (") for label in labels)
        labels.append(f"{own.label} ({alike + 1})" if alike else own.label)
    return labels


def _sizes(sizes: Distribution) -> str:
    least, greatest = (binary_size(int(value)) for value in (sizes.values[0], sizes.values[-1]))
    return least if least == greatest else f"{least} to {greatest}"

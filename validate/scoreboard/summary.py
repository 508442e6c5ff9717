"""Summary of a scoreboard: errors by kind of figure, bands, baselines and statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from validate.scoreboard.lines import FITTED, KNOWN, UNSEEN, Line, error_of

KINDS = ("throughput", "mean", "p50", "p90", "p99", "p99.9", "other latency", "cores", "duration", "other")
"""Kinds of figures, whatever their unit."""

SEEN = (FITTED, KNOWN, UNSEEN)

BASELINES = ("bounds", "mva", "line")
"""Simpler forecasts: attributes of a `Line`."""

AIM = 0.2
"""The error within which a figure counts as predicted."""

_LATENCY = re.compile(r"latency_(p[\d_]+|mean|min|max)_(?:s|ms|us)")


def kind_of(figure: str) -> str:
    """Return the kind of a figure by its name in a published table."""
    if figure.startswith("throughput_"):
        return "throughput"
    latency = _LATENCY.fullmatch(figure)
    if latency:
        name = latency[1].replace("_", ".")
        return name if name in KINDS else "other latency"
    if figure.endswith(("_cores", "_cpu_ms")):
        return "cores"
    return "duration" if figure in ("duration_s", "reshard_s") else "other"


@dataclass(frozen=True)
class Errors:
    """Errors of predictions: greater / lesser - 1.

    Attributes:
        count: number of figures.
        median, p90, worst: over them.
        within: number of figures with an error of at most `AIM`.
    """

    count: int
    median: float
    p90: float
    worst: float
    within: int

    @staticmethod
    def of(errors: Sequence[float]) -> Errors | None:
        """Return the summary of errors; None of none."""
        if not errors:
            return None
        median, p90 = np.quantile(errors, (0.5, 0.9)).tolist()
        return Errors(len(errors), median, p90, max(errors), sum(error <= AIM for error in errors))


@dataclass(frozen=True)
class BaselineComparison:
    """Errors of a simpler forecast, and those of the simulator on the same figures."""

    baseline: Errors
    model: Errors


@dataclass(frozen=True)
class KindSummary:
    """One kind of figure.

    Attributes:
        kind: one of `KINDS`.
        errors: by what the model knew (`SEEN`).
        worst: the line with the greatest error of those that were not fitted; None: there is none.
        banded, covered: number of figures not fitted that have a band, and that are inside.
        baselines: by name (`BASELINES`), over figures that were not fitted.
    """

    kind: str
    errors: dict[str, Errors | None]
    worst: Line | None
    banded: int
    covered: int
    baselines: dict[str, BaselineComparison]


@dataclass(frozen=True)
class BoardSummary:
    """A scoreboard in numbers.

    Attributes:
        kinds: those that occur.
        statements, holding: number of published statements, and of those that hold in the model.
        cut: number of lines whose simulation was shorter than the measurement.
        unknown_length: number of published figures, not durations, whose measurement's length is not published.
    """

    kinds: tuple[KindSummary, ...]
    statements: int
    holding: int
    cut: int
    unknown_length: int


def summary_of(lines: Sequence[Line]) -> BoardSummary:
    """Summarise a scoreboard."""
    figures = [line for line in lines if not line.is_statement]
    statements = [line for line in lines if line.is_statement]
    kinds = tuple(
        _of_kind(kind, mine) for kind in KINDS if (mine := [line for line in figures if kind_of(line.figure) == kind])
    )
    unknown = [line for line in figures if line.measured_s is None and line.simulated_s is not None]
    return BoardSummary(
        kinds,
        len(statements),
        sum(line.predicted == line.measured for line in statements),
        sum(bool(line.cut) for line in figures),
        sum(kind_of(line.figure) != "duration" for line in unknown),
    )


def _of_kind(kind: str, lines: Sequence[Line]) -> KindSummary:
    held_out = [line for line in lines if line.seen != FITTED]
    banded = [line for line in held_out if line.covered is not None]
    return KindSummary(
        kind,
        {seen: Errors.of([line.error for line in lines if line.seen == seen]) for seen in SEEN},
        max(held_out, key=lambda line: line.error, default=None),
        len(banded),
        sum(bool(line.covered) for line in banded),
        {name: found for name in BASELINES if (found := _compared(name, held_out)) is not None},
    )


def _compared(name: str, lines: Sequence[Line]) -> BaselineComparison | None:
    pairs = [(value, line) for line in lines if (value := getattr(line, name)) is not None]
    simple = Errors.of([error_of(value, line.measured) for value, line in pairs])
    model = Errors.of([line.error for _, line in pairs])
    return None if simple is None or model is None else BaselineComparison(simple, model)

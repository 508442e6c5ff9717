"""Rows of published tables as targets of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.store import Spec, compile_spec, spec_of
from sim.simulate import requests_only, simulate
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.trace import Trace
from traces.workload.generate import generate
from validate.compare.figures import Floats, Label
from validate.reference.doubtful_rows import contradictions_of
from validate.reference.figures import figure, figures_of_spec, of_server, of_stations
from validate.reference.rows import Row, is_steady, rows_of
from validate.reference.server import server_times

ROW_NOISE = 0.05
"""Standard deviation of the logarithm of all figures of a row together, from one repetition to the next: assumed;
repetitions in published tables differ by 2 to 10 %."""

_FIGURE_NOISE = 0.02  # of each figure by itself: rounding, and values read from charts; assumed


@dataclass(frozen=True)
class PublishedRow:
    """A row of a published table and the spec that predicts it.

    Attributes:
        name: file and line.
        row: its settings and figures.
        spec: the spec with these settings.
        steady: whether its figures are those of a settled store.
    """

    name: str
    row: Row
    spec: Spec
    steady: bool

    @property
    def settings(self) -> str:
        """The settings as text; rows with the same text are predicted by the same simulation."""
        return ", ".join(self.row.assignments)

    @property
    def labels(self) -> list[Label]:
        """The figures to fit."""
        return [(self.row.op, name) for name in self.row.evaluated]

    @property
    def figures(self) -> Floats:
        """The logarithms of `labels`."""
        return np.log([self.row.measured[name] for name in self.row.evaluated])

    @property
    def noise(self) -> Floats:
        """The covariance of `figures`: a store that is slower during a measurement affects all figures of the row.

        A figure whose standard deviation the row states has that one instead of `_FIGURE_NOISE`.
        """
        row = self.row
        moved = ROW_NOISE * np.array([-1.0 if _is_rate(name) else 1.0 for name in row.evaluated])
        own = [
            row.deviations[name] / row.measured[name] if name in row.deviations else _FIGURE_NOISE
            for name in row.evaluated
        ]
        covariance: Floats = np.outer(moved, moved) + np.diag(np.square(own))
        return covariance

    @cached_property
    def trace(self) -> Trace:
        """The requests to simulate."""
        return generate(self.spec.workload, 0)


def doubts_of(rows: Sequence[PublishedRow]) -> list[str]:
    """Return what contradicts each other in the figures of rows, a line each."""
    return [f"{row.name}: {why}" for row in rows for why in contradictions_of(row.row, row.spec)]


def published_rows(tables: Sequence[Path], data: Mapping[str, Any], spec: Spec, source: str) -> list[PublishedRow]:
    """Read the rows to fit: those marked `used_in_fit`, or all of a table if none is.

    Args:
        tables: the files.
        data, spec, source: mapping of the spec, the validated spec, and its name in messages.

    Raises:
        InputError: a table is not valid or does not suit the spec.
    """
    found = []
    for table in tables:
        rows = rows_of(table, data, spec, source)
        chosen = [row for row in rows if row.used_in_fit] or list(rows)
        found += [
            PublishedRow(
                f"{table.name}:{row.line}", row, spec_of(override(data, row.assignments), source), is_steady(rows)
            )
            for row in chosen
        ]
    return found


def row_figures(spec: Spec, trace: Trace, seed: int, labels: Sequence[Label], steady: bool) -> Floats:
    """Return the logarithms of figures of a simulation; NaN if a figure has no value."""
    known = figures_of_spec(spec, tuple(name for _, name in labels))
    simulated = [name for _, name in labels if name not in known]
    if any(map(of_stations, simulated)):
        run = simulate(spec, trace, seed=seed)
    else:
        run = requests_only(*compile_spec(spec, trace), trace, seed)
    server = server_times(spec, trace, seed) if any(map(of_server, simulated)) else None

    def value(op: str, name: str) -> float:
        try:
            return known[name] if name in known else figure(run, op, name, steady, server)
        except InputError:  # no request of the operation succeeded, or the store did not settle
            return float("nan")

    values = np.array([value(*label) for label in labels])
    return np.log(np.where(values > 0, values, np.nan))


def _is_rate(name: str) -> bool:
    return name.startswith("throughput") or name.endswith("_cores")

"""Lines of the scoreboard, and their CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from traces.errors import InputError
from traces.spec.suggestions import no_such_file
from traces.tables import atomic_file
from validate.reference.forecast import LEAST, is_inside

FITTED, KNOWN, UNSEEN = "fitted", "known", "unseen"
"""What the model knew of a figure: values were fitted to it; it was known when the model changed; neither."""

STATEMENT = "statement"
"""The figure of a published statement: measured is 1, and predicted 1 if it holds in the model, else 0."""


@dataclass(frozen=True)
class Line:
    """One figure of a real store next to its prediction.

    Attributes:
        case: a reference case, or a folder of recorded Runs.
        row: the published table and the settings of the row, or the name of the Run; a statement's text.
        op: the operation.
        figure: its name, with unit (`validate.reference.figures`).
        seen: `FITTED`, `KNOWN` or `UNSEEN`.
        measured, predicted: the figure.
        noise: standard error of the logarithm of `predicted`; None: unknown.
        low, high: the band over values that are not known; None: no draws.
        bounds: operational bound: the highest throughput, the lowest latency; None: none.
        mva: exact mean value analysis of the same service demands; None: not applicable.
        line: a straight line through two measured points of the same series; None: it is one of the two, or there are
            no such points.
        measured_s, simulated_s: lengths of measurement and simulation; None: not published, not simulated.
        doubling: factor by which the prediction grows from the first half of the simulation to all of it.
        model: version and commit of the model.
        seed: of the simulations.
        resolution: to what the measured figure is rounded, in its unit; None: it is not, or this is not known.
    """

    case: str
    row: str
    op: str
    figure: str
    seen: str
    measured: float
    predicted: float
    noise: float | None = None
    low: float | None = None
    high: float | None = None
    bounds: float | None = None
    mva: float | None = None
    line: float | None = None
    measured_s: float | None = None
    simulated_s: float | None = None
    doubling: float | None = None
    model: str = ""
    seed: int = 0
    resolution: float | None = None

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the line on any board."""
        return self.case, self.row, self.op, self.figure

    @property
    def is_statement(self) -> bool:
        """Whether it is a statement in words."""
        return self.figure == STATEMENT

    @property
    def error(self) -> float:
        """The greater of prediction and measurement over the lesser, minus 1."""
        return error_of(self.predicted, self.measured)

    @property
    def covered(self) -> bool | None:
        """Whether the band contains the measured figure; None: there is no band."""
        if self.low is None or self.high is None:
            return None
        return is_inside(self.measured, (self.low, self.high), self.resolution or 0.0)

    @property
    def cut(self) -> str:
        """Say that the simulation was shorter than the measurement, and how its tail grows; empty if it was not."""
        if self.simulated_s is None or self.measured_s is None or self.simulated_s >= 0.95 * self.measured_s:
            return ""
        text = f"cut to {self.simulated_s:.3g} of {self.measured_s:.3g} s"
        if self.doubling is None:
            return text
        return f"{text}: {math.log2(self.measured_s / self.simulated_s):.1f} doublings, the last x {self.doubling:.2f}"


def error_of(predicted: float, measured: float) -> float:
    """Return greater / lesser - 1."""
    ratio = math.log(max(predicted, LEAST) / max(measured, LEAST))
    return math.expm1(abs(ratio))


_NUMBERS = ("measured", "predicted", "noise", "low", "high", "bounds", "mva", "line", "measured_s", "simulated_s")
_FLOATS = (*_NUMBERS, "doubling", "resolution")
_COLUMNS = tuple(field.name for field in fields(Line))


def write_board(lines: Sequence[Line], path: Path) -> None:
    """Write lines as CSV, completely or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows([_cell(getattr(line, name)) for name in _COLUMNS] for line in lines)


def read_board(path: Path) -> list[Line]:
    """Read the lines of a board.

    Raises:
        InputError: the file is missing or is no board.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != _COLUMNS:
                raise InputError(f"{path}: is no scoreboard; the columns of one are {', '.join(_COLUMNS)}")
            return [_line(cells, f"{path}: line {reader.line_num}") for cells in reader]
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is no table in CSV: {error}") from error


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _line(cells: dict[str, Any], where: str) -> Line:
    if None in cells or None in cells.values():
        raise InputError(f"{where}: has another number of cells than the first line")
    values: dict[str, Any] = dict(cells)
    for name in _FLOATS:
        try:
            values[name] = float(cells[name]) if cells[name] else None
        except ValueError as error:
            raise InputError(f"{where}: {name} is {cells[name]!r}; a number is needed") from error
    if values["measured"] is None or values["predicted"] is None:
        raise InputError(f"{where}: measured and predicted are needed")
    if not cells["seed"].isdigit():
        raise InputError(f"{where}: seed is {cells['seed']!r}; a whole number is needed")
    if cells["seen"] not in (FITTED, KNOWN, UNSEEN):
        raise InputError(f"{where}: seen is {cells['seen']!r}; allowed are {FITTED}, {KNOWN} and {UNSEEN}")
    return Line(**values | {"seed": int(cells["seed"])})

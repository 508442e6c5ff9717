"""Published tables as CSV files: the settings of each row as values of a spec, and its figures.

A column is one of `table`, `op`, `remark`, `used_in_fit`, `measured_s` and `resolution_ms`, a figure
(`validate.reference.figures`), or else the path of a value in the spec. `resolution_ms` is to what latencies are
rounded. A name of a figure with `_sd` is its standard deviation, in the same unit. An empty cell sets nothing, or is a
figure that was not published. Without a column `op`, the operation is the only one of the row's workload.

A table of results that an import wrote (`traces.results`) stands for such a table.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from models.spec.field_paths import paths_of, resolved
from models.store import Spec, spec_of
from traces.errors import InputError
from traces.operations import OPS
from traces.results.reference import reference_rows
from traces.results.registry import is_table, read_table
from traces.spec.spec_file import override
from traces.spec.suggestions import did_you_mean, no_such_file
from validate.reference.figures import ALL, figure_names, is_figure, latency_per_s

DURATION = "duration_s"
"""The only figure that is evaluated if a row has it, because the others follow from it."""

_ABOUT = ("table", "op", "remark", "used_in_fit", "measured_s", "resolution_ms")
_OPERATIONS = "workload.operations"
_DEVIATION = "_sd"
_USED = ("yes", "no", "unseen", "")


@dataclass(frozen=True)
class Row:
    """One published row.

    Attributes:
        table: the published table.
        op: the operation; a description if the row is about none.
        settings: the row's values by path in the spec, as in `traces.spec.spec_file.override`.
        used_in_fit: whether values of the spec were fitted to the row.
        measured: the published figures by name (`validate.reference.figures`).
        remark: further information from the source, or inferred.
        line: its line in the file.
        unseen: whether the model has not changed since its prediction was first compared with the row.
        measured_s: how long the measurement lasted; None: not published.
        deviations: standard deviations of figures, by their names, as far as they are known.
        resolution_s: to which latencies are rounded; 0: they are not, or this is not known.
    """

    table: str
    op: str
    settings: Mapping[str, str]
    used_in_fit: bool
    measured: Mapping[str, float]
    remark: str = ""
    line: int = 0
    unseen: bool = False
    measured_s: float | None = None
    deviations: Mapping[str, float] = field(default_factory=dict)
    resolution_s: float = 0.0

    @property
    def assignments(self) -> tuple[str, ...]:
        """The settings in the form of `traces.spec.spec_file.override`."""
        return tuple(f"{path}={value}" for path, value in self.settings.items())

    def resolution(self, figure: str) -> float:
        """Return to what a figure is rounded, in its unit; 0: it is not, or this is not known."""
        return self.resolution_s * latency_per_s(figure)

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The figures from which the error of a prediction is computed."""
        return (DURATION,) if DURATION in self.measured else tuple(self.measured)


def is_steady(rows: Sequence[Row]) -> bool:
    """Whether figures are those of a settled store, as in long runs: no row has the duration of its requests.

    Then the initial part of a simulation is left out, and one simulation with many requests is enough.
    """
    return not any(DURATION in row.measured for row in rows)


def read_rows(path: Path) -> tuple[Row, ...]:
    """Read the rows of a table that fits its spec.

    Raises:
        InputError: the file is missing or not a table, or a cell is invalid.
    """
    if is_table(path):
        return _of_results(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or ())
            if len(set(columns)) < len(columns) or "" in columns:
                raise InputError(f"{path}: the first line must have the name of each column, each once")
            return tuple(_row(line, f"{path}: line {reader.line_num}", reader.line_num) for line in reader)
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: is no table in CSV: {error}") from error


def _of_results(path: Path) -> tuple[Row, ...]:
    """Return the rows of results that an import wrote; how many operations a simulation has is left to the spec."""
    found = []
    for line, cells in enumerate(reference_rows(read_table(path)), 2):
        known: dict[str | None, Any] = {
            name: text
            for name, text in cells.items()
            if name != _OPERATIONS and (not is_figure(name) or _is_positive(text))
        }
        found.append(_row(known, f"{path}: row {line}", line))
    if not found:
        raise InputError(f"{path}: has no operation of an object store; allowed are {', '.join(OPS)}")
    return tuple(found)


def _is_positive(text: str) -> bool:
    return bool(text) and float(text) > 0


def rows_of(path: Path, data: Mapping[str, Any], spec: Spec, source: str) -> tuple[Row, ...]:
    """Read the rows of a table that have figures, and check them with the spec that predicts them.

    Args:
        path: of the table; its paths may be abbreviated (`models.spec.field_paths`).
        data: mapping of the spec.
        spec: the same, validated.
        source: name of the spec in messages.

    Raises:
        InputError: as for `read_rows`, or a column, setting or operation does not suit the spec; a line for each.
    """
    every = read_rows(path)
    full = {name: _path(path, spec, name) for name in dict.fromkeys(name for row in every for name in row.settings)}
    found = [row for row in every if row.measured]
    if not found:
        raise InputError(f"{path}: has no figure; allowed are columns such as {', '.join(figure_names())}")
    wrong: list[str] = []
    checked = []
    for row in found:
        settings = {full[name]: value for name, value in row.settings.items()}
        row = replace(row, settings=settings)
        try:
            ops = spec_of(override(data, row.assignments), source).workload.subjects
            checked.append(_with_op(row, ops))
        except InputError as error:
            wrong += [f"{path}: line {row.line}: {message.removeprefix(f'{source}: ')}" for message in error.messages]
    if wrong:
        raise InputError(*wrong)
    return tuple(checked)


def _row(cells: Mapping[str | None, Any], where: str, line: int) -> Row:
    if None in cells or None in cells.values():
        raise InputError(f"{where}: has another number of cells than the first line")
    given = {str(name): str(text).strip() for name, text in cells.items()}
    used = given.get("used_in_fit", "")
    if used not in _USED:
        raise InputError(f"{where}: used_in_fit is {used!r}; allowed are yes, no and unseen")
    rest = {name: text for name, text in given.items() if name not in _ABOUT and text}
    measured = {name: _number(text, f"{where}: {name}") for name, text in rest.items() if is_figure(name)}
    deviations = {
        figure: _number(text, f"{where}: {name}")
        for name, text in rest.items()
        if name.endswith(_DEVIATION) and (figure := name.removesuffix(_DEVIATION)) in measured
    }
    known = {*measured, *(f"{figure}{_DEVIATION}" for figure in deviations)}
    settings = {name: text for name, text in rest.items() if name not in known}
    lasted, resolution = (given.get(name, "") for name in ("measured_s", "resolution_ms"))
    return Row(
        given.get("table", ""),
        given.get("op", ""),
        settings,
        used == "yes",
        measured,
        given.get("remark", ""),
        line,
        used == "unseen",
        _number(lasted, f"{where}: measured_s") if lasted else None,
        deviations,
        _number(resolution, f"{where}: resolution_ms") / 1e3 if resolution else 0.0,
    )


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"{where} is {text!r}; a number above 0 is needed")
    return value


def _path(table: Path, spec: Spec, name: str) -> str:
    try:
        return resolved(spec, name, counted=True)
    except InputError as error:
        depth = name.count(".") + 1
        ends = (".".join(full.split(".")[-depth:]) for full in paths_of(spec))
        names = (*_ABOUT, *figure_names(), *ends)
        raise InputError(
            f"{table}: column {name!r} is no figure, and no path in the spec{did_you_mean(name, names)}"
        ) from error


def _with_op(row: Row, ops: Sequence[str]) -> Row:
    if not row.op and len(ops) == 1:
        return replace(row, op=ops[0])
    if row.op not in (*ops, ALL):
        raise InputError(f"op is {row.op!r}; allowed are {', '.join(ops)}, and {ALL} for all of them")
    return row

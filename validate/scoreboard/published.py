"""Lines of the scoreboard from published tables and statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from models.store import spec_of
from traces.spec.spec_file import override
from validate.reference.case_forecast import RowForecast
from validate.reference.cases import DATA, Case, UserTable
from validate.reference.forecast import forecast
from validate.reference.rows import DURATION, Row
from validate.scoreboard.baselines import Baseline, baseline, straight_lines
from validate.scoreboard.lines import FITTED, KNOWN, STATEMENT, UNSEEN, Line


@dataclass(frozen=True)
class BoardSettings:
    """How a board is made.

    Attributes:
        seed: of all simulations.
        replications: simulations of each row.
        uncertainty: fraction of the draws that a band contains; None: no bands.
        draws: of the values that are not known, for a band.
        workers: number of processes.
        model: version and commit of the model.
    """

    seed: int
    replications: int
    uncertainty: float | None
    workers: int
    model: str
    draws: int = 10


def sample_of(case: Case, rows: Sequence[int]) -> UserTable:
    """Return some rows of a case as a table, without the statements."""
    chosen = tuple(case.rows[i] for i in rows)
    return UserTable(case.spec, case.data, DATA / f"{case.name}.csv", chosen)


def published_lines(
    case: Case | UserTable, settings: BoardSettings, progress: Callable[[float], None] | None = None
) -> list[Line]:
    """Predict a case and return its lines.

    Rows with the duration of a run have no line for its throughput, which follows.

    Raises:
        InputError: the spec or the table is not valid.
    """
    result = forecast(
        case,
        seed=settings.seed,
        replications=settings.replications,
        uncertainty=settings.uncertainty,
        draws=settings.draws,
        workers=settings.workers,
        progress=progress,
    )
    names = _distinct([_name(row) for row in case.rows])
    straight = {
        figure: straight_lines(case.rows, figure)
        for figure in dict.fromkeys(figure for row in case.rows for figure in _figures(row))
    }
    baselines: dict[tuple[str, ...], Baseline] = {}
    lines = []
    for i, (row, name, found) in enumerate(zip(case.rows, names, result.rows, strict=True)):
        key = (*row.assignments, row.op)
        if key not in baselines:
            baselines[key] = baseline(spec_of(override(case.data, row.assignments), str(case.spec)), row.op)
        lines += [
            _row_line(case.name, name, row, figure, found, straight[figure][i], baselines[key], settings)
            for figure in _figures(row)
        ]
    return lines + [
        Line(case.name, one.text, "", STATEMENT, KNOWN, 1.0, float(one.holds), **_made(settings))
        for one in result.statements
    ]


def _row_line(
    case: str,
    name: str,
    row: Row,
    figure: str,
    found: RowForecast,
    straight: float | None,
    simple: Baseline,
    settings: BoardSettings,
) -> Line:
    low, high = found.band[figure] if found.band else (None, None)
    return Line(
        case,
        name,
        row.op,
        figure,
        FITTED if row.used_in_fit else UNSEEN if row.unseen else KNOWN,
        row.measured[figure],
        found.predicted[figure],
        found.noise[figure],
        low,
        high,
        simple.figure(simple.bounds, row.op, figure),
        simple.figure(simple.mva, row.op, figure),
        straight,
        row.measured.get(DURATION, row.measured_s),
        found.simulated_s,
        found.doubling.get(figure),
        resolution=row.resolution(figure) or None,
        **_made(settings),
    )


def _made(settings: BoardSettings) -> dict[str, Any]:
    return {"model": settings.model, "seed": settings.seed}


def _figures(row: Row) -> list[str]:
    return [name for name in row.measured if DURATION not in row.measured or not name.startswith("throughput_")]


def _name(row: Row) -> str:
    settings = [f"{path.rpartition('.')[2]}={value}" for path, value in row.settings.items()]
    return ", ".join([row.table, *settings]) if row.table else ", ".join(settings) or row.op


def _distinct(names: Sequence[str]) -> list[str]:
    """Number names that occur several times."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result

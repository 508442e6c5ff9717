"""`tailcast reference`: published measurements of real stores, and their predictions."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from cli.common import print_grid, print_json, progress, say, warn_if_slow
from cli.figures.figure_files import PageFiles
from cli.made import Made
from cli.options import (
    FiguresOption,
    ForceOption,
    FormatOption,
    JsonOption,
    OutOption,
    PageOption,
    ProfileOption,
    SeedOption,
    SetOption,
    UncertaintyOption,
    WorkersOption,
    fraction,
)
from cli.parse.spec import spec_mapping
from cli.present import Answer, Outputs, outputs_to_file, present
from cli.tables.grid import Grid
from cli.words import number, percent, seconds
from models.store import spec_of
from sim.json_form import to_json
from traces.errors import InputError
from traces.spec.spec_file import override
from validate.calibration.profile import Profile
from validate.reference.case_forecast import BandCoverage, CaseForecast, RowErrors, RowForecast
from validate.reference.cases import CASES, Case, UserTable, case_named
from validate.reference.doubtful_rows import doubtful_rows
from validate.reference.forecast import forecast
from validate.reference.rows import DURATION, is_steady

app = typer.Typer(help="Predict published measurements of real stores.", no_args_is_help=True)

_TAIL = "latency_p99_ms"
_FITTED = " *"
_SHORT = {
    "throughput_ops": "op/s",
    "throughput_mib_per_s": "MiB/s",
    "throughput_gb_per_s": "GB/s",
    "latency_mean_ms": "mean ms",
}


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the cases with their sources.

    Example: tailcast reference list
    """
    if as_json:
        cases = [{"name": case.name, "source": case.source, "rows": len(case.rows)} for case in CASES]
        print_json({"cases": cases})
    else:
        rows = [[case.name, case.source, f"{len(case.rows)}"] for case in CASES]
        print_grid(Grid("", ["case", "source", "rows"], rows, labels=2))


@app.command()
def run(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Name of a case; see 'tailcast reference list'.", show_default=False),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option("--spec", metavar="SPEC.yaml", help="Instead of a case: spec of the store (default: none)."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--table",
            metavar="ROWS.csv",
            help="Table of published figures of that store; columns are paths of the spec and figures (default: none).",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Instead of a case: all cases and all recorded Runs of real stores, as a scoreboard."
        ),
    ] = False,
    sample: Annotated[
        bool, typer.Option("--sample", help="With --all: only a fixed sample of the rows, in about a minute.")
    ] = False,
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            metavar="BOARD.csv",
            help="With --all: print what became worse or better than on this earlier scoreboard (default: none).",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit with 1 if the median error exceeds the tolerance, or a statement fails; with --all, if a figure "
            "became worse than --against by more than noise.",
        ),
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="FRACTION",
            parser=fraction,
            help="Allowed relative error, such as 10% (default: that of the case, or 20%).",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(
            "--replications",
            min=1,
            help="Simulations per row (default: 20; 1 if no row has the duration of a run; 3 with --all).",
        ),
    ] = None,
    uncertainty: UncertaintyOption = None,
    profile: ProfileOption = None,
    workers: WorkersOption = None,
    report: PageOption = None,
    figures_to: FiguresOption = None,
    figure_format: FormatOption = "png",
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the published measurements of a case, those of a table with a spec, or everything known.

    With --all, --out writes the scoreboard as CSV, and --report as a page.

    Example: tailcast reference run ceph-nvme-quincy
    """
    if every:
        if name or spec or table or profile or assignments or tolerance is not None:
            raise InputError(
                "--all predicts every case with its own spec; leave out NAME, --spec, --table, --profile, --set and "
                "--tolerance"
            )
        if check and against is None:
            raise InputError("--check with --all needs --against, the scoreboard to compare with")
        from cli.commands.scoreboard import run_board

        outputs = Outputs(as_json, pages=PageFiles(report, figures_to, figure_format))
        held = run_board(sample, against, uncertainty, replications, seed or 0, workers, out, force, outputs)
        if check and not held:
            raise typer.Exit(1)
        return
    if sample or against or report or figures_to:
        raise InputError("--sample, --against, --report and --figures belong to the scoreboard; add --all")
    outputs = outputs_to_file(out, force, as_json)
    case = _case(name, spec, table, profile)
    allowed = case.tolerance if tolerance is None else tolerance
    warn_if_slow()
    if workers is None:
        workers = (
            len(os.sched_getaffinity(0)) if is_steady(case.rows) else 1
        )  # short simulations finish before worker processes have started
    with progress(f"predicting {case.name}", 1.0) as update:
        result = forecast(
            case,
            assignments=assignments or (),
            seed=seed or 0,
            replications=replications,
            uncertainty=uncertainty,
            draws=replications,
            workers=workers,
            progress=update,
        )
    all_hold = all(statement.holds for statement in result.statements)
    within = (result.error.all.median or 0.0) <= allowed
    judged = to_json(result) | {"tolerance": allowed, "within": within}
    made = Made.of(spec_of(override(case.data, assignments or ()), str(case.spec)), seed or 0)
    present(Answer(judged, lambda: _shown(result), made), outputs)
    if check and not (within and all_hold):
        raise typer.Exit(1)


def _case(name: str | None, spec: Path | None, table: Path | None, profile: Path | None) -> Case | UserTable:
    """Return the case that is named, or the table with its spec."""
    if name is not None and (spec or table or profile):
        raise InputError(f"{name}: a case has its own spec and table; leave out --spec, --table and --profile")
    if name is not None:
        return case_named(name)
    if spec is None or table is None:
        raise InputError("give NAME of a case (see 'tailcast reference list'), or both --spec and --table")
    written = () if profile is None else Profile.read(profile).written(profile.name)
    found = UserTable.read(spec, spec_mapping(spec, profile), table, written)
    for doubt in doubtful_rows(found.rows, found.data, str(spec), table):
        say(f"warning: {doubt}")
    return found


def _shown(result: CaseForecast) -> list[str | Grid]:
    """Return what is printed of a forecast of published rows: the rows, their errors, and the statements."""
    error = result.error
    parts = (("all rows", error.all), ("fitted", error.used_in_fit), ("held out", error.held_out))
    lines = [_sentence(label, errors) for label, errors in parts]
    lines += [] if result.uncertainty is None else [_coverage(result.uncertainty)]
    for statement in result.statements:
        lines += [f"{'holds' if statement.holds else 'FAILS'}: {statement.text}", f"       {statement.evidence}"]
    return [_grid(result), *lines, *(f"note: {note}" for note in result.notes)]


def _grid(result: CaseForecast) -> Grid:
    """Measured and predicted values of the rows, with a column for each setting that distinguishes them."""
    varied = _distinguishing_settings(result.rows)
    only = result.error.figure
    tail = only is not None and any(_TAIL in row.measured for row in result.rows)
    rows = []
    for row in result.rows:
        cells = [row.set.get(path, "") for path in varied] + [row.op + (_FITTED if row.used_in_fit else "")]
        measured, predicted, ratio = row.measured, row.predicted, row.ratio
        for name in (only,) if only else measured:
            write = seconds if name == DURATION else number
            figures = [write(measured[name]), write(predicted[name]), percent(math.log(ratio[name]))]
            figures += [_band_text(row, name, write)] if row.band else []
            figures += [f"{measured[_TAIL]:.0f} / {predicted[_TAIL]:.0f}"] if tail else []
            rows.append([*cells, *([] if only else [_SHORT.get(name, name.replace("_", " "))]), *figures])
    columns = [path.split(".", 1)[-1].replace("_", " ") for path in varied] + ["op", *([] if only else ["measure"])]
    labels = len(columns)
    columns += ["measured", "predicted", "error"]
    columns += [*(["band"] if result.uncertainty else []), *(["p99 ms"] if tail else [])]
    what = "durations" if only == DURATION else "throughput and latency"
    title = f"{result.name}: {what}{' and p99, measured / predicted' if tail else ''}; {_FITTED.strip()}: fitted"
    return Grid(title, columns, rows, labels=labels)


def _band_text(row: RowForecast, name: str, write: Callable[[float], str]) -> str:
    """Format a band, with a mark if the published figure is outside."""
    assert row.band is not None and row.covered is not None
    low, high = row.band[name]
    return f"{write(low)} … {write(high)}{'' if row.covered[name] else ' (outside)'}"


def _distinguishing_settings(rows: Sequence[RowForecast]) -> list[str]:
    """Return the settings that do not follow from the operation and earlier settings."""
    found: list[str] = []
    for path in {path: None for row in rows for path in row.set}:
        seen: dict[tuple[str | None, ...], str | None] = {}
        for row in rows:
            before = (row.op, *(row.set.get(other) for other in found))
            if seen.setdefault(before, row.set.get(path)) != row.set.get(path):
                found.append(path)
                break
    return found


def _coverage(found: BandCoverage) -> str:
    """Say how many published figures the bands cover."""
    values = f"{len(found.unknowns)} values that are not known and of " if found.unknowns else ""
    return (
        f"{found.level:.0%} bands over {found.draws} draws of {values}the model's deviation: {found.covered} of "
        f"{found.figures} figures of rows not fitted are inside"
    )


def _sentence(label: str, errors: RowErrors) -> str:
    if errors.median is None or errors.worst is None:
        return f"{label}: none"
    return f"{label}: {errors.rows}, error {errors.median:.1%} (median), {errors.worst:.1%} (worst)"

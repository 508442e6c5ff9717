"""`tailcast reference`: published measurements of real stores, and what the models say of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli.common import json_text, print_grid, print_json, progress, say, stdout, warn_if_slow
from cli.options import JsonOption, OutOption, SeedOption, SetOption, WorkersOption
from cli.tables.grid import Grid
from cli.words import number, percent, seconds
from traces.errors import InputError
from traces.tables import atomic_file
from validate.reference.cases import CASES, DURATION, case_named
from validate.reference.forecast import forecast

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
    """List the cases."""
    if as_json:
        cases = [{"name": case.name, "source": case.source, "rows": len(case.rows)} for case in CASES]
        print_json({"cases": cases})
    else:
        rows = [[case.name, case.source, f"{len(case.rows)}"] for case in CASES]
        print_grid(Grid("", ["case", "source", "rows"], rows, labels=2))


@app.command()
def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A case; see 'reference list'.", show_default=False)],
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Exit with 1 when the median is off by more than the tolerance, or a statement fails."
        ),
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(min=0, help="By what share figures may be off.", show_default="the case's own")
    ] = None,
    replications: Annotated[
        int | None, typer.Option(min=1, help="Simulations of each row.", show_default="20; 1 where each is long")
    ] = None,
    workers: WorkersOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict every published row of a case and print it beside the measurement."""
    case = case_named(name)
    allowed = case.tolerance if tolerance is None else tolerance
    if not math.isfinite(allowed):
        raise InputError(f"--tolerance is {allowed}; a share such as 0.1 is needed")
    warn_if_slow()
    if workers is None:
        workers = len(os.sched_getaffinity(0)) if case.steady else 1  # short simulations are done before others begin
    with progress(f"predicting {name}", 1.0) as update:
        result = forecast(
            case,
            assignments=assignments or (),
            seed=seed or 0,
            replications=replications,
            workers=workers,
            progress=update,
        )
    holds = all(statement["holds"] for statement in result["statements"])
    within = result["error"]["all"]["median"] <= allowed
    result |= {"tolerance": allowed, "within": within}
    if out is not None:
        with atomic_file(out) as temporary:
            temporary.write_text(json_text(result))
        say(f"result written to {out}")
    if as_json:
        print_json(result)
    else:
        print_grid(_grid(result))
        for label, part in (("all rows", "all"), ("fitted", "used_in_fit"), ("held out", "held_out")):
            stdout.print(_sentence(label, result["error"][part]), markup=False)
        for statement in result["statements"]:
            verdict = "holds" if statement["holds"] else "FAILS"
            stdout.print(f"{verdict}: {statement['text']}", markup=False, soft_wrap=True)
            stdout.print(f"       {statement['evidence']}", markup=False, soft_wrap=True)
    if check and not (within and holds):
        raise typer.Exit(1)


def _grid(result: dict[str, Any]) -> Grid:
    """The judged figures of the rows, with a column for each setting that tells them apart."""
    tail = any(_TAIL in row["measured"] for row in result["rows"])
    varied = _telling(result["rows"])
    one = result["error"]["figure"]
    rows = []
    for row in result["rows"]:
        cells = [row["set"].get(path, "") for path in varied] + [row["op"] + (_FITTED if row["used_in_fit"] else "")]
        measured, predicted, ratio = row["measured"], row["predicted"], row["ratio"]
        for name in (one,) if one else measured:
            write = seconds if name == DURATION else number
            figures = [write(measured[name]), write(predicted[name]), percent(math.log(ratio[name]))]
            figures += [f"{measured[_TAIL]:.0f} / {predicted[_TAIL]:.0f}"] if tail else []
            rows.append([*cells, *([] if one else [_SHORT.get(name, name.replace("_", " "))]), *figures])
    columns = [path.split(".", 1)[-1].replace("_", " ") for path in varied] + ["op", *([] if one else ["figure"])]
    labels = len(columns)
    columns += ["measured", "predicted", "error", *(["p99 ms"] if tail else [])]
    what = "durations" if one == DURATION else "figures"
    title = f"{result['name']}: {what}{' and p99, measured / predicted' if tail else ''}; {_FITTED.strip()}: fitted"
    return Grid(title, columns, rows, labels=labels)


def _telling(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The settings that do not follow from the operation and those before them."""
    kept: list[str] = []
    for path in {path: None for row in rows for path in row["set"]}:
        seen: dict[tuple[str | None, ...], str | None] = {}
        for row in rows:
            before = (row["op"], *(row["set"].get(other) for other in kept))
            if seen.setdefault(before, row["set"].get(path)) != row["set"].get(path):
                kept.append(path)
                break
    return kept


def _sentence(label: str, error: dict[str, Any]) -> str:
    if not error["rows"]:
        return f"{label}: none"
    return f"{label}: {error['rows']}, off by {error['median']:.1%} (median), {error['worst']:.1%} (worst)"

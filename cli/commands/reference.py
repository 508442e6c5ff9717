"""`tailcast reference`: published measurements of real stores, and their predictions."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cli.common import json_text, print_grid, print_json, progress, say, stdout, warn_if_slow
from cli.options import ForceOption, JsonOption, OutOption, SeedOption, SetOption, WorkersOption, fraction
from cli.outputs import check_file_output
from cli.tables.grid import Grid
from cli.words import number, percent, seconds
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
        str, typer.Argument(metavar="NAME", help="Name of a case; see 'tailcast reference list'.", show_default=False)
    ],
    check: Annotated[
        bool,
        typer.Option("--check", help="Exit with 1 if the median error exceeds the tolerance, or a statement fails."),
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            metavar="FRACTION",
            parser=fraction,
            help="Allowed relative error, such as 10% (default: that of the case).",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option("--replications", min=1, help="Replications per row (default: 20, or 1 if each is long)."),
    ] = None,
    workers: WorkersOption = None,
    assignments: SetOption = None,
    seed: SeedOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the published measurements of a case.

    Example: tailcast reference run ceph-nvme-quincy
    """
    check_file_output(out, force)
    case = case_named(name)
    allowed = case.tolerance if tolerance is None else tolerance
    warn_if_slow()
    if workers is None:
        workers = (
            len(os.sched_getaffinity(0)) if case.steady else 1
        )  # short simulations finish before worker processes have started
    with progress(f"predicting {name}", 1.0) as update:
        result = forecast(
            case,
            assignments=assignments or (),
            seed=seed or 0,
            replications=replications,
            workers=workers,
            progress=update,
        )
    all_hold = all(statement["holds"] for statement in result["statements"])
    within = result["error"]["all"]["median"] <= allowed
    result |= {"tolerance": allowed, "within": within}
    if out is not None:
        with atomic_file(out) as temporary:
            temporary.write_text(json_text(result))
        say(f"Result written to {out}")
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
    if check and not (within and all_hold):
        raise typer.Exit(1)


def _grid(result: dict[str, Any]) -> Grid:
    """Measured and predicted values of the rows, with a column for each setting that distinguishes them."""
    tail = any(_TAIL in row["measured"] for row in result["rows"])
    varied = _distinguishing_settings(result["rows"])
    only = result["error"]["figure"]
    rows = []
    for row in result["rows"]:
        cells = [row["set"].get(path, "") for path in varied] + [row["op"] + (_FITTED if row["used_in_fit"] else "")]
        measured, predicted, ratio = row["measured"], row["predicted"], row["ratio"]
        for name in (only,) if only else measured:
            write = seconds if name == DURATION else number
            figures = [write(measured[name]), write(predicted[name]), percent(math.log(ratio[name]))]
            figures += [f"{measured[_TAIL]:.0f} / {predicted[_TAIL]:.0f}"] if tail else []
            rows.append([*cells, *([] if only else [_SHORT.get(name, name.replace("_", " "))]), *figures])
    columns = [path.split(".", 1)[-1].replace("_", " ") for path in varied] + ["op", *([] if only else ["measure"])]
    labels = len(columns)
    columns += ["measured", "predicted", "error", *(["p99 ms"] if tail else [])]
    what = "durations" if only == DURATION else "throughput and latency"
    title = f"{result['name']}: {what}{' and p99, measured / predicted' if tail else ''}; {_FITTED.strip()}: fitted"
    return Grid(title, columns, rows, labels=labels)


def _distinguishing_settings(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the settings that do not follow from the operation and earlier settings."""
    found: list[str] = []
    for path in {path: None for row in rows for path in row["set"]}:
        seen: dict[tuple[str | None, ...], str | None] = {}
        for row in rows:
            before = (row["op"], *(row["set"].get(other) for other in found))
            if seen.setdefault(before, row["set"].get(path)) != row["set"].get(path):
                found.append(path)
                break
    return found


def _sentence(label: str, error: dict[str, Any]) -> str:
    if not error["rows"]:
        return f"{label}: none"
    return f"{label}: {error['rows']}, error {error['median']:.1%} (median), {error['worst']:.1%} (worst)"

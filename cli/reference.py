"""`tailcast reference`: published measurements of real stores, and what the models say of them."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from cli.common import (
    JsonOption,
    OutOption,
    SeedOption,
    SetOption,
    json_text,
    print_json,
    progress,
    say,
    say_if_compiling,
    stdout,
)
from cli.phrases import percent, seconds
from cli.tables import Grid, rich_table
from traces.errors import InputError
from traces.tables import whole_file
from validate.reference.cases import CASES, case_named
from validate.reference.forecast import JUDGED, REPLICATIONS, forecast

app = typer.Typer(help="Predict published measurements of real stores.", no_args_is_help=True)

_TAIL = "latency_p99_ms"
_FITTED = " *"


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the cases."""
    if as_json:
        cases = [{"name": case.name, "source": case.source, "rows": len(case.rows)} for case in CASES]
        print_json({"cases": cases})
    else:
        rows = [[case.name, case.source, f"{len(case.rows)}"] for case in CASES]
        stdout.print(rich_table(Grid("", ["case", "source", "rows"], rows, labels=2)))


@app.command()
def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A case; see 'reference list'.", show_default=False)],
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 1 when the median row is off by more than the tolerance.")
    ] = False,
    tolerance: Annotated[
        float | None, typer.Option(min=0, help="By what share durations may be off.", show_default="the case's own")
    ] = None,
    replications: Annotated[int, typer.Option(min=1, help="Simulations of each row.")] = REPLICATIONS,
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
    say_if_compiling()
    with progress(f"predicting {name}", len(case.rows)) as update:
        result = forecast(
            case, assignments=assignments or (), seed=seed or 0, replications=replications, progress=update
        )
    within = result["error"]["all"]["median"] <= allowed
    result |= {"tolerance": allowed, "within": within}
    if out is not None:
        with whole_file(out) as temporary:
            temporary.write_text(json_text(result))
        say(f"result written to {out}")
    if as_json:
        print_json(result)
    else:
        stdout.print(rich_table(_grid(result)))
        for label, part in (("all rows", "all"), ("fitted", "used_in_fit"), ("held out", "held_out")):
            stdout.print(_sentence(label, result["error"][part]), markup=False)
    if check and not within:
        raise typer.Exit(1)


def _grid(result: dict[str, Any]) -> Grid:
    """The rows, with a column for each setting that differs among them."""
    tail = any(_TAIL in row["measured"] for row in result["rows"])
    paths = {path: None for row in result["rows"] for path in row["set"]}
    varied = [path for path in paths if len({row["set"].get(path) for row in result["rows"]}) > 1]
    rows = []
    for row in result["rows"]:
        measured, predicted, ratio = row["measured"], row["predicted"], row["ratio"]
        cells = [row["set"].get(path, "") for path in varied]
        cells += [row["op"] + (_FITTED if row["used_in_fit"] else ""), seconds(measured[JUDGED])]
        cells += [seconds(predicted[JUDGED]), percent(math.log(ratio[JUDGED]))]
        rows.append([*cells, *([f"{measured[_TAIL]:.0f} / {predicted[_TAIL]:.0f}"] if tail else [])])
    columns = [path.split(".", 1)[1].replace("_", " ") for path in varied]
    columns += ["op", "measured", "predicted", "error", *(["p99 ms"] if tail else [])]
    title = f"{result['name']}: durations{' and p99, measured / predicted' if tail else ''}; {_FITTED.strip()}: fitted"
    return Grid(title, columns, rows, labels=len(varied) + 1)


def _sentence(label: str, error: dict[str, Any]) -> str:
    if not error["rows"]:
        return f"{label}: none"
    return f"{label}: {error['rows']}, durations off by {error['median']:.1%} (median), {error['worst']:.1%} (worst)"

"""The search and the sensitivity of `tailcast whatif`: options, work, and what is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.common import json_text, print_json, progress, say, stdout
from cli.phrases import byte_rate, number, seconds, size
from cli.tables import Grid, rich_table
from sim.find import find_best, find_limit
from sim.goal import Goal
from sim.sensitivity import Range, sensitivity
from sim.slo import parse_slo
from sim.sweep import Cache
from sim.variants import Variants
from traces.errors import InputError
from traces.tables import whole_file

FindOption = Annotated[
    str | None,
    typer.Option(
        "--find",
        metavar="'max|min|best PATH [in LOW..HIGH]'",
        help="Search: the most or the least that keeps every --slo, or what makes --target least.",
    ),
]
SensitivityOption = Annotated[
    bool, typer.Option("--sensitivity", help="Which of the --vary PATH=LOW..HIGH moves --target most.")
]
TargetOption = Annotated[
    str | None, typer.Option("--target", metavar="OP.QUANTILE", help="For 'best' and --sensitivity, as GET.p99.")
]
ExtraLoadOption = Annotated[
    float | None,
    typer.Option("--extra-load", min=0, help="For 'best': further attempts at most, as a share: 0.05 is 5 %."),
]
TrajectoriesOption = Annotated[
    int, typer.Option("--trajectories", min=2, help="For --sensitivity: walks through the ranges.")
]


def _plain(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)


_FORMATS: dict[str, Callable[[float | None], str]] = {
    "s": seconds,
    "1/s": lambda value: f"{number(value)}/s",
    "B": lambda value: number(value) if value is None else size(value),
    "B/s": byte_rate,
}
_FIGURES = {"throughput_ops": "1/s", "throughput_bytes": "B/s"}


def find_command(
    variants: Variants,
    find: str,
    slos: Sequence[str],
    target: str | None,
    extra_load: float | None,
    *,
    out: Path | None,
    as_json: bool,
) -> None:
    """Search, and print what was found; with `out` it is written there as JSON, too.

    Raises:
        InputError: options do not go together, or there is nothing to find.
    """
    goal = Goal.parse(find)
    best = goal.kind == "best"
    if best != (target is not None) or (best and slos) or (extra_load is not None and not best):
        raise InputError("--find 'best …' takes --target OP.QUANTILE and --extra-load; 'max …' and 'min …' take --slo")
    with progress("searching") as update:
        if target is not None:
            result = find_best(variants, goal, target, most_extra_load=extra_load, progress=update)
        else:
            result = find_limit(variants, goal, [parse_slo(text) for text in slos], progress=update)
    _print(result, [best_grid(result) if best else limit_grid(result)], out, as_json)


def sensitivity_command(
    variants: Variants,
    vary: Sequence[str],
    target: str | None,
    trajectories: int,
    *,
    cache: Cache | None = None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Screen, and print which number moves the target most; with `out` it is written there as JSON, too.

    Raises:
        InputError: options do not go together, or a range does not fit.
    """
    if target is None:
        raise InputError("--sensitivity needs the latency that is to be explained; add --target GET.p99")
    ranges = [Range.parse(text) for text in vary]
    with progress("screening", trajectories * (len(ranges) + 1)) as update:
        result = sensitivity(variants, ranges, target, trajectories=trajectories, cache=cache, progress=update)
    _print(result, [sensitivity_grid(result)], out, as_json)


def _print(result: dict[str, Any], grids: Sequence[Grid], out: Path | None, as_json: bool) -> None:
    if out is not None:
        with whole_file(out) as temporary:
            temporary.write_text(json_text(result))
        say(f"written to {out}")
    if as_json:
        print_json(result)
        return
    for grid in grids:
        stdout.print(rich_table(grid))


def limit_grid(result: dict[str, Any]) -> Grid:
    """A row for each value tried; the title is the answer and how sure it is."""
    write = _FORMATS.get(result["unit"], _plain)
    slos = next(list(trial["slo"]) for trial in result["trials"] if "slo" in trial)
    rows = []
    for trial in result["trials"]:
        judged = trial.get("slo", {})
        said = "yes" if trial["keeps"] else "no"
        figures = [_judged(text, judged[text]) if text in judged else number(None) for text in slos]
        rows.append([write(trial["value"]), *figures, "impossible" if "impossible" in trial else said, _sure(trial)])
    return Grid(limit_sentence(result), [result["path"], *slos, "keeps all", "sure"], rows)


def limit_sentence(result: dict[str, Any]) -> str:
    """What was found, and how sure it is."""
    write = _FORMATS.get(result["unit"], _plain)
    most = "greatest" if result["find"] == "max" else "least"
    beyond = _beyond(result, write)
    parts = [f"{write(result['value'])} is the {most} {result['path']} that keeps the objectives; {beyond}."]
    sure = result["sure"]
    known = [f"{write(sure[k])} {k} them" for k in ("keeps", "breaks") if sure[k] is not None]
    parts.append(
        f"Beyond doubt, {' and '.join(known)}." if known else "Chance leaves every verdict open: replicate more."
    )
    if not result["monotonic"]:
        turns = ", ".join(f"{write(a)} breaks and {write(b)} keeps them" for a, b in result["reversals"])
        parts.append(f"There is more than one limit: {turns}.")
    return " ".join(parts)


def _beyond(result: dict[str, Any], write: Callable[[float | None], str]) -> str:
    if result["beyond"] is None:
        return "the spec allows none beyond"
    why = next(t.get("impossible") for t in result["trials"] if t["value"] == result["beyond"])
    return f"{write(result['beyond'])} cannot be: {why}" if why else f"{write(result['beyond'])} does not"


def best_grid(result: dict[str, Any]) -> Grid:
    """A row for each value tried, after the spec as it stands; the title is the answer and how sure it is."""
    write = _FORMATS.get(result["unit"], _plain)
    rows = [
        [
            "as it stands" if trial["value"] is None else write(trial["value"]),
            *_interval(trial["target"]),
            f"{trial['extra_load']:.2%}",
            "yes" if trial["allowed"] else "no",
        ]
        for trial in (result["base"], *result["trials"])
    ]
    return Grid(best_sentence(result), [result["path"], result["target"], "interval", "extra load", "allowed"], rows)


def best_sentence(result: dict[str, Any]) -> str:
    """What was found, and how sure it is."""
    write = _FORMATS.get(result["unit"], _plain)
    best, base, gain = result["best"]["target"], result["base"]["target"], result["difference"]
    found = (
        f"With {result['path']} at {write(result['value'])}, {result['target']} is {seconds(best['value'])} at "
        f"{result['best']['extra_load']:.2%} extra load, and {seconds(base['value'])} as the spec stands."
    )
    between = f"{seconds(gain['low'])} … {seconds(gain['high'])}"
    verdict = "it is better beyond doubt" if result["improves"] else "it may not be better"
    return f"{found} The difference is {seconds(gain['value'])} ({between}): {verdict}."


def sensitivity_grid(result: dict[str, Any]) -> Grid:
    """A row for each number, the strongest first."""
    rows = []
    for row in result["parameters"]:
        write, effect = _FORMATS.get(row["unit"], _plain), row["elasticity"]
        rows.append([
            row["path"],
            f"{write(row['low'])} … {write(row['high'])}",
            f"{effect['value']:+.2f} ± {effect['high'] - effect['value']:.2f}",
            f"{row['strength']['value']:.2f}",
            f"×{row['factor']:.3g}",
        ])  # fmt: skip
    title = f"By what percentage {result['target']} grows with one percent more of each"
    return Grid(title, ["number", "range", "elasticity", "strength", "over the range"], rows)


def _judged(slo: str, judged: dict[str, Any]) -> str:
    figure = parse_slo(slo).figure
    if figure in ("errors", "utilization"):
        return f"{judged['value']:.2%}"
    return _FORMATS[_FIGURES.get(figure, "s")](judged["value"])


def _sure(trial: dict[str, Any]) -> str:
    return "yes" if trial["sure"] else "no"


def _interval(figure: dict[str, float]) -> list[str]:
    return [seconds(figure["value"]), f"{seconds(figure['low'])} … {seconds(figure['high'])}"]

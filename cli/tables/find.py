"""What a search and a screening found, as tables and in sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cli.parse.slo import parse_slo
from cli.tables.tables import Grid
from cli.words import byte_rate, number, seconds, size


def _plain(value: float | None) -> str:
    return f"{value:,}" if isinstance(value, int) else number(value)


_FORMATS: dict[str, Callable[[float | None], str]] = {
    "s": seconds,
    "1/s": lambda value: f"{number(value)}/s",
    "B": lambda value: number(value) if value is None else size(value),
    "B/s": byte_rate,
}
_FIGURES = {"throughput_ops": "1/s", "throughput_bytes": "B/s"}


def shown(result: dict[str, Any], value: float | None) -> str:
    """A value of what was searched or varied, with its unit."""
    return _FORMATS.get(result["unit"], _plain)(value)


def objectives(result: dict[str, Any]) -> list[str]:
    """The objectives that a limit was looked for of."""
    return next(list(trial["slo"]) for trial in result["trials"] if "slo" in trial)


def limit_grid(result: dict[str, Any]) -> Grid:
    """A row for each value tried; the title is the answer and how sure it is."""
    slos = objectives(result)
    rows = []
    for trial in result["trials"]:
        judged = trial.get("slo", {})
        said = "yes" if trial["keeps"] else "no"
        figures = [_judged(text, judged[text]) if text in judged else number(None) for text in slos]
        rows.append(
            [shown(result, trial["value"]), *figures, "impossible" if "impossible" in trial else said, _sure(trial)]
        )
    title = f"{limit_found(result)} {limit_sure(result)}"
    return Grid(title, [result["path"], *slos, "keeps all", "sure"], rows)


def extreme(result: dict[str, Any]) -> str:
    """``greatest`` or ``least``."""
    return "greatest" if result["find"] == "max" else "least"


def limit_found(result: dict[str, Any]) -> str:
    """What was found, and what is just beyond it."""
    value = shown(result, result["value"])
    return f"{value} is the {extreme(result)} {result['path']} that keeps the objectives; {_beyond(result)}."


def limit_sure(result: dict[str, Any]) -> str:
    """Which values leave no doubt, and whether there is more than one limit."""
    sure = result["sure"]
    known = [f"{shown(result, sure[k])} {k} them" for k in ("keeps", "breaks") if sure[k] is not None]
    text = f"Beyond doubt, {' and '.join(known)}." if known else "Chance leaves every verdict open: replicate more."
    if result["monotonic"]:
        return text
    turns = ", ".join(f"{shown(result, a)} breaks and {shown(result, b)} keeps them" for a, b in result["reversals"])
    return f"{text} There is more than one limit: {turns}."


def _beyond(result: dict[str, Any]) -> str:
    if result["beyond"] is None:
        return "the spec allows none beyond"
    why = next(t.get("impossible") for t in result["trials"] if t["value"] == result["beyond"])
    return (
        f"{shown(result, result['beyond'])} cannot be: {why}" if why else f"{shown(result, result['beyond'])} does not"
    )


def best_grid(result: dict[str, Any]) -> Grid:
    """A row for each value tried, after the spec as it stands; the title is the answer and how sure it is."""
    rows = [
        [
            "as it stands" if trial["value"] is None else shown(result, trial["value"]),
            *_interval(trial["target"]),
            f"{trial['extra_load']:.2%}",
            "yes" if trial["allowed"] else "no",
        ]
        for trial in (result["base"], *result["trials"])
    ]
    title = f"{best_found(result)} {best_sure(result)}"
    return Grid(title, [result["path"], result["target"], "interval", "extra load", "allowed"], rows)


def best_found(result: dict[str, Any]) -> str:
    """The best value, and what it gives."""
    best, base = result["best"]["target"], result["base"]["target"]
    return (
        f"With {result['path']} at {shown(result, result['value'])}, {result['target']} is {seconds(best['value'])} at "
        f"{result['best']['extra_load']:.2%} extra load, and {seconds(base['value'])} as the spec stands."
    )


def best_sure(result: dict[str, Any]) -> str:
    """The difference to the spec as it stands, with its interval."""
    gain = result["difference"]
    between = f"{seconds(gain['low'])} … {seconds(gain['high'])}"
    verdict = "it is better beyond doubt" if result["improves"] else "it may not be better"
    return f"The difference is {seconds(gain['value'])} ({between}): {verdict}."


def sensitivity_grid(result: dict[str, Any]) -> Grid:
    """A row for each number, the strongest first."""
    rows = []
    for row in result["parameters"]:
        effect = row["elasticity"]
        rows.append([
            row["path"],
            range_of(row),
            f"{effect['value']:+.2f} ± {effect['high'] - effect['value']:.2f}",
            f"{row['strength']['value']:.2f}",
            f"×{row['factor']:.3g}",
        ])  # fmt: skip
    title = f"By what percentage {result['target']} grows with one percent more of each"
    return Grid(title, ["number", "range", "elasticity", "strength", "over the range"], rows)


def range_of(row: dict[str, Any]) -> str:
    """Between which values a number was varied."""
    return f"{shown(row, row['low'])} … {shown(row, row['high'])}"


def _judged(slo: str, judged: dict[str, Any]) -> str:
    figure = parse_slo(slo).figure
    if figure in ("errors", "utilization"):
        return f"{judged['value']:.2%}"
    return _FORMATS[_FIGURES.get(figure, "s")](judged["value"])


def _sure(trial: dict[str, Any]) -> str:
    return "yes" if trial["sure"] else "no"


def _interval(figure: dict[str, float]) -> list[str]:
    return [seconds(figure["value"]), f"{seconds(figure['low'])} … {seconds(figure['high'])}"]

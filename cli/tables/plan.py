"""Tables of a plan and its sentences: the limits, the changes, and what was found along the likely path."""

from __future__ import annotations

from typing import Any

from cli.parse.slo import parse_slo
from cli.tables.tables import Grid
from cli.tables.timeline import millions
from cli.words import byte_rate, number, seconds, size
from sim.experiments.measures import ERRORS
from sim.replication.slo import UTILIZATION

NO_CHANGE = "no change"


def plan_grids(result: dict[str, Any]) -> list[Grid]:
    """What `sim.capacity.plan.plan` found, as tables; one without rows is left out."""
    grids = [_limits(result), _changes(result), _likely(result)]
    return [grid for grid in grids if grid.rows]


def evidence(result: dict[str, Any]) -> list[str]:
    """A sentence for each limit: what shows that it is reached."""
    return [f"{limit['name']}: {limit['evidence']['text']}{_looked_at(limit)}." for limit in result["limits"]]


def change_text(values: dict[str, Any]) -> str:
    """``gateways.count 9, db.size 160GB``."""
    return ", ".join(f"{path} {value}" for path, value in values.items()) or NO_CHANGE


def found(result: dict[str, Any]) -> str:
    """What binds first and what to do about it, in a sentence or two."""
    return f"{_first(result)} {_best(result)}"


def asked(result: dict[str, Any]) -> str:
    """What a plan was asked, in a sentence."""
    keeps = f" and what keeps {', '.join(result['slos'])}" if result["slos"] else ""
    return f"When within {result['months']} months the store reaches its limits{keeps}."


def sure(result: dict[str, Any]) -> str:
    """How sure it is, in a sentence."""
    low, high = result["range"]
    windows = f"each objective from {result['replications']} simulated windows of {seconds(result['window_s'])}"
    if result["scenarios"] == 1:
        return f"Nothing of the growth was given as uncertain; {windows}."
    return (
        f"Ranges of months go from {low:.0%} to {high:.0%} of {result['scenarios']} scenarios of growth; {windows}; "
        f"the best change holds in at least {result['sure']:.0%} of the scenarios."
    )


def month(value: float | None) -> str:
    """``4.6``, or that it is after the period."""
    return "later" if value is None else f"{value:.3g}"


def figure(text: str, value: float) -> str:
    """The figure of an objective, with its unit."""
    slo = parse_slo(text)
    if slo.figure in (ERRORS, UTILIZATION):
        return f"{value:.1%}"
    if slo.figure == "throughput_bytes":
        return byte_rate(value)
    return f"{number(value)}/s" if slo.above else seconds(value)


def _first(result: dict[str, Any]) -> str:
    if not result["limits"]:
        return f"No limit is reached within {result['months']} months."
    limit = result["limits"][0]
    if limit["month"]["likely"] is None:
        return (
            f"No limit is likely to be reached within {result['months']} months; {limit['name']} is in "
            f"{limit['share']:.0%} of the scenarios."
        )
    objects = f" at {millions(limit['objects'])} objects" if limit["objects"] else ""
    when = f"in month {month(limit['month']['likely'])}"
    between = f" ({month(limit['month']['low'])} to {month(limit['month']['high'])})"
    return f"{limit['name']} comes first, {when}{between if result['scenarios'] > 1 else ''}{objects}."


def _best(result: dict[str, Any]) -> str:
    best = result["best"]
    if best is None:
        return "Nothing that was tried keeps the store working and all objectives to the end."
    binds = best["next"]
    after = f", then {binds['name']} binds in month {month(binds['month']['likely'])}" if binds else ""
    if not best["set"]:
        return f"The store as it is holds for the period{after}."
    price = "" if best["cost"] is None else f" for {number(best['cost'])}"
    return f"The cheapest change that holds is {change_text(best['set'])}{price}{after}."


def _limits(result: dict[str, Any]) -> Grid:
    rows = [
        [
            limit["name"],
            month(limit["month"]["likely"]),
            f"{month(limit['month']['low'])} – {month(limit['month']['high'])}",
            millions(limit["objects"]) if limit["objects"] else "",
            f"{limit['share']:.0%}",
        ]
        for limit in result["limits"]
    ]
    return Grid("Limits", ["limit", "month", "range", "objects", "of scenarios"], rows)


def _looked_at(limit: dict[str, Any]) -> str:
    """The figures before and after, of an objective or a station; what an OSD has become, of a state."""
    if "state" in limit["evidence"]:
        state = limit["evidence"]["state"]
        return f" (an OSD then has {size(state['metadata_bytes'])} of metadata and is {state['fill_share']:.0%} full)"
    told = []
    for look in limit["evidence"]["looks"]:
        judged = look["slos"].get(limit["name"])
        if judged is not None:
            told.append(f"{figure(limit['name'], judged['value'])} in month {look['month']}")
        elif look["loads"]:
            told.append(f"{_busiest(look['loads'])} in month {look['month']}")
    return f" ({', '.join(told)})" if told else ""


def _changes(result: dict[str, Any]) -> Grid:
    best = result["best"]["set"] if result["best"] else None
    ranked = sorted(result["changes"], key=lambda change: change["cost"] or 0.0)
    rows = [
        [
            change_text(change["set"]),
            "best" if change["set"] == best else _verdict(result, change),
            "" if change["cost"] is None else number(change["cost"]),
            *_figures(result, change["evidence"]),
            "" if change["share"] is None else f"{change['share']:.0%}",
        ]
        for change in ranked
    ]
    title = f"Changes, and month {result['months']} with them"
    return Grid(title, ["change", "verdict", "cost", *result["slos"], "of scenarios"], rows, labels=2)


def _verdict(result: dict[str, Any], change: dict[str, Any]) -> str:
    """Whether a change holds; one that does only in the likely scenario, and in too few others, is a risk."""
    if not change["holds"]:
        return ""
    return "risk" if change["share"] is not None and change["share"] < result["sure"] else "holds"


def _likely(result: dict[str, Any]) -> Grid:
    is_open = any(moment["loads"] for moment in result["likely"])
    rows = [
        [
            f"{moment['month']}",
            millions(moment["objects"]) if moment["objects"] else "",
            "" if moment["fill_share"] is None else f"{moment['fill_share']:.0%}",
            *([_busiest(moment["loads"])] if is_open else []),
            *_figures(result, moment),
        ]
        for moment in result["likely"]
    ]
    return Grid(
        "The likely path", ["month", "objects", "fill", *(["busiest"] if is_open else []), *result["slos"]], rows
    )


def _figures(result: dict[str, Any], found_there: dict[str, Any]) -> list[str]:
    """The figure of each objective; why there is none, in the first."""
    if found_there["reason"] is not None:
        return [found_there["reason"], *[""] * (len(result["slos"]) - 1)][: len(result["slos"])]
    return [figure(text, found_there["slos"][text]["value"]) for text in result["slos"]]


def _busiest(loads: dict[str, float]) -> str:
    role = max(loads, key=loads.__getitem__, default=None)
    return "" if role is None else f"{role} {loads[role]:.0%}"

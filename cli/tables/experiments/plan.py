"""Tables of a plan and sentences about it: limits, changes, and the most likely growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cli.parse.slo import parse_slo
from cli.tables.experiments.timeline import millions
from cli.tables.forecast.steadiness import points_lines
from cli.tables.grid import Grid
from cli.tables.spec.prices import price_lines
from cli.words import byte_rate, number, seconds, size
from sim.capacity.contradictions import MONTH_S, Contradiction
from sim.capacity.health import HealthAssessment
from sim.capacity.limits import RANGE, Limit
from sim.capacity.plan import CapacityPlan
from sim.capacity.remedies import SURE, Trial
from sim.experiments.measures import ERRORS
from sim.replication.slo import UTILIZATION

NO_CHANGE = "no change"


def plan_shown(result: CapacityPlan) -> list[str | Grid]:
    """Return what is printed of a plan: what it found, limits and changes, and the evidence."""
    return [found(result), *opening(result), *plan_grids(result), *evidence(result), *price_lines(result.prices)]


def plan_grids(result: CapacityPlan) -> list[Grid]:
    """Tables of the result of `sim.capacity.plan.plan`, without empty ones."""
    grids = [_limits(result), _changes(result), _likely(result)]
    return [grid for grid in grids if grid.rows]


def opening(result: CapacityPlan) -> list[str]:
    """State the load of an open loop now and at the end of the period, and whether windows are too short."""
    found = [(f"month {moment.month}", moment.health.unsettled) for moment in result.likely if moment.health.slos]
    short = points_lines(found, window_s=result.window_s, can_leave_out=False, points="months")
    loads = [(moment.month, moment.health.loads) for moment in result.likely if moment.health.loads]
    if not loads:
        return short
    ends = dict((loads[0], loads[-1]))
    busiest = [f"{_busiest(each)} in month {month}" for month, each in ends.items()]
    states = dict.fromkeys(_status(each, result.utilization) for each in ends.values())
    return [f"Load of the busiest station: {', '.join(busiest)}; {', then '.join(states)}.", *short]


def _status(loads: dict[str, float], limit: float) -> str:
    most = max(loads.values())
    return "overloaded" if most >= 1 else "above its limit" if most >= limit else "below its limit"


def evidence(result: CapacityPlan) -> list[str]:
    """State the evidence for each limit in a sentence."""
    return [f"{limit.name}: {limit.evidence.text}{_looked_at(limit)}." for limit in result.limits]


def change_text(values: Mapping[str, Any]) -> str:
    """Format changes as ``gateways.count 9, db.size 160GB``."""
    return ", ".join(f"{path} {value}" for path, value in values.items()) or NO_CHANGE


def contradiction_text(found: Contradiction) -> str:
    """Say what growth and spec give, and which of both the plan uses."""
    if found.field != "objects.per_month":
        return f"growth: {found.field} is {_count(found.of_growth)}, {found.other} is {_count(found.of_spec)}; " + (
            f"the plan uses {found.field}"
        )
    rates = [f"{number(value / MONTH_S)}/s, {millions(value)} a month" for value in (found.of_growth, found.of_spec)]
    more = "cannot add more objects than are written" if found.of_growth > found.of_spec else (
        "unless most PUTs overwrite objects, or the workload's rate lasts for a part of the day"
    )  # fmt: skip
    return (
        f"growth adds {rates[0]}; {found.other} creates {rates[1]} ({more}); the plan uses the growth for what is "
        "stored, and the workload for the load"
    )


def _count(value: float) -> str:
    return millions(value) if value >= 1e6 else number(value)


def found(result: CapacityPlan) -> str:
    """State the first limit and the best change."""
    return f"{_first(result)} {_best(result)}"


def requested(result: CapacityPlan) -> str:
    """State the question that the plan answers."""
    change = f", and which change meets {', '.join(result.slos)}" if result.slos else ""
    return f"When the store reaches its limits within {result.months} months{change}."


def sure(result: CapacityPlan) -> str:
    """State the uncertainty of the plan."""
    low, high = RANGE
    windows = f"each objective from {result.replications} simulated windows of {seconds(result.window_s)}"
    if result.scenarios == 1:
        return f"The growth is given without uncertainty; {windows}."
    return (
        f"Ranges of months go from {low:.0%} to {high:.0%} of {result.scenarios} scenarios of growth; {windows}; "
        f"the best change holds in at least {SURE:.0%} of the scenarios."
    )


def month(value: float | None) -> str:
    """Format a month as ``4.6``; None is after the period."""
    return "later" if value is None else f"{value:.3g}"


def figure(text: str, value: float) -> str:
    """Format a value of an objective with its unit."""
    slo = parse_slo(text)
    if slo.figure in (ERRORS, UTILIZATION):
        return f"{value:.1%}"
    if slo.figure == "throughput_bytes":
        return byte_rate(value)
    return f"{number(value)}/s" if slo.above else seconds(value)


def _first(result: CapacityPlan) -> str:
    if not result.limits:
        return f"No limit is reached within {result.months} months."
    limit = result.limits[0]
    if limit.month.likely is None:
        return (
            f"No limit is likely to be reached within {result.months} months; {limit.name} is in "
            f"{limit.fraction:.0%} of the scenarios."
        )
    objects = f" at {millions(limit.objects)} objects" if limit.objects else ""
    when = f"in month {month(limit.month.likely)}"
    between = f" ({month(limit.month.low)} to {month(limit.month.high)})"
    avoid = f": set {_settings(limit)}" if limit.values else ""
    return f"{limit.name} comes first, {when}{between if result.scenarios > 1 else ''}{objects}{avoid}."


def _settings(limit: Limit) -> str:
    """Format what avoids a limit as ``buckets.shards to at least 2,000``."""
    least = "at least " if limit.kind == "state" and len(limit.values) == 1 else ""
    return " and ".join(f"{path} to {least}{_value(value)}" for path, value in limit.values.items())


def _value(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _best(result: CapacityPlan) -> str:
    best = result.best
    if best is None:
        return "No change that was tried keeps the store working and meets all objectives until the end of the period."
    does = "meets its objectives" if result.slos else "is neither full nor overloaded"
    warnings = [f"{limit.name} from month {month(limit.month.likely)}" for limit in result.remaining]
    but = f", with warnings: {', '.join(warnings)}" if warnings else ""
    binds = result.following
    after = f"; after it, {binds.name} comes first, in month {month(binds.month.likely)}" if binds else ""
    if not best.change.values:
        return f"Unchanged, the store {does} within the period{but}{after}."
    price = "" if best.change.extra_cost is None else f" for {number(best.change.extra_cost)}"
    what = f"The cheapest change that suffices is {change_text(best.change.values)}{price}"
    return f"{what}: with it the store {does} within the period{but}{after}."


def _limits(result: CapacityPlan) -> Grid:
    rows = [
        [
            limit.name,
            month(limit.month.likely),
            f"{month(limit.month.low)} – {month(limit.month.high)}",
            millions(limit.objects) if limit.objects else "",
            f"{limit.fraction:.0%}",
            _settings(limit) if limit.values else "",
        ]
        for limit in result.limits
    ]
    return Grid("Limits", ["limit", "month", "range", "objects", "of scenarios", "set"], rows)


def _looked_at(limit: Limit) -> str:
    """State the measures before and after the limit, of an objective or a station, or the state of an OSD."""
    state = limit.evidence.state
    if state is not None:
        if state["fill_fraction"] is None:
            return ""
        if "metadata_bytes" not in state:
            return f" (the store is then {state['fill_fraction']:.0%} full)"
        return (
            f" (an OSD then has {size(state['metadata_bytes'])} of metadata and is {state['fill_fraction']:.0%} full)"
        )
    values = []
    for at in limit.evidence.months:
        slo = at.health.slos.get(limit.name)
        if slo is not None:
            values.append(f"{figure(limit.name, slo.value)} in month {at.month}")
        elif at.health.loads:
            values.append(f"{_busiest(at.health.loads)} in month {at.month}")
    return f" ({', '.join(values)})" if values else ""


def _changes(result: CapacityPlan) -> Grid:
    best = result.best.change.values if result.best else None
    ranked = sorted(result.changes, key=lambda trial: trial.change.order)
    reasons = [trial.finding.reason for trial in ranked]
    rows = [
        [
            change_text(trial.change.values),
            "best" if trial.change.values == best else suffices(trial),
            "" if trial.change.extra_cost is None else number(trial.change.extra_cost),
            *_figures(result, trial.finding),
            "" if trial.fraction is None else f"{trial.fraction:.0%}",
        ]
        for trial in ranked
    ]
    title = f"Changes, and month {result.months} with them"
    return _with_reasons(
        Grid(title, ["change", "verdict", "cost", *result.slos, "of scenarios"], rows, labels=2), reasons
    )


def suffices(trial: Trial) -> str:
    """Return ``suffices``, or ``risk`` if the change suffices in the likely scenario but in too few others."""
    if not trial.holds:
        return ""
    return "risk" if trial.fraction is not None and trial.fraction < SURE else "suffices"


def _likely(result: CapacityPlan) -> Grid:
    is_open = any(moment.health.loads for moment in result.likely)
    rows = [
        [
            f"{moment.month}",
            millions(moment.objects) if moment.objects else "",
            "" if moment.health.fill_fraction is None else f"{moment.health.fill_fraction:.0%}",
            *([_busiest(moment.health.loads)] if is_open else []),
            *_figures(result, moment.health),
        ]
        for moment in result.likely
    ]
    columns = ["month", "objects", "fill", *(["busiest"] if is_open else []), *result.slos]
    return _with_reasons(Grid("Most likely growth", columns, rows), [each.health.reason for each in result.likely])


def _with_reasons(grid: Grid, reasons: Sequence[str | None]) -> Grid:
    """Return the table with a column for why a store was not simulated, unless all were."""
    if not any(reasons):
        return grid
    rows = [[*row, reason or ""] for row, reason in zip(grid.rows, reasons, strict=True)]
    return replace(grid, columns=[*grid.columns, "state"], rows=rows)


def _figures(result: CapacityPlan, health: HealthAssessment) -> list[str]:
    """Return the value of each objective; empty: there is none, as the store was not simulated."""
    return ["" if health.reason is not None else figure(text, health.slos[text].value) for text in result.slos]


def _busiest(loads: dict[str, float]) -> str:
    role = max(loads, key=loads.__getitem__, default=None)
    return "" if role is None else f"{role} {loads[role]:.0%}"

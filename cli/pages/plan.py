"""Page about a plan: when limits are reached, costs and effects of changes, and the most likely growth."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from cli.figures.runs import blank, escaped, with_room
from cli.pages.page import Header, Page, Section
from cli.parse.slo import parse_slo
from cli.tables.experiments.plan import (
    change_text,
    contradiction_text,
    evidence,
    figure,
    found,
    month,
    opening,
    plan_grids,
    requested,
    suffices,
    sure,
)
from cli.tables.experiments.timeline import millions
from cli.tables.spec.prices import price_lines
from sim.capacity.health import HealthAssessment
from sim.capacity.limits import Limit
from sim.capacity.plan import CapacityPlan
from sim.experiments.measures import ERRORS
from sim.replication.slo import UTILIZATION, Slo

_KINDS = {"state": "#3b82d6", "station": "#e08a00", "slo": "#d5521a"}
_NAMES = {"state": "stored data", "station": "a station", "slo": "an objective"}
_VERDICTS = {
    "suffices": ("suffices", "#109e78"),
    "risk": ("suffices in too few scenarios (risk)", "#e08a00"),
    "": ("does not suffice", "#7f8896"),
}
_LINES = "#3b82d6", "#e08a00", "#109e78", "#b86aa8", "#7f6fd6", "#d8577f"
_GREY = "rgba(128,128,128,0.8)"
_MOST_CHANGES = 30
_HEADROOM = 1.08
_NAME_LENGTH = 40


def plan_page(result: CapacityPlan, title: str) -> Page:
    """Return a page about the result of `sim.capacity.plan.plan`."""
    charts = [_timeline(result)] if result.limits else []
    charts += [_objective(result, text) for text in result.slos]
    charts += [_load_and_fill(result)] if any(m.health.loads or m.health.fill_fraction for m in result.likely) else []
    charts += [_costs(result)] if len(result.changes) > 1 and result.cost is not None else []
    doubts = [f"Warning: {contradiction_text(each)}." for each in result.contradictions]
    sections = [
        Section("", charts=charts),
        Section("Limits and changes", [*evidence(result), *price_lines(result.prices)], plan_grids(result)),
    ]
    return Page(
        title,
        Header.of(requested(result), [found(result), *opening(result), *doubts], sure(result)),
        sections,
    )


def _timeline(result: CapacityPlan) -> go.Figure:
    """Bar from the earliest to the latest month of each limit, with a mark at the most likely one."""
    limits, end = result.limits, result.months
    shown = blank("When each limit is reached", "months from now", "")
    names = [escaped(limit.name) for limit in limits]
    for kind, colour in _KINDS.items():
        mine = [(name, limit) for name, limit in zip(names, limits, strict=True) if limit.kind == kind]
        for i, (name, limit) in enumerate(mine):
            low, high = (end if edge is None else edge for edge in (limit.month.low, limit.month.high))
            shown.add_bar(
                y=[name], x=[high - low], base=[low], orientation="h", name=_NAMES[kind], legendgroup=kind,
                showlegend=i == 0, marker={"color": colour, "opacity": 0.45},
                hovertemplate=f"{name}: {escaped(_when(limit))}<extra></extra>",
            )  # fmt: skip
        likely = [(name, limit) for name, limit in mine if limit.month.likely is not None]
        shown.add_scatter(
            y=[name for name, _ in likely], x=[limit.month.likely for _, limit in likely], mode="markers",
            marker={"color": colour, "size": 11, "symbol": "diamond"}, legendgroup=kind, showlegend=False,
            hovertext=[escaped(f"{limit.name}: {_when(limit)}") for _, limit in likely],
            hovertemplate="%{hovertext}<extra></extra>",
        )  # fmt: skip
    shown.update_xaxes(range=[-0.02 * end, 1.02 * end])
    shown.update_yaxes(categoryorder="array", categoryarray=names[::-1], ticksuffix=" ")
    return shown.update_layout(height=210 + 36 * len(limits), barmode="overlay", bargap=0.4)


def _when(limit: Limit) -> str:
    months = limit.month
    objects = f", {millions(limit.objects)} objects" if limit.objects else ""
    return f"likely month {month(months.likely)}, {month(months.low)} to {month(months.high)}{objects}"


def _objective(result: CapacityPlan, text: str) -> go.Figure:
    """Measure of an objective for the most likely growth, and its limit."""
    slo = parse_slo(text)
    scale, unit = _unit(slo)
    shown = blank(f"{escaped(text)} for the most likely growth", "months from now", unit)
    moments = [moment for moment in result.likely if text in moment.health.slos]
    estimates = [moment.health.slos[text] for moment in moments]
    y = [j.value * scale for j in estimates]
    half = [(j.high - j.value) * scale if math.isfinite(j.high) else 0.0 for j in estimates]
    below = [min(down, value) for down, value in zip(half, y, strict=True)]  # no measure can be less than 0
    shown.add_scatter(
        x=[moment.month for moment in moments], y=y, mode="lines+markers", name=escaped(slo.figure),
        line={"color": _LINES[0]},
        error_y={"type": "data", "array": half, "arrayminus": below, "symmetric": False, "width": 3, "thickness": 1},
        hovertext=[figure(text, j.value) for j in estimates], hovertemplate="month %{x}: %{hovertext}<extra></extra>",
        showlegend=False,
    )  # fmt: skip
    shown.add_hline(y=slo.limit * scale, line={"color": _KINDS["slo"], "dash": "dash", "width": 1.5})
    most = max([slo.limit * scale, *(value + up for value, up in zip(y, half, strict=True) if math.isfinite(value))])
    return shown.update_yaxes(range=[0, _HEADROOM * most])  # the limit is not at the edge


def _unit(slo: Slo) -> tuple[float, str]:
    if slo.figure in (ERRORS, UTILIZATION):
        return 100.0, "%"
    if slo.figure == "throughput_bytes":
        return 1e-6, "MB/s"
    return (1.0, "requests per second") if slo.above else (1e3, "latency (ms)")


def _load_and_fill(result: CapacityPlan) -> go.Figure:
    """Fill fraction and utilisation of each role for the most likely growth."""
    shown = blank("Fill and utilisation", "months from now", "fraction")
    moments = result.likely
    fills = [m.health.fill_fraction for m in moments]
    lines: dict[str, list[float | None]] = {"fill of drives": fills} if fills[0] is not None else {}
    roles = {role: None for moment in moments for role, load in moment.health.loads.items() if load >= 0.05}
    if not roles and moments[-1].health.loads:  # the busiest one has a line in any case
        roles = {max(moments[-1].health.loads.items(), key=lambda each: each[1])[0]: None}
    lines |= {f"{role} busy": [moment.health.loads.get(role) for moment in moments] for role in roles}
    for i, (name, values) in enumerate(lines.items()):
        shown.add_scatter(
            x=[m.month for m in moments], y=values, mode="lines+markers", name=escaped(name),
            line={"color": _LINES[i % len(_LINES)]}, showlegend=True,
        )  # fmt: skip
    shown.add_hline(y=1, line={"color": _GREY, "dash": "dot", "width": 1})
    shown.update_yaxes(tickformat=".0%", rangemode="tozero")
    return with_room(shown)


def _costs(result: CapacityPlan) -> go.Figure:
    """Costs of changes that suffice, of those that may not, and of others, the cheapest of each."""
    order = list(_VERDICTS)
    changes = sorted(
        (trial for trial in result.changes if trial.change.values),
        key=lambda trial: (order.index(suffices(trial)), trial.change.order),
    )
    changes = changes[:_MOST_CHANGES]
    currency = next((part.currency for part in result.prices if part.currency), "")
    more = f" (the first {_MOST_CHANGES})" if len(result.changes) - 1 > _MOST_CHANGES else ""
    shown = blank(
        f"What changes cost{more}", f"cost ({currency})" if currency else "cost, in the unit of the prices", ""
    )
    names = [escaped(_short(change_text(trial.change.values))) for trial in changes]
    for verdict, (label, colour) in _VERDICTS.items():
        mine = [(name, trial) for name, trial in zip(names, changes, strict=True) if suffices(trial) == verdict]
        if not mine:
            continue
        shown.add_bar(
            y=[name for name, _ in mine], x=[trial.change.extra_cost for _, trial in mine], orientation="h", name=label,
            marker_color=colour, showlegend=True, hovertext=[_done(trial.finding) for _, trial in mine],
            hovertemplate="%{y}: %{x:,.0f}<br>%{hovertext}<extra></extra>",
        )  # fmt: skip
    shown.update_yaxes(categoryorder="array", categoryarray=names[::-1], ticksuffix=" ", dtick=1)
    return shown.update_layout(height=200 + 22 * len(names), bargap=0.3)


def _short(text: str) -> str:
    return text if len(text) <= _NAME_LENGTH else f"{text[: _NAME_LENGTH - 1]}…"


def _done(end: HealthAssessment) -> str:
    """Values of the objectives at the end of the period, or the reason why there are none."""
    values = [f"{text}: {figure(text, slo.value)}" for text, slo in end.slos.items()]
    return escaped(end.reason or ", ".join(values))

"""Tables of a what-if, and sentences about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cli.tables.forecast.extra_attempts import extra_attempts_line
from cli.tables.forecast.probability import probability_grids, probability_lines
from cli.tables.forecast.steadiness import points_lines
from cli.tables.forecast.verdict import FEW, NOT_ENOUGH, few_note, quantile, verdict_line
from cli.tables.grid import Grid
from cli.tables.operations import is_minor, ordered
from cli.words import number, seconds
from sim.experiments.whatif import InfeasiblePoint, SimulatedPoint, WhatIf
from sim.replication.slo import Slo
from sim.replication.summaries import Interval

_Columns = dict[str, list[str]]
"""Text of each column, one row per point."""


_SHOWN = ("p50", "p99")


def whatif_shown(result: WhatIf) -> list[str | Grid]:
    """Return what is printed of a what-if: the verdict on the base, tables with one row per point, and findings."""
    grids = [replace(grid, layout="rows") for grid in (*points_grids(result), *probability_grids_of(result))]
    return [*opening(result), *grids, *findings(result), *notes(result)]


def opening(result: WhatIf) -> list[str]:
    """State the verdict on the base, and how many points are overloaded."""
    base = result.points[result.base]
    points = result.simulated
    load = base.load if isinstance(base, SimulatedPoint) else None
    lines = [] if load is None else [f"{setting(base)} is {verdict_line(load)}"]
    count = sum(point.overloaded for point in points)
    if count:
        lines.append(f"{count} of {len(result.points)} points are overloaded: their latencies have no interval.")
    lines += points_lines([(setting(point), point.unsettled) for point in points])
    return [*lines, *_extra_attempts(result)]


def _extra_attempts(result: WhatIf) -> list[str]:
    """State what retries and hedges cost at the point with the most extra attempts."""
    most = max(
        (point for point in result.simulated if point.extra is not None),
        key=lambda point: 0.0 if point.extra is None else point.extra.per_request,
        default=None,
    )
    if most is None or most.extra is None:
        return []
    return [f"With {setting(most)}, {extra_attempts_line(most.extra, _loads(result, most))}"]


def _loads(result: WhatIf, point: SimulatedPoint) -> str | None:
    """State the utilisation of the role that saturates first, there and at the point without retries and hedges."""
    role = None if point.load is None or point.load.saturates_first is None else point.load.saturates_first.role
    for other in result.simulated:
        alike = _apart_from_policies(other) == _apart_from_policies(point)
        if alike and other.extra is None and not other.overloaded and role in point.roles and role in other.roles:
            busy, without = (each.roles[role].utilization for each in (point, other))
            return f"the busiest {role} is {busy:.1%} busy with them, {without:.1%} without"
    return None


def _apart_from_policies(point: SimulatedPoint) -> dict[str, Any]:
    return {path: value for path, value in point.set.items() if not path.startswith(("client.hedge", "client.retry"))}


def ops_of(result: WhatIf) -> list[str]:
    """Return the operations: those with objectives first, then the others by their number of requests."""
    counts: dict[str, float] = {}
    for point in result.points:
        for op, figures in point.ops.items():
            counts[op] = counts.get(op, 0) + figures.count
    return ordered(counts, result.slos)


def points_grids(result: WhatIf) -> list[Grid]:
    """Tables with one row per point: varied values, measures of the operation, objectives and cost.

    With several operations, each has its own table, and so have the objectives. The difference of p99 from the base has
    a narrow interval because of common random numbers.
    """
    ops = ops_of(result)
    figures, verdicts = {op: _figures(result, op) for op in ops}, _objectives(result)
    if len(ops) == 1:
        return [_grid(result, ops[0], figures[ops[0]] | verdicts)]
    grids = [replace(_grid(result, op, figures[op]), is_folded=is_minor(op, result.slos)) for op in ops]
    return grids + ([_grid(result, "objectives", verdicts)] if verdicts else [])


def probability_grids_of(result: WhatIf) -> list[Grid]:
    """Tables of the probability that each point meets the objectives; none if nothing is drawn."""
    names = _short(list(result.vary))
    rows = [
        ([written(point.set[path]) for path in names], point.met if isinstance(point, SimulatedPoint) else None)
        for point in result.points
    ]
    return probability_grids(list(names.values()), rows, result.slos, result.unknowns)


def _grid(result: WhatIf, title: str, columns: _Columns) -> Grid:
    names = _short(list(result.vary))
    varied = {names[path]: [written(point.set[path]) for point in result.points] for path in names}
    rows = list(zip(*varied.values(), *columns.values(), strict=True))
    return Grid(title, [*varied, *columns], rows, labels=len(varied))


def _short(paths: Sequence[str]) -> dict[str, str]:
    """Shorten paths to their last two names if these are unique."""
    ends = {path: ".".join(path.split(".")[-2:]) for path in paths}
    return ends if len(set(ends.values())) == len(ends) else dict(zip(paths, paths, strict=True))


def _figures(result: WhatIf, op: str) -> _Columns:
    rows = [_op_cells(point, op, i == result.base) for i, point in enumerate(result.points)]
    return dict(zip(("op/s", "p50", "p99", "p99 − base"), map(list, zip(*rows, strict=True)), strict=True))


def _objectives(result: WhatIf) -> _Columns:
    """Return verdicts, cost, and the operations for which the point is on the Pareto front."""
    points = result.points
    columns = {slo.text: [verdict_on(slo, point) for point in points] for slo in result.slos}
    if any(point.cost is not None for point in result.simulated):
        fronts = [[op for op, front in result.pareto.items() if i in front.points] for i in range(len(points))]
        costs = [point.cost if isinstance(point, SimulatedPoint) else None for point in points]
        columns["cost"] = list(map(number, costs))
        columns["Pareto"] = [" ".join(ops) for ops in fronts]
    return columns


def verdict_on(slo: Slo, point: SimulatedPoint | InfeasiblePoint) -> str:
    """Return the verdict of a point on an objective, or why there is none."""
    if isinstance(point, InfeasiblePoint):
        return "not possible"
    verdict = point.slo[slo.text]
    return NOT_ENOUGH if verdict == "unsure" and point.has_too_few(slo) else verdict


def written(value: Any) -> str:
    """Format a value of a spec; null is ``none``."""
    return "none" if value is None else str(value)


def _op_cells(point: SimulatedPoint | InfeasiblePoint, op: str, is_base: bool) -> list[str]:
    if isinstance(point, InfeasiblePoint) or op not in point.ops:
        return [number(None)] * 4
    figures = point.ops[op]
    latency = figures.latency_s
    rate = f"{number(figures.throughput_ops)}{' overloaded' if point.overloaded else ''}"
    cells = [rate, *(quantile(name, latency[name], figures.few) for name in _SHOWN)]
    difference = point.difference.ops.get(op)
    if is_base or difference is None:
        return [*cells, "base" if is_base else ""]
    change = difference.latency_s["p99"]
    is_few = math.isnan(change.low) and math.isfinite(change.value) and not point.overloaded
    return [*cells, f"{_signed(change.value)} ({FEW})" if is_few else plus_minus(change)]


def plus_minus(figure: Interval) -> str:
    """Format the difference of two latencies and half its interval: ``+1.20 ms ± 0.30 ms``."""
    half = (figure.high - figure.low) / 2
    if math.isnan(half):
        return number(None)
    return f"{_signed(figure.value)} ± {seconds(half)}"


def _signed(value_s: float) -> str:
    return f"{'+' if value_s > 0 else ''}{seconds(value_s)}"


def findings(result: WhatIf) -> list[str]:
    """State how many points meet the objectives, the cheapest of them, and exceptions."""
    points = result.simulated
    sentences = []
    if result.slos:
        count = {v: sum(point.verdict == v for point in points) for v in ("pass", "fail", "unsure")}
        uncertain = f", {count['unsure']} are uncertain{_remedy(result)}" if count["unsure"] else ""
        sentences.append(
            f"{count['pass']} of {len(result.points)} points meet every objective, {count['fail']} do not{uncertain}."
        )
        met = [point.met if isinstance(point, SimulatedPoint) else None for point in result.points]
        sentences += probability_lines(met, "points")
        cheapest = _cheapest(points)
        if cheapest is not None:
            sentences.append(f"The cheapest that meets them has {setting(cheapest)} and costs {number(cheapest.cost)}.")
    imprecise = sum(point.precise is False for point in points)
    if imprecise:
        sentences.append(f"{imprecise} did not reach the precision of ± {result.precision:.1%}.")
    sentences += [line for point in points for line in _no_gain(point)]
    sentences += [
        f"{setting(point)} is not possible: {point.error}."
        for point in result.points
        if isinstance(point, InfeasiblePoint)
    ]
    return sentences


def _no_gain(point: SimulatedPoint) -> list[str]:
    """State which latencies hedges do not shorten, and why."""
    return [
        f"With {setting(point)}, hedges do not shorten the p99 of {op} beyond chance"
        + (f": all attempts of a request need the same {role}." if role else ".")
        for op, role in point.no_gain.items()
    ]


def _remedy(result: WhatIf) -> str:
    """State what makes uncertain points certain."""
    few = [slo.text for slo in result.slos if any(point.has_too_few(slo) for point in result.simulated)]
    return f" ({NOT_ENOUGH} for {', '.join(few)})" if few else ": add replications"


def notes(result: WhatIf) -> list[str]:
    """Explain the marks in the tables."""
    few = [name for name in _SHOWN for p in result.simulated for figures in p.ops.values() if name in figures.few]
    return few_note(few)


def setting(point: SimulatedPoint | InfeasiblePoint) -> str:
    """Format the varied values of a point: ``gateways.count=4, buckets.shards=16``."""
    return ", ".join(f"{path}={written(value)}" for path, value in point.set.items())


def _cheapest(points: Sequence[SimulatedPoint]) -> SimulatedPoint | None:
    keep = [(point.cost, i) for i, point in enumerate(points) if point.verdict == "pass" and point.cost is not None]
    return points[min(keep)[1]] if keep else None

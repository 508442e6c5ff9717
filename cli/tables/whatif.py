"""What a what-if found, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cli.tables.grid import Grid
from cli.words import number, seconds
from sim.experiments.whatif import InfeasiblePoint, SimulatedPoint, WhatIf
from sim.replication.summaries import Interval

_Columns = dict[str, list[str]]
"""The cells of each column, a row for each point."""


def points_grids(result: WhatIf) -> list[Grid]:
    """A row for each point: what was set, the figures of the operation, the objectives, and what it costs.

    Several operations have a table each, and the objectives one of their own. p99 has its difference to that of the
    base, in common random numbers and so with a narrow interval.
    """
    ops = list(dict.fromkeys(op for point in result.points for op in point.ops))
    figures, judged = {op: _figures(result, op) for op in ops}, _objectives(result)
    if len(ops) == 1:
        return [_grid(result, ops[0], figures[ops[0]] | judged)]
    return [_grid(result, op, figures[op]) for op in ops] + ([_grid(result, "objectives", judged)] if judged else [])


def _grid(result: WhatIf, title: str, columns: _Columns) -> Grid:
    names = _short(list(result.vary))
    varied = {names[path]: [written(point.set[path]) for point in result.points] for path in names}
    rows = list(zip(*varied.values(), *columns.values(), strict=True))
    return Grid(title, [*varied, *columns], rows, labels=len(varied))


def _short(paths: Sequence[str]) -> dict[str, str]:
    """The last two names of each path, where they tell it apart."""
    ends = {path: ".".join(path.split(".")[-2:]) for path in paths}
    return ends if len(set(ends.values())) == len(ends) else dict(zip(paths, paths, strict=True))


def _figures(result: WhatIf, op: str) -> _Columns:
    rows = [_op_cells(point, op, i == result.base) for i, point in enumerate(result.points)]
    return dict(zip(("op/s", "p50", "p99", "p99 − base"), map(list, zip(*rows, strict=True)), strict=True))


def _objectives(result: WhatIf) -> _Columns:
    """The verdicts, the cost, and for which operations no other point is both cheaper and faster."""
    points = result.points
    columns = {slo.text: [point.slo.get(slo.text, "cannot be") for point in points] for slo in result.slos}
    if any(point.cost is not None for point in result.simulated):
        fronts = [[op for op, front in result.pareto.items() if i in front.points] for i in range(len(points))]
        costs = [point.cost if isinstance(point, SimulatedPoint) else None for point in points]
        columns["cost"] = list(map(number, costs))
        columns["Pareto"] = [" ".join(ops) for ops in fronts]
    return columns


def written(value: Any) -> str:
    """A value of a spec, as an engineer writes it."""
    return "none" if value is None else str(value)


def _op_cells(point: SimulatedPoint | InfeasiblePoint, op: str, is_base: bool) -> list[str]:
    if isinstance(point, InfeasiblePoint) or op not in point.ops:
        return [number(None)] * 4
    figures = point.ops[op]
    latency = figures.latency_s
    cells = [number(figures.throughput_ops), seconds(latency["p50"]), seconds(latency["p99"])]
    against = point.difference.ops.get(op)
    return [*cells, "base" if is_base else "" if against is None else plus_minus(against.latency_s["p99"])]


def plus_minus(figure: Interval) -> str:
    """A difference of two latencies and half of its interval: ``+1.20 ms ± 0.30 ms``."""
    half = (figure.high - figure.low) / 2
    sign = "+" if figure.value > 0 else ""
    return f"{sign}{seconds(figure.value)} ± {seconds(half)}"


def findings(result: WhatIf) -> list[str]:
    """What the points say together, in sentences."""
    points = result.simulated
    sentences = []
    if result.slos:
        count = {v: sum(point.verdict == v for point in points) for v in ("pass", "fail", "unsure")}
        open_ones = f", {count['unsure']} leave it open: replicate more" if count["unsure"] else ""
        sentences.append(
            f"{count['pass']} of {len(result.points)} points keep every objective, {count['fail']} do not{open_ones}."
        )
        cheapest = _cheapest(points)
        if cheapest is not None:
            sentences.append(f"The cheapest that keeps them has {setting(cheapest)} and costs {number(cheapest.cost)}.")
    imprecise = sum(point.precise is False for point in points)
    if imprecise:
        sentences.append(f"{imprecise} did not reach the precision of ± {result.precision:.1%}.")
    sentences += [
        f"{setting(point)} cannot be: {point.error}." for point in result.points if isinstance(point, InfeasiblePoint)
    ]
    return sentences


def setting(point: SimulatedPoint | InfeasiblePoint) -> str:
    """What was set at a point: ``gateways.count=4, buckets.shards=16``."""
    return ", ".join(f"{path}={written(value)}" for path, value in point.set.items())


def _cheapest(points: Sequence[SimulatedPoint]) -> SimulatedPoint | None:
    keep = [(point.cost, i) for i, point in enumerate(points) if point.verdict == "pass" and point.cost is not None]
    return points[min(keep)[1]] if keep else None

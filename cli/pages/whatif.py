"""The page about a what-if: which points keep the objectives, how sure that is, and what each value does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from cli.commands.whatif_measures import Measure, measures_of, ordered
from cli.figures.parallel_coordinates import parallel
from cli.figures.whatif import cost_against_tail, curve, differences, heat_map
from cli.pages.page import Header, Section, write_page
from cli.tables.whatif import findings, points_grids, setting, written
from cli.words import number
from sim.experiments.whatif import WhatIf


def write_whatif_page(result: WhatIf, path: Path) -> list[go.Figure]:
    """Write a page about what `sim.experiments.whatif.whatif` found; its figures.

    One varied value gives curves, a whole grid of two heat maps, more than one parallel coordinates; all give
    differences to the base, and points with a cost that against the tail.

    Raises:
        InputError: the file cannot be written.
    """
    measures = measures_of(result)
    found, *notes = [*([] if result.slos else [_extremes(result, measures)]), *findings(result)]
    base = setting(result.points[result.base])
    sections = [
        *([Section("", notes)] if notes else []),
        *_over_values(result, measures),
        *_costs(result),
        Section(
            "Differences to the base",
            [
                f"The base has {base}. All points had the same random numbers, so differences are surer than figures. "
                f"Points are named by their {_listed(list(result.vary))}."
            ],
            charts=[differences(result, measure) for measure in measures if measure.subject in _ops(result)],
        ),
        Section("Point by point", (), points_grids(result)),
    ]
    header = Header(_requested(result), found, _sure(result, measures))
    return write_page(path, f"What if {_listed(list(result.vary))} changed", header, sections)


def _ops(result: WhatIf) -> set[str]:
    return {op for point in result.points for op in point.ops}


def _requested(result: WhatIf) -> str:
    what = _listed([f"{path} ({_between(ordered(values))})" for path, values in result.vary.items()])
    points = f"{len(result.points)} points of {what}"
    name = Path(result.spec).name
    if result.slos:
        return f"Which of {points} in {name} keep {_listed([slo.text for slo in result.slos])}."
    return f"What {points} give in {name}."


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _between(values: Sequence[Any]) -> str:
    return ", ".join(map(written, values)) if len(values) <= 5 else f"{written(values[0])} … {written(values[-1])}"


def _extremes(result: WhatIf, measures: Sequence[Measure]) -> str:
    """Where each operation's tail is shortest and longest."""
    parts = []
    for measure in filter(lambda m: m.is_latency, measures):
        known = [(e.value, p) for p in result.simulated if math.isfinite((e := measure.of(p)).value)]
        if known:
            (least, best), (most, worst) = (end(known, key=lambda pair: pair[0]) for end in (min, max))
            parts.append(
                f"{measure.name} is between {number(least)} ms ({setting(best)}) and {number(most)} ms "
                f"({setting(worst)})"
            )
    return f"{'; '.join(parts)}." if parts else "No request succeeded."


def _sure(result: WhatIf, measures: Sequence[Measure]) -> str:
    """How the points were simulated, and the widest interval of a latency."""
    counts = sorted(point.replications for point in result.simulated)
    times = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    how = f"Each point was simulated {times} times, all with the same random numbers"
    widths = [
        ((e.high - e.low) / 2 / e.value, measure.name, setting(point))
        for point in result.simulated
        for measure in measures
        if measure.is_latency and (e := measure.of(point)).value and math.isfinite(e.high - e.low)
    ]
    if not widths:
        return f"{how}; that is too few for intervals."
    widest, name, where = max(widths)
    return f"{how}; the widest {result.confidence:.0%} interval is ± {widest:.1%} ({name} at {where})."


def _over_values(result: WhatIf, measures: Sequence[Measure]) -> list[Section]:
    """What the varied values do to the measures."""
    vary = result.vary
    if len(vary) == 1:
        by_unit = groupby(sorted(measures, key=lambda m: m.unit), key=lambda m: m.unit)
        curves = [curve(result, list(group)) for _, group in by_unit]
        words = f"Bars are {result.confidence:.0%} intervals, dashed lines objectives."
        return [Section(f"Against {next(iter(vary))}", [words], charts=curves)]
    sections = []
    if len(vary) == 2 and len(result.points) == math.prod(map(len, vary.values())):
        words = "In the cells: the figure, and whether it keeps its objective (✓), breaks it (✗) or cannot be told (?)."
        sections = [Section("Over both values", [words], charts=[heat_map(result, m) for m in measures])]
    words = "A line is a point. A click on the legend hides or shows those of one verdict."
    return [*sections, Section("All points", [words], charts=[parallel(result, measures)])]


def _costs(result: WhatIf) -> list[Section]:
    if not result.pareto:
        return []
    words = "On the line are the points that no other is both cheaper and faster than."
    return [Section("Cost", [words], charts=[cost_against_tail(result, op) for op in result.pareto])]

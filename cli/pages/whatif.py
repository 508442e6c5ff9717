"""Page about a what-if: points that meet the objectives, their certainty, and the effect of each value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from cli.figures.parallel_coordinates import parallel
from cli.figures.whatif import cost_against_tail, curve, differences, value_map
from cli.pages.page import Header, Page, Section
from cli.tables.experiments.measures import Measure, measures_of, ordered
from cli.tables.experiments.whatif import findings, notes, opening, points_grids, setting, written
from cli.words import number
from sim.experiments.whatif import WhatIf


def whatif_page(result: WhatIf) -> Page:
    """Return a page about the result of `sim.experiments.whatif.whatif`.

    One varied field is shown as curves, a full grid of two as maps of values, and several as parallel coordinates. All
    pages have differences from the base, and cost against tail latency if the points have costs.
    """
    measures = measures_of(result)
    found, *further = [*([] if result.slos else [_extremes(result, measures)]), *findings(result), *notes(result)]
    base = setting(result.points[result.base])
    sections = [
        *([Section("", further)] if further else []),
        *_over_values(result, measures),
        *_costs(result),
        Section(
            "Differences from the base",
            [
                f"The base has {base}. With common random numbers, differences are more precise than the values. "
                f"Points are labelled by their {_listed(list(result.vary))}."
            ],
            charts=[differences(result, measure) for measure in measures if measure.subject in _ops(result)],
        ),
        Section("All values", (), points_grids(result)),
    ]
    header = Header.of(_requested(result), [*opening(result), found], _certainty(result, measures))
    return Page(f"Variants of {_listed(list(result.vary))}", header, sections)


def _ops(result: WhatIf) -> set[str]:
    return {op for point in result.points for op in point.ops}


def _requested(result: WhatIf) -> str:
    what = _listed([f"{path} ({_between(ordered(values))})" for path, values in result.vary.items()])
    points = f"{len(result.points)} points of {what}"
    name = Path(result.spec).name
    if result.slos:
        return f"Which of {points} in {name} meet {_listed([slo.text for slo in result.slos])}."
    return f"Latency and throughput at {points} in {name}."


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _between(values: Sequence[Any]) -> str:
    return ", ".join(map(written, values)) if len(values) <= 5 else f"{written(values[0])} … {written(values[-1])}"


def _extremes(result: WhatIf, measures: Sequence[Measure]) -> str:
    """State the points with the least and the greatest tail latency of each operation."""
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


def _certainty(result: WhatIf, measures: Sequence[Measure]) -> str:
    """State the number of replications, and the widest interval of a latency."""
    counts = sorted(point.replications for point in result.simulated)
    times = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
    how = f"Each point has {times} replications, with common random numbers"
    widths = [
        ((e.high - e.low) / 2 / e.value, measure.name, setting(point))
        for point in result.simulated
        for measure in measures
        if measure.is_latency and (e := measure.of(point)).value and math.isfinite(e.high - e.low)
    ]
    if not widths:
        return f"{how}; these are too few for intervals."
    widest, name, where = max(widths)
    return f"{how}; the widest {result.confidence:.0%} interval is ± {widest:.1%} ({name} at {where})."


def _over_values(result: WhatIf, measures: Sequence[Measure]) -> list[Section]:
    """Show the measures against the varied values."""
    vary = result.vary
    if len(vary) == 1:
        by_unit = groupby(sorted(measures, key=lambda m: m.unit), key=lambda m: m.unit)
        curves = [curve(result, list(group)) for _, group in by_unit]
        words = f"Bars are {result.confidence:.0%} intervals; dashed lines are objectives."
        return [Section(f"Measures against {next(iter(vary))}", [words], charts=curves)]
    sections = []
    if len(vary) == 2 and len(result.points) == math.prod(map(len, vary.values())):
        words = (
            "Each cell has the value, and whether it meets its objective (✓), violates it (✗) or is uncertain (?). The "
            "base has a frame. Green cells are better than the base and orange ones worse, without doubt: the interval "
            "of the paired difference excludes 0."
        )
        sections = [Section("Measures against both fields", [words], charts=[value_map(result, m) for m in measures])]
    words = "Each line is a point. Click on the legend to hide or show the points of a verdict."
    return [*sections, Section("All points", [words], charts=[parallel(result, measures)])]


def _costs(result: WhatIf) -> list[Section]:
    if not result.pareto:
        return []
    words = "The line connects the points for which no other is both cheaper and faster."
    return [Section("Cost", [words], charts=[cost_against_tail(result, op) for op in result.pareto])]

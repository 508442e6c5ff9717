"""Tables of a timeline: one row per state, with effects between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cli.tables.forecast.extra_attempts import extra_attempts_line
from cli.tables.forecast.steadiness import points_lines
from cli.tables.forecast.uncertainty import unknowns_grid
from cli.tables.forecast.verdict import FEW, few_note, quantile, verdict_line
from cli.tables.grid import Grid
from cli.tables.operations import ordered
from cli.words import number, seconds, size
from sim.capacity.timeline import State, Timeline
from sim.capacity.timeline_bands import TimelineBands
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import CONFIDENCE
from sim.verdict.extra_attempts import ExtraAttempts
from sim.verdict.verdict import LoadVerdict


def timeline_shown(result: Timeline, bands: TimelineBands | None = None) -> list[str | Grid]:
    """Return what is printed of a timeline: its states, the effects between them, and what is not known."""
    shown: list[str | Grid] = [*opening(result), *state_grids(result, bands), *effects_grids(result), *notes(result)]
    return shown if bands is None else [*shown, *unknown_lines(bands), unknowns_grid(bands.unknowns)]


def unknown_lines(bands: TimelineBands) -> list[str]:
    """Say what bands contain, and how many draws were not possible."""
    line = f"Bands contain {bands.level:.0%} of {bands.draws} draws of the values that are not known, and the forecast."
    if bands.impossible:
        line += f" {bands.impossible} further draws have values that do not fit together."
    return [line]


def state_grids(result: Timeline, bands: TimelineBands | None = None) -> list[Grid]:
    """Tables of the states found by `timeline.timeline` for each operation, and of reshards if there are any."""
    counts: dict[str, float] = {}
    for state in result.states:
        for op, figures in state["ops"].items():
            counts[op] = counts.get(op, 0) + figures["count"]
    return [*(_op_grid(result, op, bands) for op in ordered(counts)), *_reshards_grids(result)]


def opening(result: Timeline) -> list[str]:
    """State from where the store is full, the verdict on the load of the last state with room, and what is overloaded.

    Of that load, what retries and hedges cost is said, too.
    """
    full = [state for state in result.states if state["full"]]
    room = [state for state in result.states if not state["full"]]
    lines = []
    if full:
        lines.append(
            f"With {millions(full[0]['objects'])} objects, {full[0]['full']}; figures from there on are those of a "
            "store that has room."
        )
    last = room[-1] if room else None
    if last is None or last["load"] is None:
        return lines
    lines.append(f"With {millions(last['objects'])} objects, {verdict_line(LoadVerdict.from_json(last['load']))}")
    if last["extra"] is not None:
        lines.append(f"Of this load, {extra_attempts_line(ExtraAttempts(**last['extra']))}")
    count = sum(state["load"] is not None and state["load"]["overloaded"] for state in result.states)
    if count:
        lines.append(f"{count} of {len(result.states)} states are overloaded: their latencies have no interval.")
    return [*lines, *_short(result)]


def _short(result: Timeline) -> list[str]:
    """Warn of windows that are too short."""
    found = [
        (f"{millions(state['objects'])} objects", [Unsettled(**each) for each in state["unsettled"]])
        for state in result.states
    ]
    return points_lines(found, window_s=result.window_s, can_leave_out=False, points="states")


def notes(result: Timeline) -> list[str]:
    """Explain the marks in the tables, and say if fill is not known."""
    few = few_note(
        name for state in result.states for op in state["ops"].values() for name in ("p50", "p99") if name in op["few"]
    )
    if result.states[0]["fill_fraction"] is None:
        return [*few, "How full drives are is not known: the spec has no capacity of them."]
    return few


def effects_grids(result: Timeline) -> list[Grid]:
    """Table of effects and the number of objects at which they begin, unless there are none."""
    rows = [[effect.name, millions(effect.objects), effect.text] for effect in result.effects]
    return [Grid("", ["effect", "from objects", "description"], rows, labels=3)] if rows else []


def _op_grid(result: Timeline, op: str, bands: TimelineBands | None) -> Grid:
    spills = any("spilled_bytes" in state for state in result.states)
    columns = ["objects", "fill", *(["spilled"] if spills else []), "op/s", "±", "p50", "p99", "busiest, or effect"]
    before = len(columns) - 2  # empty cells between the objects and the name of an effect
    own: list[list[str]] = [[] for _ in result.states]
    if bands is not None:
        columns += [f"op/s {bands.level:.0%}", f"p99 {bands.level:.0%}"]
        both = zip(result.states, bands.states, strict=True)
        own = [_band_cells(each[op], state["ops"][op]["few"]) if op in each else [] for state, each in both]
    rows = [
        (state["objects"], [*_state_row(state, state["ops"][op], spills), *band])
        for state, band in zip(result.states, own, strict=True)
        if op in state["ops"]
    ]
    after = [""] * (len(columns) - before - 2)
    rows += [(each.objects, [millions(each.objects), *[""] * before, each.name, *after]) for each in result.effects]
    title = f"{op} by objects stored (± {CONFIDENCE:.0%} interval)"
    return Grid(title, columns, [row for _, row in sorted(rows, key=lambda pair: pair[0])])


def _band_cells(bands: dict[str, tuple[float, float]], few: Sequence[str]) -> list[str]:
    """Return the bands of rate and p99, with a mark if too few requests support it."""
    rate, tail = (" … ".join(map(write, bands[name])) for name, write in (("throughput_ops", number), ("p99", seconds)))
    return [rate, f"{tail} ({FEW})" if "p99" in few else tail]


def _state_row(state: State, figures: dict[str, Any], spills: bool) -> list[str]:
    latency, busiest, rate = figures["latency_s"], figures["busiest"], figures["throughput_ops"]
    half = figures["interval"]["throughput_ops"][1] - rate
    return [
        millions(state["objects"]),
        "–" if state["fill_fraction"] is None else f"{state['fill_fraction']:.0%}",
        *([size(state["spilled_bytes"]) if state["spilled_bytes"] else ""] if spills else []),
        number(rate),
        f"{half / rate:.1%}" if rate and math.isfinite(half) else number(None),
        quantile("p50", latency["p50"], figures["few"]),
        quantile("p99", latency["p99"], figures["few"]),
        f"{busiest['role']} {busiest['utilization']:.0%}",
    ]


def _reshards_grids(result: Timeline) -> list[Grid]:
    rows = [
        [millions(state["objects"]), f"{state['index_shards']:,}", f"{state['reshards']:,}", _lost(state)]
        for state in result.states
        if state.get("reshards")
    ]
    return (
        [Grid("Reshards since the previous state", ["objects", "shards", "reshards", "time lost"], rows)]
        if rows
        else []
    )


def _lost(state: State) -> str:
    return f"{state['lost_to_reshards']:.2%}"


def millions(objects: float) -> str:
    """Format a number of objects as ``12.3 M``, or below a million as ``12,345``."""
    if objects < 1e6:
        return f"{objects:,.0f}"
    return f"{objects / 1e6:,.4g} M" if objects < 1e9 else f"{objects / 1e6:,.0f} M"

"""`tailcast simulate --timeline`: throughput and latency of a store that fills, against the objects in it."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from cli.common import json_text, kept_in, print_grid, print_json, progress, say
from cli.figures.figure_files import PageFiles
from cli.tables.timeline import events_grids, state_grids
from models.store import Spec
from sim.capacity.timeline import Plan, Spacing, Timeline, timeline
from sim.capacity.timeline_folder import TimelineFolder
from sim.simulate import EngineName
from traces.errors import InputError
from traces.units import parse_seconds

_VARIABLE = "objects"


def plan_of(text: str, states: int | None, window: str | None, spacing: Spacing | None) -> Plan:
    """The plan of ``objects=LOW..HIGH``.

    Raises:
        InputError: another variable, something that is no number, or a range that cannot be.
    """
    name, equals, between = text.partition("=")
    low, dots, high = between.partition("..")
    if not equals or not dots:
        raise InputError(f"--timeline {text}: write it like --timeline objects=1e6..1e9")
    if name.strip() != _VARIABLE:
        raise InputError(f"--timeline {text}: {name.strip()!r} does not grow in a timeline; allowed is {_VARIABLE}")
    try:
        ends = float(low), float(high)
        window_s = None if window is None else parse_seconds(window)
    except ValueError as error:
        raise InputError(
            f"--timeline {text}: {error}; write it like objects=1e6..1e9, and a window like 10s"
        ) from error
    told = {"states": states, "window_s": window_s, "spacing": spacing}
    return Plan(*ends, **{key: value for key, value in told.items() if value is not None})  # type: ignore[arg-type]


def print_timeline(
    spec: Spec,
    plan: Plan,
    *,
    title: str,
    seed: int,
    engine: EngineName,
    workers: int | None,
    out: Path | None,
    pages: PageFiles,
    as_json: bool,
) -> None:
    """Simulate a timeline, write what is wanted of it, and print it."""
    folder = None if out is None else TimelineFolder(out)
    with kept_in(out), progress("simulating windows", plan.states) as update:
        result = timeline(
            spec,
            plan,
            seed=seed,
            engine=engine,
            workers=workers or len(os.sched_getaffinity(0)),
            cache=folder,
            progress=update,
        )
    if folder is not None:
        folder.write(result, json_text(result.to_json()))
        say(f"Timeline written to {out}")
    pages.write(partial(_write_page, result=result, title=title))
    if as_json:
        print_json(result.to_json())
        return
    for grid in (*state_grids(result), *events_grids(result)):
        print_grid(grid)


def _write_page(path: Path, result: Timeline, title: str) -> list[Any]:
    from cli.pages.timeline import write_timeline_page  # plotly takes half a second to import

    return write_timeline_page(result, path, title)

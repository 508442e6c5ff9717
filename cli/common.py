"""What all commands share: one line for an error, JSON alone on stdout, progress on stderr."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from cli.tables.grid import Grid, rich_table
from sim.json_form import to_json

stderr = Console(stderr=True, highlight=False)
stdout = Console(highlight=False)


def print_json(value: Any) -> None:
    """One JSON object on stdout; NaN and infinities become null."""
    sys.stdout.write(json_text(value))


def json_text(value: Any) -> str:
    """JSON as `print_json` prints it."""
    return json.dumps(_finite(to_json(value)), indent=1) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_grid(grid: Grid, turn: bool = True, console: Console = stdout) -> None:
    """A grid on stdout, turned as `rich_table` has it; a title of rich's own would wrap to the width of the table."""
    if grid.title:
        console.print(grid.title, style="table.title", markup=False, soft_wrap=True)
    console.print(rich_table(grid, turn))


def say(message: str) -> None:
    """A line on stderr."""
    stderr.print(message, markup=False, soft_wrap=True)


def warn_if_slow() -> None:
    """Say that the SimPy engine has to take over, where the compiled engine's library is missing."""
    from sim.engine.compiled import library

    if reason := library.missing():
        say(f"{reason}; the SimPy engine takes over, which gives the same results 20 to 70 times slower")


def worker_count(workers: int | None) -> int:
    """The number of workers that is wanted; None: one per core that this process may use."""
    return workers or len(os.sched_getaffinity(0))


@contextlib.contextmanager
def kept_in(folder: Path | None, resumes: bool = True) -> Iterator[None]:
    """Let Ctrl-C tell what is kept: with a folder all that is done, so that the same command goes on from there.

    `resumes`: whether it does; else nothing is kept before all is done.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not resumes:
            raise KeyboardInterrupt("nothing is kept; the same command begins anew") from None
        if folder is None:
            raise KeyboardInterrupt("nothing is kept; with --out FOLDER it goes on where it was interrupted") from None
        raise KeyboardInterrupt(f"what is done is in {folder}; the same command goes on from there") from None


@contextlib.contextmanager
def progress(what: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr that appears after a second; call the yielded function with what is done so far."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=stderr, transient=True)
    task = bar.add_task(what, total=total)
    started = False

    def update(done: float) -> None:
        nonlocal started
        bar.update(task, completed=done)
        if not started and (bar.tasks[0].elapsed or 0) > 1:
            bar.start()
            started = True

    try:
        yield update
    finally:
        if started:
            bar.stop()

"""Output shared by all commands: results on stdout, progress and notes on stderr."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from cli.tables.grid import Grid, rich_table
from sim.json_form import to_json
from traces.printable import printable

REPLICATIONS, DRAWS = 5, 20
"""Default numbers of replications of a variant, and of draws of the values that are not known."""


_LONGEST_LINE = 1000


class _Console(Console):
    """A console that prints no control characters of names, keys and servers' texts, only its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render an object as segments; in their texts, control characters are escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


stderr = _Console(stderr=True, highlight=False)
stdout = _Console(highlight=False)


def print_json(value: Any, made: Any = None) -> None:
    """Print one JSON object on stdout; NaN and infinities become null.

    Args:
        value: a result; a mapping or a dataclass.
        made: the `cli.made.Made` of a result, which becomes its field ``made``; None: it has none.
    """
    sys.stdout.write(json_text(value, made))


def json_text(value: Any, made: Any = None) -> str:
    """Return JSON as `print_json` prints it."""
    result = to_json(value) if made is None else {**to_json(value), "made": to_json(made)}
    return json.dumps(_finite(result), indent=1) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_grid(grid: Grid, console: Console = stdout) -> None:
    """Print a table on a console; a title set by rich would wrap at the table's width."""
    if grid.layout == "lines" and not console.is_terminal:
        console = _Console(file=console.file, width=_LONGEST_LINE, highlight=False)
    if grid.title:
        console.print(grid.title, style="table.title", markup=False, soft_wrap=True)
    console.print(rich_table(grid))
    for warning in grid.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)


def print_lines(lines: Iterable[str], console: Console = stdout) -> None:
    """Print sentences on a console, one per line."""
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)


def print_shown(shown: Iterable[str | Grid], console: Console = stdout) -> None:
    """Print lines and tables on a console, in their order."""
    for each in shown:
        if isinstance(each, Grid):
            print_grid(each, console)
        else:
            print_lines([each], console)


def shown_text(shown: Iterable[str | Grid], width: int = 120) -> str:
    """Return lines and tables as text, with tables of at most `width` characters."""
    text = io.StringIO()
    print_shown(shown, _Console(file=text, width=width, highlight=False))
    return text.getvalue()


def say(message: str) -> None:
    """Print a line on stderr."""
    stderr.print(message, markup=False, soft_wrap=True)


def warn_if_slow() -> None:
    """Print a note if the library of the compiled engine is missing, so that the SimPy engine takes over."""
    from sim.engine.compiled import library

    if reason := library.missing():
        say(f"{reason}; the SimPy engine takes over, which gives the same results 20 to 70 times slower")


def worker_count(workers: int | None) -> int:
    """Return the number of workers; None is one per core that this process may use."""
    return workers or len(os.sched_getaffinity(0))


@contextlib.contextmanager
def kept_in(folder: Path | None, resumes: bool = True) -> Iterator[None]:
    """Add to a KeyboardInterrupt what is kept: all finished work, if a folder is given.

    Args:
        folder: where the command keeps its work.
        resumes: whether the command can continue from there; if not, it keeps nothing before it has finished.
    """
    try:
        yield
    except KeyboardInterrupt:
        if not resumes:
            raise KeyboardInterrupt("nothing is kept; the same command starts over") from None
        if folder is None:
            raise KeyboardInterrupt("nothing is kept; with --out FOLDER the command can be continued") from None
        raise KeyboardInterrupt(f"finished work is in {folder}; the same command continues from there") from None


@contextlib.contextmanager
def progress(what: str, total: float | None = None) -> Iterator[Callable[[float], None]]:
    """Show a progress bar after one second if stderr is a terminal; call the yielded function with the amount done."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=stderr, transient=True)
    task = bar.add_task(what, total=total)
    started = False

    def update(done: float) -> None:
        nonlocal started
        bar.update(task, completed=done)
        if not started and stderr.is_terminal and (bar.tasks[0].elapsed or 0) > 1:
            bar.start()
            started = True

    try:
        yield update
    finally:
        if started:
            bar.stop()

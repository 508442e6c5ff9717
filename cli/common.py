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
from time import monotonic
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from cli.tables.format import csv_text, form_on, plain_text
from cli.tables.grid import VERDICT_STYLES, Grid, rich_table
from sim.json_form import to_json
from traces.printable import printable

REPLICATIONS, DRAWS = 5, 20
"""Default numbers of replications of a variant, and of draws of the values that are not known."""

_FIRST_LINE_S, _MOST_BETWEEN_S = 10.0, 60.0  # of lines on progress if stderr is no terminal


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
    """Print a table on a console in the form that was chosen; a title set by rich would wrap at the table's width."""
    form = form_on(console.is_terminal) if console is stdout else "table"
    if form != "table":
        text = csv_text(grid) if form == "csv" else f"{plain_text(grid)}\n"
        console.file.write(printable_lines(text))
        _print_warnings(grid, stderr if form == "csv" else console)
        return
    if grid.title:
        console.print(grid.title, style="table.title", markup=False, soft_wrap=True)
    console.print(rich_table(grid))
    _print_warnings(grid, console)


def _print_warnings(grid: Grid, console: Console) -> None:
    for warning in grid.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)


def printable_lines(text: str) -> str:
    """Return lines without control characters of names, keys and servers' texts."""
    return "\n".join(printable(line) for line in text.split("\n"))


def print_lines(lines: Iterable[str], console: Console = stdout) -> None:
    """Print sentences on a console, one per line; next to tables as CSV, on stderr. A verdict has its colour."""
    if console is stdout and form_on(console.is_terminal) == "csv":
        console = stderr
    for line in lines:
        verdict = line.partition(":")[0]
        shown = Text(line)
        shown.stylize(VERDICT_STYLES.get(verdict, ""), 0, len(verdict))
        console.print(shown, soft_wrap=True)


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
    """Show a progress bar after a second, or a line now and then if stderr is no terminal.

    The function that is yielded is called with the amount done.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=stderr, transient=True)
    task = bar.add_task(what, total=total)
    started, began_s, next_s = False, monotonic(), _FIRST_LINE_S

    def update(done: float) -> None:
        nonlocal started, next_s
        bar.update(task, completed=done)
        elapsed_s = monotonic() - began_s
        if not stderr.is_terminal:
            if elapsed_s >= next_s:
                say(_progress_line(what, done, total, elapsed_s))
                next_s = elapsed_s + min(elapsed_s, _MOST_BETWEEN_S)
        elif not started and elapsed_s > 1:
            bar.start()
            started = True

    try:
        yield update
    finally:
        if started:
            bar.stop()


_ESTIMABLE = 0.01
"""Least fraction that is done from which the rest of the time is estimated."""


def _progress_line(what: str, done: float, total: float | None, elapsed_s: float) -> str:
    """Say how much is done after a time, and how long the rest takes at this pace."""
    if not total:
        return f"{what}: {done:,.0f} done in {elapsed_s:.0f} s"
    part = min(done / total, 1.0)
    rest = f", about {elapsed_s * (1 - part) / part:.0f} s left" if part >= _ESTIMABLE else ""
    return f"{what}: {part:.0%} in {elapsed_s:.0f} s{rest}"

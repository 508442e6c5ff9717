"""The view of a replay on a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from cli.common import stderr
from cli.live.history import History
from cli.live.status import elapsed, operations, status_of, table_of
from cli.tables.grid import rich_table
from validate.replay.seconds import quantile_s

_COLOURS = {"good": "green", "unsure": "yellow", "bad": "red"}
_BARS = " ▁▂▃▄▅▆▇█"
_MOST_BARS = 40


class TerminalView:
    """A view that is drawn anew with each second, and vanishes at the end; a context manager."""

    def __init__(self) -> None:
        # A thread that refreshes would take the interpreter from those that issue requests.
        self._live = Live(console=stderr, auto_refresh=False, transient=True)
        self._started = False

    def __enter__(self) -> TerminalView:
        return self

    def __exit__(self, *_: object) -> None:
        if self._started:
            self._live.stop()

    def show(self, history: History) -> None:
        """Draw what is known."""
        if not self._started:
            self._live.start()
            self._started = True
        self._live.update(drawn(history), refresh=True)


def drawn(history: History) -> Any:
    """Return state, progress, table and p99 over time for a console."""
    status, (done, text) = status_of(history), elapsed(history)
    state = Text(status.sentence)
    state.append(f" {status.meaning}" if status.meaning else "")
    state.stylize(_COLOURS[status.mark], 0, len(status.sentence.partition(":")[0]))
    bar = Table.grid(padding=(0, 1))
    bar.add_row(Text("replaying"), ProgressBar(1.0, done, width=30), Text(text))
    return Group(bar, state, rich_table(table_of(history)), *_tails(history))


def _tails(history: History) -> list[Text]:
    """Return the p99 over time of each operation as bars, each on a scale of its own."""
    windows = history.latest(_MOST_BARS)
    lines = []
    for op in operations(history.whole):
        values = [quantile_s(window.counts.latency.get(op, {}), 0.99) for window in windows]
        if not all(math.isnan(value) for value in values):
            lines.append(Text(f"p99 of the last {len(windows)} s  {op:8} {bars_of(values)}"))
    return lines


def bars_of(values: Sequence[float]) -> str:
    """Return a bar for each value, on a scale from 0 to the greatest; NaN is blank."""
    most = max((value for value in values if value == value), default=1.0)
    return "".join(_BARS[math.ceil(value / most * 8)] if value == value else " " for value in values)

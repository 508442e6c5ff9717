"""A timeline on disk: its result, and the windows that are done, so that one that was interrupted goes on.

``timeline.json`` is what the command prints, ``timeline.parquet`` a row for each state and operation, and ``windows/``
has a file for each window, named by the hash of all that its result depends on, the code of the models among it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sim.capacity.timeline import INTERVALS, State, Timeline, Window
from sim.parallel.result_cache import ResultFolder, content_key


class TimelineFolder:
    """A folder for a timeline; made where it is not there yet.

    Raises:
        InputError: there is something else of that name, or it cannot be written to.
    """

    def __init__(self, path: Path):
        self._folder = ResultFolder(path, "timeline", "windows")

    def find(self, window: Window) -> State | None:
        """The result of a window that is here; None: it is not."""
        return self._folder.find(_key(window))

    def keep(self, window: Window, result: State) -> None:
        """Keep the result of a window."""
        self._folder.keep(_key(window), result)

    def write(self, found: Timeline, text: str) -> None:
        """Write a timeline as parquet, and as the JSON `text`."""
        self._folder.write("timeline.parquet", table(found), "timeline.json", text)


def _key(window: Window) -> str:
    return content_key((window.spec.model_dump_json(), window.window_s, window.seed, window.engine))


def table(found: Timeline) -> pa.Table:
    """A row for each state and operation: some of the state's figures, the operation's, and their intervals."""
    return pa.Table.from_pylist([_row(state, op, found.columns) for state in found.states for op in state["ops"]])


def _row(state: State, op: str, columns: Sequence[str]) -> dict[str, Any]:
    figures = state["ops"][op]
    row = {name: state[name] for name in columns} | {"op": op}
    row |= {name: figures[name] for name in ("count", "errors", "throughput_ops", "throughput_bytes")}
    row |= {f"latency_{name}_s": value for name, value in figures["latency_s"].items()}
    intervals = {"throughput_ops": figures["interval"]["throughput_ops"]}
    intervals |= {f"latency_{name}_s": figures["interval"]["latency_s"][name] for name in INTERVALS}
    for name, (low, high) in intervals.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    return row | {"busiest": figures["busiest"]["role"], "busiest_utilization": figures["busiest"]["utilization"]}

"""A timeline on disk: its result, and the windows that are done, so that one that was interrupted goes on.

``timeline.json`` is what the command prints, ``timeline.parquet`` a row for each state and operation, and ``windows/``
has a file for each window, named by the hash of all that its result depends on, the code of the models among it.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sim.timeline import INTERVALS, State, Window
from traces.errors import InputError
from traces.tables import whole_file

_STATE = (
    "objects", "fill_share", "stored_bytes", "allocated_bytes", "metadata_bytes", "spilled_bytes", "onode_hit_share",
    "block_cache_hit_share", "slow_reads_per_lookup", "slow_reads_per_absent_lookup", "slow_write_share",
    "entries_per_index_shard", "index_shards", "reshards", "lost_to_reshards",
)  # fmt: skip
_CODE = "traces", "models", "sim"


class TimelineFolder:
    """A folder for a timeline; made where it is not there yet.

    Raises:
        InputError: there is something else of that name, or it cannot be written to.
    """

    def __init__(self, path: Path):
        self.path, self._windows = path, path / "windows"
        if path.exists() and not self._windows.is_dir() and not (path.is_dir() and not any(path.iterdir())):
            raise InputError(f"{path}: exists and is not a timeline; give a folder that does not exist yet")
        try:
            self._windows.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error

    def find(self, window: Window) -> State | None:
        """The result of a window that is here; None: it is not."""
        file = self._file(window)
        try:
            result: State = json.loads(file.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"{file}: cannot be read: {error}") from error
        return result

    def keep(self, window: Window, result: State) -> None:
        """Keep the result of a window."""
        with whole_file(self._file(window)) as temporary:
            temporary.write_text(json.dumps(result))

    def write(self, result: dict[str, Any], text: str) -> None:
        """Write a timeline's result as parquet, and as the JSON `text`."""
        with whole_file(self.path / "timeline.parquet") as temporary:
            pq.write_table(table(result), temporary)
        with whole_file(self.path / "timeline.json") as temporary:
            temporary.write_text(text)

    def _file(self, window: Window) -> Path:
        parts = (_code(), window.spec.model_dump_json(), window.window_s, window.seed, window.engine)
        return self._windows / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}.json"


def table(result: dict[str, Any]) -> pa.Table:
    """A row for each state and operation: the state's numbers, the operation's figures and their intervals."""
    return pa.Table.from_pylist([_row(state, op) for state in result["states"] for op in state["ops"]])


def _row(state: State, op: str) -> dict[str, Any]:
    figures = state["ops"][op]
    row = {name: state[name] for name in _STATE} | {"op": op}
    row |= {name: figures[name] for name in ("count", "errors", "throughput_ops", "throughput_bytes")}
    row |= {f"latency_{name}_s": value for name, value in figures["latency_s"].items()}
    intervals = {"throughput_ops": figures["interval"]["throughput_ops"]}
    intervals |= {f"latency_{name}_s": figures["interval"]["latency_s"][name] for name in INTERVALS}
    for name, (low, high) in intervals.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    return row | {"busiest": figures["busiest"]["role"], "busiest_utilization": figures["busiest"]["utilization"]}


@cache
def _code() -> str:
    """The hash of the source that makes a window's result."""
    root = Path(__file__).parent.parent
    files = sorted(file for package in _CODE for file in (root / package).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()

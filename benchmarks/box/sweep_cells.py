"""The configurations of the MinIO sweep: their workloads, and the results of their windows."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from traces.errors import InputError
from traces.operations import OPS
from traces.run import Run
from traces.spec.spec_file import validated
from traces.statistics.summary import summarise
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys
from traces.workload.workload import Workload

MIXES = {"GET": {"GET": 1.0}, "PUT": {"PUT": 1.0}, "mix": {"GET": 0.7, "PUT": 0.3}}
CLIENTS = (1, 2, 4, 8, 16, 32)
OBJECTS = {"4KiB": 256, "32KiB": 256, "64KiB": 256, "256KiB": 128, "1MiB": 64, "8MiB": 16, "16MiB": 8, "64MiB": 4}
"""The sizes, and how many objects are there to be read: few, because they are written before every window."""

PART_SIZES = {"64MiB": ("8MiB", "16MiB")}
"""Sizes that are also uploaded in parts, 4 in parallel, and those of the parts: defaults of aws-cli and minio-go."""

SIZES = ("4KiB", "32KiB", "256KiB", "1MiB", "8MiB")
"""Those of the usual matrix."""

OPEN_SIZES = ("4KiB", "1MiB")
OPEN_LOADS = (0.3, 0.6, 0.8)
REFERENCE_CLIENTS = 16
"""The capacity is the throughput with this number of closed-loop clients; open loads are fractions of it."""

PUT_KEYS = 2_000
"""Number of new objects written before keys are repeated."""

_CYCLE = 10_000  # rows of a closed loop; they are taken again until the window is over


@dataclass(frozen=True)
class Cell:
    """One load: closed-loop clients, or an open loop at a fraction of the capacity.

    Attributes:
        part: size of the parts that objects are uploaded in, also those that GETs read; empty: one request.
    """

    workload: str
    size: str
    clients: int = 0
    load: float = 0.0
    part: str = ""

    @property
    def name(self) -> str:
        """What its folder is called."""
        pace = f"c{self.clients}" if self.clients else f"open{100 * self.load:.0f}"
        return f"{self.workload}-{self.size}-{pace}" + f"-parts-{self.part}" * bool(self.part)

    @property
    def order(self) -> tuple[bool, int, int, int, int, float]:
        """Its place in the table."""
        place = list(MIXES).index(self.workload), list(OBJECTS).index(self.size)
        part = PART_SIZES[self.size].index(self.part) + 1 if self.part else 0
        return not self.clients, *place, self.clients, part, self.load

    @property
    def reference(self) -> Cell | None:
        """The cell that measures the capacity of which an open load is a share."""
        return None if self.clients else Cell(self.workload, self.size, REFERENCE_CLIENTS)

    def trace(self, seconds: float, seed: int, capacity_ops: float | None, requests: int | None = None) -> Trace:
        """The requests of a window. GETs read objects that are there before; every PUT writes an object of its own.

        So no read waits for the lock of an object that is being written, which on few objects it often would.

        Args:
            capacity_ops: operations a second; needed for an open load.
            requests: the greatest number of them; None: no limit.
        """
        requested: dict[str, Any] = {"duration": seconds, "object_size": self.size, "mix": MIXES[self.workload]}
        requested |= {"keys": UniformKeys(count=OBJECTS[self.size])}
        closed = {"clients": self.clients, "operations": requests or _CYCLE}
        pace = closed if capacity_ops is None else {"rate": self.load * capacity_ops}
        if requests is not None:
            pace["operations"] = requests
        trace = generate(validated(Workload, requested | pace, self.name), seed)
        names = trace.table.column("key").to_pylist()
        for n, row in enumerate(np.flatnonzero(trace.op == OPS.index("PUT")).tolist()):
            names[row] = f"written-{n % PUT_KEYS:04d}"
        at = trace.table.column_names.index("key")
        table = trace.table.set_column(at, "key", pa.array(names).dictionary_encode())
        return Trace.of(
            table, replace(trace.pacing, repeat=trace.pacing.loop == "closed" and requests is None), self.name
        )


def all_cells(sizes: Sequence[str] = SIZES, clients: Sequence[int] = CLIENTS) -> list[Cell]:
    """The whole matrix, then the open loads."""
    closed = [Cell(w, s, clients=c) for w in MIXES for s in sizes for c in clients]
    pure = [cell for cell in closed if cell.workload in ("GET", "PUT")]
    closed += [replace(cell, part=part) for cell in pure for part in PART_SIZES.get(cell.size, ())]
    return closed + [Cell(w, s, load=load) for w in MIXES for s in OPEN_SIZES for load in OPEN_LOADS]


@dataclass(frozen=True)
class Window:
    """One measurement of a cell.

    Attributes:
        folder: that of its Run, or where it will be.
        facts: what it was measured by, as in the Run's info under ``sweep``.
    """

    cell: Cell
    repeat: int
    folder: Path
    facts: dict[str, Any]

    @property
    def finished(self) -> bool:
        """Whether its Run is there.

        Raises:
            InputError: a Run is there that was measured by other options.
        """
        path = self.folder / "run.json"
        if not path.is_file():
            return False
        found = json.loads(path.read_text()).get("sweep", {})
        for name, value in self.facts.items():
            if found.get(name) != value:
                was = f"{name} is {found.get(name)!r}, not {value!r}"
                raise InputError(f"{path}: {was}; give --again to measure anew, or another --out")
        return True


def capacity_ops(run: Run) -> float:
    """Successful requests of all operations a second."""
    return float((~run.failed).sum()) / run.duration_s


def summary(windows: Sequence[Window]) -> list[dict[str, Any]]:
    """The figures of the finished windows by cell and operation: medians, and spreads (greatest / least - 1).

    Returns:
        ``{"cell", "op", "windows", "errors", "throughput_ops", "p50_s", "p99_s"}``; the last three are
        ``{"median", "spread"}``.
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for window in sorted(windows, key=lambda window: window.cell.order):
        if window.finished:
            for op, figures in summarise(Run.read(window.folder))["ops"].items():
                found.setdefault((window.cell.name, op), []).append(figures)
    return [
        {"cell": cell, "op": op, "windows": len(each), "errors": sum(f["errors"] for f in each)}
        | {"throughput_ops": _band([f["throughput_ops"] for f in each])}
        | {f"{q}_s": _band([f["latency_s"][q] for f in each]) for q in ("p50", "p99")}
        for (cell, op), each in found.items()
    ]


def _band(values: list[float]) -> dict[str, float]:
    least = min(values)
    return {"median": statistics.median(values), "spread": max(values) / least - 1 if least > 0 else float("nan")}

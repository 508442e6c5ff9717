"""Accesses of drives that each operation of a store makes, as a box logs them, next to those of the store's model.

Requests follow one another so slowly that also what a store does after its response is over before the next one.
Medians leave out what reaches the drives now and then without requests, such as a log that is flushed each minute.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.store import compile_spec, spec_of
from sim.engine.compiled import engine
from sim.engine.outcome import Program
from traces.errors import InputError
from traces.operations import Op, ops_that
from traces.run import Run
from traces.spec.spec_file import replaced
from traces.spec.suggestions import no_such_file
from traces.tables import atomic_file
from traces.trace import TRACE_SCHEMA, Pacing, Trace
from validate.campaign.comparison import Entry

KINDS = ("read", "write", "fsync")
"""Accesses that take the time of a drive; others of a box take none."""

_DRIVES = ("drive", "kv sync")  # roles of stations; the second is of Ceph's commits


@dataclass(frozen=True)
class Step:
    """Requests of the same kind, one after the other.

    Attributes:
        every_s: time from one to the next one.
        like: load of the comparison whose values of the spec it has.
    """

    op: Op
    size_bytes: int
    requests: int
    every_s: float
    like: str


_SMALL, _LARGE = 4096, 6 << 20
_OF_SMALL: tuple[Op, ...] = ("GET", "HEAD", "LIST", "DELETE")
_OF_LARGE: tuple[Op, ...] = ("GET", "DELETE")
STEPS = (
    Step("PUT", _SMALL, 3, 3.0, "put-4KiB-c1"),  # makes what first requests need; it is not counted
    Step("PUT", _SMALL, 6, 2.0, "put-4KiB-c1"),
    *(Step(op, _SMALL, 6, 2.0, "get-4KiB-c1") for op in _OF_SMALL),
    Step("PUT", _LARGE, 3, 9.0, "put-1MiB-c1"),
    *(Step(op, _LARGE, 3, 5.0, "get-1MiB-c1") for op in _OF_LARGE),
)
"""Operations on objects below and above the sizes at which stores divide them."""

COUNTED = range(1, len(STEPS))


@dataclass(frozen=True)
class OperationAccesses:
    """Accesses of an operation, medians of its requests, on all drives together.

    Attributes:
        reads, writes, fsyncs: measured, from its start to that of the next request.
        drive_s: time that they took of the drives.
        predicted_drive_s: the same by the model.
    """

    entry: str
    op: str
    size_bytes: int
    requests: int
    reads: float
    writes: float
    fsyncs: float
    drive_s: float
    predicted_drive_s: float


def trace_of_steps() -> Trace:
    """Return the requests of all steps, an open loop; objects of PUTs are new, the others are there before."""
    rows: list[tuple[Any, ...]] = []
    at_s = 0.0
    for number, step in enumerate(STEPS):
        for i in range(step.requests):
            name = f"{step.size_bytes}-{i}"
            if step.op in ops_that("creates"):
                name = f"{number}-new-{i}"
            elif step.op not in ops_that("names_object"):
                name = f"{step.size_bytes}-"  # a prefix
            rows.append((at_s, 0.0, 0, step.op, "accesses", name, step.size_bytes))
            at_s += step.every_s
    names = ("arrival_s", "think_s", "phase", "op", "bucket", "key", "size_bytes")
    given = dict(zip(names, zip(*rows, strict=True), strict=True))
    arrays = [
        pa.array(given[field.name]).cast(field.type) if field.name in given else pa.nulls(len(rows), field.type)
        for field in TRACE_SCHEMA
    ]
    return Trace.of(pa.Table.from_arrays(arrays, schema=TRACE_SCHEMA), Pacing())


def accesses_of(entry: Entry, run: Run) -> list[OperationAccesses]:
    """Return the accesses of each operation in a Run of `trace_of_steps`, and those of the model.

    Raises:
        InputError: the Run has no accesses of drives, or a request failed.
    """
    if run.drive_accesses is None:
        raise InputError(f"{entry.name}: the Run has no accesses of drives")
    if run.failed.any():
        raise InputError(f"{entry.name}: {int(run.failed.sum())} of {len(run)} requests failed")
    log = run.drive_accesses
    kinds, served_s = np.array(log.column("kind").to_pylist()), log.column("served_s").to_numpy()
    request = np.searchsorted(run.column("start_s"), log.column("arrival_s").to_numpy(), side="right") - 1

    def of_requests(kinds_of: Sequence[str], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of a value of the accesses of some kinds, by request."""
        chosen = np.isin(kinds, kinds_of) & (request >= 0)
        return np.bincount(request[chosen], values[chosen], len(run)).astype(np.float64)

    made = [of_requests([kind], np.ones(len(kinds))) for kind in KINDS] + [of_requests(KINDS, served_s)]
    found, first = [], 0
    for number, step in enumerate(STEPS):
        rows = slice(first, first + step.requests)
        first += step.requests
        if number in COUNTED:
            reads, writes, fsyncs, drive_s = (float(np.median(each[rows])) for each in made)
            found.append(OperationAccesses(
                entry.name, step.op, step.size_bytes, step.requests, reads, writes, fsyncs, drive_s,
                predicted_drive_s(entry, number),
            ))  # fmt: skip
    return found


def predicted_drive_s(entry: Entry, number: int) -> float:
    """Return the time of drives that the model takes for a request of a step, one after another."""
    step, cell = STEPS[number], entry.cells[STEPS[number].like]
    trace = trace_of_steps()
    first = sum(each.requests for each in STEPS[:number])
    table = trace.table.slice(first, step.requests)
    alone = Trace.of(table, trace.pacing)
    data = dict(entry.campaign.spec) | {"workload": {**cell.workload, "mix": {step.op: 1}}}
    values = {**entry.campaign.file.set, **cell.load.set}
    spec = spec_of(replaced(data, values), f"{entry.campaign.spec_path} for {step.op}")
    network, requests = compile_spec(spec, alone)
    outcome = engine.run(Program.of(network, requests, 1))
    busy_s = [s for station, s in zip(network.stations, outcome.busy_s, strict=True) if station.role in _DRIVES]
    return float(sum(busy_s)) / step.requests


def write_accesses(rows: Sequence[OperationAccesses], path: Path) -> None:
    """Write rows as CSV, times with five digits; `read_accesses` reads them."""
    with atomic_file(path) as temporary, temporary.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(OperationAccesses)])
        table.writerows(
            [f"{value:.5g}" if isinstance(value, float) else value for value in vars(row).values()] for row in rows
        )


def read_accesses(path: Path) -> list[OperationAccesses]:
    """Read rows that `write_accesses` wrote.

    Raises:
        InputError: there is no such file, or a line is wrong.
    """
    if not path.is_file():
        raise InputError(no_such_file(path))
    read = {"str": str, "int": int, "float": float}
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = []
    for number, row in enumerate(rows, start=2):
        try:
            values = [read[str(field.type)](row[field.name]) for field in fields(OperationAccesses)]
            found.append(OperationAccesses(*values))
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"{path}: line {number}: {error} is missing or wrong") from error
    return found

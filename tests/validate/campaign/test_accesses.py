"""Accesses of drives for each operation: those of the models are those that boxes have logged."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cli.tables.measured.stores import accesses_grid
from tests.paths import EXAMPLES, ROOT
from tests.runs import run_of
from traces.errors import InputError
from traces.run import DRIVE_ACCESS_SCHEMA, Run
from validate.campaign.accesses import (
    COUNTED,
    STEPS,
    OperationAccesses,
    accesses_of,
    predicted_drive_s,
    read_accesses,
    trace_of_steps,
    write_accesses,
)
from validate.campaign.comparison import Entry, read_comparison

RECORDED = ROOT / "benchmarks" / "box" / "accesses.csv"
OFF = {
    ("minio", "LIST"): "the model reads a few names more than the prefix has",
    ("ceph", "DELETE"): "of several RADOS objects: entries of the garbage collector",
}
"""Operations of whose accesses the models lack some, or have some more, of one size."""


@cache
def entries() -> dict[str, Entry]:
    return dict(read_comparison(EXAMPLES / "campaigns" / "comparison" / "stores.yaml").entries)


def recorded(entry: str) -> list[OperationAccesses]:
    return [row for row in read_accesses(RECORDED) if row.entry == entry]


@pytest.mark.parametrize("entry", ["minio", "ceph", "swift", "seaweedfs", "versitygw", "garage"])
def test_models_make_the_accesses_that_the_box_has_logged(entry: str) -> None:
    rows = recorded(entry)
    assert [(row.op, row.size_bytes) for row in rows] == [(STEPS[n].op, STEPS[n].size_bytes) for n in COUNTED]
    off = []
    for row, number in zip(rows, COUNTED, strict=True):
        predicted_s = predicted_drive_s(entries()[entry], number)
        assert predicted_s == pytest.approx(row.predicted_drive_s, rel=1e-3), "as recorded"
        if predicted_s != pytest.approx(row.drive_s, rel=2e-3, abs=1e-4):
            off.append((entry, row.op))
    assert off == [each for each in OFF if each[0] == entry]


def measured(*accesses: tuple[str, float, float], failed: bool = False) -> Run:
    """A Run of all steps with accesses of a kind, by arrival and service time."""
    trace = trace_of_steps()
    ops, errors = trace.table.column("op").to_pylist(), ["SlowDown" if failed else None] * len(trace)
    run = run_of(
        np.full(len(trace), 0.1), op=ops, key=trace.table.column("key").to_pylist(), error=errors,
        size_bytes=trace.size_bytes.tolist(), arrival_s=trace.arrival_s,
    )  # fmt: skip
    rows = [
        {field.name: 0 for field in DRIVE_ACCESS_SCHEMA}
        | {"kind": kind, "file": "f", "arrival_s": at_s, "served_s": for_s, "end_s": at_s, "request": None}
        for kind, at_s, for_s in accesses
    ]  # fmt: skip
    return replace(run, drive_accesses=pa.Table.from_pylist(rows, schema=DRIVE_ACCESS_SCHEMA))


def test_accesses_are_those_until_the_next_request() -> None:
    first, puts = STEPS[0].requests * STEPS[0].every_s, STEPS[1]
    each = [first + puts.every_s * n for n in range(puts.requests)]
    log = [("write", at_s + 0.01, 0.016) for at_s in each] + [("fsync", at_s + 1.9, 0.032) for at_s in each]
    log += [("write", each[0] + 0.5, 9.0), ("open", each[1], 0.0), ("read", 0.5, 1.0)]
    found = accesses_of(entries()["versitygw"], measured(*sorted(log, key=lambda access: access[1])))
    put = found[0]
    assert (put.op, put.reads, put.writes, put.fsyncs) == ("PUT", 0, 1, 1), "a log that is flushed once is left out"
    assert put.drive_s == pytest.approx(0.048) and put.predicted_drive_s == pytest.approx(0.032)
    assert all((row.reads, row.writes, row.drive_s) == (0, 0, 0) for row in found[1:])
    assert accesses_grid(found).rows[0][:3] == ["versitygw", "PUT", "4"]


def test_runs_without_accesses_or_with_errors_are_refused() -> None:
    with pytest.raises(InputError, match="versitygw: the Run has no accesses"):
        accesses_of(entries()["versitygw"], replace(measured(), drive_accesses=None))
    with pytest.raises(InputError, match="42 of 42 requests failed"):
        accesses_of(entries()["versitygw"], measured(failed=True))


def test_rows_are_the_same_in_a_file(tmp_path: Path) -> None:
    row = OperationAccesses("a", "PUT", 4096, 6, 0.0, 6.0, 3.0, 0.144, 0.15)
    write_accesses([row], tmp_path / "rows.csv")
    assert read_accesses(tmp_path / "rows.csv") == [row]
    (tmp_path / "rows.csv").write_text("entry\na\n")
    with pytest.raises(InputError, match="line 2: 'op' is missing"):
        read_accesses(tmp_path / "rows.csv")
    with pytest.raises(InputError, match="no such file"):
        read_accesses(tmp_path / "none.csv")

"""The requests of each operation against those counted live, with s3fs 1.90 and 1.97 (2026)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from models.below.issued import issued_trace
from models.s3fs.compile import issues, series_of
from tests.models.s3fs.common import Row, mounted, text_of, trace_of

ROWS = list(csv.DictReader((Path(__file__).parent / "request_counts.csv").open()))
"""`before`: operations before the one that is counted, on the same file, which make its name known or open it. A name
that is absent is looked up by a MKDIR, which then writes an object of its own."""


def rows_of(row: dict[str, str]) -> list[Row]:
    key = "new" if row["op"] in ("PUT", "MKDIR") or row["before"].startswith("PUT") else "old"
    start, length = (int(row[name]) if row[name] else None for name in ("range_start_bytes", "range_bytes"))
    size = int(row["size_bytes"])
    return [*((op, key, size, None, None) for op in row["before"].split()), (row["op"], key, size, start, length)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['release']} {row['operation']}")
def test_requests_are_those_counted(row):
    spec = mounted(f"release={row['release']}", "directory_entries=25")
    trace = trace_of(rows_of(row))
    series, index = series_of(spec, trace)
    found = text_of(series[index[-1]][1], int(trace.transfer_bytes[-1]))
    assert found == row["requests"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['release']} {row['operation']}")
def test_the_store_below_gets_as_many_and_as_many_bytes(row):
    spec = mounted(f"release={row['release']}", "directory_entries=25")
    rows = rows_of(row)
    before, after = ([], 0) if len(rows) == 1 else issued_rows(spec, rows[:-1])
    found, moved = issued_rows(spec, rows)
    expected = row["requests"].replace(" + ", "; ").split("; ") if row["requests"] else []
    counts = [int(first) if (first := each.split()[0]).isdigit() else 1 for each in expected]
    assert len(found) - len(before) == sum(counts)
    assert moved - after == int(row["bytes_moved"])


def issued_rows(spec, rows):
    trace = trace_of([*rows, ("LIST", "end", 0, None, None)])  # something is issued in any case
    found = issued_trace(trace, issues(spec, trace)).trace
    return found.op.tolist()[: len(found) - 26], int(found.transfer_bytes.sum())

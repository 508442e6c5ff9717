"""Rows of a log as its reader gives them, for tests of readers."""

import pyarrow as pa

from traces.logs.import_report import ImportReport
from traces.operations import OPS, S3
from traces.readers.records import RECORDS
from traces.readers.source import Source

NO_OBJECT = "not an operation on an object or a listing"


def read(format, path, strict=False):
    report = ImportReport(strict=strict)
    batches = list(format.read(Source(path), report))
    assert report.balanced
    rows = pa.Table.from_batches(batches, RECORDS).to_pylist()
    assert len(rows) == report.kept
    for row in rows:
        row["op"] = OPS[row["op"]]
    return rows, report


def of(tmp_path, format, text):
    path = tmp_path / "log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(format, path)


def counts(rows):
    return {op: sum(row["op"] == op for row in rows) for op in S3}


def one(rows, **wanted):
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found

"""The recorded anatomies agree with counts that were taken elsewhere (JuiceFS 1.4.2, s3fs 1.90 and 1.97)."""

from __future__ import annotations

import csv
from dataclasses import fields

import pytest

from tests.paths import ROOT
from validate.lab.file_systems.anatomy import FileOperationAnatomy

RECORDED = ROOT / "examples" / "recorded-file-systems"
TABLES = {path.stem: list(csv.DictReader(path.open())) for path in sorted(RECORDED.glob("*.csv"))}
IN_BLOCK = "read 4 KiB, cold, offset in block > 0"

COUNTS = [
    # table, operation, requests before it returned, rounds, requests afterwards, bytes sent and received
    ("juicefs", "create + write 4 KiB + close, attributes expired", "1 PUT", 11, "", 4096),
    ("juicefs", "stat, attributes expired", "", 2, "", 0),
    ("juicefs", "open, attributes expired", "", 3, "", 0),
    ("juicefs", "rename, attributes expired", "", 10, "", 0),
    ("juicefs", "unlink, attributes expired", "", 8, "1 DELETE", 0),
    ("juicefs", "mkdir, attributes expired", "", 7, "", 0),
    ("juicefs", "append 4 KiB + fsync, opened before", "1 PUT", 4, "", 4096),
    ("juicefs", IN_BLOCK, "1 GET range", 2, "1 GET", 4198400),
    ("juicefs", "read 4 KiB, cold, start of a block", "1 GET", 1, "", 4194304),
    ("juicefs-prefetch-0", IN_BLOCK, "1 GET range", 2, "", 4096),
    ("juicefs-cache-0", IN_BLOCK, "1 GET range", 2, "", 4096),
    ("juicefs-cache-partial-only", IN_BLOCK, "1 GET range", 2, "1 GET", 4198400),
    ("juicefs-gateway", "PUT 4 KiB, new key, attributes expired", "1 PUT", 28, "", 4096),
    ("juicefs-gateway", "PUT 4 KiB over a key, attributes expired", "1 PUT", 28, "1 DELETE", 4096),
    ("juicefs-gateway", "HEAD, attributes expired", "", 1, "", 0),
    ("juicefs-gateway", "GET 4 KiB, block in the disk cache", "", 3, "", 0),
    ("juicefs-gateway", "DELETE, attributes expired", "", 9, "1 DELETE", 0),
    ("s3fs", "lookup of an absent name", "3 HEAD, 1 LIST", 0, "", 0),
    ("s3fs", "create + write 4 KiB + close, attributes expired", "6 HEAD, 2 LIST, 1 PUT", 0, "", 4096),
    ("s3fs", "stat, attributes expired", "1 HEAD", 0, "", 0),
    ("s3fs", "read 4 KiB file, opened before", "1 GET range", 0, "", 4096),
    ("s3fs", "chmod, attributes expired", "2 HEAD, 1 PUT copy", 0, "", 0),
    ("s3fs", "overwrite 4 KiB in 100 MiB + fsync, opened before",
     "1 GET range, 1 POST upload, 2 PUT part copy, 1 PUT part, 1 POST completion", 0, "", 5238784 + 5242880),
    ("s3fs", "read 4 KiB in 512 MiB, cold, opened before", "5 GET range", 0, "", 5 * 10485760),
    ("s3fs-1.97", "lookup of an absent name", "2 HEAD, 1 LIST", 0, "", 0),
    ("s3fs-1.97", "create + write 4 KiB + close, attributes expired", "2 HEAD, 1 LIST, 1 PUT", 0, "", 4096),
    ("s3fs-1.97", "stat, attributes expired", "", 0, "", 0),
    ("s3fs-1.97", "open, attributes expired", "1 HEAD", 0, "", 0),
    ("s3fs-1.97", "read 4 KiB file, opened before", "1 GET range", 0, "", 4096),
    ("s3fs-1.97", "chmod, attributes expired", "1 HEAD, 1 PUT copy", 0, "", 0),
    ("s3fs-1.97", "rename, attributes expired", "3 HEAD, 2 LIST, 1 PUT copy, 1 DELETE", 0, "", 0),
    ("s3fs-1.97", "overwrite 4 KiB in 100 MiB + fsync, opened before",
     "1 GET range, 1 POST upload, 2 PUT part copy, 1 PUT part, 1 POST completion", 0, "", 5238784 + 5242880),
    ("s3fs-1.97", "read 4 KiB in 512 MiB, cold, opened before", "10 GET range", 0, "", 10 * 10485760),
]  # fmt: skip


def row(table: str, operation: str) -> dict[str, str]:
    (found,) = [r for r in TABLES[table] if ", ".join(filter(None, [r["operation"], r["condition"]])) == operation]
    return found


@pytest.mark.parametrize(("table", "operation", "requests", "rounds", "later", "moved"), COUNTS)
def test_counts(table: str, operation: str, requests: str, rounds: int, later: str, moved: int) -> None:
    found = row(table, operation)
    # A repetition of a cold read may find where the data are in memory, so that it needs no LRANGE.
    counted = found["most_rounds" if operation == IN_BLOCK else "rounds"]
    assert (found["requests"], int(counted), found["later_requests"]) == (requests, rounds, later)
    assert int(found["sent_bytes"]) + int(found["received_bytes"]) == moved


def test_requests_at_once() -> None:
    large = row("juicefs", "write 512 MiB + fsync + close")
    assert (large["requests"], large["at_once"], large["sent_bytes"]) == ("128 PUT", "20", str(512 << 20))
    assert 36 <= int(large["rounds"]) <= 55
    sequential = row("juicefs", "sequential read 256 MiB, cold, opened before")
    assert sequential["requests"].endswith("70 GET") and 8 <= int(sequential["at_once"]) <= 11
    parts = row("s3fs", "write 100 MiB + close")
    assert "9 PUT part" in parts["requests"] and parts["at_once"] == "5", "8 of 10 MiB, and a last one of 20"
    for condition in ("own files", "files of another client"):
        for table, most in (("s3fs", 20), ("s3fs-1.97", 10)):
            listed = row(table, f"readdir of 25 files, {condition}")
            assert listed["requests"] == "1 LIST, 25 HEAD" and int(listed["at_once"]) == most
    newer = row("s3fs-1.97", "write 512 MiB + fsync + close")
    assert "51 PUT part" in newer["requests"] and newer["at_once"] == "10"
    assert int(newer["connections"]) == 3 + 1 + 1 + 51 + 1, "each request has a new connection"


def test_tables_have_the_columns_of_today() -> None:
    assert len(TABLES) == 7
    for rows in TABLES.values():
        assert list(rows[0]) == [field.name for field in fields(FileOperationAnatomy)]

"""The readers of what benchmark tools write: warp, s3dlio, elbencho."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.profiles import examples
from tests.traces.readers.test_minio import SAMPLES, read, read_text
from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.logs.importing import import_logs
from traces.readers.records import RECORDS
from traces.readers.source import Source
from traces.readers.tools import elbencho, s3dlio, warp

OLD = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\tduration_ns"
START, END = "2026-11-21T10:00:00.5Z", "2026-11-21T10:00:00.750000001Z"


def row(op: str, size: int = 4096, file: str = "a/b.rnd", error: str = "", first: str = "", objects: int = 1) -> str:
    return (
        f"0\t3\t{op}\tCl1\t{objects}\t{size}\thttp://10.0.0.1:9000\t{file}\t{error}\t{START}\t{first}\t{END}\t250000001"
    )


def test_warp_sample() -> None:
    rows, report = read(warp.FORMAT, SAMPLES / "warp.csv.zst")
    assert report.rows == report.kept == 401
    assert Counter(r["op"] for r in rows) == Counter(GET=328, PUT=46, HEAD=15, DELETE=7, LIST=5)
    assert len({r["client"] for r in rows}) <= 16 and rows[0]["client"] == "xBqA/0"
    assert all(0 < r["first_byte_ns"] <= r["latency_ns"] for r in rows if r["op"] == "GET")
    assert all(r["first_byte_ns"] is None for r in rows if r["op"] != "GET")
    assert {r["size_bytes"] for r in rows if r["op"] in ("HEAD", "DELETE")} == {None}


def test_warp_of_other_versions(tmp_path: Path) -> None:
    lines = [
        OLD,
        row("GET", first="2026-11-21T10:00:00.6Z"),
        row("PUT", error='"Put ""http://h/b/k?X-Amz-Signature=abc"": dial tcp"'),
        row("STAT", 0),
        row("LIST", 0, "pre/", objects=7),
        row("DELETE", 0, "", objects=100),
        row("DELETE", 0, "", objects=1),
        row("GET", 5, ""),
        row("SELECT"),
        "",
        "# warp get --access-key=*REDACTED*",
        OLD,  # a second file put behind the first
        row("PUTPART", 5 << 20),
    ]
    rows, report = read_text(warp.FORMAT, tmp_path, "\r\n".join(lines))
    assert [r["op"] for r in rows] == ["GET", "PUT", "HEAD", "LIST", "DELETE", "PUT"]
    assert report.left_out == Counter({"names no object": 2, "not an operation on an object or a listing": 1})
    get, put, head, listing, batch, part = rows
    assert (batch["key"], batch["transfer_bytes"], batch["error"]) == ("100 objects", 0, None)
    assert (get["time_ns"] % 10**10, get["latency_ns"], get["first_byte_ns"]) == (500_000_000, 250_000_001, 10**8)
    assert put["error"] == 'Put "http://h/b/k": dial tcp'
    assert (head["size_bytes"], listing["size_bytes"], listing["key"]) == (None, 0, "pre/")
    assert (part["size_bytes"], part["transfer_bytes"], part["client"]) == (5 << 20, 5 << 20, "Cl1/3")


def test_warp_by_header(tmp_path: Path) -> None:
    text = f"end\tnew\tfile\top\tstart\tthread\n{END}\t?\tk\tGET\t{START}\t9\n{END}\t?\tk\tGET\t{END}\n{END}\t?\tk\n"
    rows, report = read_text(warp.FORMAT, tmp_path, text)
    assert [(r["key"], r["client"], r["latency_ns"]) for r in rows] == [("k", "9", 250000001), ("k", None, 0)]
    assert report.where == [f"{tmp_path / 'log'}: line 4: has too few fields; 5 are needed"]
    (tmp_path / "log").write_text("op\tstart\n")
    with pytest.raises(InputError, match="'end'"):
        list(warp.FORMAT.read(Source(tmp_path / "log"), ImportReport()))


def test_damaged_warp_rows(tmp_path: Path) -> None:
    bad = {
        row("GET").replace(START, "today"): "start cannot be read",
        row("GET").replace(START, ""): "has no start",
        row("GET").replace(START, "2026-11-21T11:00:00Z"): "ends before it starts",
        row("GET").replace("4096", "4 KiB"): "bytes cannot be read",
        row("GET", error='"half'): "has a quotation mark without its other half",
    }
    rows, report = read_text(warp.FORMAT, tmp_path, "\n".join([OLD, *bad, row("GET")]))
    assert len(rows) == 1
    assert report.where == [f"{tmp_path / 'log'}: line {i + 2}: {why}" for i, why in enumerate(bad.values())]


def test_s3dlio_sample() -> None:
    rows, report = read(s3dlio.FORMAT, SAMPLES / "s3dlio.tsv.zst")
    assert (report.rows, report.kept) == (124, 124)
    assert rows[0] | {"time_ns": 0} == {
        "time_ns": 0, "latency_ns": 3473053, "first_byte_ns": None, "op": "PUT", "bucket": "s3dl",
        "key": "data/0027.bin", "size_bytes": 6891, "transfer_bytes": 6891, "range_start_bytes": None,
        "range_bytes": None, "client": "18147521187885925800", "status": None, "error": None, "phase": None,
        "request_id": None, "target": None, "handle": None,
    }  # fmt: skip
    failed = next(r for r in rows if r["error"])
    assert (failed["size_bytes"], failed["transfer_bytes"]) == (None, 0) and "NoSuchKey" in failed["error"]
    ranged = [r for r in rows if r["range_bytes"] is not None]
    assert {(r["range_start_bytes"], r["range_bytes"], r["size_bytes"]) for r in ranged} == {(0, 50, None)}
    assert [(r["bucket"], r["key"]) for r in rows if r["op"] == "LIST"] == [("s3dl", "data/"), ("s3dl", "")]
    assert [(r["bucket"], r["key"]) for r in rows[-2:]] == [(None, "/mnt/data/a.bin")] * 2


def event(finished: bool, ms: int, op: str = "S3GetObject", worker: int = 0, offset: int = 0, **changes: object) -> str:
    return json.dumps({
        "date": f"2026-11-21T10:00:00.{ms:03d}+0100", "worker_rank": worker, "op_name": op, "entry_name": "b/k/x",
        "offset": offset, "length": 4096, "is_finished": finished, "is_error": False,
    } | changes)  # fmt: skip


def test_elbencho_sample() -> None:
    rows, report = read(elbencho.FORMAT, SAMPLES / "elbencho-ops.json")
    assert (report.rows, report.kept, report.joined) == (269, 133, 133)
    assert report.left_out == Counter({
        "not an operation on an object or a listing": 2, "a start without its finish": 1,
    })  # fmt: skip
    parts = [r for r in rows if r["key"] == "large"]
    assert [(r["op"], r["size_bytes"]) for r in parts] == [("PUT", 1 << 20)] * 3
    assert {round(r["latency_ns"] / 10**6) for r in parts} == {500, 501, 502}


def test_elbencho_pairs(tmp_path: Path) -> None:
    lines = [
        event(True, 1),  # its start was cut off
        event(False, 10), event(False, 11, worker=1), event(False, 12, offset=4096),
        event(True, 20, worker=1, is_error=True), event(True, 30, offset=4096), event(True, 40),
        event(False, 50), event(False, 51), event(True, 60), event(True, 62),  # at a time: first in, first out
        event(False, 70, "S3ListObjectsV2", entry_name="b/pre/", length=1000),
        event(True, 71, "S3ListObjectsV2", entry_name="b/pre/", length=3),
        event(False, 80, "S3DeleteObject"), event(True, 79, "S3DeleteObject"),
        event(False, 90, "pread", entry_name="17"), event(True, 91, "pread", entry_name="17"),
        '{ "date": "2026-11-21T10:00:00.1+0100", "worker_rank": 0, "op_name": "S3GetObject" }',
        event(False, 99, "S3HeadObject"),
    ]  # fmt: skip
    rows, report = read_text(elbencho.FORMAT, tmp_path, "\n".join(lines))
    assert [(r["op"], r["client"], r["latency_ns"] // 10**6, r["range_start_bytes"], r["error"]) for r in rows] == [
        ("GET", "1", 9, 0, "error"), ("GET", "0", 18, 4096, None), ("GET", "0", 30, 0, None), ("GET", "0", 10, 0, None),
        ("GET", "0", 11, 0, None), ("LIST", "0", 1, None, None),
    ]  # fmt: skip
    assert (rows[-1]["bucket"], rows[-1]["key"], rows[-1]["size_bytes"]) == ("b", "pre/", 0)
    assert rows[2]["time_ns"] % 3600_000_000_000 == 10_000_000 and rows[2]["key"] == "k/x"
    assert report.left_out == Counter({
        "a finish without its start": 1,
        "a start without its finish": 1,
        "not an operation on an object or a listing": 2,
    })  # fmt: skip
    assert (report.joined, report.unreadable.total()) == (7, 2)


def test_elbencho_pairs_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("traces.readers.source.BLOCK_BYTES", 256)
    monkeypatch.setattr("traces.readers.source._STEP", 128)
    starts = [event(False, i, worker=i) for i in range(100)]
    rows, report = read_text(
        elbencho.FORMAT, tmp_path, "\n".join(starts + [event(True, 500, worker=i) for i in range(100)])
    )
    assert [r["latency_ns"] // 10**6 for r in rows] == [500 - i for i in range(100)]
    assert (report.kept, report.joined, report.left_out.total()) == (100, 100, 0)


def read_parts(folder: Path, *parts: list[str]) -> tuple[list[dict], ImportReport]:
    """A log in several files, read as an import does."""
    report, batches = ImportReport(), []
    for i, part in enumerate(parts):
        (folder / f"{i}").write_text("".join(f"{line}\n" for line in part))
        batches += elbencho.FORMAT.read(Source(folder / f"{i}"), report)
        assert report.balanced
    batches += elbencho.FORMAT.read_across(report)
    assert report.balanced
    rows = pa.Table.from_batches(batches, RECORDS).to_pylist()
    assert len(rows) == report.kept
    return rows, report


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_elbencho_pairs_over_files_in_any_order(tmp_path: Path, data: st.DataObject) -> None:
    lines = (SAMPLES / "elbencho-ops.json").read_text().splitlines()
    whole, report = read_parts(tmp_path, lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=6)))
    parts = [lines[start:end] for start, end in pairwise([0, *cuts, len(lines)])]
    rows, parted = read_parts(tmp_path, *data.draw(st.permutations(parts)))
    assert sorted(rows, key=str) == sorted(whole, key=str)
    assert parted.figures() == report.figures()


def test_elbencho_files_of_several_runs_do_not_mix(tmp_path: Path) -> None:
    broken_off = [event(False, 1), event(False, 2, worker=1)]
    other = [event(False, 101), event(True, 105), event(True, 107, worker=2)]
    rows, report = read_parts(tmp_path, broken_off, other)
    assert [(row["client"], row["latency_ns"] // 10**6) for row in rows] == [("0", 4)]
    assert report.left_out == Counter({"a start without its finish": 2, "a finish without its start": 1})
    assert read_parts(tmp_path, other, broken_off) == (rows, report)


def test_elbencho_keeps_a_limited_number_for_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elbencho, "_MOST_ALONE", 3)
    starts, ends = ([event(finished, 10 + 5 * finished, worker=i) for i in range(5)] for finished in (False, True))
    rows, report = read_parts(tmp_path, starts[:3], ends)
    assert (rows, report.left_out.total()) == ([], 8)
    rows, report = read_parts(tmp_path, starts[:1], ends[1:2], ends[:1])
    assert len(rows) == report.joined == 1 and sum(len(t) for ts in report.alone.values() for t in ts) == 3


def test_elbencho_files_are_imported_together(tmp_path: Path) -> None:
    first, second, third = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    first.write_text(event(False, 10) + "\n")
    second.write_text(event(True, 30) + "\n")
    third.write_text(event(False, 99, worker=7) + "\n" + event(True, 98, worker=7) + "\n")
    figures = import_logs([second, third, first], tmp_path / "t.parquet")
    assert (figures["rows"], figures["kept"], figures["joined"], figures["unreadable"]) == (4, 1, 2, 1)
    assert figures["left_out"] == {} and figures["requests"] == 1

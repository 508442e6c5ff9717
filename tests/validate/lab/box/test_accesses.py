"""Access logs of drives, and the requests that accesses were made for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.runs import run_of
from tests.validate.lab.box.recorded_run import LOGS, recorded_run
from traces.errors import InputError
from traces.run import DRIVE_ACCESS_SCHEMA, Run
from validate.lab.box.accesses import DriveLog, drive_accesses, read_access_log

HEADER = "kind\toffset\tbytes\tarrival_ns\tstart_ns\tend_ns\tservice_ns\tcontinued\terror\tpath\tto\n"
ZERO_NS = 1_700_000_000_000_000_000


def line(kind: str, at_ms: float, path: str, to: str = "", size: int = 0, offset: int = 0, rest: int = 0) -> str:
    """A line of a log: an access that waits for 1 ms and is served for 2 ms."""
    arrival_ns = ZERO_NS + round(at_ms * 1e6)
    times = f"{arrival_ns}\t{arrival_ns + 1_000_000}\t{arrival_ns + 3_000_000}\t2000000"
    return f"{kind}\t{offset}\t{size}\t{times}\t{rest}\t0\t{path}\t{to}\n"


def log_of(folder: Path, *lines: str) -> DriveLog:
    path = folder / "d.tsv"
    path.write_text(HEADER + "".join(lines))
    return DriveLog(1, 2, path)


def run_of_requests(*requests: tuple[str, str, float, float]) -> Run:
    """A Run of operations on keys from a start to an end in ms."""
    op, key, start_ms, end_ms = zip(*requests, strict=True)
    start_s = [start / 1e3 for start in start_ms]
    lasts_s = [(end - start) / 1e3 for start, end in zip(start_ms, end_ms, strict=True)]
    return run_of(lasts_s, info={"zero_at": ZERO_NS / 1e9}, arrival_s=start_s, op=list(op), key=list(key))


def made_for(log: DriveLog, run: Run) -> list[int | None]:
    requests: list[int | None] = drive_accesses([log], run).column("request").to_pylist()
    return requests


def counted(rows: Sequence[dict[str, Any]], request: int) -> Counter[tuple[str, str]]:
    return Counter((row["kind"], row["file"]) for row in rows if row["request"] == request)


def test_each_access_of_requests_one_after_another_has_its_request() -> None:
    run = recorded_run()
    table = drive_accesses(LOGS, run)
    assert table.schema == DRIVE_ACCESS_SCHEMA and table.column("request").null_count == 0
    rows = table.to_pylist()
    new, over, get, delete, put_large, get_large, listing = (counted(rows, i) for i in range(7))
    assert (
        new["write", "xl.meta"] == new["fsync", "xl.meta"] == new["rename", "xl.meta"] == 4
        and not new["read", "xl.meta"]
    )
    assert over["read", "xl.meta"] == 8 and over["write", "<id>/xl.meta.bkp"] == 4
    assert get == {("open", "xl.meta"): 4, ("read", "xl.meta"): 4}
    assert delete["read", "xl.meta"] == 12 and delete["setxattr", ".minio.sys/format.json"] == 4
    assert put_large["write", "<id>/part.#"] == 8 and put_large["mkdir", ".minio.sys/tmp/<id>"] == 4
    assert get_large["read", "<id>/part.#"] == 4 and get_large["read", "xl.meta"] == 4
    assert listing["readdir", "(bucket)"] == 4 and sum(listing.values()) == 20
    assert {row["drive"] for row in rows} == {0, 1, 2, 3}


def test_a_run_keeps_its_accesses(tmp_path: Path) -> None:
    run = recorded_run()
    run = Run.of(run.requests, run.info, drive_accesses=drive_accesses(LOGS, run))
    run.write(tmp_path / "run")
    assert Run.read(tmp_path / "run").drive_accesses == run.drive_accesses
    few = Run.of(run.requests.slice(0, 3), run.info)
    with pytest.raises(InputError, match="request"):
        Run.of(few.requests, few.info, drive_accesses=run.drive_accesses)


def test_times_are_those_of_the_run(tmp_path: Path) -> None:
    run = run_of_requests(("GET", "k", 100, 200))
    (row,) = drive_accesses([log_of(tmp_path, line("read", 120, "b/k/part.7", size=9, offset=4))], run).to_pylist()
    assert row == pytest.approx({
        "host": 1, "drive": 2, "kind": "read", "file": "part.#", "offset_bytes": 4, "size_bytes": 9,
        "arrival_s": 0.120, "queued_s": 0.001, "served_s": 0.002, "end_s": 0.123, "errno": 0, "request": 0,
    })  # fmt: skip


def test_an_object_s_request_is_known_among_others_and_one_of_two_is_never_guessed(tmp_path: Path) -> None:
    run = run_of_requests(
        ("GET", "a", 0, 100), ("GET", "b/c", 0, 100), ("GET", "twice", 0, 100), ("PUT", "twice", 50, 150)
    )
    log = log_of(
        tmp_path,
        line("read", 10, "b/a/x"),
        line("read", 11, "b/b/c/x"),
        line("read", 12, "b/b/other/x"),  # of an object that no one requests
        line("read", 13, "elsewhere/x"),  # of no object, while three requests are in progress
        line("read", 20, "b/twice/x"),  # when only the GET has begun
        line("read", 60, "b/twice/x"),
        line("read", 120, "b/twice/x"),  # when only the PUT has not ended
        line("read", 130, "elsewhere/x"),
    )
    assert made_for(log, run) == [0, 1, None, None, 2, None, 3, 3]


def test_an_access_soon_after_the_response_still_belongs_to_its_object_s_request(tmp_path: Path) -> None:
    run = run_of_requests(("PUT", "a", 0, 10), ("GET", "other", 1000, 1001))
    log = log_of(
        tmp_path,
        line("unlink", 50, "b/a/old"),
        line("unlink", 51, "elsewhere"),
        line("unlink", 500, "b/a/old"),
    )
    assert made_for(log, run) == [0, None, None]


def test_a_temporary_file_is_that_of_the_object_it_becomes(tmp_path: Path) -> None:
    run = run_of_requests(("PUT", "a", 0, 100), ("PUT", "c", 0, 100))
    log = log_of(
        tmp_path,
        line("mkdir", 10, "tmp/1"),
        line("write", 11, "tmp/1/data/part.1"),
        line("mkdir", 12, "tmp/2"),
        line("write", 13, "tmp/2/part.1"),
        line("write", 14, "tmp/3"),
        line("rename", 15, "tmp/1/data", "staged"),
        line("rename", 16, "staged", "b/a/x"),
        line("rename", 17, "tmp/2/part.1", "b/c/part.1"),
        line("rmdir", 18, "tmp/2"),
        line("rename", 19, "b/c/part.1", "trash/9"),  # which is still the object's
    )
    rows = drive_accesses([log], run).to_pylist()
    assert [row["request"] for row in rows] == [0, 0, 1, 1, None, 0, 0, 1, 1, 1]
    assert [row["file"] for row in rows[:4]] == ["tmp/#", "x/part.#", "tmp/#", "part.#"]


def test_a_list_reads_objects_of_its_prefix(tmp_path: Path) -> None:
    run = run_of_requests(("LIST", "ab", 0, 100), ("GET", "abc", 0, 100), ("GET", "x", 0, 100))
    log = log_of(
        tmp_path,
        line("readdir", 10, "b"),
        line("read", 11, "b/abd/meta"),
        line("read", 12, "b/abc/meta"),  # for the LIST or the GET
        line("read", 13, "b/x/meta"),
    )
    assert made_for(log, run) == [0, 0, None, 2]


def test_parts_of_a_split_request_are_one_access_and_a_broken_line_is_left_out(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        line("read", 1, "b/k/f", size=1000),
        line("read", 2, "b/k/f", size=24, offset=1000, rest=1),
        line("write", 3, "b/k/50%25%09", size=7),
        line("write", 4, "b/k/f")[:40],
    )
    found = read_access_log(log.path)
    assert [(each.kind, each.bytes, each.path) for each in found] == [
        ("read", 1024, "b/k/f"),
        ("write", 7, "b/k/50%\t"),
    ]
    assert len(read_access_log(log.path, ZERO_NS + 2_500_000)) == 1


def test_what_is_no_log_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(HEADER + "read\tmuch\n")
    with pytest.raises(InputError, match="is not an access log"):
        read_access_log(tmp_path / "d.tsv")
    with pytest.raises(InputError, match="cannot be read"):
        read_access_log(tmp_path / "missing.tsv")
    with pytest.raises(InputError, match="zero_at"):
        drive_accesses([], run_of([0.1]))


def test_a_run_without_accesses_has_an_empty_table() -> None:
    table = drive_accesses([], run_of_requests(("GET", "k", 0, 1)))
    assert table.num_rows == 0 and table.schema == DRIVE_ACCESS_SCHEMA

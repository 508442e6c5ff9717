"""JuiceFS's access log as operations on files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.cli.commands.test_simulate import tailcast
from tests.paths import SAMPLES
from tests.traces.readers.test_published import EARLIER, LATER, NO_OBJECT, call, of, read, values
from traces.operations import OPS
from traces.readers.stores import juicefs_files
from traces.trace import Trace

COLUMNS = ("op", "key", "size_bytes", "range_start_bytes", "range_bytes", "transfer_bytes", "error")


def test_the_sample():
    rows, report = read(juicefs_files.FORMAT, SAMPLES / "juicefs.accesslog")
    assert report.rows == 312
    assert not report.unreadable
    assert report.left_out == Counter({
        NO_OBJECT: 10, "a further page of a directory": 2, "a file of JuiceFS itself": 1,
    })  # fmt: skip
    assert Counter(row["op"] for row in rows) == Counter(
        STAT=72, FSYNC=62, CLOSE=61, OPEN=41, WRITE=22, CREATE=20, READ=10, UNLINK=4, MKDIR=2, READDIR=2, SETATTR=2,
        RENAME=1,
    )  # fmt: skip
    of_one = [values(row, "op", "handle", "range_bytes") for row in rows if row["key"] == "d/f0"]
    assert of_one[:5] == [
        ("STAT", None, None), ("CREATE", 4, None), ("WRITE", 4, 7040), ("FSYNC", 4, None), ("CLOSE", 4, None),
    ]  # fmt: skip
    (renamed,) = [row for row in rows if row["op"] == "RENAME"]
    assert values(renamed, "key", "target") == ("d/f1", "d/g1")
    written = next(row for row in rows if row["op"] == "WRITE")
    ended = 1795296906168866000  # 2026.11.21 21:35:06.168866
    assert values(written, "time_ns", "latency_ns", "client") == (ended - 50_000, 50_000, "16934")


@pytest.mark.parametrize("lines", [EARLIER, LATER], ids=["earlier", "later"])
def test_both_layouts(tmp_path, lines):
    rows, report = of(tmp_path, juicefs_files.FORMAT, *lines)
    handle = 3 if lines is LATER else None
    assert [values(row, *COLUMNS) for row in rows] == [
        ("READ", "5", None, 8192, 1000, 1000, None),
        ("READ", "5", None, 8192, 4096, 0, "input/output error"),
        ("WRITE", "5", None, 4993160, 8666, 8666, None),
        ("STAT", "5", 9000, None, None, 0, None),
        ("STAT", "5", None, None, None, 0, "no such file or directory"),
        ("STAT", "5", 9000, None, None, 0, None),
        ("UNLINK", "x - y", None, None, None, 0, None),
        ("UNLINK", "x", None, None, None, 0, "operation not permitted"),
        ("READDIR", "7", None, None, None, 0, None),
        ("STAT", "7", 0, None, None, 0, None),
        ("OPEN", "5", None, None, None, 0, None),
        ("CREATE", "5", 0, None, None, 0, None),
    ]
    assert [row["handle"] for row in rows if row["op"] in ("READ", "WRITE")] == [handle] * 3
    assert [row["handle"] for row in rows if row["op"] in ("OPEN", "CREATE")] == [9, 4]
    assert not report.unreadable


def test_keys_are_paths_that_follow_renames(tmp_path):
    rows, report = of(
        tmp_path,
        juicefs_files.FORMAT,
        call("mkdir (1,d,drwxr-xr-x:040755): (2,[drwxr-xr-x:0040755,2,0,0,1,2,3,4096]) - OK"),
        call("create (2,a,b,-rw-r--r--:0100644): (3,[-rw-r--r--:0100644,1,0,0,1,2,3,0]) [fh:7] - OK"),
        call("write (3,10,0,7) - OK"),
        call("rename (2,a,b,1,c,0) - OK"),
        call("read (3,10,0,7): (10) - OK"),
        call("flush (3,7,15F89ECF1684F6E1) - OK"),
        call("setattr (3[0],0x8,[size=4]): (3,[-rw-r--r--:0100644,1,0,0,1,2,3,4]) - OK"),
        call("release (3,7) - OK"),
        call("copy_file_range (3,0,9,100,4,0): OK"),
        call("rename (1,c,2,x): OK"),
        call("getattr (3): (3,[-rw-r--r--:0100644,1,0,0,1,2,3,4]) - OK"),
        call("unlink (2,x) - OK"),
        call("rmdir (1,d) - OK"),
        call("readdir (2,4096,5,true): (3) - OK"),
    )
    assert [values(row, "op", "key", "target", "handle") for row in rows] == [
        ("MKDIR", "d", None, None),
        ("CREATE", "d/a,b", None, 7),
        ("WRITE", "d/a,b", None, 7),
        ("RENAME", "d/a,b", "c", None),
        ("READ", "c", None, 7),
        ("FSYNC", "c", None, 7),
        ("SETATTR", "c", None, None),
        ("CLOSE", "c", None, 7),
        ("COPY", "c", "9", None),
        ("RENAME", "c", "d/x", None),
        ("STAT", "d/x", None, None),
        ("UNLINK", "d/x", None, None),
    ]
    assert [row["size_bytes"] for row in rows if row["op"] in ("SETATTR", "COPY", "STAT")] == [4, 4, 4]
    assert report.left_out == Counter({NO_OBJECT: 1, "a further page of a directory": 1})


def test_the_sdk(tmp_path):
    rows, report = of(
        tmp_path,
        juicefs_files.FORMAT,
        call("Create (/a/b,c,644): OK"),
        call("Write (/a/b,c,10): (10,OK)"),
        call("Pread (/a/b,c,131072,55685619): (16384,OK)"),
        call("Pread (/a/b,4096,9000): (0,EOF)"),
        call("Flush (/a/b,c): OK"),
        call("Close (/a/b,c): OK"),
        call("Rename (/a/b,c,/a/d,0): OK"),
        call("CopyFileRange (/to,5,/from,7,100): (100,OK)"),
        call("Truncate (/a/d,5): OK"),
        call("Mkdir (/x, 755): OK"),
        call("Readdir (/a,0): (OK,7)"),
        call("ReaddirPlus (/a/,5): (OK,2)"),
        call("Open (/a/d,4): no such file or directory"),
        call("Access (/a): OK"),
    )
    assert [values(row, "op", "key", "target", "range_start_bytes", "range_bytes", "error") for row in rows] == [
        ("CREATE", "a/b,c", None, None, None, None),
        ("WRITE", "a/b,c", None, 0, 10, None),
        ("READ", "a/b,c", None, 55685619, 16384, None),
        ("READ", "a/b", None, 9000, 0, None),
        ("FSYNC", "a/b,c", None, None, None, None),
        ("CLOSE", "a/b,c", None, None, None, None),
        ("RENAME", "a/b,c", "a/d", None, None, None),
        ("COPY", "from", "to", 7, 100, None),
        ("SETATTR", "a/d", None, None, None, None),
        ("MKDIR", "x", None, None, None, None),
        ("READDIR", "a", None, None, None, None),
        ("OPEN", "a/d", None, None, None, "no such file or directory"),
    ]
    assert report.left_out == Counter({NO_OBJECT: 1, "a further page of a directory": 1})


def test_what_cannot_be_read_is_refused_by_line(tmp_path):
    rows, report = of(
        tmp_path,
        juicefs_files.FORMAT,
        "#",
        call("read (9223372032559808513,4096,0,3): (100) - OK"),
        call("write (5,1): OK"),
        call("read (5,4096,0): OK (x)"),
        call("rename (5): OK"),
        call("write (5,1,0): OK")[:-4],
        "2022/03/01 08:00:01.5 juicefs[1] <INFO>: something else",
    )
    assert not rows
    assert report.left_out == Counter({
        "the mark of a second without operations": 1, "a file of JuiceFS itself": 1,
    })  # fmt: skip
    assert Counter({why: count for (_, why), count in report.unreadable.items()}) == Counter({
        "its arguments cannot be read": 2, "its result cannot be read": 1, "ends before it should": 1,
        "is not a line of an access log": 1,
    })  # fmt: skip


def test_an_import_has_second_keys_handles_and_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = SAMPLES / "juicefs.accesslog", tmp_path / "t.parquet"
    arguments = ("trace", "import", str(log), "--format", "juicefs-files", "--out", str(out))
    code, _, wrong = tailcast(capsys, *arguments)
    assert code == 0, wrong
    trace = Trace.read(out)
    rows = trace.table.to_pylist()
    assert [row["target"] for row in rows if row["target"]] == ["d/g1"]
    assert (trace.handle >= 0).sum() == sum(
        OPS[op] in ("CREATE", "OPEN", "READ", "WRITE", "CLOSE") for op in trace.op
    ) + 61
    sizes = {row["size_bytes"] for row in rows if row["key"] == "d/f0" and row["op"] == "WRITE"}
    assert sizes == {7040}
    assert trace.transfer_bytes[trace.op == OPS.index("WRITE")].sum() == sum(
        row["range_bytes"] for row in rows if row["op"] == "WRITE"
    )
    run = tmp_path / "t.run"
    assert Trace.read(run / "trace.parquet").table.equals(trace.table)
    code, _, wrong = tailcast(capsys, "trace", "import", str(log), "--out", str(tmp_path / "o.parquet"))
    assert code == 0, wrong
    assert set(Trace.read(tmp_path / "o.parquet").table.column("op").to_pylist()) <= {
        "GET",
        "PUT",
        "HEAD",
        "DELETE",
        "LIST",
    }

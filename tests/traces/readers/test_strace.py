"""What strace writes of an application, as operations on files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.cli.commands.test_simulate import tailcast
from tests.paths import SAMPLES
from tests.traces.readers.test_published import of, read, values
from traces.operations import OPS
from traces.readers.applications import strace
from traces.readers.applications.file_calls import FURTHER_PAGE, MAPPED, NO_FILE, SHARED
from traces.readers.applications.strace_lines import NO_CALL, RELATIVE_TIME, TIME_OF_DAY, text_of
from traces.trace import Trace

NS = 10**9
RANGES = ("op", "key", "range_start_bytes", "range_bytes", "error")


def line(text: str, pid: int = 7, at: float = 1795693267.5, lasted: str = " <0.000250>") -> str:
    return f"{pid} {at:.6f} {text}{lasted}"


def operations(tmp_path, *lines, below=None):
    rows, report = of(tmp_path, strace.strace_format(below), *lines)
    assert report.rows == len(lines)
    return rows, report


def test_a_script_with_threads_a_fork_and_duplicated_descriptors():
    rows, report = read(strace.strace_format("data"), SAMPLES / "strace.log")
    assert report.rows == 818
    assert not report.unreadable
    assert report.joined == 152
    assert Counter(row["op"] for row in rows) == Counter(
        WRITE=18, STAT=11, CLOSE=10, OPEN=10, READ=9, CREATE=4, SETATTR=4, FSYNC=3, MKDIR=1, RENAME=1, READDIR=1,
        UNLINK=1, COPY=1,
    )  # fmt: skip
    of_one = [values(row, *RANGES) for row in rows if row["key"] == "f1" and row["op"] in ("READ", "WRITE")]
    assert of_one == [
        *(("WRITE", "f1", i * 8192, 8192, None) for i in range(4)),
        ("READ", "f1", 4096, 100, None),  # after a seek
        ("READ", "f1", 1000, 512, None),
        ("WRITE", "f1", 20, 10, None),
        ("WRITE", "f1", 5000, 7, None),  # appended after a truncation
        ("READ", "f1", 0, 5, None),  # of the child
    ]
    assert len({row["client"] for row in rows if row["op"] == "FSYNC"}) == 3
    again = [row for row in rows if row["key"] == "f2" and row["op"] == "READ"][-2:]
    assert [row["range_start_bytes"] for row in again] == [0, 10]
    assert len({row["handle"] for row in again}) == 1
    assert report.left_out[SHARED] == 1
    (renamed,) = [row for row in rows if row["op"] == "RENAME"]
    assert values(renamed, "key", "target") == ("f0", 'é, "x"')
    (copied,) = [row for row in rows if row["op"] == "COPY"]
    assert values(copied, "key", "target", "size_bytes") == ("f1", "copy", 1000)
    written = next(row for row in rows if row["op"] == "WRITE")
    assert written["latency_ns"] < NS
    assert written["time_ns"] // NS == 1795693896


def test_programs_of_a_shell_whose_first_lines_have_no_id():
    rows, report = read(strace.strace_format("/srv/example/data"), SAMPLES / "strace-y.log")
    assert report.rows == 776
    assert not report.unreadable
    writes = [values(row, *RANGES) for row in rows if row["op"] == "WRITE"]
    assert writes == [*(("WRITE", "a", i * 4096, 4096, None) for i in range(3)), ("WRITE", "e", 0, 12288, None)]
    assert [values(row, "key", "target") for row in rows if row["target"]] == [("a", "b"), ("b", "c")]
    assert next(row["key"] for row in rows if row["op"] == "READDIR") == "/"
    without, report = read(strace.FORMAT, SAMPLES / "strace-y.log")
    assert {row["key"].partition("/")[0] for row in without} == {"", "srv"}  # and the root
    assert sum(count for why, count in report.left_out.items() if why.startswith("a file of the system")) > 100
    assert not report.left_out[MAPPED], "libraries are files of the system"


def test_offsets_follow_each_descriptor(tmp_path):
    rows, report = operations(
        tmp_path,
        line('openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0666) = 3'),
        line('openat(AT_FDCWD, "/d/a", O_RDWR|O_CREAT, 0666) = 4'),
        line('write(3, "ab"..., 100) = 60'),
        line("lseek(4, 0, SEEK_END) = 60"),
        line('writev(4, [{iov_base="x", iov_len=1}, {iov_base="(,]", iov_len=3}], 2) = 4'),
        line('read(3, "x", 100) = 4'),
        line('pread64(3, "x", 10, 5) = 10'),
        line("read(4, 0x7ff, 10) = -1 EINTR (Interrupted system call)"),
        line("ftruncate(3, 30) = 0"),
        line("fcntl(3, F_SETFL, O_RDWR|O_APPEND) = 0"),
        line('pwrite64(3, "x", 5, 0) = 5'),
        line("dup2(3, 4) = 4"),
        line('write(4, "x", 5) = 5'),
        line("mmap(NULL, 10, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7ff"),
        line("close(3) = 0"),
        line("close(4) = 0"),
        line("close(9) = -1 EBADF (Bad file descriptor)"),
    )
    assert [values(row, *RANGES) for row in rows] == [
        ("CREATE", "d/a", None, None, None),
        ("OPEN", "d/a", None, None, None),
        ("WRITE", "d/a", 0, 60, None),
        ("WRITE", "d/a", 60, 4, None),
        ("READ", "d/a", 60, 4, None),
        ("READ", "d/a", 5, 10, None),
        ("READ", "d/a", 64, 10, "EINTR"),
        ("SETATTR", "d/a", None, None, None),
        ("WRITE", "d/a", 30, 5, None),
        ("WRITE", "d/a", 35, 5, None),
        ("CLOSE", "d/a", None, None, None),
    ]
    assert report.left_out == Counter({
        "of descriptors and offsets alone": 3, MAPPED: 1, SHARED: 1, NO_FILE: 1,
    })  # fmt: skip
    assert {row["latency_ns"] for row in rows} == {250_000}


def test_paths_follow_directories_and_renames(tmp_path):
    rows, _ = operations(
        tmp_path,
        line('chdir("/d") = 0'),
        line('openat(AT_FDCWD, "sub", O_RDONLY|O_DIRECTORY) = 3'),
        line('openat(3, "../sub/a", O_WRONLY|O_CREAT|O_EXCL, 0666) = 4'),
        line('renameat2(3, "a", AT_FDCWD, "b\\303\\251\\"", RENAME_NOREPLACE) = 0'),
        line('write(4, "x", 1) = 1'),
        line('mkdirat(3, "new", 0777) = 0'),
        line("getdents64(3, 0x55 /* 3 entries */, 32768) = 80"),
        line("getdents64(3, 0x55 /* 0 entries */, 32768) = 0"),
        line('unlinkat(3, "x", AT_REMOVEDIR) = 0'),
        line('unlinkat(AT_FDCWD, "b\\303\\251\\"", 0) = 0'),
        line('newfstatat(4, "", {st_mode=S_IFREG|0644, st_size=1, ...}, AT_EMPTY_PATH) = 0'),
        line('statx(AT_FDCWD, "x", 0, STATX_ALL, {stx_mask=0, stx_mode=S_IFREG|0644, stx_size=9, ...}) = 0'),
        line("utimensat(4, NULL, NULL, 0) = 0"),
        line('stat("fifo", {st_mode=S_IFIFO|0644, st_size=0, ...}) = 0'),
    )
    assert [values(row, "op", "key", "target", "size_bytes") for row in rows] == [
        ("CREATE", "d/sub/a", None, 0),
        ("RENAME", "d/sub/a", 'd/bé"', None),
        ("WRITE", 'd/bé"', None, None),
        ("MKDIR", "d/sub/new", None, None),
        ("READDIR", "d/sub", None, None),
        ("UNLINK", 'd/bé"', None, None),
        ("STAT", 'd/bé"', None, 1),
        ("STAT", "d/x", None, 9),
        ("SETATTR", 'd/bé"', None, None),
    ]


def test_descriptors_are_those_of_a_process(tmp_path):
    rows, report = operations(
        tmp_path,
        line('openat(AT_FDCWD, "/d/a", O_RDONLY) = 3', 1),
        line('openat(AT_FDCWD, "/d/b", O_RDONLY|O_CLOEXEC) = 4', 1),
        line("clone3({flags=CLONE_VM|CLONE_FILES, exit_signal=0}, 88) = 2", 1),
        line("vfork(", 1, lasted=" <unfinished ...>"),
        line('read(3, "x", 10) = 10', 5),  # the child, whose ID has not been returned yet
        line('execve("/x", [], 0x7) = 0', 5),
        line('read(4, "x", 10) = 10', 5),
        line("close(3) = 0", 5),
        line("<... vfork resumed>) = 5", 1),
        line("close(4) = 0", 2),  # of the thread, so of the process
        line('read(3, "x", 10) = 7', 1),
        line('read(4, "x", 10) = 7', 1),
        line("+++ exited with 0 +++", 1, lasted=""),
        line("--- SIGCHLD {si_signo=SIGCHLD} ---", 2, lasted=""),
        line('read(3, "x", 10) = 1', 2),
    )
    assert [values(row, "op", "key", "range_start_bytes", "client") for row in rows] == [
        ("OPEN", "d/a", None, "1"), ("OPEN", "d/b", None, "1"),
        ("READ", "d/a", 0, "5"), ("CLOSE", "d/b", None, "2"),
        ("READ", "d/a", 10, "1"),  # offsets are shared with the child
        ("READ", "d/a", 17, "2"),
    ]  # fmt: skip
    assert report.left_out[NO_FILE] == 2
    assert report.left_out[SHARED] == 1
    assert report.joined == 1


def test_only_data_is_read(tmp_path):
    lines = [
        line('openat(AT_FDCWD, "/mnt/data/a", O_RDONLY) = 3'),
        line('openat(AT_FDCWD, "/usr/lib/x", O_RDONLY) = 4'),
        line('openat(AT_FDCWD, "/mnt/database", O_RDONLY) = 5'),
        line("pipe2([6, 7], 0) = 0"),
        line('read(6, "x", 5) = 5'),
        line('rename("/mnt/data/a", "/tmp/a") = 0'),
        line('openat(AT_FDCWD, "/mnt/data/none", O_RDONLY) = -1 ENOENT (No such file or directory)'),
    ]
    rows, report = operations(tmp_path, *lines)
    assert [row["key"] for row in rows] == ["mnt/data/a", "mnt/database", "mnt/data/a", "mnt/data/none"]
    assert report.left_out["a file of the system, below /usr"] == 1
    rows, report = operations(tmp_path, *lines, below="/mnt/data/")
    assert [values(row, "op", "key", "error") for row in rows] == [("OPEN", "a", None), ("OPEN", "none", "ENOENT")]
    assert report.left_out == Counter({
        "not below /mnt/data": 2, "no operation on a file: pipe2": 1, NO_FILE: 1, "a rename to or from elsewhere": 1,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('7 12:00:01.123456 read(3, "x", 5) = 5 <0.000010>', TIME_OF_DAY),
        ('     0.000123 read(3, "x", 5) = 5 <0.000010>'.lstrip(), RELATIVE_TIME),
        ('[pid 7] read(3, "x", 5) = 5', "has no time: record it with strace -f -ttt -T"),
        (line("<... read resumed>) = 5"), "is the end of a call without its begin"),
        ("3+0 records in", NO_CALL),
        (line('read(3, "x", 5'), NO_CALL),
        (line("read(x) = 5"), None),
    ],
)
def test_a_line_that_cannot_be_read_says_what_it_is(tmp_path, text, why):
    rows, report = operations(tmp_path, text)
    assert not rows
    assert [reason for _, reason in report.unreadable] == ([why] if why else [])
    assert why or report.left_out == Counter({"its arguments are not those of read": 1})


def test_texts_are_unescaped():
    assert text_of('"a\\"b\\n\\303\\251\\0"') == 'a"b\né\0'
    assert text_of('"cut"...') is None
    assert text_of("NULL") is None


def test_other_clocks_are_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = tmp_path / "log", str(tmp_path / "t.parquet")
    log.write_text('7 12:00:01.123456 read(3, "x", 5) = 5 <0.000010>\n')
    code, _, wrong = tailcast(capsys, "trace", "import", str(log), "--out", out)
    assert code == 2
    assert "line 1: has the time of day, without a date (strace -tt): record it with strace -f -ttt -T" in wrong
    code, _, wrong = tailcast(
        capsys, "trace", "import", str(SAMPLES / "juicefs.accesslog"), "--out", out, "--below", "/d"
    )
    assert code == 2
    assert "below is '/d'; only the format strace has paths of all files of a host" in wrong


def test_an_import_is_detected_and_has_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.parquet"
    code, said, wrong = tailcast(
        capsys, "trace", "import", str(SAMPLES / "strace-y.log"), "--out", str(out), "--below", "/srv/example/data"
    )
    assert code == 0, wrong
    assert FURTHER_PAGE in said
    trace = Trace.read(out)
    rows = [row for row in trace.table.to_pylist() if row["key"] == "a" and row["op"] in ("READ", "WRITE")]
    assert {row["size_bytes"] for row in rows} == {12288}
    moved = {op: int(trace.transfer_bytes[trace.op == OPS.index(op)].sum()) for op in ("READ", "WRITE", "COPY")}
    assert moved == {"READ": 24576, "WRITE": 24576, "COPY": 0}

"""The lines of a file: every line is in one block, wherever the cuts are, and packed or not."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.profiles import examples
from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers import source
from traces.readers.delimited import header_line
from traces.readers.source import Lines, Source
from traces.readers.tools import ibm_object_store
from traces.readers.tools.generic_csv import csv_format

some = settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def rows_of(path):
    report = ImportReport()
    rows = [row for batch in ibm_object_store.FORMAT.read(Source(path), report) for row in batch.to_pylist()]
    assert report.balanced
    return rows, report


@some
@given(
    lines=st.lists(st.text("ab\r", max_size=30).map(str.encode), max_size=20),
    ended=st.booleans(),
    block_bytes=st.integers(1, 50),
    step=st.integers(1, 60),
    begin=st.integers(1, 4),
)
@example([b"abc", b"abc"], True, 4, 4, 1)  # lines end where blocks do
@example([b"a" * 30, b"b"], False, 4, 4, 1)  # longer than a block, no newline at the end
@example([b"", b"", b"\r", b""], True, 1, 1, 1)
@example([], False, 4, 4, 1)
@example([b"a", b"b"], True, 4, 4, 3)  # nothing below the header
def test_each_line_is_in_one_block(tmp_path, monkeypatch, lines, ended, block_bytes, step, begin):
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(source, "_STEP", step)
    data = b"\n".join(lines) + b"\n" * (ended and bool(lines))
    (tmp_path / "log").write_bytes(data)
    blocks = list(Source(tmp_path / "log").lines(begin))
    wanted = data.split(b"\n")[:-1] if data.endswith(b"\n") else data.split(b"\n") if data else []
    found = [line for block in blocks for line in block.data.removesuffix(b"\n").split(b"\n") if block.data]
    assert found == wanted[begin - 1 :]
    at = begin
    for block in blocks:
        assert block.first == at or not block.data
        at += block.count


@some
@given(
    texts=st.lists(
        st.sampled_from(["{i} REST.GET.OBJECT {i:08x} 5", "junk", "", "{i} REST.GET.BUCKET 0", "0 REST.PUT.OBJECT x"]),
        max_size=40,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    block_bytes=st.integers(1, 200),
)
def test_records_and_line_numbers_do_not_depend_on_the_cuts(tmp_path, monkeypatch, texts, end, block_bytes):
    path = tmp_path / "log"
    path.write_bytes("".join(text.format(i=i) + end for i, text in enumerate(texts)).encode())
    results = []
    for size in (block_bytes, 1 << 20):
        monkeypatch.setattr(source, "BLOCK_BYTES", size)
        monkeypatch.setattr(source, "_STEP", size)
        results.append(rows_of(path))
        assert results[-1][1].rows == sum(bool(text) for text in texts)
    assert results[0] == results[1]
    junk = [f"{path}: line {i}:" for i, text in enumerate(texts, 1) if text == "junk"]
    assert [where[: len(line)] for where, line in zip(results[0][1].where, junk, strict=False)] == junk[:5]


@pytest.mark.parametrize("block_bytes", [1, 7, 64, 1 << 20])
def test_lines_below_a_header_keep_their_numbers(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(source, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(source, "_STEP", block_bytes)
    (tmp_path / "log").write_text("\n\ntime,op,key\n1,GET,a\n\n2,GET,b\nthree,GET,c\n4,GET,d\n")
    report = ImportReport()
    batches = csv_format({"time": "time:s", "op": "op", "key": "key"}).read(Source(tmp_path / "log"), report)
    assert [key for batch in batches for key in batch["key"].to_pylist()] == ["a", "b", "d"]
    assert report.where == [f"{tmp_path / 'log'}: line 7: time cannot be read"]


def test_texts_that_are_not_utf8_stay_distinct(tmp_path):
    lines = [b"%d REST.GET.OBJECT k%03d" % (i, i) for i in range(60)]
    lines[40:43] = [b"40 REST.GET.OBJECT \xff", b"41 REST.GET.OBJECT \xfe", "42 REST.GET.OBJECT é".encode()]
    (tmp_path / "log").write_bytes(b"\n".join(lines))
    rows, report = rows_of(tmp_path / "log")
    assert [row["key"] for row in rows[40:43]] == [r"\xff", r"\xfe", "é"]
    assert report.rows == report.kept == 60


def test_a_line_without_end_is_one_row_and_takes_no_other_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE_BYTES", 300)
    monkeypatch.setattr(source, "BLOCK_BYTES", 50)
    monkeypatch.setattr(source, "_STEP", 40)
    row = "{} REST.GET.OBJECT {:08x}\n"
    rows = "".join(row.format(i, i) for i in range(9))
    (tmp_path / "log").write_text(rows + "7 REST.GET.OBJECT " + "a" * 50_000 + "\n" + rows + "junk\n")
    found, report = rows_of(tmp_path / "log")
    assert [row["key"] for row in found] == [f"{i:08x}" for i in range(9)] * 2
    assert [where.partition("line ")[2].split(":")[0] for where in report.where] == ["10", "20"]
    assert source.TOO_LONG in report.where[0] and report.rows == 20


def test_a_file_that_shrinks_is_said_to_be_truncated(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 100)
    monkeypatch.setattr(source, "_STEP", 100)
    path = tmp_path / "log"
    path.write_bytes(b"abc\n" * 100)
    log = Source(path)
    blocks = log.lines()
    next(blocks)
    path.write_bytes(b"abc\n" * 40)
    list(blocks)
    assert log.truncated


def test_a_file_that_grows_is_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 8)
    monkeypatch.setattr(source, "_STEP", 4)
    path = tmp_path / "log"
    path.write_bytes(b"abc\nabc\nab")
    found = []
    for block in (log := Source(path)).lines():
        if not found:
            with path.open("ab") as file:
                file.write(b"c\nabc\n")
        found.append(block.data)
    assert b"".join(found) == b"abc\n" * 4 and log.truncated is None


def test_a_line_that_is_too_long_takes_no_other_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE_BYTES", 3000)
    monkeypatch.setattr(source, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(source, "_STEP", 100)
    lines = [b"%d\n" % i for i in range(700)]
    path = tmp_path / "log"
    path.write_bytes(b"".join(lines[:350]) + b"x" * 5000 + b"\n" + b"".join(lines[350:]))
    blocks = list(Source(path).lines())
    assert b"".join(block.data for block in blocks) == b"".join(lines)
    assert [number for block in blocks for number, _ in block.unreadable] == [351]
    numbers = [number for block in blocks for number in block.numbers]
    assert numbers == [*range(1, 351), *range(352, 702)]


def test_an_empty_file_has_no_lines_and_a_missing_one_is_named(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert list(Source(tmp_path / "empty").lines()) == []
    with pytest.raises(InputError, match="none: no such file"):
        list(Source(tmp_path / "none").lines())


@pytest.mark.parametrize("kind", PACKED)
def test_packed_files_are_read_also_several_in_one(tmp_path, kind):
    parts = [f"{i} REST.GET.OBJECT {i:08x} 5\n".encode() for i in range(20)]
    path = tmp_path / "log"
    path.write_bytes(b"".join(map(PACKED[kind], parts)))
    rows, _ = rows_of(path)
    assert [row["key"] for row in rows] == [f"{i:08x}" for i in range(20)]
    path.write_bytes(PACKED[kind](b"\xef\xbb\xbf" + b"".join(parts)))  # a byte order mark
    assert rows_of(path)[0] == rows


@pytest.mark.parametrize("kind", [kind for kind in PACKED if kind != "plain"])
@pytest.mark.parametrize("damage", ["cut", "changed", "followed"])
def test_a_damaged_archive_gives_what_comes_before_and_is_said_to_be_truncated(tmp_path, kind, damage):
    content = b"".join(f"{i * 7919} REST.GET.OBJECT {i * 104729:08x} 5\n".encode() for i in range(8_000))
    packed = bytearray(PACKED[kind](content))
    path = tmp_path / "log"
    if damage == "cut":
        del packed[len(packed) * 9 // 10 :]
    elif damage == "changed":
        packed[len(packed) * 9 // 10 :] = bytes(len(packed) // 10)
    else:
        packed += b"no archive"
    path.write_bytes(packed)
    rows, report = rows_of(path)
    assert list(report.truncated) == [str(path)]
    assert (len(rows) == 8_000) == (damage == "followed")
    assert rows[:100] == rows_of_plain(tmp_path, content)[: min(100, len(rows))]


def rows_of_plain(folder, content):
    (folder / "plain").write_bytes(content)
    return rows_of(folder / "plain")[0]


def test_blank_lines_are_no_rows():
    frame = Lines(Path("log"), 3, b"a\n\n \t\r\nb\r\n\r\n c").frame()
    assert frame.rows() == [(3, "a"), (6, "b"), (8, " c")]


@examples(200)
@given(st.lists(st.text(" \t\r\v\fa", max_size=3), min_size=1, max_size=5))
def test_lines_of_blanks_are_no_rows(texts):
    rows = Lines(Path("log"), 1, "\n".join(texts).encode()).frame()["line"].to_list()
    assert rows == [number for number, text in enumerate(texts, 1) if text.strip()]


def test_a_control_character_is_no_blank() -> None:
    """A header line is found where the rows begin: both count the same lines as blank."""
    data = b" \t\v\f\r\n\x1f\nrow\n"
    assert header_line(data) == (2, "\x1f")

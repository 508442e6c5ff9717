"""A file's sections: every line is in one of them, wherever the cuts are."""

import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers import ibm_object_store, sections
from traces.readers.generic_csv import csv_format
from traces.readers.memory import Room
from traces.readers.source import Lines, Source

some = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def given_by(path, begin):
    """The lines of each section, and the number of its first one."""
    room, given, above = Room(np.dtype(np.uint8)), [], 0
    with closing(Source(path)) as source:
        for block in sections.sections(source, begin):
            start, end = block.put(room, 5)
            lines = room.text(end)[start:].tobytes()
            assert block.lines().data == lines
            given.append((above + block.first, lines))
            assert block.count == len(lines.splitlines())
            above += block.first - 1 + block.count
    return given, source.truncated


@some
@given(
    lines=st.lists(st.text("ab\r", max_size=30).map(str.encode), max_size=20),
    ended=st.booleans(),
    section_bytes=st.integers(1, 50),
    begin=st.integers(1, 4),
    beyond=st.integers(1, 8),
)
@example([b"abc", b"abc"], True, 4, 1, 1)  # lines end where sections do
@example([b"a" * 30, b"b"], False, 4, 1, 1)  # longer than a section, no newline at the end
@example([b"", b"", b"\r", b""], True, 1, 1, 1)
@example([b"abc"], False, 50, 1, 8)
@example([], False, 4, 1, 1)
@example([b"a", b"b"], True, 4, 3, 1)  # nothing below the header
def test_each_line_is_in_one_section(tmp_path, monkeypatch, lines, ended, section_bytes, begin, beyond):
    monkeypatch.setattr(sections, "SECTION_BYTES", section_bytes)
    monkeypatch.setattr(sections, "_BEYOND_BYTES", beyond)
    lines = [line.replace(b"\r", b"") + b"\r" * line.endswith(b"\r") for line in lines]  # bytes.splitlines cuts at CR
    data = b"\n".join(lines) + b"\n" * (ended and bool(lines))
    (tmp_path / "log").write_bytes(data)
    given, truncated = given_by(tmp_path / "log", begin)
    assert b"".join(text for _, text in given) == b"".join(data.splitlines(keepends=True)[begin - 1 :])
    at = begin
    for first, text in given:
        assert first == at or not text
        at += len(text.splitlines())
    assert truncated is None


@some
@given(
    texts=st.lists(
        st.sampled_from(["{i} REST.GET.OBJECT {i:08x} 5", "junk", "", "{i} REST.GET.BUCKET 0", "0 REST.PUT.OBJECT x"]),
        max_size=40,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    section_bytes=st.integers(1, 200),
)
def test_records_and_line_numbers_do_not_depend_on_the_cuts(tmp_path, monkeypatch, texts, end, section_bytes):
    path = tmp_path / "log"
    path.write_bytes("".join(text.format(i=i) + end for i, text in enumerate(texts)).encode())
    results = []
    for size in (section_bytes, 1 << 20):
        monkeypatch.setattr(sections, "SECTION_BYTES", size)
        report = ImportReport()
        rows = [row for batch in ibm_object_store.FORMAT.read(Source(path), report) for row in batch.to_pylist()]
        results.append((rows, report))
        assert report.balanced and report.rows == sum(bool(text) for text in texts)
    assert results[0] == results[1]
    junk = [f"{path}: line {i}:" for i, text in enumerate(texts, 1) if text == "junk"]
    assert [where[: len(line)] for where, line in zip(report.where, junk, strict=False)] == junk[:5]


@pytest.mark.parametrize("section_bytes", [1, 7, 64, 1 << 20])
def test_lines_below_a_header_keep_their_numbers(tmp_path, monkeypatch, section_bytes):
    monkeypatch.setattr(sections, "SECTION_BYTES", section_bytes)
    (tmp_path / "log").write_text("\n\ntime,op,key\n1,GET,a\n\n2,GET,b\nthree,GET,c\n4,GET,d\n")
    report = ImportReport()
    batches = csv_format({"time": "time:s", "op": "op", "key": "key"}).read(Source(tmp_path / "log"), report)
    assert [key for batch in batches for key in batch["key"].to_pylist()] == ["a", "b", "d"]
    assert report.where == [f"{tmp_path / 'log'}: line 7: time cannot be read"]


def test_a_text_that_is_not_utf8_costs_its_line_only(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "SECTION_BYTES", 100)
    lines = [b"%d REST.GET.OBJECT k%03d" % (i, i) for i in range(60)]
    lines[40] = b"40 REST.GET.OBJECT \xff"
    (tmp_path / "log").write_bytes(b"\n".join(lines))
    report = ImportReport()
    batches = list(ibm_object_store.FORMAT.read(Source(tmp_path / "log"), report))
    keys = [key for batch in batches for key in batch["key"].to_pylist()]
    assert keys == [f"k{i:03d}" for i in range(60) if i != 40]
    assert report.rows == 60 and "line 41:" in report.where[0]


def test_a_line_without_end_is_one_row_and_takes_no_other_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "LONGEST_LINE_BYTES", 300)
    monkeypatch.setattr(sections, "_BEYOND_BYTES", 10)
    monkeypatch.setattr(sections, "SECTION_BYTES", 50)
    row = "{} REST.GET.OBJECT {:08x}\n"
    rows = "".join(row.format(i, i) for i in range(9))
    (tmp_path / "log").write_text(rows + "7 REST.GET.OBJECT " + "a" * 50_000 + "\n" + rows + "junk\n")
    report = ImportReport()
    batches = list(ibm_object_store.FORMAT.read(Source(tmp_path / "log"), report))
    assert [key for batch in batches for key in batch["key"].to_pylist()] == [f"{i:08x}" for i in range(9)] * 2
    assert [where.partition("line ")[2].split(":")[0] for where in report.where] == ["10", "20"]
    assert sections.TOO_LONG in report.where[0] and report.rows == 20 and report.balanced


def test_a_file_that_shrinks_is_said_to_be_truncated(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "SECTION_BYTES", 100)
    path = tmp_path / "log"
    path.write_bytes(b"abc\n" * 100)
    with closing(Source(path)) as source:
        blocks = sections.sections(source)
        early, room = [next(blocks), next(blocks)], Room(np.dtype(np.uint8))
        os.truncate(path, 120)
        texts = [room.text(end)[begin:end].tobytes() for begin, end in (block.put(room, 0) for block in early)]
        assert source.truncated == sections.SHRUNK
        assert texts == [b"abc\n" * 25, b"abc\n" * 5] and not list(blocks)
    path.write_bytes(b"abc\n" * 100)
    with closing(Source(path)) as source:
        blocks = sections.sections(source)
        next(blocks)
        os.truncate(path, 100)
        assert not list(blocks) and source.truncated == sections.SHRUNK


def test_a_file_that_grows_is_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "SECTION_BYTES", 100)
    path = tmp_path / "log"
    path.write_bytes(b"abc\nab")
    room, given = Room(np.dtype(np.uint8)), []
    with closing(Source(path)) as source:
        for block in sections.sections(source):
            with path.open("ab") as file:
                file.write(b"c\nabc\n" if not given else b"")
            begin, end = block.put(room, 0)
            given.append(room.text(end)[begin:].tobytes())
    assert given == [b"abc\nabc\n", b"abc\n"] and source.truncated is None


def test_the_file_that_was_opened_is_read_though_its_name_passes_to_another(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "SECTION_BYTES", 300)
    path = tmp_path / "log"
    path.write_bytes(b"abc\n" * 100)
    room = Room(np.dtype(np.uint8))
    with closing(Source(path)) as source:
        blocks = sections.sections(source)
        next(blocks)
        path.rename(tmp_path / "log.1")
        path.write_bytes(b"xyz\n" * 100)
        begin, end = next(blocks).put(room, 0)
        assert room.text(end)[begin:].tobytes() == b"abc\n" * 25


def test_an_empty_file_has_no_sections_and_a_missing_one_is_named(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    with closing(Source(tmp_path / "empty")) as source:
        assert list(sections.sections(source)) == []
    with closing(Source(tmp_path / "none")) as source, pytest.raises(InputError, match="none: cannot be read: No such"):
        next(sections.sections(source))


def test_lines_that_are_held_are_given_as_sections_are():
    room, lines = Room(np.dtype(np.uint8)), Lines(Path("log"), 3, b"ab\ncd")
    begin, end = lines.put(room, 4)
    assert room.text(end)[begin:].tobytes() == b"ab\ncd" and lines.count == 2

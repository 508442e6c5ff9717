"""Logs whose lines a container's runtime or the journal has wrapped."""

import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import SAMPLES
from tests.profiles import examples
from traces.compression import TruncatedError
from traces.logs.import_report import ImportReport
from traces.readers import containers, source
from traces.readers.containers import unwrapped
from traces.readers.source import Source
from traces.readers.stores import rgw_beast_log

STAMP = "2026-11-21T10:44:01.620147123Z"


def docker(text, stream="stderr"):
    """An entry of Docker's json-file, as Go's encoding/json writes it."""
    entry = json.dumps({"log": text, "stream": stream, "time": STAMP}, separators=(",", ":"), ensure_ascii=False)
    return entry.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def cri(text, stream="stderr", tag="F"):
    return f"{STAMP} {stream} {tag} {text}"


def journal(text):
    return json.dumps({"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1", "MESSAGE": text, "_PID": "7"})


WRAPPERS = {"docker": lambda line: docker(line + "\n"), "cri": cri, "journal": journal}
wrapped_by = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


def content(text, step=1 << 16):
    data = text.encode()
    return b"".join(unwrapped(iter([data[at : at + step] for at in range(0, len(data), step)]))).decode()


@wrapped_by
@examples(40)
@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), min_size=1),
    ended=st.booleans(),
    step=st.integers(1, 300),
)
def test_wrapped_lines_are_the_lines(wrap, lines, ended, step):
    text = "\n".join(map(wrap, lines)) + "\n" * ended
    for chunk_bytes in (1 << 20, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(containers, "_CHUNK_BYTES", chunk_bytes)
            assert content(text, step) == "\n".join(lines) + "\n" * ended


@examples(40)
@given(st.binary(max_size=300), st.integers(1, 50))
def test_other_content_is_left_as_it_is(data, step):
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert b"".join(unwrapped(iter(pieces))) == data


@wrapped_by
def test_lines_that_are_not_wrapped_stay(wrap):
    lines = [
        "",
        "plain",
        '{"log":"cut',
        wrap("a"),
        '{"log":5,"stream":"stderr"}',
        f"{STAMP} stderr X b",
        "null",
        wrap("c"),
    ]
    assert content("\n".join(lines)).split("\n") == [*lines[:3], "a", *lines[4:7], "c"]


def test_a_text_in_parts_is_at_its_last_line():
    lines = [
        docker("one "),
        docker("other\n", "stdout"),
        docker("two "),
        docker("\\n"),  # a backslash and an n
        docker("three\n"),
        docker("end\r\n"),
    ]
    assert content("\n".join(lines) + "\n", 150).split("\n") == ["", "other", "", "", "one two \\nthree", "end\r", ""]
    lines = [cri("one ", tag="P"), cri("other", "stdout", "F:x"), cri("two", tag="F"), cri("open", tag="P")]
    assert content("\n".join(lines) + "\n", 60).split("\n") == ["", "other", "one two", "open", ""]


def test_texts_of_any_characters_and_bytes():
    assert content(docker('ü\U0001f600\t"\\/ <&>\x01\n') + "\n") == 'ü\U0001f600\t"\\/ <&>\x01\n'
    assert content(journal("ü\U0001f600 two\nlines") + "\n") == "ü\U0001f600 two lines\n"
    assert b"".join(unwrapped(iter([cri("a").encode() + b"\xff\n"]))) == b"a\\xff\n"


def test_json_is_unwrapped_as_well():
    audit = zstandard.ZstdDecompressor().stream_reader((SAMPLES / "minio-audit.json.zst").open("rb")).read().decode()
    assert content("".join(docker(line) + "\n" for line in audit.splitlines(keepends=True))) == audit


def test_a_truncated_archive_gives_what_it_has():
    def pieces():
        yield (cri("a") + "\n" + cri("b")).encode()
        raise TruncatedError("cut")

    found = []
    with pytest.raises(TruncatedError):
        found.extend(unwrapped(pieces()))
    assert b"".join(found).rstrip(b"\n") == b"a\nb"


def test_very_long_lines_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(containers, "_LONGEST_BYTES", 1000)
    text = "\n".join(cri("x" * 100, tag="P") for _ in range(50)) + "\n" + cri("y") + "\n"
    lines = content(text, 200).split("\n")
    assert len(lines) == 52 and 1000 <= len(lines[50]) < 1200
    raw = cri("a") + "\n" + "z" * 5000 + "\n" + cri("b") + "\n"
    assert content(raw, 200) == "a\n" + "z" * 5000 + "\nb\n"


@pytest.mark.parametrize("name", ["rgw-beast-docker.log", "rgw-beast-cri.log"])
def test_samples_are_read_as_the_log_within(tmp_path, name):
    report, plain = ImportReport(strict=True), ImportReport(strict=True)
    found = list(rgw_beast_log.FORMAT.read(Source(SAMPLES / name), report))
    (tmp_path / "log").write_text("".join((SAMPLES / "rgw-beast.log").read_text().splitlines(True)[:40]))
    assert found == list(rgw_beast_log.FORMAT.read(Source(tmp_path / "log"), plain))
    assert report.figures() == plain.figures() and report.kept > 8


@wrapped_by
def test_refusals_name_the_line_of_the_file(tmp_path, monkeypatch, wrap):
    good = (SAMPLES / "rgw-beast.log").read_text().splitlines()[16]
    lines = [wrap(good), wrap(""), wrap("rubbish"), "not wrapped", wrap(good)]
    (tmp_path / "log").write_text("\n".join(lines * 20))
    monkeypatch.setattr(source, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(containers, "_CHUNK_BYTES", 3000)
    monkeypatch.setattr(source, "_STEP", 700)
    report = ImportReport()
    rows = sum(batch.num_rows for batch in rgw_beast_log.FORMAT.read(Source(tmp_path / "log"), report))
    assert rows == 40 and report.rows == 80
    assert [int(where.split("line ")[1].split(":")[0]) for where in report.where][:4] == [3, 4, 8, 9]

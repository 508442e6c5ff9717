"""Every reader on anything: no crash, and rows in are rows out and rows reported."""

import gzip
import importlib.util
import subprocess
import sys
from pathlib import Path

import log_files
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.profiles import NIGHTLY
from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.formats import Head
from traces.readers.records import RECORDS
from traces.readers.registry import FORMATS
from traces.readers.source import Source

SAMPLES = {format.name: log_files.samples(format) for format in FORMATS}
FUZZER = Path(log_files.__file__).with_name("fuzz_readers.py")
NOT_LINES = ("oracle-general", "minio-trace-verbose")  # records, several lines a request
JUNK = (b"junk", b"\xff\xfe\x00", b"1", b"a,b c\td", b'"', b"null", b"- - - -", b"9" * 40)

of_each_format = pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
some = settings(
    max_examples=12,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def read(format, folder, data):
    path = folder / "log"
    path.write_bytes(data)
    report = ImportReport()
    batches = list(format.read(Source(path), report))
    assert report.balanced, report.figures()
    table = pa.Table.from_batches(batches, RECORDS)
    assert len(table) == report.kept
    return table, report


def body(format):
    """The head, and some lines of the sample, one a row."""
    head, lines = log_files.parts(format, log_files.content(SAMPLES[format.name][0]))
    return head, [line.rstrip(b"\r\n") for line in lines.splitlines()[-60:] if line.strip()]


@of_each_format
def test_samples_are_of_their_format_and_of_no_other(format):
    assert SAMPLES[format.name], "has no sample"
    for path in SAMPLES[format.name]:
        head = Head("log", Source(path).head())
        assert [other.name for other in FORMATS if other.recognises(head)] == [format.of or format.name]


@of_each_format
@some
@given(data=st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_any_bytes_are_read_or_refused(tmp_path, format, data):
    (tmp_path / "log").write_bytes(data)
    format.recognises(Head("log", data))
    try:
        read(format, tmp_path, data)
    except InputError as error:
        assert "\n" not in str(error)


@of_each_format
@pytest.mark.parametrize("data", [b"null\n", b"nullnullnull", b"\n null\n", b"1\n", b"[]\n", b"{}{}\n", b'"a"\n'])
def test_json_that_is_no_object_is_refused(tmp_path, format, data):
    try:
        _, report = read(format, tmp_path, data)
    except InputError:
        return
    assert not report.kept


@of_each_format
@some
@given(data=st.data())
def test_a_changed_sample_loses_no_row(tmp_path, format, data):
    text = bytearray(log_files.content(data.draw(st.sampled_from(SAMPLES[format.name])))[:3000])
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 30))] = data.draw(st.binary(max_size=8) | st.sampled_from(JUNK))
    try:
        read(format, tmp_path, bytes(text))
    except InputError as error:
        assert body(format)[0], error  # only a format with a header can be without one


@pytest.mark.parametrize("format", [f for f in FORMATS if f.name not in NOT_LINES], ids=lambda format: format.name)
@some
@given(data=st.data())
def test_as_many_rows_are_accounted_for_as_there_are_lines(tmp_path, format, data):
    head, lines = body(format)
    has_json = log_files.is_json(lines[-1])
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(lines)))
        line = lines[at % len(lines)]
        cut = line[: data.draw(st.integers(2, max(2, len(line))))]
        ways = [[], [line, line], [cut], [line, b""]]
        if not has_json:  # behind a cut object it would be a part of it
            ways.append([data.draw(st.sampled_from(JUNK))])
        lines[at : at + 1] = data.draw(st.sampled_from(ways))
    end = data.draw(st.sampled_from([b"\n", b"\r\n"]))
    _, report = read(format, tmp_path, head + end.join(lines) + data.draw(st.sampled_from([b"", end])))
    assert report.rows == sum(bool(line) for line in lines)


@of_each_format
@some
@given(data=st.data())
def test_a_truncated_archive_gives_what_it_holds(tmp_path, format, data):
    text = log_files.content(SAMPLES[format.name][0])[:20_000]
    whole, _ = read(format, tmp_path, text)
    packed = gzip.compress(text) if data.draw(st.booleans()) else pa.compress(text, "zstd", asbytes=True)
    cut = data.draw(st.integers(4, len(packed) - 9))
    try:
        table, report = read(format, tmp_path, packed[:cut])
    except InputError as error:
        assert body(format)[0], error  # the header is cut
        return
    assert list(report.truncated) == [str(tmp_path / "log")]
    sure = max(0, len(table) - 1)  # the last line may be cut and still be one
    if format.name != "elbencho":  # whose rows are pairs of lines, in the order of the second ones
        assert table.slice(0, sure) == whole.slice(0, sure)


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
def test_no_input_that_coverage_leads_to_breaks_a_reader(tmp_path):
    seconds = 900 if NIGHTLY else 4
    command = [sys.executable, str(FUZZER), "--seconds", str(seconds), "--corpus", str(tmp_path / "corpus")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=seconds + 300)
    assert done.returncode == 0, done.stderr[-3000:]
    runs = int(done.stderr.rpartition("Done ")[2].split()[0])
    assert runs > 2 * len(FORMATS)


def test_no_options_of_an_import_break_it(tmp_path):
    seconds, seed = (900, []) if NIGHTLY else (30, ["--inputs", "150", "--seed", "7"])
    command = [sys.executable, str(FUZZER.with_name("fuzz_options.py")), "--seconds", str(seconds), *seed]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=seconds + 120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[0].replace(",", "")) > 20

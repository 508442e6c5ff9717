"""Logs whose lines a container's runtime, the journal, syslog or a log shipper has wrapped."""

import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import SAMPLES
from tests.profiles import examples
from traces.compression import TruncatedError
from traces.logs.columns import Columns
from traces.logs.files import formats_of
from traces.logs.import_report import ImportReport
from traces.readers import source, wrappers
from traces.readers.source import Source
from traces.readers.stores import rgw_beast_log
from traces.readers.wrappers import unwrapped

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
            patch.setattr(wrappers, "_CHUNK_BYTES", chunk_bytes)
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
    monkeypatch.setattr(wrappers, "_LONGEST_BYTES", 1000)
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
    monkeypatch.setattr(wrappers, "_CHUNK_BYTES", 3000)
    monkeypatch.setattr(source, "_STEP", 700)
    report = ImportReport()
    rows = sum(batch.num_rows for batch in rgw_beast_log.FORMAT.read(Source(tmp_path / "log"), report))
    assert rows == 40 and report.rows == 80
    assert [int(where.split("line ")[1].split(":")[0]) for where in report.where][:4] == [3, 4, 8, 9]


def _nginx(i):
    return f'10.0.0.{i % 5} - - [21/Nov/2026:10:44:{i:02d} +0000] "GET /b/k{i % 8} HTTP/1.1" 200 1000 "-" "sdk" 0.012'


def _nginx_json(i):
    request = f"GET /b/k{i % 8} HTTP/1.1"
    return json.dumps({"msec": 1795257840.5 + i, "request": request, "status": 200, "body_bytes_sent": 1000,
                       "request_time": 0.012})  # fmt: skip


def _envoy(i):
    return (f'[2026-11-21T10:44:{i:02d}.123Z] "GET /b/k{i % 8} HTTP/1.1" 200 - 0 1000 12 11 "-" "sdk" '
            '"6d6f-1" "store:80" "10.0.0.9:80"')  # fmt: skip


def _haproxy(i):
    return (f"10.0.0.1:5{i:04d} [21/Nov/2026:10:44:{i:02d}.123] in store/s1 0/0/1/8/12 200 1000 - - ---- 1/1/0/0/0 0/0 "
            f'"GET /b/k{i % 8} HTTP/1.1"')  # fmt: skip


SHIPPED = {
    "rfc3164": "Nov 21 10:44:00 web-1 nginx[71]: {}",
    "rfc3164 with priority": "<190>Nov  1 10:44:00 web-1 nginx: {}",
    "rfc5424": "<134>1 2026-11-21T10:44:00.123456+00:00 web-1 nginx 71 - [meta@1 a=\"b\"] {}",
    "rsyslog": "2026-11-21T10:44:00.123456+00:00 web-1 nginx[71]: {}",
    "short-iso": "2026-11-21T10:44:00+0000 web-1 nginx[71]: {}",
    "kubectl": "2026-11-21T10:44:00.123456789Z {}",
    "pod": "[pod/nginx-5d59d67564-abcde/nginx] {}",
    "compose": "nginx-1  | {}",
    "grep": "/var/log/nginx/access.log.1:{}",
    "grep -n": "access.log:12:{}",
    "blanks": "    {}",
}  # fmt: skip
SHIPPED_JSON = {
    "fluent-bit": {"date": 1795257840.1, "log": None, "stream": "stdout", "kubernetes": {"pod_name": "a"}},
    "filebeat": {"@timestamp": "2026-11-21T10:44:00Z", "log": {"offset": 7}, "message": None},
    "loki": {"labels": {"app": "a"}, "line": None, "timestamp": "2026-11-21T10:44:00Z"},
    "elasticsearch": {"_index": "logs", "_source": {"@timestamp": "2026-11-21T10:44:00Z", "message": None}},
    "cloudwatch": {"timestamp": 1795257840000, "message": None, "ingestionTime": 1795257841000},
}  # fmt: skip


def _within(value, text):
    if isinstance(value, dict):
        return {name: _within(inner, text) for name, inner in value.items()}
    return text if value is None else value


def _read(path):
    (format,) = formats_of([found := Source(path)], None, None)
    report = ImportReport(strict=True)
    return list(format.read(found, report)), report.kept


@pytest.mark.parametrize("line", [_nginx, _nginx_json, _envoy, _haproxy], ids=lambda line: line.__name__[1:])
@pytest.mark.parametrize("name", [*SHIPPED, *SHIPPED_JSON])
def test_logs_behind_syslog_and_shippers_are_read_as_the_log_within(tmp_path, line, name):
    lines = [line(i) for i in range(40)]
    if name in SHIPPED:
        shipped = [SHIPPED[name].replace("{}", text) for text in lines]
    else:
        shipped = [json.dumps(_within(SHIPPED_JSON[name], text)) for text in lines]
    (tmp_path / "plain").write_text("\n".join(lines) + "\n")
    (tmp_path / "log").write_text("\n".join(shipped) + "\n")
    assert _read(tmp_path / "log") == _read(tmp_path / "plain")


def test_columns_of_lines_with_a_prefix_are_those_of_the_whole_line(tmp_path):
    (tmp_path / "log").write_text("".join(f"Nov 21 10:44:0{i} web-1 app: GET k{i} 0.5\n" for i in range(9)))
    columns = Columns(
        {"time": "time", "op": "op", "key": "key"}, pattern=r"^(?<time>\S+ \d+ \S+) \S+ app: (?<op>\S+) (?<key>\S+)"
    )
    formats_of([found := Source(tmp_path / "log")], None, columns)
    assert found.wrapper is None


def test_a_prefix_is_also_found_where_the_format_is_given(tmp_path):
    (tmp_path / "log").write_text("".join(f"web | {_nginx_json(i)}\n" for i in range(9)))
    formats_of([found := Source(tmp_path / "log")], "nginx-access-log-json", None)
    assert found.wrapper is not None

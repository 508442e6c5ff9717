from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import SAMPLES
from tests.profiles import examples
from tests.small_traces import reads
from traces.errors import InputError
from traces.logs.columns import Columns
from traces.logs.import_report import ImportReport
from traces.logs.importing import import_logs
from traces.operations import OPS
from traces.readers.formats import detect
from traces.readers.records import RECORDS
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.readers.tools.generic_csv import FORMAT, csv_format
from traces.trace import Trace

SECOND = 10**9
TEN = 1795255200 * SECOND  # 2026-11-21T10:00:00Z


def read(path: Path, columns: dict[str, str], text: str | bytes, zone: str = "UTC") -> tuple[pa.Table, ImportReport]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    report = ImportReport()
    batches = list(csv_format(columns).read(Source(path, zone), report))
    assert report.balanced
    return pa.Table.from_batches(batches, RECORDS), report


@pytest.fixture
def parsed(tmp_path: Path) -> Any:
    return lambda columns, text, zone="UTC": read(tmp_path / "any.csv", columns, text, zone)


NAMED = {"time": "ts", "op": "verb", "key": "path"}


def test_columns_are_found_by_name_in_any_order_and_others_passed_over(parsed: Any) -> None:
    columns = {
        **NAMED, "size": "bytes", "latency": "dur_ms:ms", "first_byte": "ttfb:us", "bucket": "b", "client": "who",
        "status": "code", "error": "err", "range_start": "from", "range": "len", "transfer": "moved",
    }  # fmt: skip
    text = (
        "moved,path,verb,extra,ts,bytes,dur_ms,ttfb,b,who,code,err,from,len\r\n"
        '7,"a ""x"", b",GET,?,2026-11-21T10:00:00.25Z,100,1.5,900,bu,me,206,,10,7\r\n'
        "\r\n"
        "-,c,upload,?,2026-11-21T12:00:01+02:00,5,,,,,503,,,\r\n"
        ",d,STAT,?,2026-11-21 10:00:02,,2,,,,,boom,,"
    )
    table, report = parsed(columns, text)
    assert table.column("time_ns").to_pylist() == [TEN + SECOND // 4, TEN + SECOND, TEN + 2 * SECOND]
    assert [OPS[i] for i in table.column("op").to_pylist()] == ["GET", "PUT", "HEAD"]
    assert table.column("key").to_pylist() == ['a "x", b', "c", "d"]
    assert table.column("size_bytes").to_pylist() == [100, 5, None]
    assert table.column("latency_ns").to_pylist() == [1_500_000, None, 2_000_000]
    assert table.column("first_byte_ns").to_pylist() == [900_000, None, None]
    assert table.column("bucket").to_pylist() == ["bu", None, None]
    assert table.column("client").to_pylist() == ["me", None, None]
    assert table.column("status").to_pylist() == [206, 503, None]
    assert table.column("error").to_pylist() == [None, "error", "boom"]
    assert table.column("range_start_bytes").to_pylist() == [10, None, None]
    assert table.column("range_bytes").to_pylist() == [7, None, None]
    assert table.column("transfer_bytes").to_pylist() == [7, None, None]
    assert report.rows == report.kept == 3


@pytest.mark.parametrize(
    ("form", "text", "ns"),
    [
        ("s", "1.5", 1_500_000_000), ("ms", "1.5", 1_500_000), ("us", "1.5", 1500), ("ns", "15", 15),
        ("epoch", "1795255200.000000001", TEN + 1), ("epoch_ms", "1795255200001", TEN + 10**6),
        ("epoch_us", "1795255200000001.5", TEN + 1500), ("epoch_ns", str(TEN + 3), TEN + 3),
        ("iso", "2026-11-21T11:00:00", TEN),
    ],
)  # fmt: skip
def test_each_form_of_time(parsed: Any, form: str, text: str, ns: int) -> None:
    columns = {"time": f"ts:{form}", "op": "op", "key": "key"}
    table, _ = parsed(columns, f"ts,op,key\n{text},get,k\n", "Europe/Berlin")
    assert table.column("time_ns").to_pylist() == [ns]
    assert csv_format(columns).dated == (form not in ("s", "ms", "us", "ns"))


def test_an_end_is_a_begin_with_a_latency(parsed: Any) -> None:
    columns = {"end": "ts:epoch", "latency": "took", "op": "op", "key": "key"}
    table, report = parsed(columns, "ts,took,op,key\n100,2.5,GET,k\n101,,GET,k\n")
    assert table.column("time_ns").to_pylist() == [97_500_000_000]
    assert report.where[0].endswith("line 3: has no latency")


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_numbers_stand_for_columns_without_a_header(parsed: Any, delimiter: str) -> None:
    text = "\n".join(delimiter.join(row) for row in [("1", "GET", "a"), ("2", "LIST", ""), ("3", "PUT", "b")])
    table, report = parsed({"time": "1:s", "op": "2", "key": "3"}, text)
    assert table.column("time_ns").to_pylist() == [SECOND, 2 * SECOND, 3 * SECOND]
    assert table.column("key").to_pylist() == ["a", "", "b"]
    assert report.rows == 3


def test_every_row_that_is_no_request_is_counted_with_its_line(parsed: Any) -> None:
    columns = NAMED | {"time": "ts:s", "size": "n"}
    rows = ["1,GET,a,5", "x,GET,a,5", "2,MOVE,a,5", "3,GET,,5", "4,GET,a", "5,GET,a,b", "6,GET,a,-5", '7,GET,"a,5']
    rows += ["8,,a,5", "9,PUT,a,6"]
    table, report = parsed(columns, "ts,verb,path,n\n" + "\n".join(rows))
    assert table.column("time_ns").to_pylist() == [SECOND, 9 * SECOND]
    assert (report.rows, report.left_out.total(), report.unreadable.total()) == (10, 1, 7)
    lines = [int(where.split("line ")[1].split(":")[0]) for where in report.where]
    assert lines == [3, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"op": "o", "key": "k"}, "columns: .*time"),
        (NAMED | {"end": "e", "latency": "l"}, "columns: .*time"),
        ({"end": "e", "op": "o", "key": "k"}, "columns: .*latency"),
        ({"time": "t", "op": "o"}, "columns: key "),
        (NAMED | {"op": "=FROB"}, "'FROB'"),
        (NAMED | {"time": "=1"}, "constant"),
        (NAMED | {"verb": "x"}, "'verb'"),
        (NAMED | {"time": "ts:years"}, "time is 'ts:years'"),
        (NAMED | {"latency": "l:iso"}, "latency is 'l:iso'"),
        (NAMED | {"key": "3"}, "columns: .*numbers"),
    ],
)
def test_a_wrong_mapping_is_refused(columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        csv_format(columns)


def test_a_column_that_is_not_there_is_named(parsed: Any) -> None:
    with pytest.raises(InputError, match=r"'path'.* ts, verb"):
        parsed(NAMED, "ts,verb\n1,GET\n")
    with pytest.raises(InputError, match=r"9 .*key"):
        parsed({"time": "1", "op": "2", "key": "9"}, "ts,verb\n1,GET\n")


def test_a_name_may_hold_a_colon(parsed: Any) -> None:
    table, _ = parsed({"time": "a:b:s", "op": "op:op", "key": "key"}, "a:b,op:op,key\n1,GET,k\n")
    assert table.num_rows == 1


@examples(80)
@given(st.lists(st.text('19,"aGET\r -\x00é', max_size=12) | st.just("1,GET,a,5"), max_size=8), st.integers(0, 60))
def test_no_row_is_lost_whatever_the_file_holds(tmp_path_factory: pytest.TempPathFactory, lines: Any, cut: int) -> None:
    data = ("ts,verb,path,n\n" + "\n".join(lines)).encode()
    data = data[: max(len(data) - cut, 15)]
    columns = NAMED | {"time": "ts:s", "size": "n"}
    table, report = read(tmp_path_factory.getbasetemp() / "fuzz.csv", columns, data)
    assert report.rows == sum(1 for line in data.split(b"\n")[1:] if line.strip())
    assert report.kept == table.num_rows


@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("GetObject", "GET"), ("s3:PutObject", "PUT"), ("get_obj", "GET"), ("REST.GET.OBJECT", "GET"),
        ("rest.head.get_obj", "HEAD"), ("STAT", "HEAD"), ("DeleteObject", "DELETE"), ("ListObjectsV2", "LIST"),
        ("list_bucket", "LIST"), ("incr", "PUT"), ("s3.HeadObject", "HEAD"),
    ],
)  # fmt: skip
def test_operations_are_known_by_their_names_in_all_formats(parsed: Any, name: str, op: str) -> None:
    table, _ = parsed(NAMED | {"time": "ts:s"}, f"ts,verb,path\n1,{name},k\n")
    assert [OPS[i] for i in table.column("op").to_pylist()] == [op]


@pytest.mark.parametrize(("given", "op"), [({}, "GET"), ({"op": "=PUT"}, "PUT"), ({"op": "=HeadObject"}, "HEAD")])
def test_the_operation_may_be_a_constant(parsed: Any, given: dict[str, str], op: str) -> None:
    columns = {"time": "ts:s", "key": "id", "size": "n", "bucket": "=b", **given}
    table, report = parsed(columns, "ts,id,n\n1,7,5\n2,8,6\n")
    assert [OPS[i] for i in table.column("op").to_pylist()] == [op, op]
    assert table.column("bucket").to_pylist() == ["b", "b"] and report.kept == 2


def test_blanks_may_be_delimiters(parsed: Any) -> None:
    columns = {"time": "1:clf", "key": "3", "client": "2", "size": "4"}
    text = '[21/Nov/2026:10:00:00 +0000]   me "a b" 5\n[21/Nov/2026:11:00:01 +0100]\tme c 6 more\nshort\n'
    table, report = parsed(columns, text)
    assert table.column("time_ns").to_pylist() == [TEN, TEN + SECOND]
    assert table.column("key").to_pylist() == ["a b", "c"] and table.column("size_bytes").to_pylist() == [5, 6]
    assert report.where[0].endswith("line 3: has not 4 fields, as the first line has")


PATTERN = r"^(?P<at>\S+ \S+) (?P<verb>\w+) (?P<path>\S+)(?: in (?P<took>[\d.]+)s)?$"


@pytest.mark.parametrize("columns", [{"at": "at", "verb": "verb", "path": "path", "took": "took"},
                                     {"at": "1", "verb": "2", "path": "3", "took": "4"}])  # fmt: skip
def test_a_line_may_be_a_regular_expression(tmp_path: Path, columns: dict[str, str]) -> None:
    (tmp_path / "log").write_text(
        "21/Nov/2026:10:00:00 +0000 GET /a in 0.5s\nnothing\n21/Nov/2026:10:00:01 +0000 PUT /b\n"
    )
    mapping = {
        "time": f"{columns['at']}:clf",
        "op": columns["verb"],
        "key": columns["path"],
        "latency": columns["took"],
    }
    report = ImportReport()
    batches = list(csv_format(mapping, pattern=PATTERN).read(Source(tmp_path / "log"), report))
    table = pa.Table.from_batches(batches, RECORDS)
    assert table.column("latency_ns").to_pylist() == [SECOND // 2, None]
    assert table.column("key").to_pylist() == ["/a", "/b"]
    assert report.balanced and report.where[0].endswith("line 2: does not match the pattern")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "(?P<ts>"}, "regular expression"),
        ({"pattern": "(?P<ts>.)"}, "'path'.* ts"),
        ({"pattern": "(?P<line>.)"}, "'line'"),
        ({"delimiter": ",,"}, "',,'"),
        ({"delimiter": ",", "pattern": "."}, "either"),
    ],
)
def test_a_wrong_pattern_or_delimiter_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        csv_format({"time": "ts:s", "key": "path"}, **options)


def test_a_delimiter_may_be_given(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("ts#path\n1#a,b,c\n")
    batches = list(csv_format({"time": "ts:s", "key": "path"}, "#").read(Source(tmp_path / "log"), ImportReport()))
    assert batches[0].column("key").to_pylist() == ["a,b,c"]


def test_columns_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"at": [1.5, 2.5, None], "verb": ["GET", "get", "PUT"], "id": [7, 8, 9], "n": [5, None, 6]})
    pq.write_table(table, tmp_path / "t.parquet")
    report = ImportReport()
    columns = {"time": "at:s", "op": "verb", "key": "id", "size": "n"}
    batches = list(csv_format(columns).read(Source(tmp_path / "t.parquet"), report))
    found = pa.Table.from_batches(batches, RECORDS)
    assert found.column("time_ns").to_pylist() == [SECOND * 3 // 2, SECOND * 5 // 2]
    assert found.column("key").to_pylist() == ["7", "8"] and found.column("size_bytes").to_pylist() == [5, None]
    assert report.balanced and "line 3: time cannot be read" in report.where[0]


def test_a_trace_of_ours_as_csv_is_recognised_and_comes_back(tmp_path: Path) -> None:
    trace = reads(5, 10)
    trace.write(tmp_path / "t.csv")
    assert detect(Source(tmp_path / "t.csv"), FORMATS) is FORMAT
    import_logs([tmp_path / "t.csv"], tmp_path / "u.parquet")
    again = Trace.read(tmp_path / "u.parquet")
    assert again.arrival_s.tolist() == pytest.approx((trace.arrival_s - trace.arrival_s[0]).tolist())
    names = ["op", "bucket", "key", "size_bytes"]
    assert again.table.select(names).to_pylist() == trace.table.select(names).to_pylist()


REQUESTS = {
    "time": "ts:s",
    "request": "line",
    "status": "code",
    "received": "rx",
    "sent": "tx",
    "host": "h:store.example",
}


def test_a_request_line_is_read_like_those_of_a_gateway(parsed: Any) -> None:
    text = "ts,line,code,rx,tx,h\n" + "".join(
        f"{i},{line},{code},{rx},{tx},{host}\n"
        for i, (line, code, rx, tx, host) in enumerate([
            ("GET /b/a%20b?X-Amz-Signature=1 HTTP/1.1", 200, 0, 387, "store.example"),
            ("GET /a%20b HTTP/1.1", 200, 0, 387, "b.store.example:80"),
            ("PUT /b/big?partNumber=1&uploadId=z HTTP/1.1", 200, 8388608, 0, ""),
            ("PUT /b/copied HTTP/1.1", 200, 0, 230, ""),
            ("GET /b?list-type=2&prefix=x HTTP/1.1", 200, 0, 900, ""),
            ("GET /b/big HTTP/1.1", 206, 0, 100, ""),
            ("GET /b/none HTTP/1.1", 404, 0, 300, ""),
            ("GET /minio/health/live HTTP/1.1", 200, 0, 0, ""),
            ("POST /b?delete HTTP/1.1", 200, 0, 0, ""),
        ])
    )  # fmt: skip
    table, report = parsed(REQUESTS, text)
    assert [OPS[op] for op in table.column("op").to_pylist()] == ["GET", "GET", "PUT", "PUT", "LIST", "GET", "GET"]
    assert table.column("bucket").to_pylist() == 7 * ["b"]
    assert table.column("key").to_pylist() == ["a b", "a b", "big", "copied", "x", "big", "none"]
    assert table.column("size_bytes").to_pylist() == [387, 387, 8388608, None, 0, None, None]
    assert table.column("range_bytes").to_pylist() == [None] * 5 + [100, None]
    assert table.column("error").to_pylist() == [None] * 6 + ["Not Found"]
    assert report.left_out.total() == 2


def test_a_request_may_be_a_method_and_a_target(parsed: Any) -> None:
    columns = {"time": "ts:s", "op": "m", "request": "t", "transfer": "n"}
    table, report = parsed(columns, "ts,m,t,n\n1,GET,/b/k?x=1,5\n2,PUT,/b/k,7\n3,get,/b,9\n4,,/b/k,1\n")
    assert [OPS[op] for op in table.column("op").to_pylist()] == ["GET", "PUT", "LIST"]
    assert table.column("transfer_bytes").to_pylist() == [5, 7, 0]
    assert table.column("status").to_pylist() == [None] * 3
    assert "has no method" in report.where[0]


def test_requests_without_bytes_have_no_sizes(parsed: Any) -> None:
    table, _ = parsed({"time": "ts:s", "request": "r"}, "ts,r\n1,GET /b/k HTTP/1.1\n2,PUT /b/k HTTP/1.1\n")
    assert table.column("size_bytes").to_pylist() == [None, None]


def test_names_of_operations_are_printable(parsed: Any) -> None:
    _, report = parsed(NAMED | {"time": "ts:s"}, "ts,verb,path\n1,\x1b[31mred,k\n2,GET,k\n")
    assert list(report.left_out) == ["not an operation on an object or a listing: \\x1b[31mred"]


def test_keys_that_are_targets_of_requests_are_read_like_them(parsed: Any) -> None:
    text = "ts,verb,path\n1,GET,/b/k?X-Amz-Signature=1\n2,GET,/b?list-type=2\n3,PUT,/b/k\n"
    table, report = parsed(NAMED | {"time": "ts:s"}, text)
    assert [OPS[op] for op in table.column("op").to_pylist()] == ["GET", "LIST", "PUT"]
    assert "read like request=" in report.notes[0]
    table, report = parsed(NAMED | {"time": "ts:s"}, "ts,verb,path\n1,GET,/b/k?x=1\n2,GET,/index.html\n")
    assert table.column("key").to_pylist() == ["/b/k?x=1", "/index.html"] and not report.notes


def test_what_was_moved_is_the_size_where_there_is_none(parsed: Any) -> None:
    columns = NAMED | {"time": "ts:s", "status": "code", "transfer": "n"}
    rows = ["ts,verb,path,code,n", "1,GET,a,200,5", "2,GET,b,206,6", "3,PUT,c,200,7", "4,GET,d,404,8", "5,GET,e,,9"]
    table, _ = parsed(columns, "\n".join(rows))
    assert table.column("size_bytes").to_pylist() == [5, None, 7, None, 9]
    assert table.column("range_bytes").to_pylist() == [None, 6, None, None, None]
    assert table.column("range_start_bytes").to_pylist() == [None, 0, None, None, None]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("1795255200", "epoch"), ("1795255200.5", "epoch"), ("1795255200000", "epoch_ms"),
        ("1795255200000000", "epoch_us"), ("1795255200000000000", "epoch_ns"),
        ("21/Nov/2026:10:00:00 +0000", "clf"), ("21/Nov/2026:10:00:00.000", "clf"),
    ],
)  # fmt: skip
def test_a_time_without_a_form_is_guessed_and_said(parsed: Any, text: str, form: str) -> None:
    table, report = parsed(NAMED, f"ts,verb,path\n{text},GET,k\n")
    assert table.column("time_ns").to_pylist() == [TEN + (SECOND // 2 if ".5" in text else 0)]
    assert f"time=ts:{form}" in report.notes[0]


def test_a_time_that_may_be_of_any_unit_is_refused(parsed: Any) -> None:
    with pytest.raises(InputError, match=r"time is '12.5' in the first row.*time=ts:s"):
        parsed(NAMED, "ts,verb,path\n12.5,GET,k\n")


def test_units_in_durations_and_sizes(parsed: Any) -> None:
    columns = NAMED | {"time": "ts:s", "latency": "d:units", "size": "n:units"}
    table, report = parsed(columns, "ts,verb,path,d,n\n1,GET,k,3m18.7s,28 MiB\n2,GET,k,152µs,1.5 kB\n3,GET,k,5,1\n")
    assert table.column("latency_ns").to_pylist() == [198_700_000_000, 152_000]
    assert table.column("size_bytes").to_pylist() == [28 << 20, 1500]
    assert "latency cannot be read" in report.where[0]


def test_commas_in_numbers_are_named(parsed: Any) -> None:
    columns = NAMED | {"time": "ts:s", "latency": "d", "size": "n"}
    text = 'ts;verb;path;d;n\n1;GET;k;0,5;1\n2;GET;k;1;"1,000"\n3;GET;k;x;1\n'
    _, report = parsed(columns, text)
    assert [where.partition("line ")[2] for where in report.where] == [
        "2: latency has a comma; write 0.5 for a half and 1000 for a thousand",
        "3: size has a comma; write 0.5 for a half and 1000 for a thousand",
        "4: latency cannot be read",
    ]


def test_operations_that_are_not_known_are_listed_with_counts(parsed: Any) -> None:
    rows = "".join(
        f"{i},{op},k\n" for i, op in enumerate(["FROB", "FROB", "Select", *(f"x{n}" for n in range(60)), "GET"])
    )
    _, report = parsed(NAMED | {"time": "ts:s"}, "ts,verb,path\n" + rows)
    assert report.left_out["not an operation on an object or a listing: FROB"] == 2
    assert report.left_out["not an operation on an object or a listing: others"] > 20
    assert report.left_out.total() == 63


def test_keys_with_a_nul_are_refused_and_latin_1_is_counted(parsed: Any, tmp_path: Path) -> None:
    text = b"ts,verb,path\n1,GET,caf\xe9\n2,GET,a\0b\n3,GET,caf\xc3\xa9\n"
    table, report = parsed(NAMED | {"time": "ts:s"}, text)
    assert table.column("key").to_pylist() == ["caf\\xe9", "café"]
    assert report.where[0].endswith("line 3: key or bucket holds a NUL") and report.escaped == 1
    (tmp_path / "x.csv").write_bytes(text)
    figures = import_logs([tmp_path / "x.csv"], tmp_path / "t.csv", columns=Columns(NAMED | {"time": "ts:s"}))
    assert "1 rows have bytes that are not UTF-8" in figures["notes"][0]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-be"])
def test_utf_16_is_read(parsed: Any, coding: str) -> None:
    text = ("\ufeff" if coding == "utf-16-be" else "") + "ts,verb,path,more columns here\n1,GET,café,\n"
    table, _ = parsed(NAMED | {"time": "ts:s"}, text.encode(coding))
    assert table.column("key").to_pylist() == ["café"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time": "t", "request": "r", "key": "k"}, "leave out key"),
        ({"time": "t", "host": "h", "key": "k"}, "host is for a request"),
        ({"time": "t", "key": "k", "size": "n:MB"}, "allowed are bytes, units"),
    ],
)
def test_a_mapping_of_requests_that_contradicts_itself_is_refused(columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        csv_format(columns)


def test_times_of_haproxy_without_a_zone(parsed: Any) -> None:
    columns = {"time": "time:clf", "op": "op", "key": "key", "size": "size", "latency": "lat:ms"}
    text = (SAMPLES / "cases" / "haproxy-time.csv").read_text()
    table, _ = parsed(columns, text, "Europe/Berlin")
    begin = 1795167838655 * 10**6  # 09:43:58.655 UTC
    assert table.column("time_ns").to_pylist() == [begin, begin + 3_445_000_000]

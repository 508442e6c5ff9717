"""Amazon S3 access logs: each operation and oddity with its minimal line, the bucket logs of Ceph, Athena's tables."""

import csv
import io
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.paths import SAMPLES
from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.operations import OPS
from traces.readers.formats import Head, detect
from traces.readers.records import RECORDS
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.readers.stores import athena, s3_access_log

NO_OBJECT = "not an operation on an object or a listing"


def line(op="REST.GET.OBJECT", key="k", status=200, error="-", sent="100", size="100", total="7", turn="5", uri=None):
    uri = f'"GET /{key} HTTP/1.1"' if uri is None else uri
    return (
        f"owner b [21/Nov/2026:10:00:00 +0000] 192.0.2.1 requester ID {op} {key} {uri} {status} {error} {sent} {size} "
        f'{total} {turn} "-" "agent" - host SigV4 cipher AuthHeader host TLSv1.2 - -'
    )


def read(path, format=s3_access_log.FORMAT):
    report = ImportReport()
    rows = pa.Table.from_batches(list(format.read(Source(path), report)), RECORDS).to_pylist()
    assert report.balanced
    for row in rows:
        row["op"] = OPS[row["op"]]
    return rows, report


def of(tmp_path, *lines):
    (tmp_path / "log").write_text("\n".join(lines))
    return read(tmp_path / "log")


def values(row, *names):
    return tuple(row[name] for name in names)


@pytest.mark.parametrize(
    ("op", "changes", "wanted"),
    [
        ("REST.PUT.PART", {"sent": "-", "size": "8388608"}, ("PUT", "k", 8388608, 8388608)),
        ("REST.POST.OBJECT", {"sent": "-"}, ("PUT", "k", 100, 100)),
        ("REST.COPY.OBJECT", {"sent": "234"}, ("PUT", "k", 100, 0)),
        ("REST.COPY.OBJECT_GET", {"uri": "-", "sent": "-", "total": "-", "turn": "-"}, ("GET", "k", 100, 0)),
        ("BATCH.DELETE.OBJECT", {"uri": "-", "status": 204, "sent": "-", "total": "-"}, ("DELETE", "k", 100, 0)),
        ("REST.GET.BUCKETVERSIONS", {"key": "-", "uri": '"GET /b?versions&prefix=p HTTP/1.1"'}, ("LIST", "p", 0, 0)),
        ("WEBSITE.GET.OBJECT", {}, ("GET", "k", 100, 100)),
        ("SOAP.PUT.OBJECT", {"sent": "797", "size": "686"}, ("PUT", "k", 686, 686)),
    ],
)
def test_each_operation(tmp_path, op, changes, wanted):
    (row,), _ = of(tmp_path, line(op, **changes))
    assert values(row, "op", "key", "size_bytes", "transfer_bytes") == wanted
    assert values(row, "range_bytes", "error") == (None, None)


@pytest.mark.parametrize("op", ["REST.POST.UPLOAD", "REST.POST.complete_multipart"])
def test_the_completion_of_an_upload_belongs_to_its_parts(tmp_path, op):
    rows, report = of(tmp_path, line("REST.PUT.PART"), line(op, sent="300"))
    assert len(rows) == report.joined == 1


@pytest.mark.parametrize("op", ["REST.POST.MULTI_OBJECT_DELETE", "S3.EXPIRE.OBJECT", "REST.GET.ACL", "REST.PUT.ACL"])
def test_what_a_trace_cannot_represent_is_left_out(tmp_path, op):
    rows, report = of(tmp_path, line(op), line())
    assert len(rows) == report.left_out.total() == 1


@pytest.mark.parametrize("status", [403, 404, 416])
def test_the_body_of_an_error_is_not_an_object(tmp_path, status):
    (row,), _ = of(tmp_path, line(status=status, error="Failed", sent="313", size="-"))
    assert values(row, "size_bytes", "transfer_bytes", "error") == (None, 0, "Failed")


def test_only_a_complete_response_is_a_read_of_the_whole_object(tmp_path):
    rows, _ = of(
        tmp_path,
        line(),
        line(size="-"),
        line(status=206, sent="30"),
        line(status=304, error="-", sent="-"),
        line(sent="40"),  # aborted
        line(sent="-"),  # aborted before the first byte
        line(sent="-", size="0"),
    )
    columns = ("op", "size_bytes", "range_start_bytes", "range_bytes", "transfer_bytes")
    assert [values(row, *columns) for row in rows] == [
        ("GET", 100, None, None, 100), ("GET", 100, None, None, 100), ("GET", 100, 0, 30, 30),
        ("HEAD", 100, None, None, 0), ("GET", 100, 0, 40, 40), ("HEAD", 100, None, None, 0),
        ("GET", 0, None, None, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        ("date_%253D2021", "date_=2021"), ("a%2520b", "a b"), ("a%20b", "a b"), ("100%2525", "100%"),
        ("%25C3%25A9", "é"), ("%25FF", r"\xff"), ("plain/k-1_2.gz", "plain/k-1_2.gz"), ("50%", "50%"),
    ],
)  # fmt: skip
def test_keys_are_encoded_twice(tmp_path, key, wanted):
    (row,), _ = of(tmp_path, line(key=key, uri='"GET /x HTTP/1.1"'))
    assert row["key"] == wanted


def test_bucket_logs_of_ceph(tmp_path):
    def ceph(op, sent="-", size="333", turn="19ms", status=200, key="file1"):
        uri = f'"{op.split(".")[1]} /b/file1 HTTP/1.1"'
        return line(op, key, status, "-", sent, size, "-", turn, uri)

    rows, report = of(
        tmp_path,
        ceph("REST.PUT.put_obj", sent="333"),
        ceph("REST.GET.get_obj", turn="3ms"),
        ceph("REST.HEAD.get_obj"),
        ceph("REST.DELETE.delete_obj", status=204),
        ceph("REST.GET.list_bucket", key="-"),
        ceph("REST.GET.get_bucket_logging", key="-"),
    )
    columns = ("op", "size_bytes", "transfer_bytes", "range_bytes", "latency_ns", "first_byte_ns")
    ms = 10**6
    assert [values(row, *columns) for row in rows] == [
        ("PUT", 333, 333, None, 19 * ms, None), ("GET", 333, 333, None, 3 * ms, None),
        ("HEAD", 333, 0, None, 19 * ms, None), ("DELETE", 333, 0, None, 19 * ms, None),
        ("LIST", 0, 0, None, 19 * ms, None),
    ]  # fmt: skip
    assert report.left_out == {NO_OBJECT: 1}
    assert detect(Source(tmp_path / "log"), FORMATS) is s3_access_log.FORMAT


def test_quotation_marks_in_a_request_line(tmp_path):
    rows, _ = of(tmp_path, line(key='a"b', uri='"GET /a"b HTTP/1.1"'), line())
    assert [row["key"] for row in rows] == ['a"b', "k"]


@pytest.mark.parametrize(
    "changes", [{"status": "2x0"}, {"sent": "many"}, {"size": "-1"}, {"total": "soon"}, {"turn": "5s"}, {"key": "-"}]
)
def test_a_field_that_cannot_be_read_is_named(tmp_path, changes):
    rows, report = of(tmp_path, line(), line(**changes, uri='"GET / HTTP/1.1"'), line())
    assert len(rows) == 2 and report.where[0].startswith(f"{tmp_path / 'log'}: line 2: ")
    rows, report = of(tmp_path, line().partition("7 5")[0], line().replace("21/Nov", "31/Feb"))
    assert not rows and report.unreadable.total() == 2


def fields_of(text):
    groups = next(csv.reader([text.replace("[", '"').replace("]", '"')], delimiter=" "))
    return groups[:15]


HEADER = [
    "bucketowner", "bucket_name", "requestdatetime", "remoteip", "requester", "requestid", "operation", "key",
    "request_uri", "httpstatus", "errorcode", "bytessent", "objectsize", "totaltime", "turnaroundtime",
]  # fmt: skip


def test_athenas_tables_hold_what_the_log_holds(tmp_path):
    text = (SAMPLES / "s3-access-log.txt").read_text().splitlines()
    wanted, report = read(SAMPLES / "s3-access-log.txt")
    table = [["" if field == "-" else field for field in fields_of(row)] for row in text]
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([HEADER, *table])
    (tmp_path / "table.csv").write_text(out.getvalue())
    columns = {name: list(column) for name, column in zip(HEADER, zip(*table, strict=True), strict=True)}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=7)
    numbers = {"bytessent", "objectsize", "totaltime", "turnaroundtime"}
    typed = {
        name: pa.array([int(value) if value else None for value in column], pa.int64()) if name in numbers else column
        for name, column in columns.items()
    }
    times = [datetime.strptime(at, "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC) for at in columns["requestdatetime"]]
    typed["requestdatetime"] = pa.array(times, pa.timestamp("ms", "UTC"))
    pq.write_table(pa.table(typed), tmp_path / "typed.parquet")
    for name in ("table.csv", "table.parquet", "typed.parquet"):
        source = Source(tmp_path / name)
        assert detect(source, FORMATS) is athena.FORMAT, name
        rows, found = read(source.path, athena.FORMAT)
        assert rows == wanted and (found.rows, found.left_out) == (report.rows, report.left_out), name


def test_other_tables_are_not_athenas(tmp_path):
    pq.write_table(pa.table({"key": ["k"]}), tmp_path / "t.parquet")
    assert not athena.FORMAT.recognises(Head("t", Source(tmp_path / "t.parquet").head(), tmp_path / "t.parquet"))
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(50))
    with pytest.raises(InputError, match=r"cut\.parquet: "):
        detect(Source(tmp_path / "cut.parquet"), FORMATS)

"""The readers of MinIO's request trace and audit log."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.paths import SAMPLES
from tests.profiles import examples
from traces.logs.import_report import ImportReport
from traces.operations import OPS
from traces.readers.formats import Format
from traces.readers.records import RECORDS
from traces.readers.source import Source
from traces.readers.stores import minio_audit, minio_trace


def read(format: Format, path: Path) -> tuple[list[dict], ImportReport]:
    report = ImportReport()
    batches = list(format.read(Source(path), report))
    assert report.balanced
    rows = pa.Table.from_batches(batches, RECORDS).to_pylist()
    assert len(rows) == report.kept
    return [row | {"op": OPS[row["op"]]} for row in rows], report


def read_text(format: Format, folder: Path, text: str) -> tuple[list[dict], ImportReport]:
    path = folder / "log"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return read(format, path)


def entry(**changes: object) -> dict:
    return {
        "status": "success", "host": "h:9000", "time": "2026-11-21T21:17:11.034699471Z", "client": "10.0.0.9",
        "callStats": {"rx": 151, "tx": 70, "duration": 2000, "timeToFirstByte": 1500}, "duration": 2000,
        "api": "s3.GetObject", "path": "/b/k", "query": "", "statusCode": 200, "type": "S3", "error": "", "extra": None,
    } | changes  # fmt: skip


def test_short_form() -> None:
    rows, report = read(minio_trace.FORMAT, SAMPLES / "minio-trace.json")
    assert (report.rows, report.kept, report.joined, report.unreadable.total()) == (120, 107, 1, 0)
    assert report.left_out == Counter({
        "not an operation on an object or a listing": 11, "a delete of several objects": 1,
    })  # fmt: skip
    assert Counter(row["op"] for row in rows) == Counter(GET=45, PUT=38, HEAD=13, LIST=9, DELETE=2)
    assert rows[0] == {
        "time_ns": 1795295831_055856321, "latency_ns": 2191585,
        "first_byte_ns": None, "op": "PUT", "bucket": "photos", "key": "a/plain.bin", "size_bytes": 1138,
        "transfer_bytes": 1138, "range_start_bytes": None, "range_bytes": None, "client": "127.0.0.1", "status": 200,
        "error": None, "phase": None, "request_id": None, "target": None, "handle": None,
    }  # fmt: skip


def test_keys_are_those_that_the_client_meant() -> None:
    rows, _ = read(minio_trace.FORMAT, SAMPLES / "minio-trace-verbose.json.zst")
    assert [row["key"] for row in rows[:12]] == [
        "a/plain.bin", "a/with space.txt", "a/plus+sign", "a/per%20cent", "a/%41", "a/umläut-é", "a/(par)'s!*",
        "a/q?uery&x=1", 'a/quote"d', "a/日本", "deep/er/and/deeper/k", "a/b=c;d,e:f@g$h",
    ]  # fmt: skip
    assert [row["size_bytes"] for row in rows[:12]] == [1000 + 137 * i for i in range(12)]
    assert [row["key"] for row in rows if row["op"] == "LIST"] == [
        "",
        "",
        "a/",
        "a/",
        "a/per%",
        "a/per%",
        "de",
        "de",
        "a/",
    ]


def test_ranges_errors_and_parts() -> None:
    rows, _ = read(minio_trace.FORMAT, SAMPLES / "minio-trace-verbose.json.zst")
    ranged = [row for row in rows if row["range_bytes"] is not None]
    assert [(row["range_start_bytes"], row["range_bytes"], row["size_bytes"]) for row in ranged] == [
        (1000, 4000, 300000), (299500, 500, 300000), (299000, 1000, 300000),
    ]  # fmt: skip
    failed = [(row["status"], row["error"], row["size_bytes"], row["transfer_bytes"]) for row in rows if row["error"]]
    assert failed[:2] == [(416, "Requested Range Not Satisfiable", None, 0), (404, "Not Found", None, 0)]
    assert (403, "Forbidden", None, 0) in failed
    parts = [row["size_bytes"] for row in rows if row["key"] == "multi" and row["op"] == "PUT"]
    assert parts == [5 << 20, 70000]
    assert "203.0.113.7" in {row["client"] for row in rows}


def test_forms_agree() -> None:
    short, _ = read(minio_trace.FORMAT, SAMPLES / "minio-trace.json")
    verbose, _ = read(minio_trace.FORMAT, SAMPLES / "minio-trace-verbose.json.zst")
    audit, report = read(minio_audit.FORMAT, SAMPLES / "minio-audit.json.zst")
    same = ("time_ns", "latency_ns", "first_byte_ns", "op", "bucket", "key", "status", "error")
    assert [[row[name] for name in same] for row in short] == [[row[name] for name in same] for row in verbose]
    # What came with a request counts the names of its header.
    puts = [
        (a["size_bytes"] - b["size_bytes"])
        for a, b in zip(short, verbose, strict=True)
        if a["op"] == "PUT" and a["size_bytes"]
    ]
    assert all(100 < more < 250 for more in puts)
    assert (report.left_out.total(), report.joined) == (13, 1)
    copied = next(row for row in audit if row["key"] == "copied")
    assert (copied["op"], copied["size_bytes"], copied["transfer_bytes"]) == ("PUT", None, 0)
    traced = {(row["op"], row["key"], row["status"], row["first_byte_ns"], row["size_bytes"]): row for row in verbose}
    begun = [
        row["time_ns"] - traced[name]["time_ns"]
        for row in audit
        if (name := (row["op"], row["key"], row["status"], row["first_byte_ns"], row["size_bytes"])) in traced
        and row["first_byte_ns"]
    ]
    assert len(begun) > 60 and all(abs(ns) < 10**6 for ns in begun)


def test_indented_objects_and_calls_of_drives() -> None:
    rows, report = read(minio_trace.FORMAT, SAMPLES / "minio-trace-indented.json")
    assert (len(rows), report.left_out.total(), report.unreadable.total()) == (36, 4, 0)
    rows, report = read(minio_trace.FORMAT, SAMPLES / "minio-trace-all.json.zst")
    assert len(rows) == 11 and report.left_out["not a request to the S3 API"] == 248


def test_end_to_end_recording() -> None:
    rows, report = read(minio_trace.FORMAT, SAMPLES / "minio-trace-e2e.json.zst")
    assert (report.rows, len(rows), report.unreadable.total()) == (2904, 2896, 0)
    assert all(row["latency_ns"] > 0 for row in rows)
    assert all(row["size_bytes"] is not None for row in rows if row["op"] in ("GET", "PUT"))


def test_nothing_secret_passes_on() -> None:
    for format, name in (
        (minio_trace.FORMAT, "minio-trace.json"),
        (minio_trace.FORMAT, "minio-trace-verbose.json.zst"),
        (minio_audit.FORMAT, "minio-audit.json.zst"),
    ):
        assert b"SCRUBBED" in b"".join(Source(SAMPLES / name).pieces())
        rows, _ = read(format, SAMPLES / name)
        assert "SCRUBBED" not in str(rows) and "Signature" not in str(rows)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"duration": -5, "callStats": None}, "latency is not a duration"),
        ({"duration": 10**17, "callStats": None}, "latency is not a duration"),
        ({"time": "yesterday"}, "time cannot be read"),
        ({"time": None}, "has no time"),
        ({"api": None}, "has no api"),
        ({"path": "/b"}, "has no key"),
        ({"path": "/b/"}, "has no key"),
        ({"path": "/"}, "has no bucket in its path"),
        ({"path": "/", "api": "s3.ListObjectsV2", "host": "b.s3.lab.test:9000"}, "has no bucket in its path"),
    ],
)
def test_damaged_rows_are_counted(tmp_path: Path, changes: dict, why: str) -> None:
    lines = [json.dumps(entry()), json.dumps(entry(**changes)), "", json.dumps(entry(path="/b/last"))]
    rows, report = read_text(minio_trace.FORMAT, tmp_path, "\r\n".join(lines))
    assert [row["key"] for row in rows] == ["k", "last"]
    assert report.where == [f"{tmp_path / 'log'}: line 2: {why}"]


def test_values_in_other_places(tmp_path: Path) -> None:
    lines = [
        entry(callStats=None, duration=77),  # no statistics
        entry(api="s3.PutObjectPart", query="partNumber=1&uploadId=x", callStats={"rx": 9, "tx": 0, "duration": 5}),
        entry(path="/b/lower%2bcase%2Fslash"),
        entry(path="/b/not%zzan%escape"),
        entry(statusCode=499, callStats={"rx": 1, "tx": 3, "duration": 5, "timeToFirstByte": 0}),
        entry(time="2026-11-21T22:17:11.5+01:00", new={"deep": [1, {"er": 2}]}),
        entry(api="s3.ListObjectsV2", path="/b/", query="list-type=2&prefix=x%2Fy&X-Amz-Signature=abc"),
    ]
    rows, report = read_text(minio_trace.FORMAT, tmp_path, "\n".join(json.dumps(line) for line in lines))
    assert report.kept == 7
    assert (rows[0]["latency_ns"], rows[0]["transfer_bytes"], rows[0]["size_bytes"]) == (77, None, None)
    assert (rows[1]["op"], rows[1]["size_bytes"], rows[1]["latency_ns"]) == ("PUT", 9, 5)
    assert [rows[2]["key"], rows[3]["key"]] == ["lower+case/slash", "not%zzan%escape"]
    assert (rows[4]["error"], rows[4]["first_byte_ns"]) == ("HTTP 499", None)
    assert rows[5]["time_ns"] == rows[0]["time_ns"] - 34699471 + 500000000
    assert (rows[6]["op"], rows[6]["key"], rows[6]["size_bytes"]) == ("LIST", "x/y", 0)


def test_audit_times_and_lengths(tmp_path: Path) -> None:
    old = {
        "version": "1", "time": "2026-11-21T10:00:01Z", "trigger": "incoming", "remotehost": "10.1.1.1",
        "api": {"name": "PutObject", "bucket": "b", "object": "k", "statusCode": 200, "rx": 4400, "tx": 0,
                "timeToResponse": "250000000ns"},
        "requestHeader": {"X-Amz-Decoded-Content-Length": "4096", "Content-Length": "4400"}, "accessKey": "secret",
    }  # fmt: skip
    bad = old | {"api": old["api"] | {"timeToResponse": "soon"}}
    rows, report = read_text(minio_audit.FORMAT, tmp_path, f"{json.dumps(old)}\n{json.dumps(bad)}\n")
    assert report.unreadable.total() == 1
    assert rows[0]["time_ns"] % (60 * 10**9) == 750_000_000
    assert (rows[0]["latency_ns"], rows[0]["size_bytes"], rows[0]["client"]) == (250_000_000, 4096, "10.1.1.1")


def test_the_audit_log_tells_of_buckets_in_the_hosts_name(tmp_path: Path) -> None:
    # As a live MinIO with MINIO_DOMAIN=s3.lab.test wrote them.
    end = {"version": "1", "time": "2026-11-22T04:01:57.516789717Z", "trigger": "incoming", "remotehost": "127.0.0.1",
           "requestHost": "photos.s3.lab.test:37663"}  # fmt: skip
    api = {"bucket": "photos", "status": "OK", "statusCode": 200, "rx": 0, "tx": 5, "timeToResponse": "388183ns"}
    lines = [
        end | {"requestPath": "/top.jpg", "api": api | {"name": "GetObject", "object": "top.jpg"}},
        end | {"requestPath": "/2026/a.jpg", "api": api | {"name": "GetObject", "object": "2026/a.jpg"}},
        end | {"requestPath": "/", "requestQuery": {"prefix": "2026"}, "api": api | {"name": "ListObjectsV2"}},
    ]
    rows, report = read_text(minio_audit.FORMAT, tmp_path, "\n".join(json.dumps(line) for line in lines))
    assert [(row["op"], row["bucket"], row["key"]) for row in rows] == [
        ("GET", "photos", "top.jpg"), ("GET", "photos", "2026/a.jpg"), ("LIST", "photos", "2026"),
    ]  # fmt: skip
    assert report.rows == 3


def audit_entry(**api: object) -> dict:
    return {
        "version": "1", "time": "2026-11-21T10:00:01Z", "trigger": "incoming", "remotehost": "10.1.1.1",
        "requestPath": "/b/k", "requestHost": "minio:9000", "requestHeader": {"Content-Length": "70"},
        "api": {"name": "PutObject", "bucket": "b", "object": "k", "statusCode": 200, "rx": 70, "tx": 0,
                "timeToResponse": "5ns"} | api,
    }  # fmt: skip


def test_requests_for_several_objects_copies_and_forms(tmp_path: Path) -> None:
    copy = audit_entry(name="CopyObject", bucket="source", object="old")  # the log names the source here
    form = audit_entry(name="PostPolicyBucket", object="") | {"requestPath": "/b"}
    delete = [{"objectName": "one"}, {"objectName": "two"}]
    lines = [
        copy | {"requestPath": "/target/new/k"},
        copy | {"requestPath": "/new/k", "requestHost": "source.s3.lab.test"},
        form | {"tags": {"PutObject": "name=a,pool=b,pool=1,set=2"}},
        form | {"tags": {"objectLocation": {"name": "a", "poolId": 1}}},
        form,
        audit_entry(name="DeleteMultipleObjects", object="one", objects=delete[:1]),
        audit_entry(name="DeleteMultipleObjects", object="two", objects=delete),
        audit_entry(name="CompleteMultipartUpload"),
        audit_entry(name="GetObject", statusCode=304),
    ]
    rows, report = read_text(minio_audit.FORMAT, tmp_path, "\n".join(json.dumps(line) for line in lines))
    assert [(row["op"], row["bucket"], row["key"], row["size_bytes"], row["transfer_bytes"]) for row in rows] == [
        ("PUT", "target", "new/k", None, 0), ("PUT", "source", "new/k", None, 0), ("PUT", "b", "a,pool=b", 70, 70),
        ("PUT", "b", "a", 70, 70), ("DELETE", "b", "one", None, 0), ("HEAD", "b", "k", None, 0),
    ]  # fmt: skip
    assert report.left_out == Counter({"names no object": 1, "a delete of several objects": 1}) and report.joined == 1


def test_hits_of_a_search_hold_the_records(tmp_path: Path) -> None:
    whole, _ = read(minio_audit.FORMAT, SAMPLES / "minio-audit.json.zst")
    rows, report = read(minio_audit.FORMAT, SAMPLES / "minio-audit-hits.json")
    assert (report.rows, len(rows), report.joined, report.left_out.total()) == (16, 14, 1, 1)
    assert [row for row in whole if row in rows] == rows
    hits = [json.loads(line) for line in (SAMPLES / "minio-audit-hits.json").read_text().splitlines()]
    response = {"took": 2, "hits": {"total": {"value": 16}, "hits": hits}, "aggregations": {"a": {"buckets": [{}]}}}
    for indent in (None, 2):
        assert read_text(minio_audit.FORMAT, tmp_path, json.dumps(response, indent=indent))[0] == rows


def test_a_hit_of_another_type_spoils_no_other(tmp_path: Path) -> None:
    hits = [{"_source": audit_entry(object=f"{i}")} for i in range(9)]
    hits[4] = {"_source": audit_entry(rx="many")}
    hits[7] = {"_source": "text"}
    rows, report = read_text(minio_audit.FORMAT, tmp_path, "\n".join(json.dumps(hit) for hit in hits))
    assert [row["key"] for row in rows] == ["0", "1", "2", "3", "5", "6", "8"]
    assert [where.split(": ")[1] for where in report.where] == ["line 5", "line 8"]


def test_keys_that_are_not_utf8_stay_distinct(tmp_path: Path) -> None:
    lines = [json.dumps(audit_entry(object=f"a{name}"), ensure_ascii=False) for name in ("\udcfe", "\udcff", "ö")]
    rows, report = read_text(minio_audit.FORMAT, tmp_path, "\n".join(lines))
    assert [row["key"] for row in rows] == ["a\\xfe", "a\\xff", "aö"] and report.unreadable.total() == 0
    escaped = [json.dumps(audit_entry(object=f"a{name}")) for name in ("\udcfe", "\udcff", "\U0001f600", "b")]
    rows, report = read_text(minio_audit.FORMAT, tmp_path, "\n".join(escaped))
    assert [row["key"] for row in rows] == ["a\\udcfe", "a\\udcff", "a\U0001f600", "ab"] and not report.unreadable


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_loses_a_row(tmp_path: Path, data: st.DataObject) -> None:
    format, name = data.draw(
        st.sampled_from([
            (minio_trace.FORMAT, "minio-trace.json"),
            (minio_trace.FORMAT, "minio-trace-indented.json"),
            (minio_audit.FORMAT, "minio-audit.json.zst"),
        ])
    )  # fmt: skip
    lines = b"".join(Source(SAMPLES / name).pieces()).splitlines(keepends=True)[:40]
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(lines) - 1))
        at = data.draw(st.integers(0, len(lines[i])))
        junk = data.draw(st.binary(max_size=6))
        lines[i] = lines[i][:at] + junk + lines[i][at + data.draw(st.integers(0, 9)) :]
    path = tmp_path / "damaged"
    path.write_bytes(b"".join(lines))
    read(format, path)

"""Logs of proxies and servers in front of stores: the same requests, as each of them logs them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from tests.paths import SAMPLES
from traces.logs.import_report import ImportReport
from traces.operations import OPS
from traces.readers import source
from traces.readers.expressions import amount, go_duration, local_clf_time
from traces.readers.formats import detect
from traces.readers.http_layout import bucket_of
from traces.readers.http_requests import HEALTH_CHECK, for_server
from traces.readers.records import NO_OBJECT, RECORDS, SEVERAL_OBJECTS
from traces.readers.registry import FORMATS
from traces.readers.source import Source

CASES = SAMPLES / "cases"
MS = 10**6
OF_PROXIES = {
    "nginx-access.log": "nginx-access-log",
    "nginx-ingress.log": "nginx-access-log",
    "nginx-access.json": "nginx-access-log-json",
    "nginx-ingress.json": "nginx-access-log-json",
    "haproxy-http.log": "haproxy-http-log",
    "envoy-access.log": "envoy-access-log",
    "envoy-access.json": "envoy-access-log-json",
    "traefik-access.log": "traefik-access-log",
    "traefik-access.json": "traefik-access-log-json",
    "caddy-access.json": "caddy-access-log",
}
WITH_UPLOADED_BYTES = [
    name for name in OF_PROXIES if name.startswith(("envoy", "caddy", "traefik-access.json", "nginx-access.json"))
]


def read(path: Path) -> tuple[list[dict[str, Any]], ImportReport]:
    report = ImportReport()
    source = Source(path)
    batches = list(detect(source, FORMATS).read(source, report))
    assert report.balanced
    rows = pa.Table.from_batches(batches, RECORDS).to_pylist()
    for row in rows:
        row["op"] = OPS[row["op"]]
    return rows, report


def of(tmp_path: Path, text: str) -> tuple[list[dict[str, Any]], ImportReport]:
    path = tmp_path / "log"
    path.write_text(text)
    return read(path)


def one(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


@pytest.mark.parametrize(("name", "format"), OF_PROXIES.items())
def test_a_proxy_logs_the_requests_of_a_store(name: str, format: str) -> None:
    assert detect(Source(SAMPLES / name), FORMATS).name == format
    rows, report = read(SAMPLES / name)
    ops = Counter(row["op"] for row in rows if row["status"] not in (0, 503))
    assert ops == {"GET": 6, "PUT": 3, "HEAD": 2, "DELETE": 1, "LIST": 2}
    assert not report.unreadable
    assert report.left_out[HEALTH_CHECK] == 2 and report.left_out[SEVERAL_OBJECTS] == 1
    assert report.left_out[NO_OBJECT] == 6
    assert {row["bucket"] for row in rows} == {"photos"}
    signed = [row for row in rows if row["key"] == "2026/a b/sunrise+sea.jpg"]
    assert [row["op"] for row in signed] == ["GET", "GET"]  # the signatures differ
    assert one(rows, op="GET", key="2026/new-object-ü")["status"] == 200
    assert [row["key"] for row in rows if row["op"] == "LIST"] == ["2026/", "2026/"]
    part = one(rows, op="GET", key="2026/backup-0001.tar")
    assert part["range_start_bytes"] == 0 and part["range_bytes"] == part["transfer_bytes"] > 0
    refused = one(rows, key="2026/refused-object")
    assert (refused["error"], refused["status"]) == ("Service Unavailable", 503)
    assert one(rows, op="HEAD", key="2026/cached-object")["status"] == 304
    assert all(row["latency_ns"] is not None and row["latency_ns"] >= 3 * MS for row in rows)
    assert {row["client"] for row in rows} > {row["client"] for row in rows[:2]}


@pytest.mark.parametrize("name", WITH_UPLOADED_BYTES)
def test_sizes_of_uploads_and_copies(name: str) -> None:
    rows, _ = read(SAMPLES / name)
    part = one(rows, op="PUT", key="2026/backup-0001.tar")
    assert (part["size_bytes"], part["transfer_bytes"]) == (8388608, 8388608)
    copy = one(rows, op="PUT", key="2026/copied-object")
    assert (copy["size_bytes"], copy["transfer_bytes"]) == (None, None)


@pytest.mark.parametrize("name", ["nginx-ingress.log", "nginx-ingress.json"])
def test_the_ingress_of_kubernetes_logs_what_it_received(name: str) -> None:
    rows, _ = read(SAMPLES / name)
    assert one(rows, op="PUT", key="2026/backup-0001.tar")["size_bytes"] == 8388608 + 480


JSON_ENTRY = {
    "time_iso8601": "2026-11-20T10:44:01+01:00",
    "request": "GET /b/k?x=1 HTTP/1.1",
    "status": 200,
    "bytes": 1,
}
NOVEMBER_NS = 1795167841 * 10**9


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"request_time": 0.25, "body_bytes_sent": 500}, {"latency_ns": 250 * MS, "size_bytes": 500}),
        ({"request_time": "0.250", "body_bytes_sent": "500"}, {"latency_ns": 250 * MS, "size_bytes": 500}),
        ({"request_time": "0.250", "bytes_sent": 500, "body_bytes_sent": 400}, {"size_bytes": 400}),
        ({"upstream_response_time": "0.010, 0.020 : 0.005"}, {"latency_ns": 35 * MS}),
        ({"upstream_response_time": "-", "request_time": 1.5}, {"latency_ns": 1500 * MS}),
        ({"upstream_response_time": "", "body_bytes_sent": 1}, {"latency_ns": None}),
        ({"request_length": 700, "request": "PUT /b/k HTTP/1.1"}, {"op": "PUT", "size_bytes": 700}),
        ({"request_length": 700, "content_length": "200", "request": "PUT /b/k HTTP/1.1"},
         {"op": "PUT", "size_bytes": 200}),
        ({"request_length": 0, "msec": "1795171441.123"}, {"time_ns": 1795171441123 * MS}),
        ({"request_length": 0, "msec": 1795171441.123}, {"time_ns": 1795171441123 * MS}),
        ({"request_length": 0, "remote_addr": "10.0.0.7"}, {"client": "10.0.0.7"}),
        ({"request_length": 0, "remote_addr": "10.0.0.7", "http_x_forwarded_for": "10.1.1.1, x"},
         {"client": "10.1.1.1"}),
        ({"request_length": 0, "http_host": "b2.s3.example", "request": "GET /k2 HTTP/2.0"},
         {"bucket": "b2", "key": "k2"}),
    ],
)  # fmt: skip
def test_fields_of_nginx_in_json(tmp_path: Path, fields: dict[str, Any], wanted: dict[str, Any]) -> None:
    (row,), _ = of(tmp_path, json.dumps(JSON_ENTRY | fields) + "\n")
    standard = {"op": "GET", "bucket": "b", "key": "k", "status": 200}
    if "time_ns" not in wanted:
        standard["time_ns"] = NOVEMBER_NS - (row["latency_ns"] or 0)
    assert {name: row[name] for name in standard | wanted} == standard | wanted


@pytest.mark.parametrize(
    "time", ["20/Nov/2026:10:44:01 +0100", "2026-11-20T10:44:01+01:00", "1795167841.000", 1795167841]
)
def test_times_of_nginx_in_json(tmp_path: Path, time: str | int) -> None:
    entry = {
        "ts": time,
        "method": "GET",
        "uri": "/b/k",
        "args": "versionId=1",
        "status": "200",
        "request_time": "0.000",
    }
    (row,), _ = of(tmp_path, json.dumps(entry) + "\n")
    assert (row["time_ns"], row["op"], row["key"]) == (NOVEMBER_NS, "GET", "k")


def test_entries_of_nginx_in_json_that_cannot_be_read(tmp_path: Path) -> None:
    good = JSON_ENTRY | {"request_time": "0.250"}
    bad = [{"request_time": "soon"}, {"time_iso8601": "today"}, {"request": "", "status": 499}, {"request": ""},
           {"status": "200"}]  # fmt: skip
    text = "".join(json.dumps(good | other) + "\n" for other in ({}, *bad)) + '{"status":200,"request":,}\n'
    rows, report = of(tmp_path, text)
    assert len(rows) == 1 and report.left_out == {"not an HTTP request": 1}
    assert sorted(why for _, why in report.unreadable) == [
        "has no request", "is not one JSON object a line", "request_time cannot be read", "status is of a wrong type",
        "time cannot be read",
    ]  # fmt: skip


def test_requests_behind_istio() -> None:
    rows, report = read(CASES / "http-envoy.log")
    assert [(row["op"], row["bucket"], row["key"], row["size_bytes"]) for row in rows] == [
        ("GET", "bkt", "a b/c", 387), ("GET", "bkt", "a b/c", 387), ("PUT", "bkt", "big", 8388608),
        ("LIST", "bkt", "a", 0),
    ]  # fmt: skip
    assert rows[0]["latency_ns"] == 16 * MS and rows[2]["latency_ns"] == 160 * MS
    assert report.left_out == {NO_OBJECT: 1, SEVERAL_OBJECTS: 1, HEALTH_CHECK: 1}


def test_a_connection_that_ended_before_a_response_is_an_error() -> None:
    rows, _ = read(SAMPLES / "envoy-access.log")
    lost = one(rows, key="2026/given-up-object")
    assert (lost["status"], lost["error"], lost["latency_ns"]) == (0, "no response", 2310 * MS)


def test_times_of_haproxy() -> None:
    rows, report = read(CASES / "haproxy-time.log")
    assert report.rows == len(rows) == 3
    begin = 1795171438655 * MS  # 2026-11-20T10:43:58.655Z
    assert [row["time_ns"] - begin for row in rows] == [0, 3445 * MS, 4245 * MS]
    assert [row["latency_ns"] for row in rows] == [2109 * MS, 31 * MS, 10001 * MS]
    assert rows[0]["first_byte_ns"] == (10 + 0 + 30 + 69) * MS
    assert (rows[2]["status"], rows[2]["error"]) == (503, "Service Unavailable")
    assert [row["size_bytes"] for row in rows] == [10486000, None, None]


def test_haproxy_without_the_end_of_a_request(tmp_path: Path) -> None:
    line = (
        (CASES / "haproxy-time.log").read_text().splitlines()[0].replace("/2109 200 10486000", "/+2109 200 +10486000")
    )
    (row,), _ = of(tmp_path, line)
    assert (row["latency_ns"], row["size_bytes"]) == (None, None)


@pytest.mark.parametrize(
    ("text", "status", "error"), [("-1/-1/-1/-1/5000 -1 0", 0, "no response"), ("0/0/0/-1/7 502 9", 502, "Bad Gateway")]
)
def test_haproxy_without_a_response(tmp_path: Path, text: str, status: int, error: str) -> None:
    line = (
        f'h haproxy[1]: 10.0.0.1:5 [20/Nov/2026:10:43:58.655] f b/s {text} - - CR-- 1/1/1/1/0 0/0 "GET /b/k HTTP/1.1"'
    )
    (row,), _ = of(tmp_path, line + "\n")
    assert (row["status"], row["error"], row["first_byte_ns"]) == (status, error, None)


def test_health_checks_and_parts_of_a_gateway() -> None:
    rows, report = read(CASES / "health-probes.log")
    assert Counter(row["op"] for row in rows) == {"GET": 1, "PUT": 2, "LIST": 1}
    assert one(rows, op="GET")["range_start_bytes"] == 100
    assert report.left_out.total() == 4 and report.left_out[HEALTH_CHECK] == 2


def test_what_mc_prints() -> None:
    rows, report = read(CASES / "mc-trace-text.log")
    gets = [row for row in rows if row["op"] == "GET"]
    assert {(row["bucket"], row["key"], row["size_bytes"]) for row in gets} == {
        ("videos", "dev/videos/E0329A34", 28 << 20)
    }
    assert [row["latency_ns"] for row in gets] == [53_777_028_000, 1_495_878_000, 198_723_752_000]
    listing = one(rows, op="LIST")
    assert (listing["bucket"], listing["key"]) == ("dvc", "files/md5/09/")
    assert (listing["latency_ns"], listing["first_byte_ns"]) == (18_395_600_000, 18_393_351_157)
    assert report.left_out == {NO_OBJECT: 1}


def test_what_mc_prints_behind_grep_and_of_other_kinds(tmp_path: Path) -> None:
    text = (CASES / "mc-trace-text.log").read_text()
    behind = "".join(f"logs/a.txt:{line}\n" for line in text.splitlines())
    assert of(tmp_path, behind)[0] == of(tmp_path, text)[0]
    rows, report = read(SAMPLES / "minio-trace.log")
    assert report.left_out["not a request to the S3 API"] == 1 and not report.unreadable
    slow = one(rows, key="2026/a slow object")
    assert (slow["latency_ns"], slow["client"]) == (198_723_752_000, "10.0.1.2")


def test_paths_that_mc_prints_with_escapes(tmp_path: Path) -> None:
    line = "2026-11-20T10:43:58.792 [200 OK] s3.GetObject s:9000/b/{} 10.0.1.2  3ms  ⇣  3ms  ↑ 9 B ↓ 1 KiB\n"
    rows, _ = of(tmp_path, "".join(line.format(path) for path in ("a%20b+c%2Bd", "a b%2Bc", "a%2Bb%20c")))
    assert [row["key"] for row in rows] == ["a b+c+d", "a b%2Bc", "a+b c"]


def test_what_mc_prints_verbosely() -> None:
    assert detect(Source(SAMPLES / "minio-trace-verbose.log"), FORMATS).name == "minio-trace-verbose"
    rows, report = read(SAMPLES / "minio-trace-verbose.log")
    assert Counter(row["op"] for row in rows) == {"GET": 4, "PUT": 1, "LIST": 1, "HEAD": 1}
    assert report.joined == 1 and report.left_out == {"not a request to the S3 API": 2}
    assert [why for _, why in report.unreadable] == ["has no response"]  # the last request is cut
    assert {row["client"] for row in rows} == {"10.0.1.2", "10.0.1.3", "10.0.1.4"}
    signed = one(rows, key="2026/a b/sunrise+sea.jpg")
    assert (signed["latency_ns"], signed["first_byte_ns"]) == (3 * MS, 2_810_442)
    assert signed["size_bytes"] == signed["transfer_bytes"] == 182044  # not the 178 KiB that are printed
    part = one(rows, op="PUT")
    assert (part["size_bytes"], part["transfer_bytes"], part["latency_ns"]) == (8388608, 8388608, 37_002_000)
    ranged = one(rows, op="GET", status=206)
    assert (ranged["range_start_bytes"], ranged["range_bytes"], ranged["size_bytes"]) == (1 << 20, 1 << 20, 8 << 20)
    assert one(rows, op="LIST")["key"] == "2026/" and one(rows, op="HEAD")["size_bytes"] == 8388608
    assert one(rows, status=404)["error"] == "Not Found"
    broken = one(rows, key="2026/broken-off-object")
    assert (broken["size_bytes"], broken["transfer_bytes"]) == (28_000_000, round(3.2 * 2**20))


@pytest.mark.parametrize("block", [100, 1000, 1 << 22])
def test_verbose_requests_across_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, block: int) -> None:
    text = (SAMPLES / "minio-trace-verbose.log").read_text()
    without_node = re.sub(r"(?m)^10\.0\.9\.\d:9000 ", "", text)
    whole, _ = read(SAMPLES / "minio-trace-verbose.log")
    monkeypatch.setattr(source, "BLOCK_BYTES", block)
    monkeypatch.setattr(source, "_STEP", block)
    for tried in (text, without_node):
        rows, report = of(tmp_path, tried)
        assert rows == whole
        assert report.where == [f"{tmp_path / 'log'}: line 105: has no response"]
    rows, report = of(tmp_path, text[200:])
    assert rows == whole[1:] and ("has no [REQUEST …] line before it" in report.where[0])


def test_ranges_without_sizes() -> None:
    rows, report = read(CASES / "transfer-without-size.log")
    assert [(row["range_start_bytes"], row["range_bytes"], row["transfer_bytes"]) for row in rows] == 2 * [
        (0, 32768, 32768)
    ]
    assert {row["key"] for row in rows} == {"sra34/SRR/003923/SRR4017927"}
    assert report.unreadable.total() == 1  # the last line is cut


def test_usage_logs_of_google_cloud_storage() -> None:
    rows, report = read(SAMPLES / "gcs-usage.csv")
    assert Counter(row["op"] for row in rows) == {"GET": 6, "PUT": 4, "HEAD": 2, "DELETE": 1, "LIST": 2}
    assert not report.unreadable
    media, about = (one(rows, key=key) for key in ("2026/archive/part-00017.parquet", "2026/cached-object"))
    assert (media["op"], media["size_bytes"]) == ("GET", 524288)
    assert (about["op"], about["size_bytes"]) == ("HEAD", None)
    first = rows[0]
    assert (first["time_ns"], first["latency_ns"]) == (1795171438792 * MS, 3 * MS)


NGINX = '10.0.0.1 - - [20/Nov/2026:10:44:01 +0000] "{}" {} 500 "-" "agent" {}\n'


@pytest.mark.parametrize(
    ("rest", "took"),
    [
        ("0.123", 123 * MS), ('"10.0.0.9" 0.123', 123 * MS), ("rt=0.123 uct=\"0.001\"", 123 * MS),
        ('request_time=0.123 "x"', 123 * MS), ("", None), ('"-"', None),
        ("500 0.123 [up] [] 10.0.0.2:80 500 0.1 200 id", 123 * MS),
    ],
)  # fmt: skip
def test_durations_of_nginx(tmp_path: Path, rest: str, took: int | None) -> None:
    (row,), _ = of(tmp_path, NGINX.format("GET /b/k HTTP/1.1", 200, rest))
    assert row["latency_ns"] == took
    assert row["time_ns"] == 1795171441 * 1000 * MS - (took or 0)


@pytest.mark.parametrize(
    ("target", "bucket", "key", "op"),
    [
        ("/b/k%2Fx?X-Amz-Signature=1", "b", "k/x", "GET"),
        ("https://bkt.s3.eu-west-1.amazonaws.com/k/y", "bkt", "k/y", "GET"),
        ("http://my.bkt.s3.example.net:9000/?list-type=2&prefix=a", "my.bkt", "a", "LIST"),
        ("http://minio.s3.svc.cluster.local/b/k", "b", "k", "GET"),
        ("http://s3.example/b/k", "b", "k", "GET"),
        ("/v1/AUTH_team/container/o", "container", "o", "GET"),
        ("/swift/v1/container/o", "container", "o", "GET"),
        ("/metrics?list-type=2", "metrics", "", "LIST"),
        ("/admin/reports/k", "admin", "reports/k", "GET"),
    ],
)  # fmt: skip
def test_targets(tmp_path: Path, target: str, bucket: str, key: str, op: str) -> None:
    rows, report = of(tmp_path, NGINX.format(f"GET {target} HTTP/1.1", 200, ""))
    assert [(row["bucket"], row["key"], row["op"]) for row in rows] == [(bucket, key, op)], report.left_out


@pytest.mark.parametrize(
    "target",
    [
        "/", "/minio/health/ready", "/minio/v2/metrics/cluster", "/swift/healthcheck", "/swift/info",
        "/healthz", "/metrics", "/favicon.ico", "/admin/usage?x=1",
        "/auth/v1.0", "/b/k?acl", "/b?location", "/b/k?uploadId=1", "/b?uploads",
    ],
)  # fmt: skip
def test_requests_that_are_for_no_object(tmp_path: Path, target: str) -> None:
    rows, report = of(tmp_path, NGINX.format(f"GET {target} HTTP/1.1", 200, ""))
    assert not rows and report.left_out.total() == 1


def test_agents_of_health_checkers() -> None:
    agents = ["kube-probe/1.29", "ELB-HealthChecker/2.0", "aws-sdk-go", None]
    frame = pl.DataFrame({"path": ["/b/k"] * 4, "query": [""] * 4, "agent": agents})
    found = frame.select(x=for_server(pl.col("path"), pl.col("query"), pl.col("agent")))["x"]
    assert found.to_list() == [True, True, False, False]


@pytest.mark.parametrize(
    ("host", "domain", "bucket"),
    [
        ("b.s3.amazonaws.com", "", "b"), ("b.s3-us-west-2.amazonaws.com:443", "", "b"), ("s3.amazonaws.com", "", None),
        ("b.store.example", "", None), ("b.store.example:8080", "store.example", "b"),
        ("store.example", "store.example", None),
        ("bXstore.example", "store.example", None), ("minio.s3.svc", "", None), (None, "", None),
    ],
)  # fmt: skip
def test_buckets_in_the_name_of_the_host(host: str | None, domain: str, bucket: str | None) -> None:
    frame = pl.DataFrame({"host": [host]}, {"host": pl.String})
    assert frame.select(x=bucket_of(pl.col("host"), domain))["x"].to_list() == [bucket]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("3m18.723752s", 198_723_752_000), ("152µs", 152_000), ("0s", 0), ("14.735861ms", 14_735_861),
        ("1h2m3s", 3723 * 10**9),
        ("5", None), ("", None), ("s", None), ("1m1h", None), (None, None), ("-3s", None),
    ],
)  # fmt: skip
def test_durations_of_go(text: str | None, ns: int | None) -> None:
    assert pl.DataFrame({"d": [text]}, {"d": pl.String}).select(x=go_duration(pl.col("d")))["x"].to_list() == [ns]


def test_amounts_with_units_and_times_without_a_zone() -> None:
    texts = ["28 MiB", "49 B", "1.5 kB", "12", "2GiB", "x", "-1 B", None]
    frame = pl.DataFrame({"d": texts}, {"d": pl.String})
    found = frame.select(x=amount(pl.col("d")))["x"].to_list()
    assert found == [28 << 20, 49, 1500, 12, 2 << 30, None, None, None]
    times = pl.DataFrame({"d": ["20/Nov/2026:10:43:58.655", "20/Nov/2026:10:43:58 +0000", "x"]})
    assert times.select(x=local_clf_time(pl.col("d")))["x"].to_list() == [1795171438655 * MS, None, None]


def test_listings_that_may_be_objects_are_counted(tmp_path: Path) -> None:
    text = NGINX.format("GET /k HTTP/1.1", 200, "") * 2 + NGINX.format("GET /b?list-type=2 HTTP/1.1", 200, "")
    rows, report = of(tmp_path, text + NGINX.format("GET http://b.s3.example/ HTTP/1.1", 200, ""))
    assert [row["op"] for row in rows] == 4 * ["LIST"]
    ((why, count),) = report.doubts.items()
    assert count == 2 and "host=COLUMN:DOMAIN" in why

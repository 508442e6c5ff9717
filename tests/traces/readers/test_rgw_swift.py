"""The logs of Ceph's RADOS gateway and of Swift's proxy, on samples that were recorded on live stores."""

import json
import re
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import SAMPLES
from tests.profiles import examples
from traces.logs.import_report import ImportReport
from traces.operations import OPS, S3
from traces.readers import json_objects, source
from traces.readers.formats import detect
from traces.readers.records import RECORDS
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.readers.stores import rgw_beast_log, rgw_ops_log, swift_proxy_log

READERS = {
    "rgw-ops-log.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-socket.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-show.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-search.json": rgw_ops_log.FORMAT,
    "rgw-ops-log-e2e.json.zst": rgw_ops_log.FORMAT,
    "rgw-beast.log": rgw_beast_log.FORMAT,
    "rgw-beast-nautilus.log": rgw_beast_log.FORMAT,
    "rgw-civetweb.log": rgw_beast_log.FORMAT,
    "swift-proxy.log": swift_proxy_log.FORMAT,
}
NO_OBJECT = "not an operation on an object or a listing"


def read(format, path, strict=False):
    report = ImportReport(strict=strict)
    batches = list(format.read(Source(path), report))
    assert report.balanced
    rows = pa.Table.from_batches(batches, RECORDS).to_pylist()
    assert len(rows) == report.kept
    for row in rows:
        row["op"] = OPS[row["op"]]
    return rows, report


def of(tmp_path, format, text):
    path = tmp_path / "log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(format, path)


def counts(rows):
    return {op: sum(row["op"] == op for row in rows) for op in S3}


def one(rows, **wanted):
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


def entry(**changes):
    """A line of the operations log as a later release writes it."""
    row = {
        "bucket": "b",
        "object": "a?b %20",
        "time": "2026-11-21T10:00:00.500000Z",
        "remote_addr": "10.0.0.1",
        "operation": "get_obj",
        "uri": "GET /b/a%3Fb%20%2520 HTTP/1.1",
        "http_status": "200",
        "error_code": "",
        "bytes_sent": 10,
        "bytes_received": 0,
        "object_size": 10,
        "total_time": 8,
    }
    return json.dumps({name: value for name, value in (row | changes).items() if value is not None})


@pytest.mark.parametrize("name", READERS)
def test_each_sample_is_recognised_as_what_it_is(name):
    assert detect(Source(SAMPLES / name), FORMATS) is READERS[name]


@pytest.mark.parametrize("name", READERS)
def test_samples_are_read_without_loss_and_without_credentials(name):
    rows, report = read(READERS[name], SAMPLES / name, strict=True)
    assert report.unreadable.total() == 0 and rows
    assert not re.search("NOTA|Signature|temp_url_sig", json.dumps(rows))


def test_the_operations_log_gives_what_was_asked():
    rows, report = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log.json")
    assert (report.rows, report.joined) == (89, 1)
    assert report.left_out == {NO_OBJECT: 10, "a delete of several objects": 1}
    assert counts(rows) == {"GET": 30, "PUT": 25, "HEAD": 9, "DELETE": 8, "LIST": 5}  # a GET with 304 is a HEAD
    copied = one(rows, key="copy.jpg", op="PUT")
    assert (copied["size_bytes"], copied["transfer_bytes"]) == (None, 0)
    first = rows[0]
    assert first["time_ns"] == 1795295712_086782000 and first["latency_ns"] == 8_000_000
    assert (first["bucket"], first["key"], first["size_bytes"]) == ("photos", "2026/img-000.jpg", 0)
    escaped = one(rows, key="a b/ünï+code?&%.txt", op="GET")
    assert escaped["size_bytes"] == 3000
    ranged = one(rows, key="big.bin", status=206)
    assert (ranged["size_bytes"], ranged["range_bytes"], ranged["range_start_bytes"]) == (11720327, 1_000_000, 0)
    assert [row["size_bytes"] for row in rows if row["key"] == "big.bin" and row["op"] == "PUT"] == [5 << 20] * 2 + [
        1234567
    ]
    assert one(rows, key="missing", op="GET")["error"] == "NoSuchKey"
    assert one(rows, key="missing", op="DELETE")["error"] is None  # though its error_code is NoContent
    assert [row["key"] for row in rows if row["op"] == "LIST"] == ["2026/img-00", "", "", "dir/", "2026/"]
    assert one(rows, bucket="cont", op="PUT")["key"] == "dir/o1"  # by the Swift API
    assert (
        one(rows, key="2026/img-010.jpg", status=403, latency_ns=0)["bucket"] == "photos"
    )  # the bucket in the host's name


def test_the_time_of_the_operations_log_is_when_the_request_began():
    # The client sent half of this object's bytes, and the others two seconds later; by its clock it began at 13.380.
    slow = one(read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log.json")[0], key="slow")
    assert slow["time_ns"] % 60_000_000_000 == 13_374782000 and slow["latency_ns"] == 2015_000_000
    assert one(read(rgw_beast_log.FORMAT, SAMPLES / "rgw-beast.log")[0], key="slow")["time_ns"] // 10**6 == (
        slow["time_ns"] // 10**6
    )


def test_the_socket_and_any_other_layout_give_the_same_requests(tmp_path):
    plain, _ = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log-socket.json")
    text = (SAMPLES / "rgw-ops-log-socket.json").read_text()
    assert text.startswith("[{") and text.endswith("},\n")
    held = json.loads(text.rstrip(",\n") + "]")
    lines = [json.dumps(row) for row in held]
    layouts = {
        "lines": "\n".join(lines),
        "crlf": "\r\n\r\n".join(lines) + "\r\n",
        "together": "".join(lines),
        "two late": "\n".join(lines[:-2]) + "\n" + "".join(lines[-2:]),
        "array": json.dumps(held),
        "indented": json.dumps(held, indent=4),
        "jq": "\n".join(json.dumps(row, indent=2) for row in held) + "\n",
        "log show": log_show(held, 4),
        "log show without indents": log_show(held, None),
        "log shows": log_show(held[:7], 4) + log_show(held[7:8], None) + log_show(held[8:], 4),
        "log show --show-log-sum=false": log_show(held, 4, log_sum=None),
        "array of log shows": "[" + log_show(held[:7], 1) + "," + log_show(held[7:], 1) + "]",
    }
    for name, layout in layouts.items():
        rows, report = of(tmp_path, rgw_ops_log.FORMAT, layout)
        assert rows == plain and report.rows == len(held), name


def log_show(held, indent, **changes):
    """What ``radosgw-admin log show`` prints of entries."""
    log = {
        "bucket_id": "default.4155.1",
        "bucket_owner": "sim",
        "bucket": "b",
        "log_entries": held,
        "log_sum": {"bytes_sent": 7, "bytes_received": 8, "total_time": 9, "total_entries": len(held)},
    }
    printed = {name: value for name, value in (log | changes).items() if value is not None}
    return json.dumps(printed, indent=indent, separators=None if indent else (",", ":")) + "\n"


def test_the_logs_of_all_buckets_hold_what_the_file_holds():
    shown, shown_tally = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log-show.json")
    plain, report = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log.json")
    assert "parts of the file are not in order" in shown_tally.notes[0]  # a bucket after the other
    assert shown_tally.figures() | {"notes": []} == report.figures() and shown != plain
    assert sorted(shown, key=str) == sorted(plain, key=str)


@pytest.mark.parametrize(("step", "longest"), [(300, 32 << 20), (64, 900)])
@pytest.mark.parametrize("indent", [4, None])
def test_what_log_show_prints_is_read_block_by_block(tmp_path, monkeypatch, indent, step, longest):
    monkeypatch.setattr(source, "_STEP", step)
    monkeypatch.setattr(source, "BLOCK_BYTES", 700)
    for module in (source, json_objects):
        monkeypatch.setattr(module, "LONGEST_LINE_BYTES", longest)
    held = [json.loads(entry(total_time=i)) for i in range(40)]
    text = log_show(held[:15], indent) + log_show(held[15:], indent)
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, text)
    assert [row["latency_ns"] for row in rows] == [i * 10**6 for i in range(40)] and report.rows == 40
    numbers = [(n, len(block.data)) for block in rgw_ops_log.entries(Source(tmp_path / "log")) for n in block.numbers]
    if indent:  # five lines before the first entry of a log, eight and the next one's five behind the last
        assert [n for n, _ in numbers] == [6 + 14 * i + 13 * (i > 14) for i in range(40)]
        assert max(size for _, size in numbers) < 1500


def test_refusals_in_a_shown_log_name_the_lines_of_the_file(tmp_path):
    good, bad = json.loads(entry()), json.loads(entry(time="yesterday"))
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, log_show([good, bad], 4) + log_show([bad, good], 4))
    log = tmp_path / "log"
    assert len(rows) == 2 and report.where == [f"{log}: line {n}: time cannot be read" for n in (20, 47)]


def test_a_shown_log_that_is_cut_gives_what_is_whole(tmp_path):
    held = [json.loads(entry(total_time=i)) for i in range(6)]
    shown = log_show(held, 4)
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, shown[: shown.index('"total_time": 4')] + "\n" + shown)
    assert len(rows) == 10 and report.unreadable.total() == 1 and report.rows == 11
    behind = shown.index('"log_sum"')
    for cut in (behind + 3, behind + 12, behind + 40, len(shown) - 3):
        rows, report = of(tmp_path, rgw_ops_log.FORMAT, shown[:cut])
        assert len(rows) == 6 and report.unreadable.total() <= 1


@pytest.mark.parametrize("indent", [4, None])
@pytest.mark.parametrize("name", ["log_entries", "log_sum"])
def test_names_in_an_entry_do_not_end_it(tmp_path, name, indent):
    held = [json.loads(entry(bucket=name, object=name)) | {"user": name, name: {"a": 1}}]
    for text in (json.dumps(held[0], indent=indent), log_show(held * 2, indent)):
        rows, report = of(tmp_path, rgw_ops_log.FORMAT, text)
        assert [(row["bucket"], row["key"]) for row in rows] == [(name, name)] * report.rows


@pytest.mark.parametrize("indent", [None, 2])
def test_the_response_to_a_search_holds_entries(tmp_path, monkeypatch, indent):
    logged, _ = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log.json")
    text = (SAMPLES / "rgw-ops-log-search.json").read_text()
    monkeypatch.setattr(source, "_STEP", 300)
    monkeypatch.setattr(source, "BLOCK_BYTES", 700)
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, json.dumps(json.loads(text), indent=indent))
    assert (report.rows, len(rows), report.joined) == (24, 21, 1) and not report.unreadable
    assert [row for row in logged if row in rows] == rows


@pytest.mark.parametrize(("count", "kept"), [(0, 0), (1, 1), (2, 0)])
def test_a_delete_of_several_objects_is_left_out(tmp_path, count, kept):
    deleted = {"num_ok": count, "objects": [{"key": f"k{i}", "error": False} for i in range(count)]}
    changes = {"operation": "multi_object_delete", "object": "-", "uri": "POST /b?delete", "op_data": deleted}
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, entry(**changes))
    assert [(row["op"], row["key"], row["transfer_bytes"]) for row in rows] == [("DELETE", "k0", 0)] * kept
    assert report.left_out == ({} if kept else {"a delete of several objects": 1})


def test_names_that_are_not_utf8_stay_distinct(tmp_path):
    names = [b"a\xfe", b"a\xff", b"a\xc3\xb6"]
    lines = [entry(object="NAME").encode().replace(b"NAME", name) for name in names]
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, b"\n".join(lines))
    assert [row["key"] for row in rows] == ["a\\xfe", "a\\xff", "aö"] and not report.unreadable


def test_an_array_cut_in_its_last_object_gives_the_others(tmp_path):
    text = (SAMPLES / "rgw-ops-log-socket.json").read_text()
    whole, _ = of(tmp_path, rgw_ops_log.FORMAT, text)
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, text[:-200])
    assert rows == whole[:-1] and report.unreadable.total() == 1
    assert f"line {text.count(chr(10))}:" in report.where[0]


def test_the_recording_for_comparisons_is_whole():
    rows, report = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log-e2e.json.zst")
    assert report.rows == report.kept == 1999
    assert counts(rows) == {"GET": 1273, "PUT": 469, "HEAD": 129, "DELETE": 86, "LIST": 42}
    assert 24e9 < rows[-1]["time_ns"] - rows[0]["time_ns"] < 25e9


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, {"key": "a?b %20", "size_bytes": 10, "client": "10.0.0.1", "time_ns": 1795255200_500000000}),
        ({"object": None}, {"key": "a?b %20"}),
        ({"object": None, "bucket": "t/b", "uri": "GET /t:b/k HTTP/1.1"}, {"bucket": "t/b", "key": "k"}),
        ({"object": None, "bucket": "t/b", "uri": "GET /b/k"}, {"bucket": "t/b", "key": "k"}),
        ({"object": None, "uri": "GET /swift/v1/AUTH_a/b/c/k HTTP/1.1"}, {"key": "c/k"}),
        ({"object": None, "uri": "GET /swift/b/k HTTP/1.1"}, {"key": "swift/b/k"}),
        ({"object": None, "uri": "GET /2026/k HTTP/1.1"}, {"bucket": "b", "key": "2026/k"}),
        ({"object": None, "operation": "list_bucket", "uri": "GET /?prefix=x"}, {"bucket": "b", "key": "x"}),
        ({"object": None, "uri": "GET /b/b/k?versionId=1 HTTP/1.1"}, {"key": "b/k"}),
        ({"uri": "HEAD /b/k HTTP/1.1", "bytes_sent": 0}, {"op": "HEAD", "size_bytes": 10, "transfer_bytes": 0}),
        ({"time": "2026-11-21 10:00:00.500000Z"}, {"time_ns": 1795255200_500000000}),
        ({"remote_addr": "10.1.1.1, 9.2.2.2, 10.3.3.3"}, {"client": "10.1.1.1"}),
        ({"total_time": None}, {"latency_ns": None}),
        ({"http_status": "503", "error_code": "SlowDown"}, {"error": "SlowDown", "size_bytes": None}),
        ({"http_status": "503"}, {"error": "Service Unavailable"}),
        ({"operation": "put_obj", "object_size": 0, "bytes_received": 7}, {"op": "PUT", "size_bytes": 7}),
        ({"http_status": "304", "bytes_sent": 0}, {"op": "HEAD", "transfer_bytes": 0}),
        ({"operation": "copy_obj", "bytes_sent": 200}, {"op": "PUT", "size_bytes": 10, "transfer_bytes": 0}),
        ({"operation": "post_obj", "bytes_received": 999, "uri": "POST /b"}, {"op": "PUT", "size_bytes": 10}),
        ({"operation": "list_bucket", "object": "-", "uri": "GET /b?prefix=x%2F&list-type=2"}, {"key": "x/"}),
    ],
)
def test_entries_of_other_releases_and_addresses(tmp_path, changes, wanted):
    (row,), _ = of(tmp_path, rgw_ops_log.FORMAT, entry(**changes))
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"time": "yesterday"}, "time cannot be read"),
        ({"time": None}, "has no time"),
        ({"operation": None}, "has no operation"),
        ({"total_time": -4}, "total_time is not a duration"),
        ({"total_time": 10**15}, "total_time is not a duration"),
        ({"http_status": "OK"}, "HTTP status cannot be read"),
        ({"bytes_sent": -1}, "transfer_bytes is negative"),
        ({"object": None, "uri": "GET /b HTTP/1.1"}, "has no key"),
        ({"object_size": "ten"}, "object_size is of a wrong type"),
    ],
)
def test_entries_that_cannot_be_are_refused(tmp_path, changes, why):
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, f"{entry()}\n\n{entry(**changes)}\n{entry()}")
    assert len(rows) == 2 and report.where == [f"{tmp_path / 'log'}: line 3: {why}"]


@pytest.mark.parametrize("way", ["{},\n", ",{}\n", "{}\r\n", "\n{}\n", " {}\n"])
def test_lines_of_an_array_are_numbered(tmp_path, way):
    held = [entry(total_time=i) for i in range(5)] + [entry(time="yesterday")]
    text = "[\n" + "".join(way.replace("{}", one) for one in held) + "]\n"
    rows, report = of(tmp_path, rgw_ops_log.FORMAT, text)
    number = text[: text.index("yesterday")].count("\n") + 1
    assert len(rows) == 5 and report.where == [f"{tmp_path / 'log'}: line {number}: time cannot be read"]


def test_blocks_of_objects_are_cut_between_them(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "_STEP", 300)
    monkeypatch.setattr(source, "BLOCK_BYTES", 700)
    held = [json.loads(entry(total_time=i)) for i in range(40)]
    for indent in (None, 1):
        rows, report = of(tmp_path, rgw_ops_log.FORMAT, json.dumps(held, indent=indent).replace("}, {", "},\n{"))
        assert [row["latency_ns"] for row in rows] == [i * 10**6 for i in range(40)] and report.rows == 40
    path = tmp_path / "log"
    numbers = [n for block in json_objects.objects(Source(path)) for n in block.numbers]
    assert numbers == [2 + 14 * i for i in range(40)]


def test_access_lines_give_what_the_operations_log_gives():
    rows, report = read(rgw_beast_log.FORMAT, SAMPLES / "rgw-beast.log")
    assert report.left_out["not a line about access"] == 57
    assert counts(rows) == {"GET": 28, "PUT": 21, "HEAD": 9, "DELETE": 7, "LIST": 4}
    logged, _ = read(rgw_ops_log.FORMAT, SAMPLES / "rgw-ops-log.json")
    known = {(row["time_ns"] // 10**6, row["op"], row["key"]): row for row in logged}
    shared = 0
    for row in rows:
        other = known.get((row["time_ns"] // 10**6, row["op"], row["key"]))
        if other is not None:
            shared += 1
            assert row["status"] == other["status"]
            if row["key"] != "copy.jpg":  # which looks like a PUT of its answer
                assert row["transfer_bytes"] == other["transfer_bytes"]
            # The access line is written a little later, the other counts whole milliseconds.
            assert -1_000_000 < row["latency_ns"] - other["latency_ns"] < 9_000_000
    assert shared >= len(rows) - 4
    ranges = [(row["range_start_bytes"], row["range_bytes"]) for row in rows if row["status"] == 206]
    assert ranges == [(0, 5000), (1000, 5000), (3000, 5000), (6_000_000, 1_000_000)]


ACCESS = (
    "2026-11-21T10:44:01.620147+0000 7fcc9c0c16c0  1 beast: 0x7fcc901036e0: 10.1.2.3 - sim"
    ' [21/Nov/2026:10:44:01.606 +0100] "GET /b/k HTTP/1.1" 206 50 - "agent" bytes=100-149 latency=0.012000001s\n'
)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (
            "",
            "",
            {"time_ns": 1795254241_606000000, "latency_ns": 12000001, "range_start_bytes": 100, "size_bytes": None},
        ),
        (ACCESS[: ACCESS.index("beast")], "Nov 21 10:44:01 host radosgw[7]: ", {"client": "10.1.2.3"}),
        ("bytes=100-149", "bytes=-50", {"range_start_bytes": 0, "range_bytes": 50}),
        ("bytes=100-149", "bytes=0-1, 4-5", {"range_start_bytes": 0, "latency_ns": 12000001}),
        ('"agent"', '"an "odd" agent" with a" latency=9s"', {"latency_ns": 12000001, "range_start_bytes": 100}),
        ("206 50", "404 231", {"error": "Not Found", "size_bytes": None, "transfer_bytes": 0}),
        ("GET /b/k", "GET /b?max-keys=3&prefix=p%2F", {"op": "LIST", "key": "p/", "size_bytes": 0}),
        ("GET /b/k", "GET /swift/v1/b/k", {"bucket": "b", "key": "k"}),
        ("GET /b/k", "PUT /b/k?partNumber=2&uploadId=2~x", {"op": "PUT", "size_bytes": 50}),
        (" bytes=100-149 latency=0.012000001s", " -", {"latency_ns": None}),
    ],
)
def test_access_lines_of_all_kinds(tmp_path, old, new, wanted):
    (row,), _ = of(tmp_path, rgw_beast_log.FORMAT, ACCESS.replace(old, new))
    assert {name: row[name] for name in wanted} == wanted


OCTOPUS = ACCESS.replace("21/Nov/2026:10:44:01.606 +0100", "2026-11-21T10:44:01.606+0100").replace(
    " latency=0.012000001s", ""
)


def test_before_pacific_there_is_no_latency_and_the_time_is_iso_8601(tmp_path):
    (row,), _ = of(tmp_path, rgw_beast_log.FORMAT, OCTOPUS.replace("GET", "PUT").replace("206", "200"))
    assert row["size_bytes"] == row["transfer_bytes"] == 50 and row["latency_ns"] is None
    assert row["time_ns"] == 1795254241_606000000
    (row,), _ = of(tmp_path, rgw_beast_log.FORMAT, OCTOPUS)
    assert (row["range_start_bytes"], row["range_bytes"]) == (100, 50)


NAUTILUS = OCTOPUS.replace("2026-11-21T10:44:01.606+0100", "2026-11-21 10:44:01.0.606123s").replace("- sim", "- -")


@pytest.mark.parametrize(
    ("part", "part_ns"),
    [  # what a program prints that is compiled of the lines in ceph_time.cc
        ("000000", 0),
        ("01e-06", 1_000),
        ("01e-05", 10_000),
        ("3.7e-05", 37_000),
        ("9.9e-05", 99_000),
        ("0.0001", 100_000),
        ("0.000337", 337_000),
        ("00.012", 12_000_000),
        ("0000.5", 500_000_000),
        ("0.999999", 999_999_000),
    ],
)
def test_nautilus_prints_the_part_of_a_second_as_a_duration(tmp_path, part, part_ns):
    (row,), _ = of(tmp_path, rgw_beast_log.FORMAT, NAUTILUS.replace("0.606123", part))
    assert row["time_ns"] == 1795257841_000000000 + part_ns
    assert (row["client"], row["key"], row["range_bytes"], row["latency_ns"]) == ("10.1.2.3", "k", 50, None)


@pytest.mark.parametrize(
    "part", ["", "0.6", "s", "1.0s", "0.6e05s", "0.6e-s", "0.6e-99s", "0.6e-0", "0.0e-", "e-05s", ".s", "-0.5s"]
)
def test_other_parts_of_a_second_are_refused(tmp_path, part):
    rows, report = of(tmp_path, rgw_beast_log.FORMAT, NAUTILUS.replace("0.606123s", part))
    assert not rows and report.where == [f"{tmp_path / 'log'}: line 1: time cannot be read"]


def test_times_of_nautilus_are_in_the_zone_that_the_user_names(tmp_path):
    (tmp_path / "log").write_text(NAUTILUS)
    (batch,) = rgw_beast_log.FORMAT.read(Source(tmp_path / "log", "Europe/Berlin"), ImportReport())
    assert batch["time_ns"].to_pylist() == [1795257841_606123000 - 3600 * 10**9]


def test_the_sample_of_nautilus_has_the_requests_of_the_recording():
    rows, report = read(rgw_beast_log.FORMAT, SAMPLES / "rgw-beast-nautilus.log")
    recorded, _ = read(rgw_beast_log.FORMAT, SAMPLES / "rgw-beast.log")
    assert len(rows) == len(recorded) == report.kept
    assert report.joined == 20 and sum(row["latency_ns"] is not None for row in rows) == 13  # of lines "req done"
    for row, other in zip(rows, recorded, strict=True):
        assert row == other | {"time_ns": row["time_ns"], "latency_ns": row["latency_ns"]}
        assert row["latency_ns"] in (None, other["latency_ns"])
        end_ns = row["time_ns"] + (row["latency_ns"] or 0)
        assert abs(end_ns - other["time_ns"] - other["latency_ns"]) < 5_000_000


def test_lines_of_civetweb_have_the_times_of_the_requests_and_no_sizes_of_puts():
    rows, report = read(rgw_beast_log.FORMAT, SAMPLES / "rgw-civetweb.log")
    assert (report.rows, report.kept, report.joined) == (135, 44, 45) and report.left_out[NO_OBJECT] == 1
    recorded, _ = read(rgw_beast_log.FORMAT, SAMPLES / "rgw-beast.log")
    for row, other in zip(rows, recorded, strict=False):
        unlike = ["time_ns", "size_bytes", "transfer_bytes", "range_bytes", "range_start_bytes"]
        assert row == other | {name: row[name] for name in unlike}
        assert abs(row["time_ns"] - other["time_ns"]) <= 1_000_000
        if row["op"] == "PUT":
            assert row["size_bytes"] is row["transfer_bytes"] is None
        elif row["op"] == "GET" and row["status"] == 200:  # the response's header is counted
            assert other["size_bytes"] < row["size_bytes"] < other["size_bytes"] + 400


LUMINOUS = """\
2018-07-23 19:17:32.548567 7f8779fcb700  1 ====== starting new request req=0x7f8779fc5710 =====
2018-07-23 19:17:32.561416 7f8779fcb700  1 ====== req done req=0x7f8779fc5710 op status=0 http_status=200 ======
2018-07-23 19:17:32.561462 7f8779fcb700  1 civetweb: 0x7f87a80266e0: 10.9.1.2 - - [23/Jul/2018:19:17:30 +0800] \
"GET /b/k%3A1?x HTTP/1.1" 200 0 - Boto/2.49.0 Python/3.6.3
"""


def test_up_to_luminous_the_line_of_the_start_tells_the_latency(tmp_path):
    (row,), report = of(tmp_path, rgw_beast_log.FORMAT, LUMINOUS)
    assert (report.joined, report.left_out) == (1, {"not a line about access": 1})
    # The zone is that of the connection's time.
    assert row["time_ns"] == 1532344652_548567000 and row["latency_ns"] == 12_895_000
    assert (row["key"], row["size_bytes"], row["client"]) == ("k:1", None, "10.9.1.2")
    (row,), report = of(tmp_path, rgw_beast_log.FORMAT, LUMINOUS.splitlines()[-1])
    assert row["time_ns"] == 1532344652_561462000 and row["latency_ns"] is None and report.joined == 0
    (row,), _ = of(tmp_path, rgw_beast_log.FORMAT, LUMINOUS.replace(" 200 0 ", " -1 0 "))  # of Jewel
    assert row["status"] is None and row["error"] is None


def test_lines_of_civetweb_behind_a_tag_of_syslog_have_the_time_of_the_connection(tmp_path):
    line = "Jul 23 19:17:32 host radosgw[7]: " + LUMINOUS[LUMINOUS.index("civetweb") :]
    (row,), _ = of(tmp_path, rgw_beast_log.FORMAT, line.replace("GET", "PUT").replace("?x", ""))
    assert (row["time_ns"], row["size_bytes"], row["latency_ns"]) == (1532344650_000000000, None, None)


def test_a_damaged_access_line_leaves_its_latency_to_none(tmp_path):
    start, done, line = LUMINOUS.splitlines()
    rows, report = of(tmp_path, rgw_beast_log.FORMAT, "\n".join([start, done, line[:130], line]))
    assert [row["latency_ns"] for row in rows] == [None] and report.unreadable.total() == 1 and report.joined == 0


def test_a_latency_is_that_of_the_same_request(tmp_path):
    done = "2026-11-21T10:44:01.6+0000 7fcc9c0c16c0  1 ====== req done req=0x7fcc901036e0 op status=0 http_status=206 "
    done += "latency=3.7e-05s ======\n"
    (row,), report = of(tmp_path, rgw_beast_log.FORMAT, done + OCTOPUS)
    assert (row["latency_ns"], row["time_ns"], report.joined) == (37_000, 1795254241_606000000 - 37_000, 1)
    for other in (
        done.replace("6e0 op", "6f0 op"),
        done.replace("c16c0", "c16d0"),
        done.replace(" latency=3.7e-05s", ""),
    ):
        (row,), report = of(tmp_path, rgw_beast_log.FORMAT, other + OCTOPUS)
        assert row["latency_ns"] is None and report.joined == 0 and report.left_out.total() == 1
    rows, report = of(tmp_path, rgw_beast_log.FORMAT, done + OCTOPUS + OCTOPUS + done)
    assert [row["latency_ns"] for row in rows] == [37_000, None] and report.joined == 1 and report.left_out.total() == 1
    (row,), report = of(tmp_path, rgw_beast_log.FORMAT, done + ACCESS)  # which has a latency
    assert row["latency_ns"] == 12_000_001 and report.joined == 0


@pytest.mark.parametrize("name", ["rgw-civetweb.log", "rgw-beast-nautilus.log"])
def test_latencies_are_found_in_the_block_before(tmp_path, monkeypatch, name):
    text = (SAMPLES / name).read_text() + "rubbish\n"
    whole, tally = of(tmp_path, rgw_beast_log.FORMAT, text)
    monkeypatch.setattr(source, "_STEP", 300)
    monkeypatch.setattr(source, "BLOCK_BYTES", 300)
    rows, report = of(tmp_path, rgw_beast_log.FORMAT, text)
    assert rows == whole and report.figures() == tally.figures() and report.where == tally.where


@pytest.mark.parametrize("target", ["/b/k?acl", "/b?uploads", "/b/k?uploadId=1", "/", "/admin/usage", "/b?location"])
def test_requests_about_objects_are_left_out(tmp_path, target):
    rows, report = of(tmp_path, rgw_beast_log.FORMAT, ACCESS.replace("/b/k", target))
    assert not rows and report.left_out.total() == report.rows == 1


def test_swifts_proxy_log_gives_what_was_asked():
    rows, report = read(swift_proxy_log.FORMAT, SAMPLES / "swift-proxy.log")
    assert report.left_out == {NO_OBJECT: 24, "not a line about access": 4, "a request of the proxy's own": 27}
    assert counts(rows) == {"GET": 48, "PUT": 42, "HEAD": 13, "DELETE": 14, "LIST": 5}
    first = rows[0]
    assert (first["time_ns"], first["latency_ns"]) == (1795295887_094391823, 97_300_000)
    assert (first["bucket"], first["key"], first["size_bytes"]) == ("docs", "2026/file-1.dat", 997)
    assert one(rows, key="a b/ünï+code?&%.txt", op="GET", bucket="docs")["size_bytes"] == 29910
    assert one(rows, key="a b/ünï+code?&%.txt", op="GET", bucket="photos")["size_bytes"] == 3000  # by the S3 API
    assert [row["key"] for row in rows if row["op"] == "LIST"] == ["2026/file-1", "", "2026/img-00", "", ""]
    assert one(rows, key="big.bin", op="GET", status=200, bucket="docs")["transfer_bytes"] == 3_600_000
    assert one(rows, key="slow")["latency_ns"] == 2_011_400_000
    assert one(rows, key="ext/tt/b")["size_bytes"] == 2  # out of an archive
    assert not [row for row in rows if row["key"] in ("ext", "v1.0")]


SWIFT = (
    "proxy-server: 10.1.2.3 10.0.0.1 21/Nov/2026/10/31/20 GET /v1/AUTH_test/lab/k%2520-1 HTTP/1.0 200 - curl"
    " AUTH_tkabc - 3072 - txed4-00 - 0.0659 - - 1795257080.507462263 1795257080.573340178 0\n"
)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (
            "",
            "",
            {"key": "k -1", "bucket": "lab", "client": "10.1.2.3", "time_ns": 1795257080_507462263, "status": 200},
        ),
        ("proxy-server: ", "", {"latency_ns": 65_900_000}),
        ("proxy-server: ", "Nov 21 10:31:20 host proxy-server[12]: proxy-server: ", {"size_bytes": 3072}),
        (" - - 1795257080.507462263 1795257080.573340178 0", "", {"time_ns": 1795257080_000000000 - 65_900_000}),
        (" 1795257080.573340178 0", " 1795257080.573340178 0 more fields", {"size_bytes": 3072}),
        ("k%2520-1", "k%3Ftemp_url_sig%3Dabc%26temp_url_expires%3D1", {"key": "k"}),
        ("GET", "PUT", {"size_bytes": 0}),
        ("lab/k%2520-1", "lab%3Fprefix%3Da%252Fb", {"op": "LIST", "key": "a/b"}),
        (" 200 ", " 499 ", {"error": "HTTP 499", "transfer_bytes": 0}),
    ],
)
def test_swift_lines_of_all_kinds(tmp_path, old, new, wanted):
    (row,), _ = of(tmp_path, swift_proxy_log.FORMAT, SWIFT.replace(old, new))
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("format", "line", "why"),
    [
        (swift_proxy_log.FORMAT, SWIFT[:90], "is not a line of a proxy's log, or has too few fields"),
        (
            swift_proxy_log.FORMAT,
            SWIFT.replace("/Nov/", "/Non/").replace("1795257080.5", "x"),
            "start time cannot be read",
        ),
        (swift_proxy_log.FORMAT, SWIFT.replace("0.0659", "-0.0659"), "duration cannot be read"),
        (swift_proxy_log.FORMAT, "rubbish\n", "is no line of a proxy's log"),
        (rgw_beast_log.FORMAT, "rubbish\n", "is no line of a gateway's log"),
        (rgw_beast_log.FORMAT, ACCESS.replace("Nov", "Non"), "time cannot be read"),
        (rgw_beast_log.FORMAT, ACCESS.replace("0.012000001s", "-0.004s"), "latency cannot be read"),
        (
            rgw_beast_log.FORMAT,
            ACCESS[: ACCESS.index("/b/k")],
            "is not a line about access, or has too few fields",
        ),
    ],
)
def test_lines_that_cannot_be_are_refused(tmp_path, format, line, why):
    good = SWIFT if format is swift_proxy_log.FORMAT else ACCESS
    rows, report = of(tmp_path, format, good + line.rstrip("\n") + "\n" + good.rstrip("\n"))
    assert len(rows) == 2 and report.where == [f"{tmp_path / 'log'}: line 2: {why}"]


LINES = {
    rgw_ops_log.FORMAT.name: entry() + "\n",
    rgw_beast_log.FORMAT.name: ACCESS,
    swift_proxy_log.FORMAT.name: SWIFT,
}


@examples(60)
@given(data=st.data(), format=st.sampled_from([rgw_ops_log.FORMAT, rgw_beast_log.FORMAT, swift_proxy_log.FORMAT]))
def test_every_row_of_a_damaged_log_is_accounted_for(tmp_path_factory, data, format):
    text = bytearray(LINES[format.name].encode() * 6)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 40))
        text[at : at + gone] = data.draw(st.binary(max_size=6) | st.sampled_from([b'"', b"}", b"{", b"\n", b" ", b"["]))
    rows, report = of(tmp_path_factory.mktemp("log"), format, bytes(text))
    assert report.rows >= len(rows) and report.rows >= 1


@examples(40)
@given(
    held=st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text()), max_size=4), min_size=1),
    block=st.sampled_from([5, 100, 4 << 20]),
)
def test_objects_come_out_of_any_layout_as_they_went_in(tmp_path_factory, held, block):
    text = list(map(json.dumps, held))
    wrapped = {"took": 1, "hits": {"total": {"value": 1}, "hits": held}, "aggregations": {"x": {}}}
    for layout in (
        "".join(text),
        "\n".join(text) + "\n",
        json.dumps(held, indent=1),
        "[" + ",\n".join(text),
        log_show(held, None),
        log_show(held, 4),
        json.dumps(wrapped),
    ):
        path = tmp_path_factory.mktemp("log") / "log"
        path.write_text(layout)
        with patch.object(source, "BLOCK_BYTES", block), patch.object(source, "_STEP", block):
            blocks = list(rgw_ops_log.entries(Source(path)))
        found = [json.loads(line) for lines in blocks for line in lines.data.splitlines() if line.strip()]
        assert found == held

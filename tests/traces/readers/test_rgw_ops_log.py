"""The operations log of Ceph's RADOS gateway, on samples that were recorded on live stores."""

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log_rows import NO_OBJECT, counts, of, one, read
from tests.paths import SAMPLES
from tests.profiles import examples
from traces.readers import json_objects, source
from traces.readers.source import Source
from traces.readers.stores import rgw_beast_log, rgw_ops_log


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

"""Access lines of Ceph's RADOS gateway, on samples that were recorded on live stores."""

import pytest

from tests.log_rows import NO_OBJECT, counts, of, read
from tests.paths import SAMPLES
from traces.logs.import_report import ImportReport
from traces.readers import source
from traces.readers.source import Source
from traces.readers.stores import rgw_beast_log, rgw_ops_log


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


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rubbish\n", "is no line of a gateway's log"),
        (ACCESS.replace("Nov", "Non"), "time cannot be read"),
        (ACCESS.replace("0.012000001s", "-0.004s"), "latency cannot be read"),
        (ACCESS[: ACCESS.index("/b/k")], "is not a line about access, or has too few fields"),
    ],
)
def test_lines_that_cannot_be_are_refused(tmp_path, line, why):
    rows, report = of(tmp_path, rgw_beast_log.FORMAT, ACCESS + line.rstrip("\n") + "\n" + ACCESS.rstrip("\n"))
    assert len(rows) == 2 and report.where == [f"{tmp_path / 'log'}: line 2: {why}"]

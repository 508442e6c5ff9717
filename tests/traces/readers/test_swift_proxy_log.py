"""The log of Swift's proxy, on a sample that was recorded on a live store."""

import pytest

from tests.log_rows import NO_OBJECT, counts, of, one, read
from tests.paths import SAMPLES
from traces.readers.stores import swift_proxy_log


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
    ("line", "why"),
    [
        (SWIFT[:90], "is not a line of a proxy's log, or has too few fields"),
        (SWIFT.replace("/Nov/", "/Non/").replace("1795257080.5", "x"), "start time cannot be read"),
        (SWIFT.replace("0.0659", "-0.0659"), "duration cannot be read"),
        ("rubbish\n", "is no line of a proxy's log"),
    ],
)
def test_lines_that_cannot_be_are_refused(tmp_path, line, why):
    rows, report = of(tmp_path, swift_proxy_log.FORMAT, SWIFT + line.rstrip("\n") + "\n" + SWIFT.rstrip("\n"))
    assert len(rows) == 2 and report.where == [f"{tmp_path / 'log'}: line 2: {why}"]

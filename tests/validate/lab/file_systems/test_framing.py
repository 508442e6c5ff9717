"""What a recorder makes of the bytes of a connection, in chunks of any size."""

from __future__ import annotations

from typing import Any

import pytest

from validate.lab.file_systems.framing import PROTOCOLS

GET = b"GET /b/k?partNumber=1&X-Amz-Signature=secret HTTP/1.1\r\nRange: bytes=4-9\r\nAuthorization: s\r\n\r\n"
PUT = b"PUT /b/k%20x HTTP/1.1\r\nContent-Length: 5\r\nx-amz-copy-source: /b/a\r\n\r\nab\r\nc"
CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=1\r\n\r\n\r\n\r\n3\r\nabc\r\n0\r\nTrailer: t\r\n\r\n"
)


def recorded(protocol: str, exchanges: list[tuple[bytes, bytes]], size: int) -> tuple[list[dict[str, Any]], int]:
    """The entries of exchanges, shown in chunks of a size, and how many chunks began an exchange."""
    entries: list[dict[str, Any]] = []
    connection = PROTOCOLS[protocol](7, entries.append)
    begun = 0
    for sent, received in exchanges:
        begun += sum([connection.sent(sent[at : at + size]) for at in range(0, len(sent), size)])
        for at in range(0, len(received), size):
            connection.received(received[at : at + size])
    connection.end()
    return entries, begun


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_requests_have_their_bytes_and_no_signature(size: int) -> None:
    exchanges = [
        (GET, CHUNKS),
        (PUT, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        (b"HEAD /b/k HTTP/1.1\r\n\r\n", b"HTTP/1.1 404 Not Found\r\nContent-Length: 300\r\n\r\n"),
        (b"DELETE /b/k HTTP/1.1\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET /b HTTP/1.0\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\nto the end"),
    ]
    entries, begun = recorded("http", exchanges, size)
    assert begun == len(exchanges) == len(entries)
    assert [(e["method"], e["path"], e["status"], e["request_bytes"], e["response_bytes"]) for e in entries] == [
        ("GET", "/b/k", 200, 0, 7),
        ("PUT", "/b/k x", 200, 5, 0),
        ("HEAD", "/b/k", 404, 0, 0),
        ("DELETE", "/b/k", 204, 0, 0),
        ("GET", "/b", 200, 0, 10),
    ]
    assert entries[0]["query"] == {"partNumber": "1"} and entries[0]["range"] == "4-9"
    assert [e["copies"] for e in entries] == [False, True, False, False, False]
    assert all(e["begin_s"] <= e["end_s"] and e["connection"] == 7 for e in entries) and "secret" not in str(entries)


def test_a_request_without_response_has_status_0() -> None:
    (entry,), _ = recorded("http", [(PUT, b"HTTP/1.1 ")], 1000)
    assert (entry["method"], entry["status"], entry["request_bytes"]) == ("PUT", 0, 5)


def test_commands_sent_together_are_one_round() -> None:
    def command(*words: str) -> bytes:
        return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)])

    pipeline = command("multi") + command("set", "i12", "x\r\ny") + command("exec")
    entries, begun = recorded(
        "redis", [(command("watch", "i12"), b"+OK\r\n"), (pipeline, b"+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n")], 1000
    )
    assert [entry["commands"] for entry in entries] == [["WATCH i#"], ["MULTI", "SET i#", "EXEC"]] and begun == 2

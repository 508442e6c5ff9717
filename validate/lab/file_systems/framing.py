"""Follows the exchanges of a connection without holding up its bytes: those of HTTP/1.1, and rounds to a Redis."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

Write = Callable[[dict[str, object]], None]
"""Takes the entry of an exchange that has ended; times are those of `time.perf_counter`."""

_TO_CLOSE = -1
_EMPTY_LINE = b"\r\n"
_SIGNATURE = re.compile(r"x-amz-|signature|awsaccesskeyid|expires", re.IGNORECASE)
_COMMAND = re.compile(rb"\*\d+\r\n\$\d+\r\n([^\r\n]*)\r\n(?:\$\d+\r\n([^\r\n]*)\r\n)?")
_NUMBER = re.compile(r"\d+")


class Exchanges(Protocol):
    """The exchanges of a connection; its bytes are shown to it in order, in chunks of any size."""

    def sent(self, data: bytes) -> bool:
        """Take bytes of the client; return whether an exchange begins with them."""

    def received(self, data: bytes) -> None:
        """Take bytes of the server."""

    def end(self) -> None:
        """Write down what has not ended, as the connection is closed."""


@dataclass
class HttpExchange:
    """A request and its response.

    Attributes:
        connection: number of the connection, which counts the connections of a recorder.
        query: names and values without signatures.
        range: as requested; empty: the whole.
        copies: whether the source is another object.
        status: 0: there was no response.
        request_bytes, response_bytes: of the bodies.
    """

    connection: int
    method: str
    path: str
    query: dict[str, str]
    range: str
    copies: bool
    begin_s: float
    status: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    end_s: float = 0.0


class _Messages:
    """The messages of one direction.

    Args:
        begun: takes the start line and the headers of a message, and returns the length of its body in bytes; None if
            it comes in chunks, -1 if it ends with the connection.
        ended: is called with the number of bytes of the body.
    """

    def __init__(self, begun: Callable[[str, dict[str, str]], int | None], ended: Callable[[int], None]):
        self._begun, self._ended = begun, ended
        self._head = bytearray()
        self._left: int | None = 0  # bytes of the body, or of a chunk with its end of line
        self._chunked, self._in_head, self.body_bytes = False, True, 0

    @property
    def between(self) -> bool:
        """Whether the next byte begins a message."""
        return self._in_head and not self._head

    def feed(self, data: bytes) -> None:
        view = memoryview(data)
        while len(view):
            if self._in_head or (self._chunked and not self._left):
                view = self._line(view)
            else:
                assert self._left is not None
                taken = len(view) if self._left == _TO_CLOSE else min(self._left, len(view))
                self.body_bytes += taken
                if self._left != _TO_CLOSE:
                    self._left -= taken
                view = view[taken:]
                if not self._left and not self._chunked:
                    self._finish()

    def _line(self, view: memoryview) -> memoryview:
        """Take bytes up to the end of a line; act on it when it is whole."""
        end = bytes(view).find(b"\n")
        if end < 0:
            self._head += view
            return view[len(view) :]
        self._head += view[: end + 1]
        if self._in_head:
            if (head := bytes(self._head)) == _EMPTY_LINE or head.endswith(_EMPTY_LINE * 2):
                self._begin(head)
        else:
            self._chunk(bytes(self._head).strip())
        return view[end + 1 :]

    def _begin(self, head: bytes) -> None:
        self._head.clear()
        first, *lines = head.decode("latin-1").split("\r\n")
        if not first:
            return
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = self._begun(first, headers)
        self._in_head, self.body_bytes = False, 0
        self._chunked, self._left = length is None, length or 0
        if length == 0:
            self._finish()

    def _chunk(self, line: bytes) -> None:
        """Take the line before a chunk, the empty one after it, or those after the last one."""
        self._head.clear()
        if self._left is None:  # after the last chunk: trailers, up to an empty line
            if not line:
                self._chunked = False
                self._finish()
            return
        if line:
            size = int(line.split(b";")[0], 16)
            self._left = size or None

    def _finish(self) -> None:
        self._in_head, self._left = True, 0
        self._ended(self.body_bytes)


class HttpExchanges:
    """The requests of a connection of HTTP/1.1, of which one is in progress at a time."""

    def __init__(self, connection: int, write: Write):
        self._connection, self._write = connection, write
        self._open: deque[HttpExchange] = deque()
        self._requests = _Messages(self._request, self._request_ends)
        self._responses = _Messages(self._response, self._response_ends)

    def sent(self, data: bytes) -> bool:
        begins = self._requests.between
        self._requests.feed(data)
        return begins

    def received(self, data: bytes) -> None:
        self._responses.feed(data)

    def end(self) -> None:
        while self._open:
            self._response_ends(self._responses.body_bytes)

    def _request(self, line: str, headers: dict[str, str]) -> int | None:
        method, url, *_ = [*line.split(" "), ""]
        parts = urlsplit(url)
        query = {k: v for k, v in parse_qsl(parts.query, keep_blank_values=True) if not _SIGNATURE.match(k)}
        copies = "x-amz-copy-source" in headers
        where = unquote(parts.path), query, headers.get("range", "").removeprefix("bytes=")
        self._open.append(HttpExchange(self._connection, method, *where, copies, time.perf_counter()))
        return None if "chunked" in headers.get("transfer-encoding", "") else int(headers.get("content-length", 0))

    def _request_ends(self, body_bytes: int) -> None:
        if self._open:
            self._open[-1].request_bytes = body_bytes

    def _response(self, line: str, headers: dict[str, str]) -> int | None:
        status = int([*line.split(" "), "0"][1])
        self._interim = 100 <= status < 200
        if self._open and not self._interim:
            self._open[0].status = status
        if self._interim or status in (204, 304) or (self._open and self._open[0].method == "HEAD"):
            return 0
        if "chunked" in headers.get("transfer-encoding", ""):
            return None
        return int(headers.get("content-length", _TO_CLOSE))

    _interim = False

    def _response_ends(self, body_bytes: int) -> None:
        if self._interim or not self._open:
            return
        done = self._open.popleft()
        done.response_bytes, done.end_s = body_bytes, time.perf_counter()
        self._write(asdict(done))


class RedisRounds:
    """The rounds of a connection to a Redis: commands that are sent together, and their responses.

    Commands are named with their first argument, in which numbers are replaced by ``#``.
    """

    def __init__(self, connection: int, write: Write):
        self._connection, self._write = connection, write
        self._commands: list[str] = []
        self._begin_s, self._end_s = 0.0, 0.0

    def sent(self, data: bytes) -> bool:
        begins = not self._commands or self._end_s > 0
        if begins:
            self._flush()
            self._begin_s = time.perf_counter()
        for name, argument in _COMMAND.findall(data):
            shown = _NUMBER.sub("#", argument.decode("latin-1")) if len(argument) < 64 else "…"
            self._commands.append(f"{name.decode('latin-1').upper()} {shown}".rstrip())
        return begins

    def received(self, data: bytes) -> None:
        if self._commands and not self._end_s:
            self._end_s = time.perf_counter()
            entry = {"connection": self._connection, "commands": self._commands}
            self._write({**entry, "begin_s": self._begin_s, "end_s": self._end_s})

    def end(self) -> None:
        if self._commands and not self._end_s:
            entry = {"connection": self._connection, "commands": self._commands}
            self._write({**entry, "begin_s": self._begin_s, "end_s": time.perf_counter()})

    def _flush(self) -> None:
        self._commands, self._end_s = [], 0.0


PROTOCOLS: dict[str, Callable[[int, Write], Exchanges]] = {"http": HttpExchanges, "redis": RedisRounds}
"""The exchanges of a connection, by the name of its protocol."""

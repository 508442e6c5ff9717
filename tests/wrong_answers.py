"""Each way in which the answer of a store can be wrong, for `stub_s3.py`.

A way is a coroutine that answers one request through its `Exchange` instead of the stub. Ways are in groups by what is
wrong: status, length, body, headers, timing, connection, redirect.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

DATE = "Wed, 01 May 2024 12:00:00 GMT"
OBJECT = {"ETag": '"0"', "Last-Modified": DATE}
ERROR = b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"
ELSEWHERE = "http://127.0.0.2:9"
"""Where redirects lead: no one listens there."""
MIB = 1 << 20


@dataclass
class Exchange:
    """One request of an object or a list, and the right answer to it.

    Attributes:
        content: the body of the right answer.
    """

    writer: asyncio.StreamWriter
    method: str
    url: str
    content: bytes

    def head(self, status: str, headers: dict[str, str]) -> None:
        """Send the head of an answer."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.writer.write(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin1"))

    def answer(self, content: bytes, status: str = "200 OK", **headers: str) -> None:
        """Send a whole answer, with the length of its content."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.head(status, {"Content-Length": str(len(content))} | OBJECT | names)
        self.writer.write(content)

    async def send_without_end(self, content: bytes, pause_s: float = 0.0) -> None:
        """Send the same bytes again and again until the client closes the connection."""
        while True:
            self.writer.write(content)
            await self.writer.drain()
            await asyncio.sleep(pause_s)

    def reset(self) -> None:
        """Close the connection by a reset."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.close()


Way = Callable[[Exchange], Awaitable[None]]


async def _error_500(ask: Exchange) -> None:
    ask.answer(ERROR, "500 Internal Server Error")


async def _slow_down_for_an_hour(ask: Exchange) -> None:
    ask.answer(ERROR.replace(b"InternalError", b"SlowDown"), "503 Slow Down", Retry_After="3600")


async def _unknown_status(ask: Exchange) -> None:
    ask.answer(b"", "999 Other")


async def _no_content(ask: Exchange) -> None:
    ask.head("204 No Content", OBJECT)


async def _part_that_was_not_wanted(ask: Exchange) -> None:
    size = len(ask.content)
    ask.answer(ask.content[:10], "206 Partial Content", Content_Range=f"bytes 0-9/{size}")


async def _switching_protocols(ask: Exchange) -> None:
    ask.head("101 Switching Protocols", {"Upgrade": "other"})


async def _shorter(ask: Exchange) -> None:
    ask.answer(ask.content[:10])


async def _empty(ask: Exchange) -> None:
    ask.answer(b"")


async def _longer(ask: Exchange) -> None:
    ask.answer(ask.content + b"x")


async def _much_longer(ask: Exchange) -> None:
    ask.answer(ask.content * 50)


async def _cut_off(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": str(len(ask.content))} | OBJECT)
    ask.writer.write(ask.content[:10])
    ask.writer.close()


async def _length_of_a_terabyte(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": str(10**12)} | OBJECT)
    await ask.send_without_end(bytes(MIB))


async def _chunks_without_end(ask: Exchange) -> None:
    ask.head("200 OK", {"Transfer-Encoding": "chunked"} | OBJECT)
    await ask.send_without_end(b"100000\r\n" + bytes(MIB) + b"\r\n")


async def _negative_length(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": "-1"} | OBJECT)
    ask.writer.write(ask.content)


async def _length_that_is_no_number(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": "many"} | OBJECT)
    ask.writer.write(ask.content)


async def _error_document(ask: Exchange) -> None:
    ask.answer(ERROR)


async def _one_flipped_bit(ask: Exchange) -> None:
    ask.answer(bytes([ask.content[0] ^ 1]) + ask.content[1:])


async def _zeros(ask: Exchange) -> None:
    ask.answer(bytes(len(ask.content)))


async def _bytes_in_another_order(ask: Exchange) -> None:
    ask.answer(ask.content[::-1])


async def _compressed(ask: Exchange) -> None:
    ask.answer(gzip.compress(ask.content), Content_Encoding="gzip")


async def _compressed_bomb(ask: Exchange) -> None:
    ask.answer(gzip.compress(bytes(200 * MIB), 1), Content_Encoding="gzip")


async def _garbage(ask: Exchange) -> None:
    ask.writer.write(bytes(range(256)) * 4)
    ask.writer.close()


async def _huge_header(ask: Exchange) -> None:
    ask.answer(ask.content, X_Long="a" * 20_000_000)


async def _headers_without_end(ask: Exchange) -> None:
    ask.writer.write(b"HTTP/1.1 200 OK\r\n")
    await ask.send_without_end(b"X-A: " + b"a" * 60_000 + b"\r\n")


async def _control_characters(ask: Exchange) -> None:
    message = b"\x1b[2J[bold red]hi[/] \xc2\x9b31m"
    said = b"<Error><Code>\x1b]0;owned\x07\x1b[31mEvil</Code><Message>" + message + b"</Message></Error>"
    ask.answer(said, "400 Bad Request")


async def _huge_error(ask: Exchange) -> None:
    message = b"y" * 5_000_000
    ask.answer(b"<Error><Code>Evil</Code><Message>" + message + b"</Message></Error>", "400 Bad Request")


async def _range_beyond_the_object(ask: Exchange) -> None:
    ask.answer(ask.content[:10], "206 Partial Content", Content_Range="bytes 0-9/18446744073709551615")


async def _one_byte_each_half_second(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": str(len(ask.content))} | OBJECT)
    await ask.send_without_end(b"x", 0.5)


async def _one_header_byte_each_half_second(ask: Exchange) -> None:
    ask.writer.write(b"HTTP/1.1 200 OK\r\nX-A: ")
    await ask.send_without_end(b"a", 0.5)


async def _silence(ask: Exchange) -> None:
    await asyncio.sleep(3600)


async def _silence_after_the_head(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": str(len(ask.content))} | OBJECT)
    await asyncio.sleep(3600)


async def _reset_before(ask: Exchange) -> None:
    ask.reset()


async def _closed_before(ask: Exchange) -> None:
    ask.writer.close()


async def _closed_in_the_head(ask: Exchange) -> None:
    ask.writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    ask.writer.close()


async def _reset_in_the_body(ask: Exchange) -> None:
    ask.head("200 OK", {"Content-Length": str(len(ask.content))} | OBJECT)
    ask.writer.write(ask.content[:10])
    await ask.writer.drain()
    await asyncio.sleep(0.05)
    ask.reset()


def _redirect(status: str, to: str) -> Way:
    async def way(ask: Exchange) -> None:
        ask.answer(b"", status, Location=to + (ask.url if to.startswith("http") else ""))

    return way


async def _redirect_to_itself(ask: Exchange) -> None:
    host, port = ask.writer.get_extra_info("sockname")
    ask.answer(b"", "307 Temporary Redirect", Location=f"http://{host}:{port}{ask.url}")


async def _redirect_without_a_location(ask: Exchange) -> None:
    ask.answer(b"", "302 Found")


WAYS: dict[str, dict[str, Way]] = {
    "status": {
        "500": _error_500,
        "503-for-an-hour": _slow_down_for_an_hour,
        "999": _unknown_status,
        "204": _no_content,
        "206-unwanted": _part_that_was_not_wanted,
        "101": _switching_protocols,
    },
    "length": {
        "shorter": _shorter,
        "empty": _empty,
        "longer": _longer,
        "much-longer": _much_longer,
        "cut-off": _cut_off,
        "terabyte": _length_of_a_terabyte,
        "endless": _chunks_without_end,
        "negative": _negative_length,
        "no-number": _length_that_is_no_number,
    },
    "body": {
        "error-document": _error_document,
        "flipped-bit": _one_flipped_bit,
        "zeros": _zeros,
        "reversed": _bytes_in_another_order,
        "compressed": _compressed,
        "bomb": _compressed_bomb,
    },
    "headers": {
        "garbage": _garbage,
        "huge": _huge_header,
        "endless-headers": _headers_without_end,
        "control-characters": _control_characters,
        "huge-error": _huge_error,
        "range-beyond": _range_beyond_the_object,
    },
    "timing": {
        "drip": _one_byte_each_half_second,
        "drip-headers": _one_header_byte_each_half_second,
        "silence": _silence,
        "silence-after-head": _silence_after_the_head,
    },
    "connection": {
        "reset": _reset_before,
        "closed": _closed_before,
        "closed-in-head": _closed_in_the_head,
        "reset-in-body": _reset_in_the_body,
    },
    "redirect": {
        **{code: _redirect(f"{code} Redirect", ELSEWHERE) for code in ("301", "302", "303", "307", "308")},
        "file": _redirect("302 Found", "file:///etc/passwd"),
        "loop": _redirect_to_itself,
        "nowhere": _redirect_without_a_location,
    },
}
"""The ways by group and name."""

WRONG = {f"{group}-{name}": way for group, ways in WAYS.items() for name, way in ways.items()}
"""All ways by the names in keys."""

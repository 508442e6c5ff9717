"""Records what passes between a file system and its store or its metadata: a proxy for TCP, which may add a delay.

Run as a program with the arguments PORT SERVER PROTOCOL DELAY_S FILE: it listens at a port of loopback, and appends a
line of JSON to the file for each exchange, before the client has its response. The delay comes before each exchange.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import selectors
import socket
import struct
import sys
from pathlib import Path
from typing import IO

from validate.lab.file_systems.framing import PROTOCOLS, Exchanges

_CHUNK_BYTES = 1 << 18


async def _pass_requests(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, exchanges: Exchanges, delay_s: float
) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        if exchanges.sent(data) and delay_s:
            await asyncio.sleep(delay_s)
        writer.write(data)
        await writer.drain()
    writer.write_eof()


async def _pass_responses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, exchanges: Exchanges) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        exchanges.received(data)
        writer.write(data)
        await writer.drain()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Close with a reset."""
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _listen(port: int, server: tuple[str, int], protocol: str, delay_s: float, file: IO[str]) -> None:
    numbers = itertools.count()

    def write(entry: dict[str, object]) -> None:
        file.write(json.dumps(entry) + "\n")
        file.flush()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*server, limit=_CHUNK_BYTES)
        except OSError:
            _abort(writer)
            return
        for one in (writer, server_writer):
            one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        exchanges = PROTOCOLS[protocol](next(numbers), write)
        asking = asyncio.ensure_future(_pass_requests(reader, server_writer, exchanges, delay_s))
        try:
            await _pass_responses(server_reader, writer, exchanges)
            writer.close()
            server_writer.close()
        except OSError:
            _abort(writer)
            _abort(server_writer)
        finally:
            asking.cancel()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await asking
            exchanges.end()

    listening = await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024, limit=_CHUNK_BYTES)
    async with listening:
        await listening.serve_forever()


def main() -> None:
    port, server, protocol, delay_s, path = sys.argv[1:]
    host, _, server_port = server.rpartition(":")
    # Waits of epoll, the default, are rounded up to whole milliseconds; those of select are not.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    with Path(path).open("a") as file:
        loop.run_until_complete(_listen(int(port), (host, int(server_port)), protocol, float(delay_s), file))


if __name__ == "__main__":
    main()

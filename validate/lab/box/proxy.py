"""Delays what passes between a host's address and its server, where the kernel cannot: a proxy for TCP.

Run on the host: ``python proxy.py LISTEN CONNECT DELAY_S``, with addresses as HOST:PORT. Bytes pass in order, each
chunk the delay after it has come; the first chunk to the server also has the delays of the handshake. Each pair of
hosts has one proxy between them, that of the host which accepts the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import selectors
import socket
import struct
import sys

_CHUNK_BYTES = 1 << 17
_MOST_CHUNKS = 64  # on the way at a time; beyond, the sender waits
_HANDSHAKE = 2  # one-way delays before the first bytes of a connection can be sent
_PR_SET_TIMERSLACK = 29
_END = b""


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float, first: int) -> None:
    """Pass chunks on, each when it is due, and the end of the stream.

    Raises:
        OSError: either connection was reset.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[float, bytes | OSError]] = asyncio.Queue(_MOST_CHUNKS)

    async def take() -> None:
        chunk: bytes | OSError = _END
        delays = first
        try:
            while chunk := await reader.read(_CHUNK_BYTES):
                await queue.put((loop.time() + delays * delay_s, chunk))
                delays = 1
        except OSError as error:
            chunk = error
        await queue.put((loop.time() + delay_s, chunk))

    taking = asyncio.ensure_future(take())
    try:
        while True:
            due_s, chunk = await queue.get()
            if (left_s := due_s - loop.time()) > 0:
                await asyncio.sleep(left_s)
            if isinstance(chunk, OSError):
                raise chunk
            if chunk == _END:
                writer.write_eof()
                return
            writer.write(chunk)
            await writer.drain()
    finally:
        taking.cancel()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Close with a reset, as the server's host would."""
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: tuple[str, int], delay_s: float
) -> None:
    try:
        server_reader, server_writer = await asyncio.open_connection(*server)
    except OSError:
        _abort(writer)
        return
    for one in (writer, server_writer):
        one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        await asyncio.gather(
            _pass_on(reader, server_writer, delay_s, 1 + _HANDSHAKE), _pass_on(server_reader, writer, delay_s, 1)
        )
        writer.close()
        server_writer.close()
    except OSError:
        _abort(writer)
        _abort(server_writer)


async def _listen(address: tuple[str, int], server: tuple[str, int], delay_s: float) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _serve(reader, writer, server, delay_s)

    listening = await asyncio.start_server(serve, *address, backlog=1024, limit=_CHUNK_BYTES)
    async with listening:
        await listening.serve_forever()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> None:
    listen, connect, delay_s = sys.argv[1:]
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    # Waits of epoll, the default, are rounded up to whole milliseconds; those of select are not.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    loop.run_until_complete(_listen(_address(listen), _address(connect), float(delay_s)))


if __name__ == "__main__":
    main()

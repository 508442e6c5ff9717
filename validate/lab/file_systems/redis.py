"""A Redis on loopback, without persistence unless its options have some, for the metadata of a file system."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from traces.errors import InputError
from validate.lab import processes
from validate.lab.file_systems.file_system import FileSystem, SpawnServer
from validate.lab.folder import last_lines
from validate.lab.options import options_of
from validate.lab.programs.debian import Programs

REDIS = "redis"
PROGRAMS = Programs("Redis", ("redis-server",), ("redis-server",))

_READY_WITHIN_S = 10.0
_RESPONDS_WITHIN_S = 1.0
_POLL_S = 0.05


def start(fs: FileSystem, spawn: SpawnServer) -> None:
    """Start it, and wait until it responds.

    Raises:
        InputError: it does not.
    """
    port = fs.ports[REDIS]
    marked = ["--set-proc-title", "no"]  # a title would overwrite the mark in its environment
    given = {"save": "", "appendonly": "no"} | options_of(fs.options, REDIS)
    options = [part for name, value in given.items() for part in (f"--{name}", value)]
    where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(fs.folder)]
    spawn(REDIS, [str(PROGRAMS.find()), *where, *options, *marked])
    limit_s = time.monotonic() + _READY_WITHIN_S
    while not responds(port):
        if time.monotonic() > limit_s or not processes.marked([fs.mark(REDIS)])[fs.mark(REDIS)]:
            raise InputError(f"Redis does not begin to run; its log ends: {last_lines(fs.log(REDIS))}")
        time.sleep(_POLL_S)


def responds(port: int) -> bool:
    """Whether a Redis responds to PING at a port of loopback."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=_RESPONDS_WITHIN_S) as connection,
    ):
        connection.sendall(b"PING\r\n")
        return connection.recv(16).startswith(b"+PONG")
    return False


def find() -> Path | None:
    """Return the program, if it is installed."""
    return PROGRAMS.find()

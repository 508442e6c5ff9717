"""The folder of the lab's state: its lock, logs of what was started there, and free ports."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
from collections.abc import Iterator
from pathlib import Path

from traces.errors import InputError
from validate.state import state_folder

_LOG_LINES = 5


def lab_folder() -> Path:
    """Return the folder of all that the lab keeps."""
    return state_folder() / "lab"


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Let one command at a time start or stop something; the folder of the lab's state is there.

    Raises:
        InputError: the folder cannot be written.
    """
    folder = lab_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise InputError(f"{error.filename or folder}: the lab cannot be kept there: {error.strerror}") from error


def free_ports(count: int) -> list[int]:
    """Return different ports of loopback at which nothing listens."""
    with contextlib.ExitStack() as open_ones:  # all open at once, so that they differ
        probes = [open_ones.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def further_ports(folder: Path, hosts: int, each: int) -> list[list[int]]:
    """Return further ports of each host of a store on loopback: those that were free at first.

    Args:
        folder: of the store.
        each: number of ports of a host.
    """
    file = folder / "ports.json"
    if not file.exists():
        found = free_ports(each * hosts)
        file.write_text(json.dumps([found[first : first + each] for first in range(0, len(found), each)]))
    return [[int(port) for port in of_host] for of_host in json.loads(file.read_text())]


def last_lines(log: Path) -> str:
    """Return the last lines of a log as one line."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return " | ".join(text.split("\n")[-_LOG_LINES - 1 :]).strip(" |") or "(nothing)"

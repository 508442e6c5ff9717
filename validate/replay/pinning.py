"""Cores of their own for the clients of a replay and for the store's processes on the same machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import psutil

LEAST_SERVER_CORES = 2
"""With fewer, the store would be another one than the one that is to be measured."""


class Pinning(NamedTuple):
    """Which cores are whose."""

    client: list[int]
    server: list[int]


def pinning_of(cores: Sequence[int], clients: int) -> Pinning | None:
    """A core for each client process and the others for the store; None where too few would be left for the store.

    The store keeps at least as many as the clients get, and at least `LEAST_SERVER_CORES`.
    """
    server = len(cores) - clients
    if server < max(clients, LEAST_SERVER_CORES):
        return None
    return Pinning(list(cores[server:]), list(cores[:server]))


def cores_here() -> list[int]:
    """The cores this process may use, where the system tells (Linux)."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextlib.contextmanager
def pinned(pids: Sequence[int], cores: Sequence[int]) -> Iterator[None]:
    """Keep processes, all their threads, on the cores; afterwards each may use again what it might before.

    Raises:
        PermissionError: a process is somebody else's.
    """
    before = {pid: os.sched_getaffinity(pid) for pid in pids}
    try:
        for pid in pids:
            _put(pid, set(cores))
        yield
    finally:
        for pid, allowed in before.items():
            _put(pid, allowed)


def _put(pid: int, cores: set[int]) -> None:
    """Linux binds threads, not processes: done again until no thread has come that was not bound."""
    done: set[int] = set()
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
        while threads := {thread.id for thread in psutil.Process(pid).threads()} - done:
            for thread in threads:
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(thread, cores)
            done |= threads

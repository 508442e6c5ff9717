"""Pinning: separate cores for the clients of a replay and for the store's processes on the same machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import psutil

LEAST_SERVER_CORES = 2
"""Minimum number of cores for the store; with fewer, it would behave differently from the one to be measured."""


class Pinning(NamedTuple):
    """The cores of client and server."""

    client: list[int]
    server: list[int]


def pinning_of(cores: Sequence[int], clients: int) -> Pinning | None:
    """Assign a core to each client process and the others to the store; None if too few are left for the store.

    The store gets at least as many as the clients, and at least `LEAST_SERVER_CORES`.
    """
    server = len(cores) - clients
    if server < max(clients, LEAST_SERVER_CORES):
        return None
    return Pinning(list(cores[server:]), list(cores[:server]))


def cores_here() -> list[int]:
    """Return the cores that this process may use (Linux only, else none)."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@contextlib.contextmanager
def pinned(pids: Sequence[int], cores: Sequence[int]) -> Iterator[None]:
    """Pin processes with all their threads to the cores, and restore their affinity afterwards.

    Raises:
        PermissionError: a process belongs to another user.
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
    """Pin all threads of a process; Linux pins threads, so this repeats until there is no new one."""
    done: set[int] = set()
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
        while threads := {thread.id for thread in psutil.Process(pid).threads()} - done:
            for thread in threads:
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(thread, cores)
            done |= threads

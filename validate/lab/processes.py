"""The processes of the lab: started so that they outlive the command, found again by a mark, and ended.

The mark is a variable of their environment. It is there from the first moment and passes to all processes that they
start, so whenever a command is broken off, the next one finds all processes there are; and no other process is taken
for one of them, though it has the PID that one of them had.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import psutil

_MARK = "TAILCAST_LAB_PROCESS"
_BEGINNING = f"{_MARK}=".encode()
_PROCESSES = Path("/proc/self").parent
_POLL_S = 0.05


def start(mark: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> psutil.Process | None:
    """Start a process in a session of its own, which Ctrl-C does not reach; its output is appended to a file.

    Returns:
        the process, which may replace its program and shows no mark while it does; None where it has ended already.

    Raises:
        OSError: there is no such program.
    """
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    pid = os.posix_spawnp(command[0], list(command), {**environment, _MARK: mark}, file_actions=actions, setsid=True)
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while is_alive(process) and _mark_of(process) != mark:  # the system shows an environment a moment later
            time.sleep(0.001)
        return process
    return None


def marked(marks: Iterable[str]) -> dict[str, tuple[psutil.Process, ...]]:
    """The processes of each mark that run, the oldest first."""
    found: dict[str, list[psutil.Process]] = {mark: [] for mark in marks}
    for process in psutil.process_iter():
        mark = _mark_of(process)
        if mark in found and is_alive(process):
            found[mark].append(process)
    return {mark: tuple(sorted(each, key=_age)) for mark, each in found.items()}


def by_mark(folder: Path) -> dict[str, tuple[psutil.Process, ...]]:
    """The processes whose marks begin with a folder, by their mark."""
    found: dict[str, tuple[psutil.Process, ...]] = {}
    for process in of_folder(folder):
        mark = _mark_of(process)
        found[mark] = (*found.get(mark, ()), process)
    return found


def by_age(groups: Iterable[Iterable[psutil.Process]]) -> tuple[psutil.Process, ...]:
    """All processes of groups, the oldest first."""
    return tuple(sorted((process for group in groups for process in group), key=_age))


def of_folder(folder: Path) -> list[psutil.Process]:
    """The processes whose marks begin with a folder, whichever they are."""
    beginning = f"{folder} "
    return [p for p in psutil.process_iter() if _mark_of(p).startswith(beginning) and is_alive(p)]


def signal_all(processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal to those processes that still run."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _mark_of(process: psutil.Process) -> str:
    try:
        if not _PROCESSES.is_dir():
            return process.environ().get(_MARK, "")
        # Not by psutil, which ends at an empty variable: a program may overwrite the first ones with zeros.
        variables = (_PROCESSES / str(process.pid) / "environ").read_bytes().split(b"\0")
    except (psutil.Error, OSError):  # it has ended, or is another user's
        return ""
    return next((os.fsdecode(each[len(_BEGINNING) :]) for each in variables if each.startswith(_BEGINNING)), "")


def _age(process: psutil.Process) -> tuple[float, int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.create_time(), process.pid
    return 0.0, process.pid


def is_alive(process: psutil.Process) -> bool:
    """Whether the very process runs; a zombie does not, but with other threads it still holds its sockets and files."""
    try:
        if not process.is_running():
            return False
        return process.status() != psutil.STATUS_ZOMBIE or process.num_threads() > 1
    except psutil.NoSuchProcess:
        return False


def end(processes: Sequence[psutil.Process], within_s: float, at_once: bool = False) -> list[psutil.Process]:
    """End processes by SIGTERM, and by SIGKILL what remains after a time; return those that do not end.

    Args:
        at_once: kill them without asking.
    """
    for number in (signal.SIGKILL,) if at_once else (signal.SIGTERM, signal.SIGKILL):
        signal_all(filter(is_alive, processes), number)
        signal_all(filter(is_alive, processes), signal.SIGCONT)  # a paused one would only end when it continues
        limit_s = time.monotonic() + within_s
        while any(map(is_alive, processes)) and time.monotonic() < limit_s:
            time.sleep(_POLL_S)
    for process in processes:
        with contextlib.suppress(psutil.Error):  # not ours to wait for when an earlier command started it
            process.wait(timeout=0)
    return list(filter(is_alive, processes))

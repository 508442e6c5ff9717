"""The end of a command with calls to a file system that may hang: Linux keeps a process until each of them returns.

So a child process performs the command, and says how it ended. The process that was started ends then, and the child
when the file system has answered or is unmounted.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from traces.interrupts import STOPS

_POLL_S = 0.05
_GRACE_S = 1.0  # for the end of a child that can end

_is_alone = False  # whether the process is one command
_told: list[int] = []  # in a child: the file descriptor by which it says how it ended


def begin_alone() -> None:
    """Take note that the process is one command, and ends with it."""
    global _is_alone
    _is_alone = True


def perform_in_child() -> None:
    """Return in a child process if the process is one command; it ends like the child, without returning."""
    if not _is_alone:
        return
    told, tells = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    child = os.fork()
    if child:
        os.close(tells)
        os._exit(_end_of(child, told))
    os.close(told)
    _told.append(tells)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def tell_end(code: int) -> None:
    """Say that the command has ended with an exit code, if this is a child; it prints no more."""
    if not _told:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # whoever reads them does not wait for the end of this process
        os.dup2(nowhere, stream)
    os.write(_told.pop(), bytes([code]))


def _end_of(child: int, told: int) -> int:
    """Return the exit code of a child process, to which stops are passed on: what it has said, or its own."""
    while not _has_byte(told, _POLL_S):
        while (stop := signal.sigtimedwait(STOPS, 0)) is not None:
            os.kill(child, stop.si_signo)
        if (code := _own_code(child)) is not None:
            return code
    said = os.read(told, 1)[0]
    until_s = time.monotonic() + _GRACE_S
    while _own_code(child) is None:
        if time.monotonic() > until_s:
            os.kill(child, signal.SIGKILL)  # of which it dies when its call has returned
            break
        time.sleep(_POLL_S)
    return said


def _has_byte(told: int, wait_s: float) -> bool:
    """Return whether there is a byte to read within some time; there is none once all writers have gone."""
    poll = select.poll()
    poll.register(told, select.POLLIN)
    events = poll.poll(wait_s * 1e3)
    if events and not events[0][1] & select.POLLIN:
        time.sleep(wait_s)
    return bool(events) and bool(events[0][1] & select.POLLIN)


def _own_code(child: int) -> int | None:
    """Return the exit code of a process that has ended, as a shell has it; None: it goes on."""
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code

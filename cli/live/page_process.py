"""The page of a replay in a process of its own, to which the replay hands over without ever waiting."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Callable, Collection
from signal import SIG_IGN, signal
from typing import Any

from cli.live.history import Subject, line_of, seen_of
from traces.errors import InputError
from traces.interrupts import STOPS, deferred_stops, end_with_parent, unblock_stops
from validate.replay.seconds import Second, Seconds, Seen

_STARTS_WITHIN_S = 60.0
_ENDS_WITHIN_S = 8.0
_EXITS_WITHIN_S = 0.5  # a busy machine takes seconds to unload an interpreter
_FETCHED_WITHIN_S = 5.0  # for browsers to fetch how the replay ended
_MOST_WAITING = 120  # seconds that are kept for a page that does not read
_NICE = 10  # gives way to client and store; at 19, a page would not load on a busy machine
_READ_BYTES = 1 << 16


class PageProcess:
    """A page in a process of its own; a context manager that starts and ends it.

    Args:
        subject: what is replayed.
        port: on this machine; 0: any free one.
        cores: those that the process may use; empty: all.
        lost: called once, when the page does not follow any more.

    Attributes:
        url: its address, once it has started.

    Raises:
        InputError: the port cannot be used, or a package is missing.
    """

    def __init__(self, subject: Subject, port: int, cores: Collection[int], lost: Callable[[], None]) -> None:
        self._link, there = socket.socketpair()
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_main, args=(there, subject, port, list(cores)), daemon=True)
        self._there = there
        self._lost, self._is_lost = lost, False
        self._waiting, self._now_s, self._rest = Seconds(), 0.0, b""
        self.url = ""

    def __enter__(self) -> PageProcess:
        try:
            with deferred_stops():  # a stop reaches all processes of a terminal, but only this one handles it
                self._process.start()
            self._there.close()
            self.url = self._address()
        except BaseException:
            self._stop(0.0)
            raise
        self._link.setblocking(False)
        return self

    def _address(self) -> str:
        self._link.settimeout(_STARTS_WITHIN_S)
        with contextlib.suppress(OSError):
            kind, _, text = self._link.makefile("r").readline().rstrip("\n").partition(" ")
            if kind == "refused":
                raise InputError(text)
            if kind == "ready":
                return text
        raise InputError("the page did not start")

    def __exit__(self, *_: object) -> None:
        self._stop(_ENDS_WITHIN_S)

    def see(self, seen: Seen) -> None:
        """Hand over what was seen; what cannot be handed over now is added to the next."""
        self._now_s = seen.now_s
        for number, second in seen.seconds.items():
            self._waiting.setdefault(number, Second()).add(second)
        if self._send() and self._waiting:
            self._rest = f"{line_of(Seen(self._now_s, self._waiting))}\n".encode()
            self._waiting = {}
            self._send()
        if len(self._waiting) > _MOST_WAITING:
            self._lose()

    def stage(self, text: str) -> None:
        """Hand over what is done while no requests are issued, if the page reads."""
        if self._send():
            self._rest = f"{json.dumps({'stage': text})}\n".encode()
            self._send()

    def end(self, lines: list[str]) -> None:
        """Hand over how the replay ended; waits for a page that is slow, but not long."""
        with contextlib.suppress(OSError):
            self._link.settimeout(_FETCHED_WITHIN_S)
            waiting = f"{line_of(Seen(self._now_s, self._waiting))}\n" if self._waiting else ""
            self._link.sendall(self._rest + f"{waiting}{json.dumps({'end': lines})}\n".encode())
        self._rest = b""

    def _send(self) -> bool:
        """Send what is left of a line; return whether nothing is."""
        if self._is_lost:
            self._waiting.clear()
            return False
        while self._rest:
            try:
                self._rest = self._rest[self._link.send(self._rest) :]
            except BlockingIOError:
                return False
            except OSError:
                self._lose()
                return False
        return True

    def _lose(self) -> None:
        if not self._is_lost:
            self._is_lost, self._rest = True, b""
            self._waiting.clear()
            self._lost()

    def _stop(self, within_s: float) -> None:
        """End the process when its pages have all, or after some time; it has nothing to save."""
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_WR)
            self._link.settimeout(within_s or None)
            while within_s and self._link.recv(_READ_BYTES):
                pass
        self._link.close()
        self._there.close()
        if self._process.pid is None:  # a stop came before it was started
            return
        self._process.join(min(within_s, _EXITS_WITHIN_S))
        self._process.kill()
        self._process.join()


def _main(link: socket.socket, subject: Subject, port: int, cores: list[int]) -> None:
    """Run the page's process until the replay closes the link, and its pages have fetched how it ended."""
    end_with_parent()
    for number in STOPS:
        signal(number, SIG_IGN)
    unblock_stops()
    os.nice(_NICE)  # of all its threads, which do not exist yet
    if cores:
        os.sched_setaffinity(0, cores)
    from cli.explore.local_server import dash, serve

    def say(kind: str, text: str) -> None:
        with contextlib.suppress(OSError):
            link.sendall(f"{kind} {text}\n".encode())

    def ready(url: str) -> None:
        say("ready", url)

    try:
        dash()
        from cli.live.page import Shown, page_of

        shown = Shown(subject)
        server = page_of(shown).server
    except InputError as error:
        say("refused", str(error))
        return

    def run() -> None:
        try:
            serve(server, port, ready)
        except InputError as error:
            say("refused", str(error))

    threading.Thread(target=run, name="pages", daemon=True).start()
    rest = b""
    with contextlib.suppress(OSError):
        while chunk := link.recv(_READ_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                _take(shown, json.loads(line))
    shown.end(["The replay has ended without a result."])
    until_s = time.monotonic() + _FETCHED_WITHIN_S
    while shown.is_awaited and time.monotonic() < until_s:
        time.sleep(0.05)
    link.close()


def _take(shown: Any, message: Any) -> None:
    if "end" in message:
        shown.end(message["end"])
    elif "stage" in message:
        shown.stage(message["stage"])
    else:
        shown.see(seen_of(message))

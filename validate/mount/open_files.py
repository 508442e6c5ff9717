"""Files that a replay has open on a mount, and the order of the operations on them."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from validate.mount.bounded import within
from validate.mount.file_rows import OpenName

_POLL_S = 0.1


class OpenFile:
    """The descriptors of one open file; it has several if it is opened again before it is closed.

    Args:
        flags: how it is opened by an operation that needs it open.
    """

    def __init__(self, flags: int):
        self.flags = flags
        self._descriptors: list[int] = []

    def add(self, descriptor: int) -> None:
        """Keep a descriptor."""
        self._descriptors.append(descriptor)

    def take(self, path: Path) -> int:
        """Return a descriptor to be closed."""
        return self._descriptors.pop() if self._descriptors else open_file(path, self.flags)

    def descriptor(self, path: Path) -> int:
        """Return the last descriptor; a file that was opened before the trace began is opened now."""
        if not self._descriptors:
            self.add(open_file(path, self.flags))
        return self._descriptors[-1]

    def close(self, limit_s: float) -> None:
        """Close what is still open, each in `limit_s` at most; errors and hanging calls are left alone."""
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                within(limit_s, lambda descriptor=descriptor: os.close(descriptor))  # type: ignore[misc]


class OpenFiles:
    """All open files of a replay."""

    def __init__(self, written: set[OpenName]):
        self._written = written
        self._files: dict[OpenName, OpenFile] = {}

    def of(self, name: OpenName) -> OpenFile:
        """Return the open file of a name."""
        return self._files.setdefault(name, OpenFile(os.O_RDWR if name in self._written else os.O_RDONLY))

    def close(self, limit_s: float) -> None:
        """Close all files that are still open."""
        for file in self._files.values():
            file.close(limit_s)


class Turns:
    """Lets rows begin when those that they wait for have ended; rows of a loop that repeats, in the same round.

    Args:
        waits: for each row, the rows that it waits for.
        stopped: when set, no row waits any more.
        limit_s: for how long a row waits at most.
    """

    def __init__(self, waits: Sequence[tuple[int, ...]], stopped: threading.Event, limit_s: float):
        self._waits, self._stopped, self._limit_s = waits, stopped, limit_s
        self._awaited = {number for each in waits for number in each}
        self._begun, self._ended = Counter[int](), Counter[int]()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, row: int) -> Iterator[None]:
        """Wait for the turn of a row, and end it.

        Raises:
            TimeoutError: it has not come in time, or the loop was stopped.
        """
        if not self._waits[row] and row not in self._awaited:
            yield
            return
        with self._changed:
            self._begun[row] += 1
            round_ = self._begun[row]
            ends_s = time.monotonic() + self._limit_s
            while any(self._ended[each] < round_ for each in self._waits[row]):
                if time.monotonic() >= ends_s or self._stopped.is_set():
                    raise TimeoutError(errno.ETIMEDOUT, "an earlier operation on the file has not ended")
                self._changed.wait(_POLL_S)
        try:
            yield
        finally:
            with self._changed:
                self._ended[row] += 1
                self._changed.notify_all()


def open_file(path: Path, flags: int) -> int:
    """Open a file, no link."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)

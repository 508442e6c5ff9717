"""``strace -f -ttt -T`` of an application as operations on files.

Layout and joined lines: `strace_lines`; which operation a call is: `file_calls`. Keys are paths. Where a directory is
given, only files below it are read, and keys are relative to it; else those below `SYSTEM` are left out. An open that
creates a file, empties it, or may create one that no call before has shown is a CREATE. A close is a CLOSE if no other
descriptor is of the open file. A copy by the kernel (copy_file_range, sendfile) between two files is a COPY. Sizes are
those that calls show. Times are UTC; a log without the time that each call took has no latencies.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator

import polars as pl

from traces.operations import OPS
from traces.readers.applications.file_calls import MAPPED, FileCalls, Request
from traces.readers.applications.strace_lines import Begun, Call, Ended, Event, Joiner, recognised
from traces.readers.blocks import Parse, in_turn
from traces.readers.formats import Format, Head
from traces.readers.layout import records_of
from traces.readers.records import Parsed
from traces.readers.source import Lines

NAME = "strace"

SYSTEM = ("/proc", "/sys", "/dev", "/run", "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc")
"""Directories of the system, whose files are no data of an application."""

_EVENT = "a signal, an end of a process or a message of strace"
_COLUMNS = {
    "line": pl.Int64, "time_ns": pl.Int64, "latency_ns": pl.Int64, "op": pl.Int8, "key": pl.String,
    "size_bytes": pl.Int64, "transfer_bytes": pl.Int64, "range_start_bytes": pl.Int64, "range_bytes": pl.Int64,
    "client": pl.String, "error": pl.String, "target": pl.String, "handle": pl.Int64,
}  # fmt: skip


class _Places:
    """Which paths are data, and their keys."""

    def __init__(self, below: str | None) -> None:
        self._below = None if below is None else posixpath.normpath(below)

    def key(self, path: str) -> str | None:
        """Return the key of a path; None if it is no data."""
        if self._below is not None:
            if path == self._below:
                return "/"
            return path.removeprefix(f"{self._below}/") if self.left_out(path) is None else None
        return None if self.left_out(path) else path.lstrip("/") or "/"

    def left_out(self, path: str) -> str | None:
        """Return why a path is no data."""
        if self._below is not None:
            inside = path == self._below or path.startswith(f"{self._below.rstrip('/')}/")
            return None if inside else f"not below {self._below}"
        top = next((top for top in SYSTEM if path == top or path.startswith(f"{top}/")), None)
        return None if top is None else f"a file of the system, below {top}"


def _parse(below: str | None) -> Parse:
    """Return the function that parses the blocks of a file in their order."""
    joiner, calls, places = Joiner(), FileCalls(), _Places(below)

    def parse(lines: Lines) -> Iterator[Parsed]:
        rows: list[tuple[object, ...]] = []
        left_out, joined, unreadable = Counter[str](), 0, []
        for number, text in lines.frame().iter_rows():
            found = joiner.read(text)
            calls.processes.first = max(calls.processes.first, joiner.first)
            if isinstance(found, str):
                unreadable.append((number, found))
            elif isinstance(found, Begun):
                calls.begun(found)
                joined += 1
            elif isinstance(found, Ended | Event):
                if isinstance(found, Ended):
                    calls.processes.ended(found.pid)
                left_out[_EVENT] += 1
            else:
                request = calls.outcome(found)
                why = request if isinstance(request, str) else _why_not(request, places)
                if why is not None:
                    left_out[why] += 1
                elif isinstance(request, Request):
                    rows.append(_row(number, found, request, places))
        frame = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
        read = records_of(frame, lines.zone, left_out)
        yield Parsed(read.records, joined, read.left_out, tuple(sorted([*unreadable, *read.unreadable])))

    return parse


def _why_not(request: Request, places: _Places) -> str | None:
    """Return why an operation is none on data."""
    why = places.left_out(request.path) or ("" if request.op else MAPPED) or None
    if request.target is None or why == (other := places.left_out(request.target)):
        return why
    return f"a {request.op.lower()} to or from elsewhere" if (why is None) != (other is None) else why


def _row(line: int, call: Call, request: Request, places: _Places) -> tuple[object, ...]:
    target = None if request.target is None else places.key(request.target)
    return (
        line, call.time_ns, call.latency_ns, OPS.index(request.op), places.key(request.path), request.size_bytes,
        request.moved_bytes, request.start_bytes, request.length_bytes, str(call.pid) if call.pid >= 0 else None,
        call.error, target, request.handle,
    )  # fmt: skip


def _recognises(head: Head) -> bool:
    return any(recognised(line) for line in head.lines)


def strace_format(below: str | None = None) -> Format:
    """Return the format; `below` is the directory whose files are read (default: all but those of the system)."""
    return Format(
        NAME, "strace of an application, as operations on files", True, _recognises, in_turn(lambda _: _parse(below))
    )


FORMAT = strace_format()

"""The lines of ``strace -f -ttt -T``: calls with their arguments and results, joined if they were interrupted.

Layout: strace(1), and the files src/strace.c and src/syscall.c of strace: ``[pid] time call(arguments) = result
[error] <seconds>``. A call during which another thread's began is ``… <unfinished ...>``, and later
``… <... call resumed>…``. The process ID stands alone in a file (``-o``), and as ``[pid 7]`` elsewhere, where the lines
of a first process have none before there are others.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_TIME = r"(?P<time>\d{9,11}\.\d{1,9})"
_LINE = re.compile(rf"(?:(?:\[pid +(?P<pid>\d+)\]|(?P<alone>\d+)) +)?{_TIME} (?P<rest>.*)")
_OTHER_CLOCK = re.compile(
    r"(?:(?:\[pid +\d+\]|\d+) +)?(?:(?P<day>\d\d:\d\d:\d\d)(?:\.\d+)?|(?P<since>\d{1,8}\.\d{6})) "
)
_NO_CLOCK = re.compile(r"(?:(?:\[pid +\d+\]|\d+) +)?\w+\(.* = ")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|0x[0-9a-f]+|\?)(?P<more>.*)", re.DOTALL)
_BEGUN = re.compile(r"(?P<text>\w+\(.*?) *<unfinished \.\.\.>")
_ATTACHED = re.compile(r"(?P<text>\w+\(.*)strace: Process \d+ attached")  # to a terminal, within the parent's call
_RESUMED = re.compile(r"<\.\.\. (?P<name>\w+) resumed>(?P<text>.*)", re.DOTALL)
_LASTED = re.compile(r" <(\d+\.\d+)>$")
_ERROR = re.compile(r" (E[A-Z0-9]+)\b")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{(]|[\]})]|,')
_LONGEST_PART = 1 << 16

NO_CALL = "is not a call as strace -f -ttt -T writes it"
TIME_OF_DAY = "has the time of day, without a date (strace -tt): record it with strace -f -ttt -T"
RELATIVE_TIME = "has the time since the call before (strace -r): record it with strace -f -ttt -T"
NO_TIME = "has no time: record it with strace -f -ttt -T"
"""Why lines cannot be read."""


@dataclass(frozen=True)
class Call:
    """One call of a thread.

    Attributes:
        pid: thread; -1 where the line names none.
        time_ns: its begin, since 1970 UTC.
        name: such as ``openat``.
        arguments: as text.
        result: the number that it returned; None if it did not return.
        error: name of the error, such as ``ENOENT``; None on success.
        latency_ns: None if it is not recorded.
    """

    pid: int
    time_ns: int
    name: str
    arguments: list[str]
    result: int | None
    error: str | None
    latency_ns: int | None


@dataclass(frozen=True)
class Begun:
    """The first part of a call, with the arguments that it has so far."""

    pid: int
    name: str
    text: str


@dataclass(frozen=True)
class Ended:
    """A thread has ended."""

    pid: int


class Event:
    """A signal, or a message of strace."""


class Joiner:
    """Reads lines in their order, and joins the parts of calls.

    Attributes:
        first: ID of the first process, if a call of it began on a line without one; else -1. Lines without an ID are
            of that process again when all others have ended.
    """

    def __init__(self) -> None:
        self.first = -1
        self._begun: dict[int, tuple[int, str]] = {}

    def read(self, line: str) -> Call | Begun | Ended | Event | str:
        """Return what a line says; a text tells why it cannot be read."""
        found = _LINE.fullmatch(line)
        if found is None:
            return _unread(line)
        pid = int(found["pid"] or found["alone"] or self.first)
        time_ns, rest = _nanoseconds(found["time"]), found["rest"]
        if rest.startswith("+++"):
            self._begun.pop(pid, None)
            return Ended(pid)
        if rest.startswith("---"):
            return Event()
        if begun := _BEGUN.fullmatch(rest) or _ATTACHED.fullmatch(rest):
            self._begun[pid] = (time_ns, begun["text"][:_LONGEST_PART])
            return Begun(pid, begun["text"].partition("(")[0], begun["text"])
        if resumed := _RESUMED.fullmatch(rest):
            before = self._begun.pop(pid, None)
            if before is None and (before := self._begun.pop(-1, None)) is not None:
                self.first = pid
            if before is None or not before[1].startswith(f"{resumed['name']}("):
                return "is the end of a call without its begin"
            time_ns, rest = before[0], before[1] + resumed["text"]
        return _call(pid, time_ns, rest) or NO_CALL


def recognised(line: str) -> bool:
    """Return whether a line is a call in one of the layouts of strace, with any clock."""
    found = _LINE.fullmatch(line)
    if found is not None:
        rest = found["rest"]
        return bool(_CALL.fullmatch(rest) or _BEGUN.fullmatch(rest) or _RESUMED.fullmatch(rest))
    clock = _OTHER_CLOCK.match(line)
    return clock is not None and bool(_CALL.fullmatch(line[clock.end() :]))


def _unread(line: str) -> Event | str:
    if line.startswith("strace: ") or line == " <unfinished ...>":
        return Event()
    clock = _OTHER_CLOCK.match(line)
    if clock is not None:
        return TIME_OF_DAY if clock["day"] else RELATIVE_TIME
    return NO_TIME if _NO_CLOCK.match(line) else NO_CALL


def _call(pid: int, time_ns: int, text: str) -> Call | None:
    lasted = _LASTED.search(text)
    text = text[: lasted.start()] if lasted else text
    found = _CALL.fullmatch(text)
    if found is None:
        return None
    number = found["result"]
    result = None if number == "?" else int(number, 0)
    error = _ERROR.match(found["more"])
    failed = result is not None and result < 0
    latency_ns = _nanoseconds(lasted[1]) if lasted else None
    name_of_error = (error[1] if error else "error") if failed or result is None else None
    return Call(pid, time_ns, found["name"], _arguments(found["arguments"]), result, name_of_error, latency_ns)


def _nanoseconds(text: str) -> int:
    whole, _, part = text.partition(".")
    return int(whole) * 10**9 + int(part.ljust(9, "0")[:9])


def _arguments(text: str) -> list[str]:
    """Divide arguments at the commas outside of texts and brackets."""
    parts, depth, begin = [], 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark == "," and depth == 0:
            parts.append(text[begin : token.start()].strip())
            begin = token.end()
        elif mark in "[{(":
            depth += 1
        elif mark in "]})":
            depth -= 1
    rest = text[begin:].strip()
    return [*parts, rest] if rest or parts else []


def text_of(argument: str) -> str | None:
    """Return the text of an argument in quotation marks without its escapes; None if it is none, or was cut."""
    if len(argument) < 2 or argument[0] != '"' or argument[-1] != '"':
        return None
    inner = argument[1:-1]
    if "\\" not in inner:
        return inner
    try:
        value = ast.literal_eval(f'b"{inner}"')
    except (ValueError, SyntaxError):
        return None
    return bytes(value).decode("utf-8", "backslashreplace")

"""JuiceFS's log of file operations, as ``cat MOUNT/.accesslog`` gives it.

Layout: juicefs pkg/vfs/accesslog.go and pkg/vfs/vfs.go: ``time [uid:…,gid:…,pid:…] operation (arguments): status
(result) <seconds>``; release 1.4 writes ``operation (arguments): (result) - status <seconds>``. The time is local, and
that of the operation's end.

What a store that has a file as an object would be asked: a read is a GET of a range, a write a PUT of what is written,
lookup and getattr a HEAD, unlink a DELETE, a directory's first readdir a LIST. Keys are inode numbers, or
``directory/name`` where the log knows no inode: of unlink and of a name that is not there. A file that is read is taken
to end where the read ended, as its size is not logged. A write's latency is that of JuiceFS's buffer. Directories,
links, the files that JuiceFS itself serves and all other operations are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers.blocks import by_block
from traces.readers.columns import NO_OBJECT, operations
from traces.readers.formats import Format, Head
from traces.readers.records import Parsed, Rows
from traces.readers.source import Lines
from traces.readers.spans import Fields, Mask, Spans, each_line
from traces.tables import DELETE, GET, HEAD, LIST, PUT

_OPERATIONS = {
    "read": "GET",
    "write": "PUT",
    "lookup": "HEAD",
    "getattr": "HEAD",
    "unlink": "DELETE",
    "readdir": "LIST",
}
_OWN_INODE = 0x7FFFFFFFFFFFF0  # pkg/vfs/internal.go: minInternalNode
_LINE = re.compile(r"\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d\.\d+ \[uid:\d+,gid:\d+,pid:\d+\] \w+ \(.*<\d+\.\d+>$")


@dataclass(frozen=True)
class _Calls:
    """The part of each line after the process.

    Attributes:
        name: of the operation.
        arguments: with commas between them; where they hold a file's name, of calls without a result.
        numbers: the arguments up to the first closing parenthesis.
        result: within its parentheses; where there is none, not there.
        status: ``OK`` or what went wrong.
        duration: in seconds.
    """

    name: Spans
    arguments: Spans
    numbers: Spans
    result: Spans
    status: Spans
    duration: Spans

    @staticmethod
    def of(texts: Spans) -> _Calls:
        """Divide the texts; names of files may hold any of the marks, so it goes by the last ones."""
        before, last = texts.partition(" <", last=True)
        duration, closed = last.partition(">")
        name, call = before.partition(" (")
        arguments, tail = call.partition(")", last=True)
        status = tail.partition("- ")[1]
        result = arguments.partition("): (", last=True)[1]
        if not status.there.all():
            earlier_status, earlier_result = _earlier(arguments, tail)
            result = _either(status.there, result, earlier_result)
            status = _either(status.there, status, earlier_status)
        return _Calls(name, arguments, arguments.partition(")")[0], result, status, duration.where(closed.is_text("")))


def _earlier(arguments: Spans, tail: Spans) -> tuple[Spans, Spans]:
    """Status and result of releases that write the status first."""
    bare = tail.begins_with(": ")
    said, result = arguments.partition(" (", last=True)
    status = _either(bare, tail.within(before=2).partition(" [")[0], said.partition("): ", last=True)[1])
    return status, _either(bare, Spans(tail.data, tail.start, tail.start - 1), result)


def _either(which: Mask, one: Spans, other: Spans) -> Spans:
    return Spans(one.data, np.where(which, one.start, other.start), np.where(which, one.end, other.end))


def _parse(lines: Lines) -> Iterator[Parsed]:
    line, texts = each_line(lines)
    rows = Rows(line)
    rows.leave_out(texts.is_text("#"), "the mark of a second without operations")
    stamp, rest = texts.partition(" [")
    process, call = rest.partition("] ")
    ended = stamp.iso_ns(lines.zone)
    rows.refuse((ended < 0) | ~call.there, "is no line of an access log")
    op = operations(call.partition(" (")[0], _OPERATIONS)
    rows.leave_out(op < 0, NO_OBJECT)
    kept = rows.narrow()
    calls = _Calls.of(call.of_rows(kept))
    latency = calls.duration.decimals(9)
    rows.refuse((latency < 0) | ~calls.status.there, "ends before it should")
    yield rows.parsed(
        time_ns=ended[kept] - latency,
        latency_ns=latency,
        client=process.of_rows(kept).partition("pid:")[1].texts(),
        error=calls.status.texts(null="OK"),
        op=op[kept],
        **_asked(rows, calls, op[kept]),
    )


def _asked(rows: Rows, calls: _Calls, op: NDArray[np.int8]) -> dict[str, pa.Array]:
    """Keys, sizes and ranges."""
    well = calls.status.is_text("OK")
    gets, puts, lists = op == GET, op == PUT, op == LIST
    numbers = Fields.among(rows.line, calls.numbers, 3, ",")
    inode, size, offset = numbers[0], numbers[1].integers(), numbers[2].integers()
    lookup = calls.name.is_text("lookup")
    rows.leave_out(inode.integers() >= _OWN_INODE, "a file of JuiceFS itself")
    rows.refuse((gets | puts | lists) & ((size < 0) | (offset < 0)), "its arguments cannot be read")
    rows.leave_out(lists & (offset > 0), "a further page of a directory")
    found, attributes = calls.result.partition(",")
    heads = (op == HEAD) & well
    rows.refuse(heads & ~found.there, "has no result")
    rows.leave_out(heads & attributes.there & ~attributes.begins_with("[-"), "a directory or a link")
    named = (op == DELETE) | lookup & ~well
    key = _either(lookup & well, found, _either(named, calls.arguments, inode)).texts()
    key = pc.if_else(pa.array(named), pc.replace_substring(key, ",", "/", max_replacements=1), key)
    key = pc.if_else(pa.array(lists), pc.binary_join_element_wise(key, "", "/"), key)
    read, got = gets & well, calls.result.integers()
    rows.refuse(read & (got < 0), "its result cannot be read")
    rows.leave_out(read & (got == 0), "a read behind the file's end")
    length = attributes.within(after=1).partition(",", last=True)[1].integers()
    moved = np.where(puts, size, np.where(read, got, 0))
    bytes_of = np.where(puts, size, np.where(read, offset + got, np.where(heads, length, -1)))
    return {
        "key": key,
        "size_bytes": pa.array(bytes_of, mask=bytes_of < 0),
        "transfer_bytes": np.where(well, moved, 0),
        "range_start_bytes": pa.array(offset, mask=~gets),
        "range_bytes": pa.array(np.where(well, got, size), mask=~gets),
    }


def _recognises(head: Head) -> bool:
    return any(_LINE.match(line) for line in head.lines)


FORMAT = Format("juicefs", "JuiceFS access log", True, _recognises, by_block(_parse))

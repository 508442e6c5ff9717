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

from traces.readers.compiling import compiled, find, pointer
from traces.readers.drafts import END, begun, rejected
from traces.readers.formats import Format, Head
from traces.readers.kernels import (
    CLOSE_PARENTHESIS,
    COMMA,
    GREATER,
    HASH,
    SLASH,
    begins,
    decimal,
    digits,
    find_last,
    is_text,
    line_end,
    of,
    operation,
    operations,
    seek,
    seek_last,
    split,
    text,
)
from traces.readers.line_rows import line_reader
from traces.readers.records import NO_OBJECT
from traces.readers.time_kernels import iso_time
from traces.tables import DELETE, GET, LIST, PUT

_OPERATIONS = operations({
    "read": "GET",
    "write": "PUT",
    "lookup": "HEAD",
    "getattr": "HEAD",
    "unlink": "DELETE",
    "readdir": "LIST",
})  # fmt: skip
_OWN_INODE = 0x7FFFFFFFFFFFF0  # pkg/vfs/internal.go: minInternalNode
_LINE = re.compile(r"\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d\.\d+ \[uid:\d+,gid:\d+,pid:\d+\] \w+ \(.*<\d+\.\d+>$")


_OK, _LOOKUP, _PID, _FILE = text("OK"), text("lookup"), text("pid:"), text("[-")
_PROCESS, _CALL, _ARGUMENTS, _DURATION = text(" ["), text("] "), text(" ("), text(" <")
_STATUS, _RESULT = text("- "), text("): (")
_EARLIER_STATUS, _BARE_STATUS = text("): "), text(": ")

_REFUSED = (
    "is no line of an access log",
    "ends before it should",
    "its arguments cannot be read",
    "has no result",
    "its result cannot be read",
)
_NO_LINE, _CUT, _BAD_ARGUMENTS, _NO_RESULT, _BAD_RESULT = range(1, 6)
_LEFT_OUT = (
    "the mark of a second without operations",
    NO_OBJECT,
    "a file of JuiceFS itself",
    "a further page of a directory",
    "a directory or a link",
    "a read behind the file's end",
)
_SECOND, _NOT_OBJECT, _OWN, _FURTHER, _DIRECTORY, _BEHIND = range(-1, -7, -1)


@compiled
def _record(data, at, stop, fields, row):  # type: ignore[no-untyped-def]
    if stop == at + 1 and data[at] == HASH:
        return _SECOND
    process = seek(data, at, stop, _PROCESS)
    call = seek(data, process + 2, stop, _CALL)
    row.time_ns, local = iso_time(data, at, process)
    if row.time_ns < 0 or call == stop:
        return _NO_LINE
    name = call + 2
    name_end = seek(data, name, stop, _ARGUMENTS)
    row.op, row.local = operation(data, name, name_end, _OPERATIONS), END if local else 0
    if row.op < 0:
        return _NOT_OBJECT
    # Names of files may hold any of the marks, so it goes by the last ones.
    duration = seek_last(data, name, stop, _DURATION)
    arguments = name_end + 2
    close = find_last(data, arguments, duration, CLOSE_PARENTHESIS)
    if duration < arguments or data[stop - 1] != GREATER or close < arguments:
        return _CUT
    row.latency_ns = decimal(data, duration + 2, stop - 1, 9)
    row.time_ns -= row.latency_ns
    status, status_end, result, result_end = _outcome(data, arguments, close, duration)
    if row.latency_ns < 0 or status_end < status:
        return _CUT
    well = is_text(data, status, status_end, _OK)
    if not well:
        row.error_from, row.error_to = status, status_end
    pid = seek(data, process + 2, call, _PID)
    if pid < call:
        row.client_from, row.client_to = pid + len(_PID), call
    split(data, arguments, find(data, arguments, close, CLOSE_PARENTHESIS), COMMA, False, False, fields, 3)
    if digits(data, *of(fields, 0)) >= _OWN_INODE:
        return _OWN
    if row.op == GET or row.op == PUT or row.op == LIST:
        return _set_volumes(data, fields, well, digits(data, result, result_end), row)
    named = row.op == DELETE or (not well and is_text(data, name, name_end, _LOOKUP))
    if named:
        row.key_from, row.key_to = arguments, close
        comma = find(data, arguments, close, COMMA)
        data[comma] = SLASH if comma < close else data[comma]
    else:
        row.key_from, row.key_to = of(fields, 0)
    row.transfer_bytes = 0
    if row.op == DELETE or not well:
        return 0
    return _set_attributes(data, result, result_end, is_text(data, name, name_end, _LOOKUP), row)


@compiled
def _outcome(data, at, close, stop):  # type: ignore[no-untyped-def]
    """The bounds of the status and of the result within its parentheses; what is not there ends before it begins.

    Args:
        data: bytes.
        at: where the arguments begin.
        close: the last closing parenthesis.
        stop: where the duration begins.
    """
    status = seek(data, close + 1, stop, _STATUS)
    if status < stop:
        result = seek_last(data, at, close, _RESULT)
        return status + 2, stop, result + 4 if result >= at else close + 1, close
    if begins(data, close + 1, stop, _BARE_STATUS):  # releases that write the status first; without a result
        return close + 3, seek(data, close + 3, stop, _PROCESS), close + 1, close
    result = seek_last(data, at, close, _ARGUMENTS)
    end = result if result >= at else close
    status = seek_last(data, at, end, _EARLIER_STATUS)
    return status + 3 if status >= at else end + 1, end, result + 2 if result >= at else close + 1, close


@compiled
def _set_volumes(data, fields, well, got, row):  # type: ignore[no-untyped-def]
    """Set key, size and range of a read, a write or a directory's page, of which `got` bytes were read."""
    row.key_from, row.key_to = of(fields, 0)
    size, offset = digits(data, *of(fields, 1)), digits(data, *of(fields, 2))
    if size < 0 or offset < 0:
        return _BAD_ARGUMENTS
    row.transfer_bytes = 0
    if row.op == LIST:
        data[row.key_to] = SLASH  # of the comma
        row.key_to += 1
        return _FURTHER if offset > 0 else 0
    if row.op == GET:
        if well and (got <= 0 or offset + got < 0):
            return _BEHIND if got == 0 else _BAD_RESULT
        row.range_start_bytes, row.range_bytes = offset, got if well else size
        if well:
            row.size_bytes, row.transfer_bytes = offset + got, got
        return 0
    row.size_bytes, row.transfer_bytes = size, size if well else 0
    return 0


@compiled
def _set_attributes(data, at, stop, lookup, row):  # type: ignore[no-untyped-def]
    """Set what a lookup or a getattr found: ``inode,[mode,…,length]``."""
    if stop < at:
        return _NO_RESULT
    comma = find(data, at, stop, COMMA)
    if lookup:
        row.key_from, row.key_to = at, comma
    if comma < stop:
        if not begins(data, comma + 1, stop, _FILE):
            return _DIRECTORY
        length = find_last(data, comma + 1, stop - 1, COMMA) + 1
        row.size_bytes = digits(data, length, stop - 1) if length > comma + 1 else -1
    return 0


@compiled
def _records(text, at, size, rows, bounds):  # type: ignore[no-untyped-def]
    data, fields = pointer(text), pointer(bounds)
    line, kept, gone = 0, 0, 0
    while at < size:
        newline, stop = line_end(data, at, size)
        if stop > at:
            verdict = _record(data, at, stop, fields, begun(rows[kept]))
            if verdict:
                gone = rejected(rows, gone, line, verdict)
            else:
                kept += 1
        at, line = newline + 1, line + 1
    return kept, gone


def _recognises(head: Head) -> bool:
    return any(_LINE.match(line) for line in head.lines)


FORMAT = Format("juicefs", "JuiceFS access log", True, _recognises, line_reader(_records, 3, _REFUSED, _LEFT_OUT))

"""The operations of a Trace as calls on files: one function for each, in a table.

An operation of S3 is that on a whole file: PUT creates, writes and closes it, GET opens, reads and closes it, HEAD is
stat, DELETE is unlink, and LIST reads a folder. Errors are those of the calls, also of close.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from validate.s3.account import Response
from validate.s3.answers import LIST_PAGE, WrongAnswerError, check_size
from validate.s3.body_check import BodyCheck, ExpectedBody

_READ_BYTES = 1 << 20
_STATUS = {errno.ENOENT: 404, errno.ENOTDIR: 404, errno.EACCES: 403, errno.EPERM: 403, errno.EEXIST: 409}
_OTHER = 500


@dataclass(frozen=True)
class FileCall:
    """What an operation is given.

    Attributes:
        path: of the file; of LIST, the beginning of the paths that are wanted.
        parts: the content of a write.
        span: first byte of a read and the one after the last; None: all.
        expected: the contents that a read may return; None: any.
        sizes: that stat may return; empty: any.
    """

    path: Path
    parts: Sequence[memoryview] = ()
    span: tuple[int, int] | None = None
    expected: ExpectedBody | None = None
    sizes: Collection[int] = ()


def perform(op: str, call: FileCall) -> Response:
    """Perform an operation of `CALLS`; an error is a status as of HTTP, with the error's text."""
    try:
        return CALLS[op](call)
    except OSError as error:
        return Response(_STATUS.get(error.errno or 0, _OTHER), error=error.strerror or str(error))
    except WrongAnswerError as error:
        return Response(200, error=str(error))


@contextmanager
def _open(path: Path, flags: int) -> Iterator[int]:
    """Open a file, no link; its close may fail, and the error counts."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        yield descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)


def _write_all(descriptor: int, data: memoryview) -> None:
    """Write all bytes at the position of a file."""
    while len(data):
        data = data[os.write(descriptor, data) :]


def _put(call: FileCall) -> Response:
    with _open(call.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        for part in call.parts:
            _write_all(descriptor, part)
    return Response(200, sum(map(len, call.parts)))


def _get(call: FileCall) -> Response:
    check = BodyCheck(call.expected)
    first_byte_s = float("nan")
    with _open(call.path, os.O_RDONLY) as descriptor:
        at, end = call.span or (0, None)
        while end is None or at < end:
            wanted = _READ_BYTES if end is None else min(_READ_BYTES, end - at)
            chunk = os.pread(descriptor, wanted, at)
            if first_byte_s != first_byte_s:
                first_byte_s = time.perf_counter()
            if not chunk:
                break
            check.take(chunk)
            at += len(chunk)
    check.end()
    return Response(200 if call.span is None else 206, check.received_bytes, first_byte_s)


def _head(call: FileCall) -> Response:
    check_size(call.path.lstat().st_size, call.sizes)
    return Response(200)


def _delete(call: FileCall) -> Response:
    call.path.unlink()
    return Response(204)


def _list(call: FileCall) -> Response:
    """Read a folder up to a page; as in S3, names of a folder that does not exist are none."""
    found = 0
    with contextlib.suppress(FileNotFoundError), os.scandir(call.path.parent) as entries:
        for entry in entries:
            found += entry.name.startswith(call.path.name)
            if found == LIST_PAGE:
                break
    return Response(200)


CALLS: dict[str, Callable[[FileCall], Response]] = {
    "GET": _get,
    "PUT": _put,
    "HEAD": _head,
    "DELETE": _delete,
    "LIST": _list,
}
"""The function of each operation that can be replayed on a mount; a new operation is one more entry."""

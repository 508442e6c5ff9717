"""The operations of a Trace as calls on files: one function for each, in a table.

An operation of S3 is that on a whole file: PUT creates, writes and closes it, GET opens, reads and closes it, HEAD is
stat, DELETE is unlink, and LIST reads a folder. Errors are those of the calls, also of close.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from validate.mount.contents import FileContents
from validate.mount.file_tree import FileFacts
from validate.mount.open_files import OpenFile, open_file
from validate.s3.account import Response
from validate.s3.answers import LIST_PAGE, WrongAnswerError

_READ_BYTES = 1 << 20  # of a whole file at a time
_MOST_BYTES = 64 << 20  # of a range in one call
_STATUS = {errno.ENOENT: 404, errno.ENOTDIR: 404, errno.EACCES: 403, errno.EPERM: 403, errno.EEXIST: 409}
_OTHER = 500
_COPY_BYTES = 1 << 30
_MODES = tuple(0o600 + others for others in range(8))  # all differ from that of a new file


@dataclass(frozen=True)
class FileCall:
    """What an operation is given.

    Attributes:
        path: of the file or folder.
        prefix: of LIST, how the names in the folder begin that are wanted.
        target: the second path of an operation that has two.
        parts: what is written.
        span: first byte of a read or write and the one after the last; None: all of the file.
        facts: the sizes that the file may have; None: any.
        least_bytes: its size at least.
        contents: the bytes that a read has to return, if those of the file are known; None: they are not compared.
        file: the open file that it uses; None: it opens and closes one.
        number: a number that differs between operations on one file.
    """

    path: Path
    prefix: str = ""
    target: Path | None = None
    parts: Sequence[memoryview] = ()
    span: tuple[int, int] | None = None
    facts: FileFacts | None = None
    least_bytes: int = 0
    contents: FileContents | None = None
    file: OpenFile | None = None
    number: int = 0


def perform(op: str, call: FileCall) -> Response:
    """Perform an operation of `CALLS`; an error is a status as of HTTP, with the error's text."""
    try:
        return CALLS[op](call)
    except OSError as error:
        return Response(_STATUS.get(error.errno or 0, _OTHER), error=error.strerror or str(error))
    except WrongAnswerError as error:
        return Response(200, error=str(error))


@contextmanager
def _opened(call: FileCall, flags: int) -> Iterator[int]:
    """Yield the descriptor of an open file, or one of its own, whose close may fail, and the error counts."""
    if call.file is not None:
        yield call.file.descriptor(call.path)
        return
    descriptor = open_file(call.path, flags)
    try:
        yield descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)


def _write_all(descriptor: int, parts: Sequence[memoryview], at: int) -> int:
    """Write all bytes from a position on, and return their number."""
    begin = at
    for data in parts:
        while len(data):
            written = os.pwrite(descriptor, data, at)
            data, at = data[written:], at + written
    return at - begin


def _put(call: FileCall) -> Response:
    with _opened(call, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as descriptor:
        count = _write_all(descriptor, call.parts, 0)
    return Response(200, count)


def _write(call: FileCall) -> Response:
    with _opened(call, os.O_WRONLY) as descriptor:
        return Response(200, _write_all(descriptor, call.parts, call.span[0] if call.span else 0))


def _read(call: FileCall) -> Response:
    first_byte_s = float("nan")
    begin, end = call.span or (0, None)
    at = begin
    with _opened(call, os.O_RDONLY) as descriptor:
        while end is None or at < end:
            chunk = os.pread(descriptor, _READ_BYTES if end is None else min(_MOST_BYTES, end - at), at)
            if first_byte_s != first_byte_s:
                first_byte_s = time.perf_counter()
            if not chunk:
                break
            _compare(call, chunk, at)
            at += len(chunk)
    if (facts := call.facts) is not None:
        count, least = at - begin, call.least_bytes
        if not (facts.may_have(at, least) if end is None else facts.may_return((begin, end), count, least)):
            raise WrongAnswerError(f"wrong length: {count:,} bytes from byte {begin:,} on")
    return Response(200 if end is None else 206, at - begin, first_byte_s)


def _compare(call: FileCall, chunk: bytes, at: int) -> None:
    """Compare bytes that were read at a position with those that were written.

    Raises:
        WrongAnswerError: they are others.
    """
    if call.contents is None or call.facts is None or call.facts.content is None:
        return
    if b"".join(call.contents.between(call.facts.content, at, at + len(chunk))) != chunk:
        raise WrongAnswerError("wrong body: its bytes are not those that were written")


def _stat(call: FileCall) -> Response:
    found = call.path.lstat()
    if call.facts is not None and S_ISREG(found.st_mode) and not call.facts.may_have(found.st_size, call.least_bytes):
        raise WrongAnswerError(f"wrong length: {found.st_size:,} bytes in the metadata")
    return Response(200)


def _unlink(call: FileCall) -> Response:
    call.path.unlink()
    return Response(204)


def _list(call: FileCall) -> Response:
    """Read a folder up to a page; as in S3, names of a folder that does not exist are none."""
    found = 0
    with contextlib.suppress(FileNotFoundError), os.scandir(call.path) as entries:
        for entry in entries:
            found += entry.name.startswith(call.prefix)
            if found == LIST_PAGE:
                break
    return Response(200)


def _readdir(call: FileCall) -> Response:
    with os.scandir(call.path) as entries:
        for _ in entries:
            pass
    return Response(200)


def _create(call: FileCall) -> Response:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    if call.file is None:
        os.close(open_file(call.path, flags))
    else:
        call.file.add(open_file(call.path, flags))
    return Response(201)


def _open(call: FileCall) -> Response:
    if call.file is not None:
        call.file.add(open_file(call.path, call.file.flags))
    return Response(200)


def _fsync(call: FileCall) -> Response:
    with _opened(call, os.O_RDONLY) as descriptor:
        os.fsync(descriptor)
    return Response(200)


def _close(call: FileCall) -> Response:
    if call.file is not None:
        os.close(call.file.take(call.path))
    return Response(200)


def _rename(call: FileCall) -> Response:
    call.path.rename(_second(call))
    return Response(200)


def _copy(call: FileCall) -> Response:
    """Let the kernel copy, by the file system if it can."""
    at, end = call.span or (0, None)
    with _opened(call, os.O_RDONLY) as source:
        target = open_file(_second(call), os.O_WRONLY | os.O_CREAT)
        try:
            while end is None or at < end:
                copied = os.copy_file_range(source, target, _COPY_BYTES if end is None else end - at, at)
                if not copied:
                    break
                at += copied
        finally:
            os.close(target)
    return Response(200)


def _second(call: FileCall) -> Path:
    """Return the second path.

    Raises:
        WrongAnswerError: the trace has none.
    """
    if call.target is None:
        raise WrongAnswerError("the trace names no second path")
    return call.target


def _setattr(call: FileCall) -> Response:
    call.path.chmod(_MODES[call.number % len(_MODES)])
    return Response(200)


def _mkdir(call: FileCall) -> Response:
    call.path.mkdir()
    return Response(201)


CALLS: dict[str, Callable[[FileCall], Response]] = {
    "GET": _read,
    "PUT": _put,
    "HEAD": _stat,
    "DELETE": _unlink,
    "LIST": _list,
    "COPY": _copy,
    "CREATE": _create,
    "OPEN": _open,
    "READ": _read,
    "WRITE": _write,
    "FSYNC": _fsync,
    "CLOSE": _close,
    "RENAME": _rename,
    "UNLINK": _unlink,
    "STAT": _stat,
    "SETATTR": _setattr,
    "READDIR": _readdir,
    "MKDIR": _mkdir,
}
"""The function of each operation that can be replayed on a mount; a new operation is one more entry."""

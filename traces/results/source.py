"""Read result files, decompressed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from traces.compression import TruncatedError, decompressed
from traces.errors import InputError
from traces.spec.suggestions import no_such_file

HEAD_BYTES = 1 << 16
"""Size of the start of a file from which its format is recognised."""

MOST_BYTES = 1 << 28
"""The largest file that is read: no tool writes results of this size."""

_STEP = 1 << 16


def head_of(path: Path) -> bytes:
    """Return the first `HEAD_BYTES` of a file's content, decompressed if it is gzip, zstd, xz or bz2.

    A broken archive gives what can be read of it; what is no regular file is not touched, and gives nothing.
    """
    if not path.is_file():
        return b""
    try:
        return _up_to(path, HEAD_BYTES)[0]
    except OSError:
        return b""


def text_of(path: Path) -> str:
    """Return the content of a file as text.

    Raises:
        InputError: the file is missing, cannot be read, is truncated, or is too large for results.
    """
    try:
        content, broken = _up_to(path, MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if broken:
        raise InputError(f"{path}: is truncated or broken: {broken}")
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: has more than {MOST_BYTES >> 20} MiB, which no benchmark's results have")
    return content.decode("utf-8-sig", "replace")


def _up_to(path: Path, most: int) -> tuple[bytes, str]:
    """Return up to `most` decompressed bytes, and why the archive ends before its end."""
    content, broken = bytearray(), ""
    try:
        for piece in decompressed(_pieces(path)):
            content += piece
            if len(content) >= most:
                break
    except TruncatedError as error:
        broken = str(error)
    return bytes(content[:most]), broken


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_STEP):
            yield piece

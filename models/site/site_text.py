"""The text of a site's file: plain or compressed by gzip, in UTF-8, or in UTF-16 as Windows' PowerShell writes it."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from traces.errors import InputError
from traces.spec.suggestions import no_such_file

_MOST_BYTES = 256 << 20
_GZIP = b"\x1f\x8b"
_UTF16 = b"\xff\xfe", b"\xfe\xff"

RING = b"R1NG"
"""What a ring of Swift begins with, which is binary: each of its bytes is a character of the text."""


def site_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        InputError: the file is missing, has more than 256 MiB, also unpacked, or is no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if data.startswith(_GZIP):
            with gzip.open(path) as packed:
                data = packed.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path}: is compressed by gzip, and cut off or broken") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"{path}: has more than {_MOST_BYTES >> 20} MiB")
    if data.startswith(RING):
        return data.decode("latin-1")
    try:
        return data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is neither UTF-8 nor UTF-16 text") from error

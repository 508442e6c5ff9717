"""Reads text files."""

from __future__ import annotations

from pathlib import Path

from traces.errors import InputError
from traces.spec.suggestions import no_such_file


def text_of(path: Path, most_bytes: int | None = None) -> str:
    """Return the text of a file.

    Args:
        path: of the file, or of a pipe, whose size is not known.
        most_bytes: largest file that is read; None: there is no limit.

    Raises:
        InputError: the file is missing, too large or not UTF-8, or cannot be read.
    """
    try:
        if most_bytes is not None and path.is_file() and path.stat().st_size > most_bytes:
            raise InputError(f"{path}: has more than {most_bytes >> 20} MiB")
        return path.read_text()
    except FileNotFoundError as error:
        raise InputError(no_such_file(path)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error

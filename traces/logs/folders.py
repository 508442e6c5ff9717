"""The files of a folder, without those that are no data by their names."""

from __future__ import annotations

import re
from pathlib import Path

NO_LOG = "is no log, by its name"
"""Why a file is skipped."""

_NO_LOG = re.compile(
    r"readme.*|license.*|.*\.(?:md|rst|html?|pdf|asc|sig|crc|md5|sha\d*|sha\d*sums?)|(?:md5|sha\d*)(?:sum)?s?(?:\.txt)?"
    r"|checksums?(?:\.txt)?|_success",
    re.IGNORECASE,
)


def is_hidden(path: Path) -> bool:
    """Return whether a part of a relative path begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def is_no_log(name: str) -> bool:
    """Return whether a file of that name is documentation, a checksum, a signature or a marker."""
    return _NO_LOG.fullmatch(name) is not None


def files_below(folder: Path) -> list[Path]:
    """Return the files of a folder and the folders below it, sorted, without hidden ones."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not is_hidden(path.relative_to(folder)))

"""What Numba has compiled and kept: it goes by the one file of the function, while ours are made of several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path


def drop_stale(folder: Path, pattern: str, sources: Iterable[Path]) -> None:
    """Drop what was compiled before one of its sources was last changed.

    Args:
        folder: of the functions' modules.
        pattern: of the compiled files' names in its cache.
        sources: the files that they are made of.
    """
    newest = max(source.stat().st_mtime for source in sources)
    for cached in (folder / "__pycache__").glob(pattern):
        with contextlib.suppress(OSError):  # a folder that is not ours to change: Numba keeps its cache elsewhere
            if cached.stat().st_mtime < newest:
                cached.unlink()

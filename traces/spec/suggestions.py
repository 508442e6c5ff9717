"""Suggestions for a misspelt name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

_CLOSE = 0.6  # similarity from which a name is suggested
_CLOSE_STEM = 0.75  # of file names without their ending, which are longer and more alike


def close_names(name: str, allowed: Iterable[str], most: int = 4) -> list[str]:
    """Return the names that are similar to a misspelt one, the most similar first; case is ignored."""
    by_lower = {other.lower(): other for other in allowed}
    return [by_lower[found] for found in difflib.get_close_matches(name.lower(), by_lower, most, _CLOSE)]


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return ``; did you mean clients?`` for the most similar name; empty if none is similar."""
    close = close_names(name, allowed, 1)
    return f"; did you mean {close[0]}?" if close else ""


def instead(name: str, allowed: Iterable[str]) -> str:
    """Return ``did you mean clients?`` for the most similar name; if none is similar, ``allowed are …`` with all."""
    names = list(allowed)
    return did_you_mean(name, names).removeprefix("; ") or f"allowed are {', '.join(names)}"


def no_such_file(path: Path) -> str:
    """Return the message for a missing file, with a file of a similar name in the same folder if there is one."""
    return f"{path}: no such file{did_you_mean_file(path)}"


def did_you_mean_file(path: Path) -> str:
    """Return ``; did you mean minio.yaml?`` for a file of a similar name in the same folder; empty if there is none."""
    try:
        others = sorted(other.name for other in path.parent.iterdir() if not other.name.startswith("."))
    except OSError:
        return ""
    stems = {Path(other).stem.lower(): other for other in others}
    close = difflib.get_close_matches(path.stem.lower(), stems, 1, _CLOSE_STEM)
    return f"; did you mean {path.with_name(stems[close[0]])}?" if close else ""

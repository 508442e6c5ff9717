"""Suggestions for a misspelt name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_CLOSE = 0.6  # similarity from which a name is suggested


def close_names(name: str, allowed: Iterable[str], most: int = 4) -> list[str]:
    """Return the names that are similar to a misspelt one, the most similar first; case is ignored."""
    by_lower = {other.lower(): other for other in allowed}
    return [by_lower[found] for found in difflib.get_close_matches(name.lower(), by_lower, most, _CLOSE)]


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return ``; did you mean clients?`` for the most similar name; empty if none is similar."""
    close = close_names(name, allowed, 1)
    return f"; did you mean {close[0]}?" if close else ""

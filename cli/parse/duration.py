"""Durations that options give."""

from __future__ import annotations

from traces.errors import InputError
from traces.units import parse_seconds


def seconds_of(option: str, text: str | None) -> float | None:
    """The seconds of a duration such as ``500ms``; None: it was not given.

    Raises:
        InputError: the text is not a duration.
    """
    try:
        return None if text is None else parse_seconds(text)
    except ValueError as error:
        raise InputError(f"{option} {text}: {error}") from error

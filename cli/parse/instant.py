"""Reads points in time of options."""

from __future__ import annotations

from datetime import UTC, datetime

from traces.errors import InputError


def instant_of(option: str, text: str) -> float:
    """Return a point in time in s since 1970: ISO 8601, in UTC if it names no zone, or that number.

    Raises:
        InputError: it is neither.
    """
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"{option}: {text!r} is no point in time, such as 2026-01-31T12:00:00Z, or seconds since 1970"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def instant_text(seconds: float) -> str:
    """Return a point in time as ISO 8601 in UTC, of whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

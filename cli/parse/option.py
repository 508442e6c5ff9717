"""Values of options, and option names in error messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from models.site.kinds import Kind
from traces.errors import InputError
from traces.spec.units import parse_duration


@contextlib.contextmanager
def option(name: str) -> Iterator[None]:
    """Put the name of an option before the message of an error that is raised inside.

    Raises:
        InputError: the error, with the name.
    """
    try:
        yield
    except InputError as error:
        raise InputError(*(f"{name} {message}" for message in error.messages)) from error


def seconds_of(name: str, text: str) -> float:
    """Return the seconds of a duration such as ``500ms``, the value of an option.

    Raises:
        InputError: the text is not a duration with a unit.
    """
    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(f"{name} {text}: {error}") from error


def fact_of(name: str, text: str, kind: Kind) -> Any:
    """Return the value of an option of a kind.

    Raises:
        InputError: the text is no such value.
    """
    try:
        return kind.parse(text)
    except ValueError as error:
        raise InputError(f"{name}: {error}") from error

"""Names of options before the messages of what they were passed to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from traces.errors import InputError


@contextlib.contextmanager
def option(name: str) -> Iterator[None]:
    """Put an option's name before the message of an error that is raised inside.

    Raises:
        InputError: the error, with the name.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{name} {error}") from error

"""What a format of results is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from traces.results.schema import Results


@dataclass(frozen=True)
class ResultFormat:
    """A format of results.

    Attributes:
        name: the name in messages, such as ``results of warp``.
        recognises: whether a file has this format, by its name and the start of its text.
        read: the results in the text of a file; the second argument names the file in messages.
    """

    name: str
    recognises: Callable[[str, str], bool]
    read: Callable[[str, str], Results]

"""The exception for invalid input."""

from __future__ import annotations


class InputError(ValueError):
    """Invalid input, described in one line each: the file, line or field, what is wrong, and what is allowed.

    The command line prints the lines and exits with code 2, without a traceback.

    Attributes:
        messages: one line for each error; most inputs are refused for the first one.
    """

    def __init__(self, *messages: str):
        super().__init__("; ".join(messages))
        self.messages = messages

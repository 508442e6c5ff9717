"""The exception for invalid input."""

from __future__ import annotations


class InputError(ValueError):
    """Invalid input, described in one line: the file, line or field, what is wrong with it, and what is allowed.

    The command line prints the message and exits with code 2, without a traceback.
    """

"""The one exception that means "your input is wrong"."""

from __future__ import annotations


class InputError(ValueError):
    """Input that cannot be used, said in one line: which file, line or field, what was wrong, what is allowed.

    The command line prints the message and exits with code 2; it never shows a traceback for it.
    """

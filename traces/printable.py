"""Text of others, such as file names, keys and servers' messages, in a form that a terminal only shows."""

from __future__ import annotations

import re

_NOT_SHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and line feed: they move the cursor, or set the title
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions of text: they show it in another order
    "\u2028\u2029\ud800-\udfff]"  # separators of lines, and bytes that are not UTF-8
)


def printable(text: str) -> str:
    r"""Return the text with escapes such as ``\x1b`` for what a terminal would act on instead of showing it."""
    return _NOT_SHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)

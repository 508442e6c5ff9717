from __future__ import annotations

import pytest

from traces.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET µs ±5 % ü 日本\n\tnext", "GET µs ±5 % ü 日本\n\tnext"),
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("a\rb\x08\x7f", r"a\rb\x08\x7f"),
        ("\x9b31m", r"\x9b31m"),
        ("exe.\u202egpj", r"exe.\u202egpj"),
        ("\udcff", r"\udcff"),
    ],
)
def test_a_terminal_only_shows_text(text: str, shown: str) -> None:
    assert printable(text) == shown

"""Cells of tables that keep the number that they show."""

from __future__ import annotations


class Figure(str):
    """The text of a rounded number, and the number itself, for programs.

    Attributes:
        value: the number, not rounded.
        unit: of the number: ``s``, ``B`` or ``B/s``; empty: a plain number.
    """

    __slots__ = ("unit", "value")

    value: float
    unit: str

    def __new__(cls, text: str, value: float, unit: str = "") -> Figure:
        """Return a text that shows a number."""
        made = super().__new__(cls, text)
        made.value, made.unit = value, unit
        return made

    def __getnewargs__(self) -> tuple[str, float, str]:  # type: ignore[override]
        """Return what copies are made from."""
        return str(self), self.value, self.unit

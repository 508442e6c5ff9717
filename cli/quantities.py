"""Values of a spec as text, with their units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.words import byte_rate, number, seconds, size
from traces.spec.units import binary_size

_NS_PER_BYTE = 1e9
_MOST_DIGITS = 4  # of an exact size in binary units; longer ones are rounded


def quantity(value: Any, unit: str = "") -> str:
    """Format a value in its unit, such as ``1.50 ms``, ``1.20 ns/B`` or ``25.0 GB/s``."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return _listed(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {quantity(each)}" for name, each in value.items()) + "}"
    if not isinstance(value, int | float):
        return str(value)
    match unit:
        case "s":
            return seconds(value)
        case "s/B":
            return f"{number(value * _NS_PER_BYTE)} ns/B" if value else "0 s/B"
        case "B":
            text = binary_size(int(value))
            return size(value) if sum(map(str.isdigit, text)) > _MOST_DIGITS else text
        case "B/s":
            return byte_rate(value)
        case "/s":
            return f"{number(value)}/s"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _listed(values: Any) -> str:
    shown = [quantity(value) for value in values]
    if len(shown) > 4:
        shown = [*shown[:2], f"… {len(shown) - 3} more", shown[-1]]
    return f"[{', '.join(shown)}]"

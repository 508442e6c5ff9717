"""The description of a field of a spec, as lines."""

from __future__ import annotations

import textwrap

from cli.quantities import quantity
from models.spec.explained import Explained

_WIDTH = 100


def explained_lines(field: Explained) -> list[str]:
    """Return the lines of a description: the path first, then what is known."""
    facts = {"type": field.type}
    if field.unit:
        facts["unit"] = f"{field.unit} (of a bare number)"
    if field.is_required:
        facts["default"] = "none: it is required" if field.path else ""
    else:
        facts["default"] = quantity(field.default, field.unit)
    facts["source"] = field.source and f"{field.source}"
    facts["allowed"] = field.allowed
    facts["plausible"] = _range(field.low, field.high, field.unit)
    if field.fitted is not None:
        facts["calibrate"] = f"may fit it, from {quantity(field.fitted[0], field.unit)} to " + quantity(
            field.fitted[1], field.unit
        )
    facts["presets"] = ", ".join(map(field.preset_text, field.presets))
    kinds = f", kind {' or '.join(field.kinds)}" if field.kinds else ""
    lines = [f"{field.path or 'spec'} (store {field.store}{kinds})", *_wrapped("", field.meaning)]
    for name, text in facts.items():
        if text:
            lines += _wrapped(f"{name}: ", text)
    if field.fields:
        lines.append("  fields:")
        width = max(map(len, field.fields)) + 2
        for name, meaning in field.fields.items():
            lines += _wrapped(f"  {name:{width}}", meaning)
    return lines


def _wrapped(label: str, text: str) -> list[str]:
    indent = "  " + " " * len(label)
    return textwrap.wrap(text, _WIDTH, initial_indent=f"  {label}", subsequent_indent=indent) or [f"  {label}".rstrip()]


def _range(low: float | None, high: float | None, unit: str) -> str:
    if low is None and high is None:
        return ""
    if low is None or high is None:
        return f"at most {quantity(high, unit)}" if low is None else f"at least {quantity(low, unit)}"
    return f"{quantity(low, unit)} to {quantity(high, unit)}"

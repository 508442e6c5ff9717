"""Convert results to JSON: a mapping for each dataclass, in the order of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any

NOT_IN_JSON: Mapping[str, Any] = {"json": False}
"""Metadata of a dataclass field that is left out."""
IN_JSON_IF_KNOWN: Mapping[str, Any] = {"json": "if known"}
"""Metadata of a dataclass field that is left out if it is None."""


def to_json(value: Any) -> Any:
    """Return a result as nested mappings, lists and plain values.

    If its class has a method `to_json`, that method converts it.
    """
    own = getattr(type(value), "to_json", None)
    if own is not None:
        return own(value)
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value) if _is_shown(field, value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    return value


def _is_shown(field: Field[Any], value: Any) -> bool:
    shown = field.metadata.get("json", True)
    return getattr(value, field.name) is not None if shown == "if known" else bool(shown)

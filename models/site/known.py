"""Values of a new spec, each with its origin, and the text of the spec file that says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import yaml

_WIDEST = 44  # characters of a field and its value, after which comments are aligned


@dataclass(frozen=True)
class Known:
    """A value of a new spec.

    Attributes:
        value: as the spec has it.
        origin: where it is from: ``given``, ``file NAME: …``, ``data sheet: …``, ``preset: …``, ``derived: …`` or
            ``assumed: …``; empty: the text does not say.
        low, high: of an assumed value, the least and greatest that real stores have, as a spec gives them; None: not
            known.
    """

    value: Any
    origin: str
    low: Any = None
    high: Any = None

    def noted(self, note: str) -> Known:
        """Return the value with a note after its origin."""
        return replace(self, origin=f"{self.origin}; {note}")


Tree: TypeAlias = "Mapping[str, Known | Tree]"
"""The sections of a new spec; leaves are values."""


def given(value: Any) -> Known:
    """Return a value that the user gave."""
    return Known(value, "given")


def assumed(value: Any, reason: str, low: Any = None, high: Any = None) -> Known:
    """Return a value that is assumed, with the range of real stores."""
    return Known(value, f"assumed: {reason}", low, high)


def derived(value: Any, reason: str) -> Known:
    """Return a value that follows from others."""
    return Known(value, f"derived: {reason}")


def plain(tree: Tree) -> Mapping[str, Any]:
    """Return the mapping of a spec without the origins of its values."""
    return {name: part.value if isinstance(part, Known) else plain(part) for name, part in tree.items()}


def with_origin(values: Mapping[str, Any], origin: str) -> Tree:
    """Return a mapping as sections whose values all have one origin."""
    return {
        str(name): with_origin(value, origin) if isinstance(value, Mapping) and value else Known(value, origin)
        for name, value in values.items()
    }


def with_ranges(tree: Tree) -> Tree:
    """Return the sections of a spec with one more, `assumed`, which has the ranges of its assumed values."""
    ranges = {
        path: Known({"low": known.low, "high": known.high, "source": "range of real stores"}, "")
        for path, known in _leaves(tree, "")
        if known.low is not None and known.high is not None
    }
    return {**tree, "assumed": ranges} if ranges else tree


def _leaves(tree: Tree, path: str) -> Iterator[tuple[str, Known]]:
    for name, part in tree.items():
        inner = f"{path}.{name}" if path else name
        if isinstance(part, Known):
            yield inner, part
        else:
            yield from _leaves(part, inner)


def spec_lines(tree: Tree) -> Iterator[str]:
    """Yield the lines of the spec file: a blank one before each section, and the origin after each value."""
    for name, part in tree.items():
        if not isinstance(part, Known):
            yield ""
        yield from _lines({name: part}, "")


def _lines(tree: Tree, indent: str) -> Iterator[str]:
    values = {name: f"{indent}{name}: {_flow(part.value)}" for name, part in tree.items() if isinstance(part, Known)}
    width = max((len(text) for text in values.values() if len(text) <= _WIDEST), default=0)
    for name, part in tree.items():
        if isinstance(part, Known):
            origin = " ".join(part.origin.split())
            yield f"{values[name]:<{width}}  # {origin}" if origin else values[name]
        elif part:
            yield f"{indent}{name}:"
            yield from _lines(part, f"{indent}  ")


def _flow(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True)
    return text.removesuffix("\n...\n").strip()

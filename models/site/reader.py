"""Readers of files that a site has, and what they find in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias


@dataclass(frozen=True)
class SiteFile:
    """A file of a site.

    Attributes:
        name: as the user gave it.
        text: its contents.
    """

    name: str
    text: str

    @cached_property
    def json(self) -> Any:
        """Its contents as JSON; None: it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @property
    def fields(self) -> Mapping[str, Any]:
        """The fields of its JSON object; empty if it is none."""
        return self.json if isinstance(self.json, Mapping) else {}

    @property
    def items(self) -> list[Mapping[str, Any]]:
        """The objects of its JSON array; empty if it is none."""
        data = self.json
        return [each for each in data if isinstance(each, Mapping)] if isinstance(data, list) else []


Facts: TypeAlias = dict[str, "bool | int | float | str | list[Mapping[str, object]]"]
"""Values by the names of questions."""


@dataclass(frozen=True)
class Found:
    """What a file says.

    Attributes:
        facts: what a new spec takes from it.
        notes: what a spec cannot express, and how it was approximated; a sentence without a full stop each.
    """

    facts: Facts
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reader:
    """A kind of files.

    Attributes:
        kind: what they are, such as ``lscpu -J``.
        detects: whether a file is of the kind, by its contents.
        read: returns what a file says; raises ValueError, or what broken data lead to: LookupError, TypeError,
            AttributeError, ArithmeticError.
        rough: names of facts that another kind of file has more exactly.
    """

    kind: str
    detects: Callable[[SiteFile], bool]
    read: Callable[[SiteFile], Found]
    rough: frozenset[str] = frozenset()

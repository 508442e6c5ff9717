"""Readers of files that a site has, and what they find in them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from traces.errors import InputError
from traces.spec.spec_file import parsed_yaml


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
    def broken_json(self) -> str:
        """Where its JSON is broken; empty if it is whole, or does not begin as JSON."""
        if not re.match(r"\s*(?:\{|\[\s*[\[{\"\]])", self.text):
            return ""
        try:
            json.loads(self.text)
        except RecursionError:
            return "nested too deep"
        except ValueError as error:
            return str(error)
        return ""

    @cached_property
    def documents(self) -> list[Mapping[str, Any]]:
        """The mappings of its YAML documents; marks of templates stand for the word `TEMPLATE`; empty if it has none.

        Only text of up to 1 MiB that is not JSON is tried.
        """
        if len(self.text) > 1 << 20 or self.json is not None:
            return []
        plain = re.sub(r"^\s*\{\{[^{}]*\}\}\s*$", "", self.text, flags=re.MULTILINE)
        plain = re.sub(r"\{\{[^{}\n]*\}\}", "TEMPLATE", plain)
        try:
            found = [parsed_yaml(each, self.name) for each in re.split(r"^---.*$", plain, flags=re.MULTILINE)]
        except InputError:
            return []
        return [each for each in found if isinstance(each, Mapping)]

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


def kinds_of(readers: Iterable[Reader]) -> list[str]:
    """Return the kinds of files that readers read; text and JSON of a command are one."""
    return list(dict.fromkeys(re.sub(r" (?:-f json|-{1,2}json|-J)$", "", reader.kind) for reader in readers))

"""Values of result files: JSON documents, CSV tables, and checked numbers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from traces.errors import InputError

_MOST = 2**63 - 1
_SMALLEST, _LARGEST = 1e-100, 1e100  # of figures, so that quotients are finite
_ABSENT = (None, "", "N/A", "-")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)b?", re.IGNORECASE)
_BEGIN = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_ADJACENT = re.compile(r"[ \t,]*(?=[\[{])")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


@dataclass(frozen=True)
class Values:
    """A mapping of a result file, with the place of its values for messages.

    Attributes:
        data: values by name.
        where: the file and the place in it.
    """

    data: Mapping[str, Any]
    where: str

    def part(self, name: str) -> Values:
        """Return a mapping within this one; empty if absent.

        Raises:
            InputError: the value is not a mapping.
        """
        value = self.data.get(name)
        if value is not None and not isinstance(value, dict):
            raise InputError(f"{self.where}: {name} is {_short(value)}; an object is needed")
        return Values(value or {}, f"{self.where}: {name}")

    def parts(self, name: str) -> Iterator[tuple[str, Values]]:
        """Yield the mappings within a mapping of this one, with their names.

        Raises:
            InputError: a value is not a mapping.
        """
        within = self.part(name)
        for key in within.data:
            yield key, within.part(key)

    def listed(self, name: str) -> list[Values]:
        """Return the mappings in a list; empty if absent.

        Raises:
            InputError: the value is not a list of mappings.
        """
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise InputError(f"{self.where}: {name} is {_short(value)}; a list of objects is needed")
        return [Values(item, f"{self.where}: {name}[{i}]") for i, item in enumerate(value)]

    def number(self, name: str, scale: float = 1.0) -> float | None:
        """Return a number of at least 0, multiplied by `scale`; None if it is absent or ``N/A``.

        Raises:
            InputError: the value is not a number, or is negative.
        """
        value = self.data.get(name)
        if value is None or (isinstance(value, str) and value.strip() in _ABSENT):
            return None
        try:
            found = float("nan") if isinstance(value, bool | dict | list) else float(value)
        except (TypeError, ValueError, OverflowError):
            found = float("nan")
        if not 0 <= found <= _LARGEST:
            raise InputError(f"{self.where}: {name} is {_short(value)}; a number of at least 0 is needed")
        if found < _SMALLEST:
            return 0.0
        return (
            found * scale if scale >= 1 else found / round(1 / scale)
        )  # 3223 µs: 0.003223 s, without a rounding error

    def count(self, name: str) -> int | None:
        """Return a whole number of at least 0; None if it is absent or ``N/A``.

        Raises:
            InputError: the value is not a whole number of at least 0.
        """
        value = self.number(name)
        if value is None:
            return None
        if value > _MOST or value != int(value):
            raise InputError(f"{self.where}: {name} is {_short(self.data[name])}; a whole number is needed")
        text = str(self.data[name]).strip()
        return min(int(text) if text.isdecimal() else int(value), _MOST)

    def text(self, name: str) -> str | None:
        """Return a text; None if it is absent or empty."""
        value = self.data.get(name)
        if isinstance(value, dict | list) or value in _ABSENT:
            return None
        return str(value).strip().encode("utf-8", "replace").decode() or None

    def need(self, *names: str) -> None:
        """Check that values are there.

        Raises:
            InputError: names those that are missing.
        """
        missing = [name for name in names if self.data.get(name) is None]
        if missing:
            raise InputError(f"{self.where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")


def size_bytes(text: str | None, kilo: int = 1024) -> int | None:
    """Return the bytes of ``4k``, ``4KiB``, ``4096B`` or ``1.5M``; None if the text is no size.

    Args:
        kilo: what ``k`` without an ``i`` is: 1024 in fio, 1000 in warp.
    """
    found = _SIZE.fullmatch(text.strip()) if text else None
    if found is None:
        return None
    size = float(found[1]) * (1024 if found[3] else kilo) ** _POWERS[found[2].lower()]
    return int(size) if size <= _MOST else None


_GO_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)")
_GO_UNITS_NS = {"h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "us": 1e3, "µs": 1e3, "ns": 1.0}


def go_seconds(text: str, where: str) -> float:
    """Return the seconds of a duration as Go writes it, such as ``4m57s`` or ``27.6ms``.

    Raises:
        InputError: the text is no such duration.
    """
    parts = _GO_PART.findall(text)
    if not parts or "".join(value + unit for value, unit in parts) != text:
        raise InputError(f"{where}: {_short(text)} is no duration such as 4m57s or 27.6ms")
    return sum(float(value) * _GO_UNITS_NS[unit] for value, unit in parts) / 1e9


def documents(text: str, where: str) -> Iterator[Values]:
    """Yield the JSON objects of a file: one, several in a row, or a list; lines of text before and after are skipped.

    Raises:
        InputError: there is none, or one is broken or truncated.
    """
    decoder, at, found = json.JSONDecoder(parse_constant=str), 0, 0
    while begin := (_ADJACENT.match(text, at) if found else None) or _BEGIN.search(text, at):
        line = text.count("\n", 0, begin.end()) + 1
        try:
            value, at = decoder.raw_decode(text, begin.end())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: the JSON that begins in line {line} is broken or truncated: {error}") from error
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                raise InputError(f"{where}: line {line}: {_short(item)} is no JSON object")
            found += 1
            yield Values(item, where if found == 1 else f"{where}: object {found}")
    if not found:
        raise InputError(f"{where}: has no JSON object")


def table(text: str, where: str) -> list[Values]:
    """Return the rows of a CSV file by the names in its first line; a repeated first line is skipped.

    Raises:
        InputError: a row has fewer values than the first line has names.
    """
    try:
        lines = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"{where}: cannot be read as CSV: {error}") from error
    names = [name.strip() for name in lines[0]] if lines else []
    rows = []
    for i, row in enumerate(lines[1:], 2):
        if [cell.strip() for cell in row] == names:
            continue
        if len(row) < len(names):
            raise InputError(f"{where}: row {i}: has {len(row)} values; {len(names)} are needed, as in the first line")
        rows.append(Values(dict(zip(names, map(str.strip, row), strict=False)), f"{where}: row {i}"))
    return rows


def header_of(text: str) -> Sequence[str]:
    """Return the names in the first line of a CSV file."""
    try:
        return [name.strip() for name in next(csv.reader([text.lstrip("\ufeff").split("\n", 1)[0]]), [])]
    except csv.Error:
        return []


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"

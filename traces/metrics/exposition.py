"""Reads snapshots of metrics in the text format of Prometheus, as `curl http://HOST/metrics` prints them.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/, "Text-based format".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})?\s+(\S+)(?:\s+(-?\d+))?\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}

Sample = tuple[str, dict[str, str], float | None, float]
"""Name, labels, time in s (None: the text has none) and value."""


def is_exposition(text: str) -> bool:
    """Return whether a text has samples in this format."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            return _SAMPLE.fullmatch(line) is not None
    return False


def samples(text: str) -> Iterator[Sample]:
    """Yield the samples of a text.

    Raises:
        ValueError: a line is none; the message names it.
    """
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} is no sample: {line[:60]!r}")
        name, labels, value, time_ms = match.groups()
        try:
            number_value = float(value)
        except ValueError as error:
            raise ValueError(f"line {number} has no value: {line[:60]!r}") from error
        yield name, _labels(labels or "", number), None if time_ms is None else int(time_ms) / 1e3, number_value


def _labels(text: str, line: int) -> dict[str, str]:
    found: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _LABEL.match(text, place)
        if match is None:
            raise ValueError(f"line {line} has labels that are not valid: {text[:60]!r}")
        found[match[1]] = re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), match[2])
        place = match.end()
    return found

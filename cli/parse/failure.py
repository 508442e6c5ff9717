"""Failures as text: ``drive``, ``drive:3``, ``slow-drive=10``, ``noisy-neighbour:drives=0.5``."""

from __future__ import annotations

import re

from sim.experiments.failure_kinds import Failure
from traces.errors import InputError
from traces.spec.units import parse_fraction

_FORM = re.compile(r"([a-z-]+)(?::([a-z]+|\d+))?(?:=(.+))?", re.IGNORECASE)
_EXAMPLES = "write it like drive, drive:3, slow-drive=10 or noisy-neighbour:drives=0.5"


def parse_failure(text: str) -> Failure:
    """Parse ``KIND[:WHICH][=VALUE]``; which kinds there are depends on the store.

    Raises:
        InputError: the text has another form, or the value is not a number.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InputError(f"failure {text}: is not a failure; {_EXAMPLES}")
    kind, which, value = match.groups()
    kind, which = kind.lower(), which and which.lower()
    try:
        return Failure(text, kind, which, None if value is None else _number(value))
    except ValueError as error:
        said = str(error) if "%" in (value or "") else f"{value!r} is not a number"
        raise InputError(f"failure {text}: {said}; {_EXAMPLES}") from error


def _number(value: str) -> float:
    return parse_fraction(value) if value.endswith("%") else float(value)

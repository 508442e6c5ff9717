"""Failures as an engineer names them: ``drive``, ``drive:3``, ``slow-drive=10``, ``noisy-neighbour:drives=0.5``."""

from __future__ import annotations

import re

from sim.experiments.failure_kinds import KINDS, SHARE, SLOWER, TAKES, Failure
from traces.errors import InputError

_FORM = re.compile(r"([a-z-]+)(?::([a-z]+|\d+))?(?:=(.+))?")
_EXAMPLES = "write it like drive, drive:3, slow-drive=10 or noisy-neighbour:drives=0.5"


def parse_failure(text: str) -> Failure:
    """The failure that ``KIND[:WHICH][=VALUE]`` says.

    Raises:
        InputError: it says none; what is wrong and what is allowed are named.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InputError(f"failure {text}: is no failure; {_EXAMPLES}")
    kind, which, value = match.groups()
    if kind not in KINDS:
        raise InputError(f"failure {text}: {kind!r} is no failure; allowed are {', '.join(KINDS)}")
    if kind == "noisy-neighbour":
        if which is not None and which not in TAKES:
            raise InputError(f"failure {text}: nobody takes {which!r}; allowed are {', '.join(TAKES)}")
        share = _number(text, value, SHARE)
        if not 0 < share < 1:
            raise InputError(f"failure {text}: takes a share of {share:g}; it must be above 0 and below 1")
        return Failure(text, kind, takes=which or "cpu", value=share)
    if which is not None and not which.isdecimal():
        raise InputError(f"failure {text}: {which!r} is no number; {_EXAMPLES}")
    if kind != "slow-drive":
        if value is not None:
            raise InputError(f"failure {text}: takes no value; {_EXAMPLES}")
        return Failure(text, kind, int(which or 0))
    slower = _number(text, value, SLOWER)
    if not 1 < slower < float("inf"):
        raise InputError(f"failure {text}: is {slower:g} times slower; it must be more than 1 times")
    return Failure(text, kind, int(which or 0), value=slower)


def _number(text: str, value: str | None, default: float) -> float:
    try:
        return default if value is None else float(value)
    except ValueError as error:
        raise InputError(f"failure {text}: {value!r} is no number; {_EXAMPLES}") from error

"""Service level objectives as text.

Forms: ``GET.p99<50ms``, ``PUT.throughput>500/s`` (or ``>2GB/s``), ``GET.errors<0.1%``, ``drive.utilization<80%`` (the
busiest station of that role) and ``utilization<80%`` (the busiest station of all).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

from sim.experiments.measures import ERRORS
from sim.replication.slo import LATENCIES, THROUGHPUT, UTILIZATION, Slo
from traces.errors import InputError
from traces.tables import OPS
from traces.units import parse_bandwidth, parse_rate, parse_seconds

_FORM = re.compile(r"\s*(?:([^.<>=]+)\.)?([^<>=]+?)\s*([<>])=?\s*([^<>=]+?)\s*")
_EXAMPLES = "write it like 'GET.p99<50ms', 'PUT.throughput>500/s', 'GET.errors<0.1%' or 'drive.utilization<80%'"


def parse_slos(texts: Sequence[str] | None) -> list[Slo]:
    """Parse the objectives of a repeatable option.

    Raises:
        InputError: one of them has another form.
    """
    return [parse_slo(text) for text in texts or ()]


def parse_slo(text: str) -> Slo:
    """Parse an objective; ``<=`` and ``>=`` mean the same as ``<`` and ``>``.

    Raises:
        InputError: the text has another form; the message names what is wrong and what is allowed.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(f"--slo {text}: is not an objective; {_EXAMPLES}")
    subject, name, sign, limit = match.groups()
    figure = name.replace(".", "_")
    if figure not in (*LATENCIES, THROUGHPUT, ERRORS, UTILIZATION):
        names = (*(name.replace("_", ".") for name in LATENCIES), THROUGHPUT, ERRORS, UTILIZATION)
        raise InputError(f"--slo {text}: {name!r} is not a measure; allowed are {_listed(names)}")
    if (sign == ">") != (figure == THROUGHPUT):
        raise InputError(f"--slo {text}: {name} takes {'>' if figure == THROUGHPUT else '<'}, not {sign}")
    if figure == UTILIZATION:
        return Slo(text, subject, figure, _limit(text, limit, _fraction))
    if subject not in OPS:
        problem = "names no operation" if subject is None else f"{subject!r} is not an operation"
        raise InputError(f"--slo {text}: {problem}; allowed are {_listed(OPS)}, as in GET.{name}")
    if figure == THROUGHPUT:
        return _throughput(text, subject, limit)
    return Slo(text, subject, figure, _limit(text, limit, _fraction if figure == ERRORS else parse_seconds))


def _throughput(text: str, op: str, limit: str) -> Slo:
    try:
        return Slo(text, op, "throughput_ops", parse_rate(limit))
    except ValueError:
        return Slo(text, op, "throughput_bytes", _limit(text, limit, _bandwidth))


def _bandwidth(value: str) -> float:
    try:
        return parse_bandwidth(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not a throughput; write it like 500/s or 2GB/s") from error


def _fraction(value: str) -> float:
    """Parse ``80%`` or ``0.8`` as 0.8."""
    try:
        fraction = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError as error:
        raise ValueError(f"{value!r} is not a fraction; write it like 80% or 0.8") from error
    if not 0 <= fraction <= 1:
        raise ValueError(f"{value!r} is not a fraction; allowed are 0% to 100%, or 0 to 1")
    return fraction


def _limit(text: str, value: str, parse: Callable[[str], float]) -> float:
    try:
        limit = parse(value)
    except ValueError as error:
        raise InputError(f"--slo {text}: {error}") from error
    if not math.isfinite(limit):
        raise InputError(f"--slo {text}: {value!r} is not finite")
    return limit


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)

"""Service level objectives as text.

Forms: ``GET.p99<50ms``, ``app.GET.p99<50ms`` (of a group of clients), ``PUT.throughput>500/s`` (or ``>2GB/s``),
``GET.errors<0.1%``, ``drive.utilization<80%`` (the busiest station of that role) and ``utilization<80%`` (the busiest
station of all).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from sim.experiments.measures import ERRORS
from sim.replication.slo import LATENCIES, THROUGHPUT, UTILIZATION, Slo
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.suggestions import instead
from traces.spec.units import parse_bandwidth, parse_duration, parse_fraction, parse_rate

_BARE = re.compile(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?")
_EXAMPLES = "write it like 'GET.p99<50ms', 'PUT.throughput>500/s', 'GET.errors<0.1%' or 'drive.utilization<80%'"


def parse_slos(texts: Sequence[str] | None) -> list[Slo]:
    """Parse the objectives of a repeatable option.

    Raises:
        InputError: one of them has another form.
    """
    return [parse_slo(text) for text in texts or ()]


def parse_objectives(texts: Sequence[str], source: str) -> list[Slo]:
    """Parse the objectives of a file.

    Raises:
        InputError: one of them has another form; the message names the file.
    """
    try:
        return parse_slos(texts)
    except InputError as error:
        raise InputError(
            *(f"{source}: objectives: {text.removeprefix('--slo ')}" for text in error.messages)
        ) from error


def parse_slo(text: str) -> Slo:
    """Parse an objective; ``<=`` and ``>=`` mean the same as ``<`` and ``>``, and case is ignored.

    Raises:
        InputError: the text has another form; the message names what is wrong and what is allowed.
    """
    group = rf"[a-z][a-z0-9-]*\.(?=(?:{'|'.join(OPS)})\.)"
    form = rf"\s*(?:((?:{group})?[^.<>=]+)\.)?([^<>=]+?)\s*([<>])=?\s*([^<>=]+?)\s*"
    match = re.fullmatch(form, text, re.IGNORECASE)
    if match is None:
        raise InputError(f"--slo {text}: is not an objective; {_EXAMPLES}")
    subject, name, sign, limit = match.groups()
    figure = name.lower().replace(".", "_")
    if figure not in (*LATENCIES, THROUGHPUT, ERRORS, UTILIZATION):
        names = (*(name.replace("_", ".") for name in LATENCIES), THROUGHPUT, ERRORS, UTILIZATION)
        raise InputError(f"--slo {text}: {name!r} is not a measure; {instead(name, names)}")
    if (sign == ">") != (figure == THROUGHPUT):
        raise InputError(f"--slo {text}: {name} takes {'>' if figure == THROUGHPUT else '<'}, not {sign}")
    if figure == UTILIZATION:
        return Slo(text, subject, figure, _limit(text, limit, _fraction))
    if subject is None:
        raise InputError(f"--slo {text}: names no operation; allowed are {', '.join(OPS)}, as in GET.{name}")
    group, dot, op = subject.rpartition(".")
    if op.upper() not in OPS:
        raise InputError(f"--slo {text}: {op!r} is not an operation; {instead(op, OPS)}")
    of_op = f"{group.lower()}{dot}{op.upper()}"
    shown = text.replace(f"{subject}.{name}", f"{of_op}.{name.lower()}", 1)
    if figure == THROUGHPUT:
        return _throughput(shown, of_op, limit)
    return Slo(shown, of_op, figure, _limit(text, limit, _fraction if figure == ERRORS else parse_duration))


def _throughput(text: str, op: str, limit: str) -> Slo:
    if _BARE.fullmatch(limit):
        raise InputError(f"--slo {text}: {limit!r} needs a unit, as in {limit}/s or {limit}MB/s")
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
    """Parse ``80%`` or ``0.8`` as 0.8; refuse a bare 1, which is met by every run."""
    fraction = parse_fraction(value)
    if fraction == 1 and "%" not in value:
        raise ValueError(f"{value} is 100 %, which every run meets; did you mean {value}%?")
    return fraction


def _limit(text: str, value: str, parse: Callable[[str], float]) -> float:
    try:
        limit = parse(value)
    except ValueError as error:
        raise InputError(f"--slo {text}: {error}") from error
    if not math.isfinite(limit):
        raise InputError(f"--slo {text}: {value!r} is not finite")
    return limit

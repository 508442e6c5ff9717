"""Goals of a search, such as ``max gateways.count in 1..20``, and latencies to minimise, such as ``GET.p99``."""

from __future__ import annotations

import re

from sim.experiments.goal import Goal, Target
from sim.replication.slo import LATENCIES
from traces.errors import InputError
from traces.tables import OPS

_FORM = re.compile(r"\s*(max|min|best)\s+(\S+?)(?:\s+in\s+(\S+?)\s*\.\.\s*(\S+?))?\s*")


def parse_goal(text: str) -> Goal:
    """Parse ``max PATH``, ``min PATH`` or ``best PATH``, optionally followed by ``in LOW..HIGH``.

    Raises:
        InputError: the text has another form.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise InputError(
            f"goal {text!r}: write it like 'max workload.rate', 'min gateways.count in 1..14' or "
            "'best client.hedge.after in 5ms..100ms'"
        )
    kind, path, low, high = match.groups()
    return Goal(kind, path, low, high)  # type: ignore[arg-type]  # the pattern allows no other kind


def parse_target(text: str) -> Target:
    """Parse the operation and the latency of a target such as ``GET.p99``.

    Raises:
        InputError: there is no such operation or latency.
    """
    op, _, figure = text.partition(".")
    name, allowed = figure.replace(".", "_"), [latency for latency in LATENCIES if latency != "max"]
    if op not in OPS or name not in allowed:
        raise InputError(
            f"--target {text}: write it like GET.p99; operations are {', '.join(OPS)}, latencies "
            f"{', '.join(latency.replace('_', '.') for latency in allowed)}"
        )
    return Target(op, name)

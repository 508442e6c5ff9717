"""Goals of a search, such as ``max gateways.count in 1..20``, and latencies to minimise, such as ``GET.p99``."""

from __future__ import annotations

import re

from cli.parse.vary import refuse_dash
from sim.experiments.find.goal import Goal, OpLatency
from sim.replication.slo import LATENCIES
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.suggestions import instead

_FORM = re.compile(r"\s*(max|min|best)\s+(\S+?)(?:\s+in\s+(\S+?)\s*\.\.\s*(\S+?))?\s*")


def parse_goal(text: str) -> Goal:
    """Parse ``max PATH``, ``min PATH`` or ``best PATH``, optionally followed by ``in LOW..HIGH``.

    Raises:
        InputError: the text has another form.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        refuse_dash(f"goal {text!r}", text.rpartition(" ")[2])
        raise InputError(
            f"goal {text!r}: write it like 'max workload.rate', 'min gateways.count in 1..14' or "
            "'best client.hedge.after in 5ms..100ms'"
        )
    kind, path, low, high = match.groups()
    return Goal(kind, path, low, high)  # type: ignore[arg-type]  # the pattern allows no other kind


def parse_target(text: str) -> OpLatency:
    """Parse the operation and the latency of a target such as ``GET.p99``; case is ignored.

    Raises:
        InputError: there is no such operation or latency.
    """
    of_group = re.match(rf"([a-z][a-z0-9-]*\.)(?=(?:{'|'.join(OPS)})\.)", text.strip(), re.IGNORECASE)
    group = of_group[1].lower() if of_group else ""
    op, _, figure = text.strip()[len(group) :].partition(".")
    allowed = [latency.replace("_", ".") for latency in LATENCIES if latency != "max"]
    if not figure:
        raise InputError(f"--target {text}: write it like GET.p99")
    if op.upper() not in OPS:
        raise InputError(f"--target {text}: {op!r} is not an operation; {instead(op, OPS)}")
    if (name := figure.lower().replace("_", ".")) not in allowed:
        raise InputError(f"--target {text}: {figure!r} is not a latency; {instead(figure, allowed)}")
    return OpLatency(group + op.upper(), name.replace(".", "_"))

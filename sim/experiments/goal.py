"""What is looked for in a search over one field of a spec, and between which values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from models.store import compile_spec
from sim.analysis.bounds import bounds
from sim.experiments.measures import Measures
from sim.experiments.variants import Variants
from sim.replication.slo import LATENCIES
from traces.errors import InputError
from traces.tables import OPS
from traces.workload.generate import generate

_FORM = re.compile(r"\s*(max|min|best)\s+(\S+?)(?:\s+in\s+(\S+?)\s*\.\.\s*(\S+?))?\s*")
_RATE, _HEDGE = "workload.rate", "client.hedge.after"
_TRIED_FIRST = 0.5  # of the bottleneck's throughput, where a search for a rate begins


@dataclass(frozen=True)
class Goal:
    """What is looked for.

    Attributes:
        kind: ``max``: the greatest value that keeps the objectives; ``min``: the least; ``best``: that of the least
            latency.
        path: the field, short or whole, as `models.field_paths.resolved` takes it.
        low, high: between which values, as in a spec; None: found by doubling.
    """

    kind: Literal["max", "min", "best"]
    path: str
    low: str | None = None
    high: str | None = None

    @staticmethod
    def parse(text: str) -> Goal:
        """``max PATH``, ``min PATH`` or ``best PATH``, with ``in LOW..HIGH`` behind it or without.

        Raises:
            InputError: it is written otherwise.
        """
        match = _FORM.fullmatch(text)
        if match is None:
            raise InputError(
                f"--find {text}: write it like 'max workload.rate', 'min gateways.count in 1..14' or "
                "'best client.hedge.after in 5ms..100ms'"
            )
        kind, path, low, high = match.groups()
        return Goal(kind, path, low, high)  # type: ignore[arg-type]  # the pattern allows no other kind


def parse_target(text: str) -> tuple[str, str]:
    """Operation and latency of a target such as ``GET.p99``: ``("GET", "p99")``.

    Raises:
        InputError: it names none.
    """
    op, _, figure = text.partition(".")
    name, allowed = figure.replace(".", "_"), [latency for latency in LATENCIES if latency != "max"]
    if op not in OPS or name not in allowed:
        raise InputError(
            f"--target {text}: write it like GET.p99; operations are {', '.join(OPS)}, latencies "
            f"{', '.join(latency.replace('_', '.') for latency in allowed)}"
        )
    return op, name


def limits_of(variants: Variants, path: str, goal: Goal) -> tuple[float, float] | None:
    """The bounds of a goal that has some, as numbers in the spec's unit; None: it has none.

    Raises:
        InputError: they are no ascending numbers above 0, or the spec refuses one.
    """
    if goal.low is None or goal.high is None:
        return None
    low, high = (variants.number(path, text) for text in (goal.low, goal.high))
    if low is None or high is None or not low < high or (low == 0 and isinstance(low, float)):
        raise InputError(f"--find {goal.kind} {path} in {goal.low}..{goal.high}: give two ascending numbers above 0")
    return low, high


def start_of(variants: Variants, path: str) -> float:
    """The first value that is tried: the spec's; of a rate that it does not have, half of what the bottleneck serves.

    Raises:
        InputError: the spec has none, or it is 0.
    """
    value: float | None = variants.number(path)
    if value is None and path == _RATE:
        spec = variants.spec()
        most_ops = bounds(*compile_spec(spec, generate(spec.workload, variants.settings.seed)))["max_throughput_ops"]
        value = most_ops and float(f"{_TRIED_FIRST * most_ops:.3g}")
    if value is None or (value == 0 and isinstance(value, float)):
        raise InputError(f"--find {path}: the spec has no value to begin with; add bounds, as in {path} in LOW..HIGH")
    return value


def hedge_delays(path: str, base: Measures, op: str) -> tuple[float, float]:
    """Between which delays a hedge is looked for: p50 and p99.9 of an operation without it.

    Raises:
        InputError: it is another field, which needs bounds.
    """
    if path != _HEDGE:
        raise InputError(f"--find best {path}: add bounds, as in best {path} in LOW..HIGH")
    return base.interval(op, "p50")["value"], base.interval(op, "p99_9")["value"]

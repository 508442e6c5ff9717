"""What is looked for in a search over one field of a spec, and between which values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sim.analysis.bounds import bounds
from sim.experiments.measures import Measures
from sim.experiments.variants import Variants
from traces.errors import InputError
from traces.workload.generate import generate

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


@dataclass(frozen=True)
class Target:
    """A latency that is minimised or explained.

    Attributes:
        op: the operation.
        figure: a name of `sim.replication.slo.LATENCIES` other than ``max``.
    """

    op: str
    figure: str

    def to_json(self) -> str:
        """As it is written."""
        return str(self)

    def __str__(self) -> str:
        """As it is written: ``GET.p99.9``."""
        return f"{self.op}.{self.figure.replace('_', '.')}"


def limits_of(variants: Variants, path: str, goal: Goal) -> tuple[float, float] | None:
    """The bounds of a goal that has some, as numbers in the spec's unit; None: it has none.

    Raises:
        InputError: they are no ascending numbers above 0, or the spec refuses one.
    """
    if goal.low is None or goal.high is None:
        return None
    low, high = (variants.number(path, text) for text in (goal.low, goal.high))
    if low is None or high is None or not low < high or (low == 0 and isinstance(low, float)):
        raise InputError(f"{goal.kind} {path} in {goal.low}..{goal.high}: give two ascending numbers above 0")
    return low, high


def start_of(variants: Variants, path: str) -> float:
    """The first value that is tried: the spec's; of a rate that it does not have, half of what the bottleneck serves.

    Raises:
        InputError: the spec has none, or it is 0.
    """
    value: float | None = variants.number(path)
    if value is None and path == _RATE:
        spec = variants.spec()
        most_ops = bounds(*spec.compile(generate(spec.workload, variants.settings.seed))).max_throughput_ops
        value = most_ops and float(f"{_TRIED_FIRST * most_ops:.3g}")
    if value is None or (value == 0 and isinstance(value, float)):
        raise InputError(f"{path}: the spec has no value to begin with; add bounds, as in {path} in LOW..HIGH")
    return value


def hedge_delays(path: str, base: Measures, op: str) -> tuple[float, float]:
    """Between which delays a hedge is looked for: p50 and p99.9 of an operation without it.

    Raises:
        InputError: it is another field, which needs bounds.
    """
    if path != _HEDGE:
        raise InputError(f"best {path}: add bounds, as in best {path} in LOW..HIGH")
    return base.interval(op, "p50").value, base.interval(op, "p99_9").value

"""The goal of a search over one field of a spec, and its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sim.experiments.measures import Measures
from sim.experiments.variants import Variants
from sim.saturation.capacity import capacity_of
from traces.errors import InputError
from traces.workload.kept_traces import generated

_RATE, _HEDGE = "workload.rate", "client.hedge.after"
_TRIED_FIRST = 0.5  # fraction of the bottleneck's throughput at which a search for a rate begins


@dataclass(frozen=True)
class Goal:
    """The goal of a search.

    Attributes:
        kind: ``max``: the greatest value that meets the objectives; ``min``: the least; ``best``: the value with the
            least latency.
        path: the field, abbreviated or in full, as for `models.spec.field_paths.resolved`.
        low, high: bounds, as in a spec; None: found by doubling.
    """

    kind: Literal["max", "min", "best"]
    path: str
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class OpLatency:
    """A latency to minimise or to explain.

    Attributes:
        op: the operation.
        figure: a name of `sim.replication.slo.LATENCIES` other than ``max``.
    """

    op: str
    figure: str

    def to_json(self) -> str:
        """Return the target as written."""
        return str(self)

    def __str__(self) -> str:
        """Return the target as written: ``GET.p99.9``."""
        return f"{self.op}.{self.figure.replace('_', '.')}"


def limits_of(variants: Variants, path: str, goal: Goal) -> tuple[float, float] | None:
    """Return the bounds of a goal as numbers in the spec's unit; None: it has no bounds.

    Raises:
        InputError: they are not ascending numbers above 0, or the spec refuses one.
    """
    if goal.low is None or goal.high is None:
        return None
    low, high = (variants.number(path, text) for text in (goal.low, goal.high))
    if low is None or high is None or not low < high or (low == 0 and isinstance(low, float)):
        raise InputError(f"{goal.kind} {path} in {goal.low}..{goal.high}: give two ascending numbers above 0")
    return low, high


def start_of(variants: Variants, path: str) -> float:
    """Return the first value to try: the spec's, or for an absent rate, half of the bottleneck's throughput.

    Raises:
        InputError: the spec has no value, or it is 0.
    """
    value: float | None = variants.number(path)
    if value is None and path == _RATE:
        spec = variants.spec()
        most_ops = capacity_of(spec, generated(spec.workload, variants.settings.seed)).capacity_ops
        value = most_ops and float(f"{_TRIED_FIRST * most_ops:.3g}")
    if value is None or (value == 0 and isinstance(value, float)):
        raise InputError(f"{path}: the spec has no value to start from; add bounds, as in {path} in LOW..HIGH")
    return value


def hedge_delays(path: str, base: Measures, op: str) -> tuple[float, float]:
    """Return the default bounds of a hedge's delay: p50 and p99.9 of an operation without hedging.

    Raises:
        InputError: the field is another one, which needs bounds.
    """
    if path != _HEDGE:
        raise InputError(f"best {path}: add bounds, as in best {path} in LOW..HIGH")
    return base.interval(op, "p50").value, base.interval(op, "p99_9").value

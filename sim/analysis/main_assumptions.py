"""The values that are not known and matter most to a forecast, by service demands alone.

Each value is moved to the farther end of its range, all others as assumed. What changes is the service time of a
request in total, and the rate at which the first part of the store saturates, both of a few requests. Waiting does not
count; `sim.experiments.uncertainty.assumed_effects` simulates it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from models.basis.uncertainty import Uncertain, Unknown
from models.network.descendants import by_route
from models.store import Spec, compile_spec
from sim.analysis.overload import sample_of, too_slow
from traces.errors import InputError

_NOTABLE = 0.01  # change, as a logarithm
_ANY_OPS = 1e15  # more than any part serves


def main_unknowns(uncertain: Uncertain, most: int = 3) -> list[Unknown]:
    """Return the values that are not known with the greatest effects, the greatest first.

    Args:
        uncertain: the spec and its unknown values.
        most: number of values; fewer if others change less than 1 %.

    Raises:
        InputError: the spec cannot be compiled.
    """
    if not uncertain.unknowns:
        return []
    base = _figures(uncertain.spec({}))
    effects = [_effect(uncertain, unknown, base) for unknown in uncertain.unknowns]
    ranked = sorted(zip(effects, uncertain.unknowns, strict=True), key=lambda each: -each[0])
    return [unknown for effect, unknown in ranked[:most] if effect >= _NOTABLE]


def _effect(uncertain: Uncertain, unknown: Unknown, base: tuple[float, float]) -> float:
    """Return the greater change of both figures, as a logarithm; 0 if the value is not possible by itself."""
    return max(
        (
            abs(math.log(figure / assumed))
            for value in _farthest(unknown)
            for figure, assumed in zip(_possible(uncertain, unknown.path, value) or base, base, strict=True)
            if figure > 0 and assumed > 0
        ),
        default=0.0,
    )


def _farthest(unknown: Unknown) -> tuple[Any, ...]:
    """Return the end of the range that is farther from the assumed value, or all values of a list."""
    low, high, value = unknown.low, unknown.high, unknown.value
    if low is None or high is None:
        return unknown.values
    if not value or low <= 0:
        return (high,)
    return (high,) if high / value >= value / low else (low,)


def _possible(uncertain: Uncertain, path: str, value: Any) -> tuple[float, float] | None:
    try:
        return _figures(uncertain.spec({path: value}))
    except InputError:
        return None


def _figures(spec: Spec) -> tuple[float, float]:
    """Return the service time of a request in s, and the requests per second at which the first part saturates."""
    network, requests = compile_spec(spec, sample_of(spec))
    total_s, routes = 0.0, np.bincount(requests.route, minlength=len(network.routes)) / len(requests)
    for k in np.flatnonzero(routes).tolist():
        size_bytes = requests.size_bytes[requests.route == k]
        of_route = (
            float(v.demand_if_made.mean_s(sizes).mean()) * v.fraction * (started * len(sizes) / len(size_bytes))
            for route, sizes, started in by_route(network, k, size_bytes)
            for v in network.routes[route].visits
        )
        total_s += float(routes[k]) * math.fsum(of_route)
    parts = too_slow(network, requests, _ANY_OPS)
    return total_s, parts[0].max_ops if parts else 0.0

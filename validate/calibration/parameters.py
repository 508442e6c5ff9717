"""Which values of a spec a calibration may choose, and between which bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from models.client_policy import ClientPolicies
from models.network.demand_sheet import Requests
from models.network.network import Network, Route, Station
from models.store import Spec, spec_of
from traces.errors import InputError
from traces.trace import Trace
from validate.calibration.profile import with_values
from validate.replay.recorded_policies import as_recorded

_BOUNDS = {
    "constant": (1e-7, 10.0),
    "per_byte": (1e-13, 1e-6),
    "per_block": (1e-7, 10.0),
    "cv": (0.02, 5.0),
    "probability": (1e-4, 0.3),
    "factor": (1.5, 500.0),
    "latency": (1e-7, 1.0),
    "bandwidth": (1e6, 1e12),
    "wake": (1e-7, 0.01),
    "refill": (1e-6, 0.1),
    "after_commit": (0.02, 0.9),
    "after_answer": (0.02, 0.97),
    "commit_member": (1e-8, 0.1),
    "lock_refused": (0.002, 0.95),
}
"""Names of fields that can be fitted, to the widest bounds that a store was seen with, in the spec's units."""

_NOT_FITTED = ("workload",)  # sections that say what is asked, not what the store is like

_SPREAD = 30.0  # bounds lie so far from the spec's value, as a factor


@dataclass(frozen=True)
class Parameter:
    """A value of the spec that a fit may choose.

    Attributes:
        path: where it stands in the spec, as in `traces.spec_file.override`.
        low, high: its bounds, in the spec's unit (seconds for durations); both above 0.

    Raises:
        InputError: the bounds do not ascend from above 0.
    """

    path: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < math.inf:
            raise InputError(f"{self.path}: bounds {self.low} and {self.high} must ascend from above 0")

    @staticmethod
    def parse(text: str) -> Parameter:
        """The parameter that ``PATH=LOW..HIGH`` describes, as in ``drives.commit.constant=1e-5..0.1``.

        Raises:
            InputError: it is written otherwise, or the bounds do not ascend from above 0.
        """
        path, _, between = text.partition("=")
        low, _, high = between.partition("..")
        try:
            bounds = float(low), float(high)
        except ValueError:
            raise InputError(
                f"parameter {text}: write it like drives.commit.constant=1e-5..0.1, in the spec's unit"
            ) from None
        return Parameter(path.strip(), *bounds)


def parameters_of(data: dict[str, Any], source: str = "spec") -> list[Parameter]:
    """What the spec names and can be fitted: its demands, the shapes of their distributions, and the network's values.

    A value that the spec leaves to its default, or that is 0, stays: it is not part of the model that was chosen. The
    bounds are a factor of 30 either way from the spec's value, within what stores were seen with.

    Raises:
        InputError: the spec is wrong.
    """
    named = spec_of(data, source).model_dump(exclude_unset=True)
    return [
        Parameter(path, max(low, value / _SPREAD), min(high, value * _SPREAD))
        for path, value in _leaves({k: v for k, v in named.items() if k not in _NOT_FITTED})
        for low, high in [_BOUNDS[path.rpartition(".")[2]]]
        if low < value < high
    ]


def chosen(
    data: dict[str, Any], added: Sequence[Parameter] = (), fixed: Sequence[str] = (), source: str = "spec"
) -> list[Parameter]:
    """`parameters_of` with some added or given other bounds, and some fixed: a path, or the beginning of paths.

    Raises:
        InputError: the spec is wrong, or a path to fix names none of them.
    """
    by_path = {p.path: p for p in parameters_of(data, source)} | {p.path: p for p in added}
    for path in fixed:
        covered = [p for p in by_path if p == path or p.startswith(f"{path}.")]
        if not covered:
            raise InputError(f"fix {path}: is not fitted anyway; fitted are {', '.join(by_path) or 'none'}")
        for name in covered:
            del by_path[name]
    return list(by_path.values())


def value_at(data: dict[str, Any], path: str, source: str = "spec") -> float:
    """A parameter's value as the checked spec has it.

    Raises:
        InputError: the spec is wrong, or has no number above 0 there.
    """
    place: Any = spec_of(data, source).model_dump()
    for part in path.split("."):
        if not isinstance(place, dict) or part not in place:
            raise InputError(f"{source}: {path} is not in the spec; a parameter to fit must stand in it")
        place = place[part]
    if isinstance(place, bool) or not isinstance(place, int | float) or place <= 0:
        raise InputError(f"{source}: {path} is {place!r}; a parameter to fit needs a first guess above 0")
    return float(place)


def spec_at(data: dict[str, Any], values: dict[str, float], source: str = "spec") -> Spec:
    """The spec with the values at their paths.

    Raises:
        InputError: it is wrong.
    """
    return spec_of(with_values(data, values), source)


def matters(
    data: dict[str, Any],
    parameter: Parameter,
    trace: Trace,
    source: str = "spec",
    policies: ClientPolicies | None = None,
) -> bool:
    """Whether the model asks a parameter when it does what a trace asks for: else no Run of it can tell its value.

    `policies`: of the clients; None: the spec's.
    """
    value = value_at(data, parameter.path, source)
    other = parameter.low if value > math.sqrt(parameter.low * parameter.high) else parameter.high
    specs = [as_recorded(spec_at(data, {parameter.path: v}, source), policies) for v in (value, other)]
    versions = [spec.compile(trace) for spec in specs]
    return _taken(*versions[0]) != _taken(*versions[1])


def _taken(network: Network, requests: Requests) -> tuple[tuple[Station, ...], list[Route]]:
    """The part of a network that the requests take."""
    return network.stations, [route for k, route in enumerate(network.routes) if (requests.route == k).any()]


def _leaves(place: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """The numbers with a name of `_BOUNDS`, with their dotted paths."""
    for name, value in place.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        elif name in _BOUNDS and isinstance(value, int | float):
            yield ".".join((*path, name)), float(value)

"""Which values of a spec a calibration may choose, and between which bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.client_policy import ClientPolicies
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Route
from models.network.station import Station
from models.spec_values import check_value, fitted_fields, value_at, with_values
from models.store import Spec, compile_spec
from traces.errors import InputError
from traces.trace import Trace
from validate.replay.recorded_policies import as_recorded

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


def parameters_of(spec: Spec) -> list[Parameter]:
    """What the spec names and can be fitted: its demands, the shapes of their distributions, and the network's values.

    A value that the spec leaves to its default, or that is 0, stays: it is not part of the model that was chosen. The
    bounds are a factor of 30 either way from the spec's value, within those of the field (`Fit`).
    """
    return [
        Parameter(path, max(fit.low, value / _SPREAD), min(fit.high, value * _SPREAD))
        for path, fit, value in fitted_fields(spec)
        if fit.low < value < fit.high
    ]


def chosen(spec: Spec, added: Sequence[Parameter] = (), fixed: Sequence[str] = ()) -> list[Parameter]:
    """`parameters_of` with some added or given other bounds, and some fixed: a path, or the beginning of paths.

    Raises:
        InputError: a path to fix names none of them.
    """
    by_path = {p.path: p for p in parameters_of(spec)} | {p.path: p for p in added}
    for path in fixed:
        covered = [p for p in by_path if p == path or p.startswith(f"{path}.")]
        if not covered:
            raise InputError(f"fix {path}: is not fitted anyway; fitted are {', '.join(by_path) or 'none'}")
        for name in covered:
            del by_path[name]
    return list(by_path.values())


def check(spec: Spec, parameters: Sequence[Parameter], source: str = "spec") -> None:
    """Check that the spec has the parameters, and takes all values between their bounds.

    Raises:
        InputError: it does not.
    """
    for parameter in parameters:
        value_at(spec, parameter.path, source)
        for bound in (parameter.low, parameter.high):
            check_value(spec, parameter.path, bound, source)


def matters(
    spec: Spec, parameters: Sequence[Parameter], trace: Trace, policies: ClientPolicies | None = None
) -> NDArray[np.bool_]:
    """Whether the model asks each parameter when it does what a trace asks for: else no Run of it can tell its value.

    `policies`: of the clients; None: the spec's.

    Returns:
        shape (parameters,).
    """

    def taken(values: dict[str, float]) -> tuple[tuple[Station, ...], list[Route]]:
        return _taken(*compile_spec(as_recorded(with_values(spec, values), policies), trace))

    first = taken({})
    return np.array([taken({p.path: _other(p, value_at(spec, p.path))}) != first for p in parameters])


def _other(parameter: Parameter, value: float) -> float:
    """The bound that is farther from a value."""
    return parameter.low if value > math.sqrt(parameter.low * parameter.high) else parameter.high


def _taken(network: Network, requests: Requests) -> tuple[tuple[Station, ...], list[Route]]:
    """The part of a network that the requests take."""
    return network.stations, [route for k, route in enumerate(network.routes) if (requests.route == k).any()]

"""The values of a spec that a calibration may fit, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Route
from models.network.station import Station
from models.shared.client_policy import ClientPolicies
from models.spec.spec_values import check_value, fitted_fields, value_at, with_values
from models.store import Spec, compile_spec
from traces.errors import InputError
from traces.trace import Trace
from validate.replay.recorded_policies import as_recorded

PER_BYTE = ".per_byte"
"""Ends the path of a time per byte."""

_CONSTANT = ".constant"
_OTHER_SIZE = 2.0  # ratio of the largest to the smallest object from which times per byte can be told
_SPREAD = 30.0  # default bounds: the spec's value divided and multiplied by this


@dataclass(frozen=True)
class Parameter:
    """A value of the spec to fit.

    Attributes:
        path: its path in the spec, as in `traces.spec.spec_file.override`.
        low, high: its bounds, in the spec's unit (seconds for durations); both above 0.
        is_default: whether it is fitted because the spec has it, not because the user wants it.

    Raises:
        InputError: the bounds do not ascend from above 0.
    """

    path: str
    low: float
    high: float
    is_default: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < math.inf:
            raise InputError(f"{self.path}: bounds {self.low} and {self.high} must ascend from above 0")

    @staticmethod
    def parse(text: str) -> Parameter:
        """Parse ``PATH=LOW..HIGH``, such as ``drives.commit.constant=1e-5..0.1``.

        Raises:
            InputError: the text has another form, or the bounds do not ascend from above 0.
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
    """Return the values in the spec that can be fitted: demands, shapes of their distributions, and network values.

    Defaults and values of 0 are not fitted: they are not part of the chosen model. The bounds are a factor of 30 below
    and above the spec's value, within those of the field (`Fit`).
    """
    return [
        Parameter(path, max(fit.low, value / _SPREAD), min(fit.high, value * _SPREAD), is_default=True)
        for path, fit, value in fitted_fields(spec)
        if fit.low < value < fit.high
    ]


def chosen(spec: Spec, added: Sequence[Parameter] = (), fixed: Sequence[str] = ()) -> list[Parameter]:
    """Return `parameters_of` with some added or with other bounds, and some fixed (by path or beginning of paths).

    Raises:
        InputError: a path to fix matches no parameter.
    """
    by_path = {p.path: p for p in parameters_of(spec)} | {p.path: p for p in added}
    for path in fixed:
        covered = [p for p in by_path if p == path or p.startswith(f"{path}.")]
        if not covered:
            raise InputError(f"fix {path}: not a fitted parameter; fitted are {', '.join(by_path) or 'none'}")
        for name in covered:
            del by_path[name]
    return list(by_path.values())


def told_apart(spec: Spec, parameters: Sequence[Parameter], size_bytes: NDArray[np.int64]) -> list[Parameter]:
    """Return the parameters without the default times per byte that objects of about one size do not tell.

    They keep the value of the spec where the constant time of the same demand is the greater part of it: that takes
    what such objects show. Fits to objects of 4 KiB then forecast those of 1 MiB with mean errors of the logarithm of
    0.16 (throughput) and 0.17 (p50) instead of 0.18 and 0.22 (examples/recorded). Where the time per byte is the
    greater part, both are fitted: with only the constant one, fits to 1 MiB forecast 4 KiB at 0.44 instead of 0.32.

    Args:
        spec: the store.
        parameters: to fit.
        size_bytes: sizes of the objects that are transferred; 0 is none.
    """
    if has_several_sizes(size_bytes):
        return list(parameters)
    size = float(np.mean(size_bytes[size_bytes > 0])) if np.any(size_bytes > 0) else 0.0
    constants = {
        p.path.removesuffix(_CONSTANT): value_at(spec, p.path) for p in parameters if p.path.endswith(_CONSTANT)
    }
    return [
        p
        for p in parameters
        if not p.is_default
        or not p.path.endswith(PER_BYTE)
        or constants.get(p.path.removesuffix(PER_BYTE), 0.0) < size * value_at(spec, p.path)
    ]


def has_several_sizes(size_bytes: NDArray[np.int64]) -> bool:
    """Return whether objects differ by enough that times per byte can be told; sizes of 0 are no transfers."""
    sizes = size_bytes[size_bytes > 0]
    return bool(len(sizes) and sizes.max() >= _OTHER_SIZE * sizes.min())


def check(spec: Spec, parameters: Sequence[Parameter], source: str = "spec") -> None:
    """Check that the spec has the parameters and accepts their bounds.

    Raises:
        InputError: a parameter is missing, or a bound is invalid.
    """
    for parameter in parameters:
        value_at(spec, parameter.path, source)
        for bound in (parameter.low, parameter.high):
            check_value(spec, parameter.path, bound, source)


def matters(
    spec: Spec, parameters: Sequence[Parameter], trace: Trace, policies: ClientPolicies | None = None
) -> NDArray[np.bool_]:
    """Whether the simulation of a trace depends on each parameter; otherwise, its Runs cannot identify the value.

    Args:
        policies: policies of the clients; None: those of the spec.

    Returns:
        Shape (parameters,).
    """

    def taken(values: dict[str, float]) -> tuple[tuple[Station, ...], list[Route]]:
        return _taken(*compile_spec(as_recorded(with_values(spec, values), policies), trace))

    first = taken({})
    return np.array([taken({p.path: _other(p, value_at(spec, p.path))}) != first for p in parameters])


def _other(parameter: Parameter, value: float) -> float:
    """Return the bound that is farther from a value."""
    return parameter.low if value > math.sqrt(parameter.low * parameter.high) else parameter.high


def _taken(network: Network, requests: Requests) -> tuple[tuple[Station, ...], list[Route]]:
    """Return the stations, and the routes that the requests take."""
    return network.stations, [route for k, route in enumerate(network.routes) if (requests.route == k).any()]

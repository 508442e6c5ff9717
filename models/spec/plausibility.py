"""Values of a spec that no real store has: most are mistakes of a unit or of a power of ten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from models.network.service_demand import PlausibleBandwidth, ServiceDemand
from traces.spec.field_notes import Basis, Unit, note_of
from traces.spec.fit_bounds import fit_of


@dataclass(frozen=True)
class Implausible:
    """A value outside of what real stores have.

    Attributes:
        path: dotted path.
        value: the value, in its unit.
        unit: its unit; empty: a plain number.
        low, high: the range of real stores; None: no limit.
        remark: further explanation; may be empty.
        meant: a value with the same digits and another unit that real stores have; None: there is none.
    """

    path: str
    value: float
    unit: str
    low: float | None
    high: float | None
    remark: str = ""
    meant: float | None = None


_OTHER_UNITS = {"s": (1e-6, 1e-3, 1e-9), "B/s": (1e9 / 8, 1 / 8, 1e6 / 8)}
"""Factors of units that may be forgotten or mistaken, the likely ones first: us, ms, ns; Gbit/s, bit/s, Mbit/s."""


def implausible(spec: BaseModel) -> tuple[Implausible, ...]:
    """Return the values of a spec that are outside of the range of real stores; 0 is none of them."""
    return tuple(_walk(spec, ""))


def range_of(model: type[BaseModel], name: str) -> tuple[float | None, float | None]:
    """Return the range of a field in real stores: that of its `Basis`, or else that of its `Fit`."""
    basis, fit = note_of(model, name, Basis), fit_of(model, name)
    low, high = (basis.low, basis.high) if basis else (None, None)
    if low is None and high is None and fit is not None:
        return fit.low, fit.high
    return low, high


def unit_of(model: type[BaseModel], name: str) -> str:
    """Return the unit of a field; empty: a plain number, or text."""
    unit, fit = note_of(model, name, Unit), fit_of(model, name)
    return (fit and fit.unit) or (unit.symbol if unit else "")


def _walk(value: Any, path: str) -> Iterator[Implausible]:
    before = f"{path}." if path else ""
    if isinstance(value, BaseModel):
        yield from _bandwidths(value, before)
        for name in type(value).model_fields:
            inner = getattr(value, name)
            if isinstance(inner, int | float) and not isinstance(inner, bool):
                yield from _checked(type(value), name, inner, f"{before}{name}")
            else:
                yield from _walk(inner, f"{before}{name}")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _walk(inner, f"{before}{name}")
    elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        for number, inner in enumerate(value):
            yield from _walk(inner, f"{before}{number}")


def _checked(model: type[BaseModel], name: str, value: float, path: str) -> Iterator[Implausible]:
    low, high = range_of(model, name)
    if value and ((low is not None and value < low) or (high is not None and value > high)):
        unit = unit_of(model, name)
        yield Implausible(path, value, unit, low, high, meant=_meant(value, unit, low, high))


def _meant(value: float, unit: str, low: float | None, high: float | None) -> float | None:
    """Return the value in the next smaller or larger unit that real stores have, as after a forgotten ``us``."""
    tried = (value * factor for factor in _OTHER_UNITS.get(unit, ()))
    return next((other for other in tried if (low or 0) <= other <= (high or math.inf)), None)


def _bandwidths(section: BaseModel, before: str) -> Iterator[Implausible]:
    """Check the bandwidths that follow from demands per byte, of all accesses that a device serves at the same time."""
    depth = getattr(section, "queue_depth", 1)
    for name in type(section).model_fields:
        limits, demand = note_of(type(section), name, PlausibleBandwidth), getattr(section, name)
        if limits is not None and isinstance(demand, ServiceDemand) and demand.per_byte:
            bandwidth = depth / demand.per_byte
            if not limits.low <= bandwidth <= limits.high:
                path = f"{before}{name}.per_byte"
                yield Implausible(path, bandwidth, "B/s", limits.low, limits.high, "bandwidth that follows from it")

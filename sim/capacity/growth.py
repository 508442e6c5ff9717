"""Growth of a store and its load over months: ranges of uncertain values, and scenarios drawn from them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, cast

import numpy as np
import scipy
from pydantic import BeforeValidator, Field, model_validator

from models.store import Spec, required, store_of
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, validated
from traces.spec.units import Bytes, Fraction, PerSecond
from traces.workload.distributions import Floats, Strict
from traces.workload.generate import generate
from traces.workload.sizes import FixedSize

Value = TypeVar("Value", bound=float)


class UncertainNumber(Strict, Generic[Value]):
    """An uncertain number; a plain number is an exact value.

    Triangular: from `low` to `high` with mode `likely`. Lognormal: `likely` is the median, `low` and `high` are the 5 %
    and 95 % quantiles; each side has its own standard deviation.
    """

    low: Value
    likely: Value
    high: Value
    distribution: Literal["triangular", "lognormal"] = "triangular"

    @model_validator(mode="after")
    def _ascends(self) -> UncertainNumber[Value]:
        if not self.low <= self.likely <= self.high:
            raise ValueError(f"low, likely, high are {self.low:g}, {self.likely:g}, {self.high:g}; must be ascending")
        if self.distribution == "lognormal" and not self.low > 0:
            raise ValueError(f"low is {self.low:g}; with distribution lognormal it must be above 0")
        return self

    def quantile(self, u: Floats) -> Floats:
        """Return the values at probabilities, same shape."""
        low, likely, high = float(self.low), float(self.likely), float(self.high)
        if self.distribution == "lognormal":
            z = scipy.special.ndtri(u)
            spread = np.where(z < 0, math.log(likely / low), math.log(high / likely)) / float(scipy.special.ndtri(0.95))
            return cast(Floats, likely * np.exp(spread * z))
        width = high - low
        if not width:
            return np.full_like(u, likely)
        left = low + np.sqrt(u * width * (likely - low))
        right = high - np.sqrt((1 - u) * width * (high - likely))
        return np.where(u * width < likely - low, left, right)


def _as_range(value: Any) -> Any:
    return (
        value
        if value is None or isinstance(value, dict | UncertainNumber)
        else dict.fromkeys(("low", "likely", "high"), value)
    )


def _as_change(value: Any) -> Any:
    """Read ``2%`` as 0.02; a change may be negative."""
    if isinstance(value, str) and value.strip().endswith("%"):
        with contextlib.suppress(ValueError):
            return float(value.strip().removesuffix("%")) / 100
    return value


Number = Annotated[float, Field(allow_inf_nan=False)]
Uncertain = Annotated[UncertainNumber[Annotated[Number, Field(ge=0)]], BeforeValidator(_as_range)]
RelativeGrowth = Annotated[
    UncertainNumber[Annotated[Number, BeforeValidator(_as_change), Field(gt=-1)]], BeforeValidator(_as_range)
]
Rates = Annotated[UncertainNumber[Annotated[PerSecond, Field(gt=0)]], BeforeValidator(_as_range)]
Sizes = Annotated[UncertainNumber[Annotated[Bytes, Field(gt=0)]], BeforeValidator(_as_range)]


class ObjectGrowth(Strict):
    """Growth of the number of stored objects."""

    now: Uncertain | None = Field(None, description="Objects stored at month 0; absent: the spec's stored.objects.")
    per_month: Uncertain = Field(description="Objects added per month.")


class Rate(Strict):
    """Growth of the arrival rate of an open loop."""

    now: Rates | None = Field(None, description="Requests per second at month 0; absent: the spec's workload.rate.")
    growth: RelativeGrowth = Field(
        0.0, validate_default=True, description="Relative growth per month, such as 2% or 0.02."
    )


class ClientCount(Strict):
    """Growth of the number of clients of a closed loop."""

    now: Annotated[UncertainNumber[Annotated[Number, Field(ge=1)]], BeforeValidator(_as_range)] | None = Field(
        None, description="Clients at month 0; absent: the spec's workload.clients."
    )
    growth: RelativeGrowth = Field(
        0.0, validate_default=True, description="Relative growth per month, such as 2% or 0.02."
    )


class Growth(Strict):
    """Growth of a store by month."""

    months: int = Field(ge=1, le=240, description="Number of months to plan.")
    objects: ObjectGrowth | None = Field(None, description="Stored objects; absent: constant, as in the spec.")
    rate: Rate | None = Field(None, description="Arrival rate of an open loop; absent: as in the spec.")
    clients: ClientCount | None = Field(None, description="Clients of a closed loop; absent: as in the spec.")
    object_size: Sizes | None = Field(None, description="Size of stored and requested objects; absent: the spec's.")
    scenarios: int = Field(24, ge=1, le=1000, description="Number of scenarios drawn from uncertain values.")
    utilization: Fraction = Field(1.0, gt=0, description="Utilisation above which a station is at its limit.")

    @model_validator(mode="after")
    def _one_loop(self) -> Growth:
        if self.rate is not None and self.clients is not None:
            raise ValueError("rate is for an open loop, clients for a closed one; give only one of them")
        return self


@dataclass(frozen=True)
class Scenario:
    """One possible growth.

    Attributes:
        objects_now, objects_a_month: None: constant, as in the spec.
        load_now: requests per second, or clients.
        load_growth: relative growth per month.
        object_bytes: None: as in the spec.
    """

    objects_now: float | None = None
    objects_a_month: float | None = None
    load_now: float | None = None
    load_growth: float | None = None
    object_bytes: float | None = None

    def objects(self, spec: Spec, month: float) -> float:
        """Return the number of objects stored in a month; 0 for a store that does not count them."""
        now = self.objects_now
        if now is None:
            growth = store_of(spec).growth
            now = 0.0 if growth is None else growth.objects(spec)
        return now + (self.objects_a_month or 0.0) * month


def read_growth(path: Path) -> Growth:
    """Read growth from a YAML file.

    Raises:
        InputError: the file is missing, is not valid YAML, or a field is wrong.
    """
    return validated(Growth, load_mapping(path), str(path))


def likely(growth: Growth) -> Scenario:
    """Return the scenario with the likely value of each factor."""
    return Scenario(**{name: float(given.likely) for name, given in _uncertain(growth)})


def scenarios(growth: Growth, seed: int) -> list[Scenario]:
    """Draw scenarios by Latin hypercube sampling of the uncertain factors.

    McKay, Beckman, Conover, "A comparison of three methods for selecting values of input variables", Technometrics 21,
    1979. Without uncertain factors, the likely scenario is the only one.
    """
    factors = list(_uncertain(growth))
    if all(given.low == given.high for _, given in factors):
        return [likely(growth)]
    u = scipy.stats.qmc.LatinHypercube(len(factors), seed=np.random.default_rng(seed)).random(growth.scenarios)
    drawn = {name: given.quantile(u[:, i]) for i, (name, given) in enumerate(factors)}
    return [Scenario(**{name: float(values[k]) for name, values in drawn.items()}) for k in range(growth.scenarios)]


def _uncertain(growth: Growth) -> Iterator[tuple[str, UncertainNumber[float]]]:
    """Yield the growth's factors under their names in `Scenario`."""
    load = growth.rate or growth.clients
    given = {
        "objects_now": growth.objects and growth.objects.now,
        "objects_a_month": growth.objects and growth.objects.per_month,
        "load_now": load and load.now,
        "load_growth": load and load.growth,
        "object_bytes": growth.object_size,
    }
    yield from ((name, cast("UncertainNumber[float]", value)) for name, value in given.items() if value is not None)


def check_growth(spec: Spec, growth: Growth) -> None:
    """Refuse growth that does not fit the spec.

    Raises:
        InputError: the store's model does not count objects, or the workload has the other kind of loop.
    """
    if growth.objects is not None:
        required(store_of(spec).growth, spec, "growth", "growth: objects")
    if growth.clients is not None and spec.workload.groups:
        raise InputError("growth: clients: the spec's workload has groups, each with clients of its own; use rate")
    if growth.rate is not None and any(part.rate is None for part in spec.workload.groups.values()):
        raise InputError("growth: rate: the spec's workload has groups with closed loops, which have no rate")
    if growth.clients is not None and spec.workload.rate is not None:
        raise InputError("growth: clients: the spec's workload is an open loop, which has no clients; use rate")
    if growth.rate is not None and growth.rate.now is None and spec.workload.total_rate is None:
        raise InputError("growth: rate.now: is missing, and the spec has no workload.rate either; set one of them")
    if growth.rate is not None and spec.workload.keys.kind == "write_once_read_once":
        raise InputError("growth: rate: write_once_read_once keys need a closed loop; use clients")


def with_object_size(spec: Spec, seed: int) -> Spec:
    """Return the spec with an explicit size of stored objects, by default that of the workload's requests."""
    growth = store_of(spec).growth
    if growth is None or growth.has_object_size(spec):
        return spec
    sized: Spec = growth.with_object_size(spec, round(growth.object_bytes(spec, generate(spec.workload, seed))))
    return sized


def spec_at(spec: Spec, growth: Growth, scenario: Scenario, month: float) -> Spec:
    """Return the spec of the store and its load in a month."""
    workload = spec.workload
    change = (1 + (scenario.load_growth or 0.0)) ** month
    if growth.rate is not None:
        workload = workload.with_rate((scenario.load_now or workload.total_rate or 0.0) * change)
    if growth.clients is not None:
        clients = max(1, round((scenario.load_now or workload.clients) * change))
        workload = workload.model_copy(update={"clients": clients})
    size = None if scenario.object_bytes is None else round(scenario.object_bytes)
    if size is not None:
        workload = workload.with_fields(object_size=FixedSize(size=size))
    requested = spec.model_copy(update={"workload": workload})
    of_store = store_of(spec).growth
    if of_store is None:
        return requested
    if size is not None:
        requested = of_store.with_object_size(requested, size)
    grown: Spec = of_store.grown(requested, scenario.objects(spec, month))
    return grown

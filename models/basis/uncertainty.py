"""Values of a spec that are not known, with their ranges, and specs with other values from these ranges.

A value is not known if it is a default or from a preset and its store's model has a range for it (`Store.spreads`), if
it is from a profile, which has its interval, or if the spec's section `assumed` has a range. Other defaults that a
forecast depends on have the range of real stores (`Basis`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from models.basis.assumptions import assumptions, with_effect
from models.capabilities import Spread
from models.network.service_demand import ServiceDemand
from models.shared.store_spec import AssumedRange
from models.spec.origins import Origin
from models.spec.plausibility import range_of, unit_of
from models.spec.spec_values import parts_of, with_part
from models.store import Spec, levels, spec_of, store_of
from traces.errors import InputError
from traces.random_streams import mixed, stream_id
from traces.spec.spec_file import replaced

_NOT_GIVEN = ("default", "preset")
_TIMES = ("s", "s/B")


@dataclass(frozen=True)
class Unknown:
    """A value that is not known, and its range.

    Attributes:
        path: of a number, or of a section whose times are all multiplied by the same factor.
        unit: of the number; empty: a plain one.
        value: the assumed value, in the range; of a section 1; None: there is a list, or no number is assumed.
        low, high: the range; of a section, of the factor; None: there is a list.
        values: the list, instead of a range.
        source: what spans the range.
        is_factor: whether it is of a section.
        is_given: whether the range is that of the section `assumed`.
    """

    path: str
    unit: str
    value: float | None
    low: float | None
    high: float | None
    source: str
    values: tuple[Any, ...] = ()
    is_factor: bool = False
    is_given: bool = False

    def at(self, fraction: float) -> Any:
        """Return the value at a fraction of the draws, 0 to 1; of a list, each value has an equal part of them.

        Half of the draws lie on each side of the assumed value, evenly spread between it and the end of the range, in
        equal ratios if there is no 0. So the assumed value is the median of the draws: it is the best estimate of the
        value. Most ranges extend further to one side of it, and even draws over the whole range would be those of
        another estimate, with a band that may exclude the forecast. If no value is assumed, the draws are evenly spread
        over the range.
        """
        if self.low is None or self.high is None:
            return self.values[min(int(fraction * len(self.values)), len(self.values) - 1)]
        low, high = self.low, self.high
        if self.value is not None:
            is_upper = fraction >= 0.5
            low, high = (self.value, high) if is_upper else (low, self.value)
            fraction = 2 * fraction - is_upper
        value = low + fraction * (high - low) if low <= 0 else low * (high / low) ** fraction
        is_whole = isinstance(self.low if self.value is None else self.value, int) and not self.is_factor
        return round(value) if is_whole else float(value)


@dataclass(frozen=True)
class Uncertain:
    """A spec and its unknown values.

    Attributes:
        data, source: mapping of the spec, and its name in messages.
        unknowns: the values that are not known.
    """

    data: Mapping[str, Any]
    source: str
    unknowns: tuple[Unknown, ...]

    def spec(self, values: Mapping[str, Any]) -> Spec:
        """Return the spec with other values of its unknowns, by path.

        Raises:
            InputError: the values do not fit together.
        """
        given = {u.path: values[u.path] for u in self.unknowns if u.is_given and u.path in values}
        spec = spec_of(replaced(self.data, given), self.source)
        for unknown in self.unknowns:
            if not unknown.is_given and unknown.path in values:
                spec = _changed(spec, unknown, values[unknown.path])
        return spec

    def drawn(self, draw: int, draws: int, seed: int) -> Spec:
        """Return the spec with values of one of `draws` draws, which together are a Latin hypercube.

        McKay, Beckman and Conover, Technometrics 21(2), 1979. The draws of a value do not depend on the other unknowns.

        Raises:
            InputError: the values do not fit together.
        """
        return self.spec({u.path: u.at(drawn_fractions(u.path, draws, seed)[draw]) for u in self.unknowns})

    def all_drawn(self, draws: int, seed: int) -> list[Spec | None]:
        """Return the spec of each draw; None: its values do not fit together."""
        found: list[Spec | None] = []
        for draw in range(draws):
            try:
                found.append(self.drawn(draw, draws, seed))
            except InputError:
                found.append(None)
        return found


def uncertain(
    spec: Spec, data: Mapping[str, Any], source: str, origins: Sequence[Origin], known: Sequence[str] = ()
) -> Uncertain:
    """Return a spec with its unknown values.

    Args:
        spec: the spec, validated from `data`.
        data: its mapping, with all that was written over it.
        source: name of the file.
        origins: of the values of the spec.
        known: paths whose values are known although `assumed` has a range, such as settings of a published row.

    Raises:
        InputError: a range in `assumed` does not fit its field.
    """
    given = [
        _given(spec, data, source, path, own)
        for path, own in _assumed(spec).items()
        if not any(path == one or path.startswith(f"{one}.") for one in known)
    ]
    taken = {one.path for one in given}
    effective = list(with_effect(spec, origins))
    found = [*given, *(one for one in _of_profile(effective) if one.path not in taken)]
    spreads = _of_each(store_of(spec).spreads, effective)
    found += [
        unknown
        for path, spread in spreads.items()
        if path not in taken and (unknown := _of_spread(spec, path, spread, effective)) is not None
    ]
    covered = (*taken, *spreads)
    found += [
        unknown
        for assumption in assumptions(spec, effective)
        if not any(_overlap(assumption.path, path) for path in covered)
        if (unknown := _of_basis(spec, assumption.path)) is not None
    ]
    return Uncertain(data, source, tuple(found))


def drawn_fractions(name: str, draws: int, seed: int) -> list[float]:
    """Return a number from each of equal parts of 0 to 1, in random order: one value's part of a Latin hypercube."""
    generator = np.random.default_rng(mixed(seed, stream_id(f"uncertainty/{name}"), draws))
    fractions: list[float] = ((generator.permutation(draws) + generator.random(draws)) / draws).tolist()
    return fractions


def _assumed(spec: Spec) -> dict[str, AssumedRange]:
    """Return the ranges of a spec, and of those below it, by path."""
    return {
        f"{path}.{name}" if path else name: own
        for path, each in levels(spec).items()
        for name, own in each.assumed.items()
    }


def _given(spec: Spec, data: Mapping[str, Any], source: str, path: str, own: AssumedRange) -> Unknown:
    """Return an unknown of the section `assumed`."""
    if isinstance(section := parts_of(spec, path)[-1], BaseModel) and "count" in type(section).model_fields:
        path = f"{path}.count"  # as a bare number in its place

    def read(value: Any) -> Any:
        try:
            return parts_of(spec_of(replaced(data, {path: value}), source), path)[-1]
        except InputError as error:
            raise InputError(*(f"{source}: assumed: {path}: {message}" for message in error.messages)) from error

    section, now = parts_of(spec, path)[-2:]
    if own.values:
        for one in own.values:
            read(one)
        return Unknown(path, "", None, None, None, own.source, own.values, is_given=True)
    low, high = read(own.low), read(own.high)
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)) or not low < high:
        raise InputError(f"{source}: assumed: {path}: low and high must be ascending numbers; or give values: [...]")
    value = now if isinstance(now, int | float) else None
    if value is not None and not low <= value <= high:
        raise InputError(
            f"{source}: assumed: {path}: the value in the spec, {value:g}, is outside of the range, "
            f"{low:g} to {high:g}; widen the range, or assume a value in it"
        )
    unit = unit_of(type(section), path.rpartition(".")[2]) if isinstance(section, BaseModel) else ""
    return Unknown(path, unit, value, low, high, own.source, is_given=True)


def _of_profile(origins: Sequence[Origin]) -> list[Unknown]:
    return [
        Unknown(o.path, o.unit, o.value, o.low, o.high, f"interval of the profile {o.source}")
        for o in origins
        if o.kind == "profile" and o.low is not None and o.high is not None and o.low < o.high
    ]


def _of_each(spreads: Mapping[str, Spread], origins: Sequence[Origin]) -> dict[str, Spread]:
    """Return the ranges by path, those of a path with ``*`` by the path of each section that this stands for."""
    found: dict[str, Spread] = {}
    for path, spread in spreads.items():
        before, star, after = path.partition("*")
        names = (o.path.removeprefix(before).split(".")[0] for o in origins if star and o.path.startswith(before))
        found |= dict.fromkeys((f"{before}{name}{after}" for name in names), spread) if star else {path: spread}
    return found


def _of_spread(spec: Spec, path: str, spread: Spread, origins: Sequence[Origin]) -> Unknown | None:
    """Return an unknown with a range of its store; None: its value is given, 0, or has no effect."""
    inside = [o for o in origins if o.path == path or o.path.startswith(f"{path}.")]
    if any(o.kind not in _NOT_GIVEN for o in inside):
        return None
    numbers = [o for o in inside if o.path == path or o.unit in _TIMES]
    if not any(isinstance(o.value, int | float) and o.value for o in numbers):
        return None
    section, value = parts_of(spec, path)[-2:]
    if not isinstance(value, int | float):
        return Unknown(path, "", 1.0, spread.low, spread.high, spread.source, is_factor=True)
    least, greatest = _limits(section, path.rpartition(".")[2])
    low = min(max(value * spread.low, least), value)
    high = max(min(value * spread.high, greatest), value)
    if isinstance(value, int):
        low, high = round(low), round(high)
    return Unknown(path, numbers[0].unit, value, low, high, spread.source) if low < high else None


def _limits(section: Any, name: str) -> tuple[float, float]:
    """Return the range that a field has in real stores."""
    low, high = range_of(type(section), name) if isinstance(section, BaseModel) else (None, None)
    return -math.inf if low is None else low, math.inf if high is None else high


def _of_basis(spec: Spec, path: str) -> Unknown | None:
    """Return an unknown with the range of real stores; None: there is none."""
    section, value = parts_of(spec, path)[-2:]
    if not isinstance(section, BaseModel) or not isinstance(value, int | float):
        return None
    name = path.rpartition(".")[2]
    low, high = range_of(type(section), name)
    if low is None or high is None:
        return None
    low, high = min(low, value), max(high, value)
    return Unknown(path, unit_of(type(section), name), value, low, high, "range of real stores")


def _overlap(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.")


def _changed(spec: Spec, unknown: Unknown, value: float) -> Spec:
    before = parts_of(spec, unknown.path)[-1]
    # Of a number, the ratio: another unknown may be the factor of its section.
    factor = value if unknown.is_factor else value / (unknown.value or 1.0)
    if isinstance(before, int) and not isinstance(before, bool):
        return with_part(spec, unknown.path, value)
    return with_part(spec, unknown.path, _scaled(before, factor))


def _scaled(value: Any, factor: float) -> Any:
    """Return a number, a demand, or all demands of a mapping, multiplied by a factor."""
    if isinstance(value, ServiceDemand):
        return value.scaled(factor)
    if isinstance(value, Mapping):
        return {name: _scaled(each, factor) for name, each in value.items()}
    return value * factor

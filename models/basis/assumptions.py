"""What a forecast rests on that its spec does not give: defaults with effect, and demands of 0."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from models.devices.presets import presets_of
from models.spec.missing_demands import refuse_missing_demands
from models.spec.origins import Origin
from models.spec.spec_values import sections_of
from models.store import Spec, demands_of, levels, store_of
from traces.operations import OPS, Op

_UNITS = {"s", "s/B", "B/s"}
_WITHOUT_EFFECT = ("workload", "faults", "prices", "background", "client.retry", "client.hedge", "client.timeout")
"""Sections whose defaults mean that there is no such thing."""


@dataclass(frozen=True)
class Assumption:
    """A default that a forecast depends on: a time, bandwidth or number of cores.

    Attributes:
        path: its path; of a service demand or a device, that of the whole.
        values: its values other than 0, by path inside it; a single value has an empty path.
        units: their units.
        source: what the default rests on; empty if not known.
    """

    path: str
    values: dict[str, Any]
    units: dict[str, str]
    source: str


def ops_of(spec: Spec) -> list[Op]:
    """Return the operations of the workload."""
    return spec.workload.ops


def require_demands(spec: Spec) -> None:
    """Refuse a spec that lacks a demand of its workload's operations.

    Raises:
        InputError: the message names all that are missing.
    """
    ops = ops_of(spec)
    refuse_missing_demands(spec, ops, demands_of(spec, ops))


def assumptions(spec: Spec, origins: Iterable[Origin]) -> tuple[Assumption, ...]:
    """Return the defaults that a forecast depends on: times, bandwidths and numbers of cores.

    Left out are values of 0 (`free_demands`), operations that the workload does not have, and what has no effect with
    the other values of the spec (`Store.unused`).
    """
    found: dict[str, Assumption] = {}
    for origin in with_effect(spec, origins):
        if not _counts(origin):
            continue
        assumption = found.setdefault(origin.part_of, Assumption(origin.part_of, {}, {}, origin.source))
        inside = origin.path.removeprefix(origin.part_of).removeprefix(".")
        assumption.values[inside] = origin.value
        assumption.units[inside] = origin.unit
    return tuple(found.values())


def with_effect(spec: Spec, origins: Iterable[Origin]) -> Iterator[Origin]:
    """Yield the origins of values that may affect a forecast: not of operations that the workload does not have."""
    unused, ops = store_of(spec).unused, ops_of(spec)
    without = [f"{path}.{each}" if path else each for path in levels(spec) for each in _WITHOUT_EFFECT]
    outside = (*without, *(unused(spec, ops) if unused else ()))
    absent_ops = set(OPS) - set(ops)
    for origin in origins:
        if not _is_in(origin.path, outside) and not absent_ops & set(origin.path.split(".")):
            yield origin


def _counts(origin: Origin) -> bool:
    is_number = isinstance(origin.value, int | float) and not isinstance(origin.value, bool)
    is_cores = origin.path.endswith(("cores", "cores.count"))
    return origin.kind == "default" and is_number and bool(origin.value) and (origin.unit in _UNITS or is_cores)


def _is_in(path: str, sections: Collection[str]) -> bool:
    return any(path == section or path.startswith(f"{section}.") for section in sections)


def presets_used(spec: Spec, origins: Iterable[Origin]) -> dict[str, str]:
    """Return the presets that values come from, and the machine of each measurement that may not hold for others."""
    found: dict[str, str] = {}
    for origin in origins:
        if origin.kind == "preset" and origin.source not in found:
            sections = [type(each) for each in sections_of(spec, origin.path) if isinstance(each, BaseModel)]
            known = [presets_of(each).get(origin.source) for each in sections]
            found[origin.source] = next((preset.measured_on for preset in known if preset), "")
    return found


def free_demands(spec: Spec) -> list[str]:
    """Return the paths of the demands that the workload's operations visit and that take no time."""
    demands = demands_of(spec, ops_of(spec))
    return [path for path, demand in demands.items() if demand is not None and not demand.takes_time]

"""The presets of all stores, with their main figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_origin

import numpy as np
from pydantic import BaseModel

from models.devices.presets import Preset, presets_of
from models.network.service_demand import ServiceDemand
from models.spec.plausibility import unit_of
from models.store import names, spec_class

_BLOCK = np.array([4096])


@dataclass(frozen=True)
class DriveFigures:
    """What data sheets of drives say: accesses of 4 KiB, and bandwidths of large ones.

    Attributes:
        read_iops, write_iops: with many accesses at the same time.
        read_latency_s, write_latency_s: of one access at a time.
        read_bytes_per_s, write_bytes_per_s: bandwidths.
        capacity_bytes: capacity; None: not part of the preset.
    """

    read_iops: float
    write_iops: float
    read_latency_s: float
    write_latency_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    capacity_bytes: int | None


@dataclass(frozen=True)
class PresetValue:
    """A value of a preset, by its path in the section, with its unit."""

    path: str
    value: Any
    unit: str


@dataclass(frozen=True)
class ListedPreset:
    """A preset, and where specs may name it.

    Attributes:
        name, source, measured_on: as of a `Preset`.
        used_by: fields that accept the name, by store.
        drive: its figures if it is a drive.
        values: its values.
    """

    name: str
    source: str
    used_by: dict[str, list[str]]
    drive: DriveFigures | None
    values: tuple[PresetValue, ...]
    measured_on: str


def all_presets() -> tuple[ListedPreset, ...]:
    """Return the presets of all stores; what several sections call by the same name is one preset."""
    found: dict[str, ListedPreset] = {}
    for store in names():
        for path, model, preset in _offered(spec_class(store), "", ()):
            listed, drive = found.get(preset.name), _figures(preset.values)
            if listed is None or (drive and drive.capacity_bytes and listed.drive and not listed.drive.capacity_bytes):
                used_by = {} if listed is None else listed.used_by
                values = tuple(_values(preset.values, _section(model, preset), ""))
                listed = ListedPreset(preset.name, preset.source, used_by, drive, values, preset.measured_on)
                found[preset.name] = listed
            fields = listed.used_by.setdefault(store, [])
            if path not in fields:
                fields.append(path)
    return tuple(sorted(found.values(), key=lambda preset: preset.drive is not None))


def _section(model: type[BaseModel], preset: Preset) -> BaseModel:
    """Return a section with the values of a preset and the defaults of the other fields."""
    return model.model_validate({"preset": preset.name} if "preset" in model.model_fields else dict(preset.values))


def _values(given: Any, section: Any, path: str, unit: str = "") -> Iterator[PresetValue]:
    """Yield the values of a section that a preset gives."""
    if isinstance(given, BaseModel):
        given = {name: getattr(given, name) for name in type(given).model_fields if name in given.model_fields_set}
    if not isinstance(given, Mapping):
        yield PresetValue(path, list(given) if isinstance(given, tuple) else given, unit)
        return
    for name, value in given.items():
        is_model = isinstance(section, BaseModel)
        inner = getattr(section, name) if is_model else section[name]
        unit = unit_of(type(section), name) if is_model else ""
        yield from _values(value, inner, f"{path}.{name}" if path else name, unit)


def _offered(annotation: Any, path: str, above: tuple[Any, ...]) -> Iterator[tuple[str, type[BaseModel], Preset]]:
    """Yield the fields that accept a preset's name, the class of the section, and the presets."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation in above:
            return
        offered = presets_of(annotation)
        is_field = "preset" in annotation.model_fields
        for preset in offered.values():
            yield (f"{path}.preset" if is_field else path), annotation, preset
        if not offered:
            for name, field in annotation.model_fields.items():
                yield from _offered(field.annotation, f"{path}.{name}" if path else name, (*above, annotation))
    elif get_origin(annotation) is not dict:
        for argument in get_args(annotation):
            yield from _offered(argument, path, above)


def _figures(values: Mapping[str, Any]) -> DriveFigures | None:
    read, write, depth = values.get("read"), values.get("write"), values.get("queue_depth", 1)
    if not isinstance(read, ServiceDemand) or not isinstance(write, ServiceDemand):
        return None

    def mean_s(demand: ServiceDemand) -> float:
        return float(demand.mean_s(_BLOCK)[0])

    nothing = ServiceDemand()
    return DriveFigures(
        depth / mean_s(read),
        depth / mean_s(write),
        mean_s(read) + mean_s(values.get("read_latency", nothing)),
        mean_s(write) + mean_s(values.get("write_latency", nothing)),
        depth / read.per_byte,
        depth / write.per_byte,
        values.get("capacity"),
    )

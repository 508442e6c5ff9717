"""Presets: named sets of values of a spec's section, each with its source.

A section takes them by its field `preset` if its class is in `PRESETS_OF`, which maps it to a function that returns its
presets: imports of devices take long, and few specs need them. Its base class is `PresetSection`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, model_validator

from traces.spec.suggestions import did_you_mean
from traces.workload.distributions import Strict


@dataclass(frozen=True)
class Preset:
    """Values of a section.

    Attributes:
        name: value of the field `preset`.
        source: the publication or measurement that the values are from.
        values: the values by field.
        measured_on: machine of a measurement that may not hold for larger ones; empty: it does not matter.
    """

    name: str
    source: str
    values: Mapping[str, Any]
    measured_on: str = ""


Presets = Mapping[str, Preset]

PRESETS_OF: dict[type[BaseModel], Callable[[], Presets]] = {}
"""The presets of each class of sections that has any."""


def presets_of(model: type[BaseModel]) -> Presets:
    """Return the presets of a class of sections, by name; most have none."""
    found = PRESETS_OF.get(model)
    return {} if found is None else found()


def listed(*presets: Preset) -> Callable[[], Presets]:
    """Return what `PRESETS_OF` has for a class of sections with these presets."""
    by_name = {preset.name: preset for preset in presets}
    return lambda: by_name


class PresetSection(Strict):
    """A section of a spec whose field `preset` supplies values for others."""

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, data: Any) -> Any:
        return cls.completed(data)

    @classmethod
    def completed(cls, data: Any) -> Any:
        """Return the fields of a section with those that its preset supplies.

        A value that the fields give as a mapping is completed by the preset's, field by field.

        Raises:
            ValueError: there is no such preset.
        """
        if not isinstance(data, Mapping) or data.get("preset") is None:
            return data
        name, known = data["preset"], presets_of(cls)
        if not isinstance(name, str) or name not in known:
            allowed = ", ".join(known)
            raise ValueError(f"preset is {name!r}; allowed are {allowed}{did_you_mean(str(name), known)}")
        return {**data, **{field: _completed(data.get(field), value) for field, value in known[name].values.items()}}


def _completed(given: Any, preset: Any) -> Any:
    if given is None:
        return preset
    if not isinstance(given, Mapping):
        return given
    if isinstance(preset, BaseModel):
        if given.get("kind", getattr(preset, "kind", None)) != getattr(preset, "kind", None):
            return given  # another member of a union
        preset = {field: getattr(preset, field) for field in preset.model_fields_set}
    if not isinstance(preset, Mapping):
        return given
    return {**preset, **{field: _completed(value, preset.get(field)) for field, value in given.items()}}

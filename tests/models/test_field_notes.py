"""Each field of a spec has a description, a unit if it is a quantity, and the source of a default that is assumed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, Field, ValidationError
from pydantic.fields import FieldInfo

from models.ceph.spec.spec import CephSpec
from models.devices.device import Device
from models.minio.spec.sections import Drives, Hosts
from models.network.service_demand import PlausibleBandwidth, ServiceDemand
from models.store import MODULES, store_named
from tests.test_words import REPLACED
from traces.spec.field_notes import Basis, Unit, note_of
from traces.spec.fit_bounds import fit_of
from traces.spec.units import Fraction
from traces.workload.distributions import Strict

FILLER = {"the", "a", "an", "of", "in", "for", "is", "or", "and", "by", "with", "to"}


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the sections that a field may have, also within unions, tuples and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def sections() -> dict[type[BaseModel], None]:
    """Return all sections of the specs of all stores."""
    found: dict[type[BaseModel], None] = {}
    left: list[type[BaseModel]] = [store_named(name).Spec for name in MODULES]
    while left:
        model = left.pop()
        if model not in found:
            found[model] = None
            left += [inner for field in model.model_fields.values() for inner in models_in(field.annotation)]
    return found


def path(model: type[BaseModel], name: str) -> str:
    return f"{model.__name__}.{name}"


FIELDS = [(model, name, field) for model in sections() for name, field in model.model_fields.items()]


def numbers_in(annotation: Any) -> set[type]:
    """Return the kinds of numbers that a field may have, also in unions, tuples and mappings."""
    if annotation in (int, float):
        return {annotation}
    return {kind for argument in get_args(annotation) for kind in numbers_in(argument)}


def is_constant(value: Any, plain: bool) -> bool:
    """Return whether a default is a constant of the model: not absent, empty, a switch, or none, one and all.

    A section is one if it differs from what its own fields default to.

    Args:
        value: the default.
        plain: whether the field has no unit, so that 1 means one, all, or unchanged.
    """
    if isinstance(value, BaseModel):
        given = {name: getattr(value, name) for name in value.model_fields_set}
        return any(is_constant(part, plain_field(type(value), name)) for name, part in given.items())
    if isinstance(value, dict | tuple):
        return any(is_constant(part, plain) for part in (value.values() if isinstance(value, dict) else value))
    if value is None or isinstance(value, bool | str):
        return False
    return not (value == 0 or (plain and value == 1))


def plain_field(model: type[BaseModel], name: str) -> bool:
    unit = note_of(model, name, Unit)
    return unit is None or not unit.symbol


def lacks_basis(model: type[BaseModel], name: str, field: FieldInfo) -> bool:
    """Return whether a field has a default whose source is not given."""
    if field.is_required() or note_of(model, name, Basis) is not None:
        return False
    written = isinstance(field.default, str) and any(models_in(field.annotation))  # text that stands for a section
    return written or is_constant(field.default, plain_field(model, name))


def lacks_unit(model: type[BaseModel], name: str, field: FieldInfo) -> bool:
    """Return whether a field is a number without a unit that is not a count."""
    fit = fit_of(model, name)
    return float in numbers_in(field.annotation) and note_of(model, name, Unit) is None and not (fit and fit.unit)


def faults_of(name: str, text: str | None) -> list[str]:
    """Return what is wrong with the description of a field."""
    if not text:
        return ["has no description"]
    said = set(re.findall(r"[a-z]+", text.lower())) - set(name.lower().split("_")) - FILLER
    wrong = {
        "does not begin with a noun or verb": not re.match(r"(?!(The|A|An|This|It|If|When|No)\b)[A-Z]", text),
        "does not end with a full stop": not text.endswith(".") or text.endswith(".."),
        "only repeats the name": len(said) < 3,
        **{f"says {word!r}": bool(re.search(pattern, text)) for word, (pattern, _) in REPLACED.items()},
    }
    return [fault for fault, is_so in wrong.items() if is_so]


def test_each_field_is_described() -> None:
    faults = {path(model, name): faults_of(name, field.description) for model, name, field in FIELDS}
    assert {path: wrong for path, wrong in faults.items() if wrong} == {}


def test_each_quantity_has_a_unit() -> None:
    assert [path(model, name) for model, name, field in FIELDS if lacks_unit(model, name, field)] == []


def test_each_constant_names_its_source() -> None:
    assert [path(model, name) for model, name, field in FIELDS if lacks_basis(model, name, field)] == []


def test_defaults_are_within_the_limits_of_real_stores() -> None:
    outside = []
    for model, name, field in FIELDS:
        basis = note_of(model, name, Basis)
        if basis is None:
            continue
        low = -math.inf if basis.low is None else basis.low
        high = math.inf if basis.high is None else basis.high
        assert basis.source and low < high, path(model, name)
        # 0 means: not limited, or not simulated.
        if isinstance(field.default, int | float) and field.default != 0 and not low <= field.default <= high:
            outside.append(path(model, name))
    assert outside == []


def test_units_come_with_an_example_that_the_field_accepts() -> None:
    refused = []
    for model, name, field in FIELDS:
        unit = note_of(model, name, Unit)
        if unit is None or get_origin(field.annotation) in (tuple, dict):  # the unit is that of their elements
            continue
        try:
            model.model_validate({name: unit.example})
        except ValidationError as error:
            refused += [f"{path(model, name)}: {e['msg']}" for e in error.errors() if e["loc"] == (name,)]
    assert refused == []


def test_the_checks_find_what_is_missing() -> None:
    class Poor(Strict):
        size: int = Field(description="The size.")
        speed: float = 2.0
        pause: Annotated[float, Unit("s", "5ms")] = Field(1.0, description="Pause of a client after a failure.")
        mode: Literal["fast", "slow"] = Field("fast", description="Size of beside the things")
        demand: ServiceDemand = Field(ServiceDemand(constant=1e-3), description="Time of a visit to the station.")

    fields = Poor.model_fields
    assert faults_of("size", fields["size"].description) == [
        "does not begin with a noun or verb",
        "only repeats the name",
    ]
    assert faults_of("mode", fields["mode"].description) == ["does not end with a full stop", "says 'beside'"]
    assert faults_of("speed", fields["speed"].description) == ["has no description"]
    assert [name for name, field in fields.items() if lacks_unit(Poor, name, field)] == ["speed"]
    assert [name for name, field in fields.items() if lacks_basis(Poor, name, field)] == ["speed", "pause", "demand"]


def test_fractions_take_percent_and_refuse_what_is_more_than_all() -> None:
    assert Hosts(age_bias="15%").age_bias == Hosts(age_bias=0.15).age_bias == 0.15  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="did you mean 15%"):
        Hosts(age_bias=15)
    limited = [
        path(model, name)
        for model, name, field in FIELDS
        if {"ge=0", "le=1"} <= {repr(note).partition("(")[2].rstrip(")") for note in field.metadata}
        and field.annotation is float
        and note_of(model, name, Unit) != get_args(Fraction)[1]
    ]
    assert limited == []


def test_drives_have_plausible_bandwidths() -> None:
    for model in (Drives, Device):
        limits = note_of(model, "read", PlausibleBandwidth)
        assert limits is not None and limits.low < 1e8 < limits.high < 1e10
    assert note_of(CephSpec, "device", Basis) is not None

"""Describes a field of a spec: meaning, unit, default and its source, allowed and plausible values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as default_of
from typing import Any, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from models.devices.presets import presets_of
from models.network.service_demand import ServiceDemand
from models.spec.field_paths import Form, nested_specs, paths_of, resolved
from models.spec.plausibility import range_of, unit_of
from traces.errors import InputError
from traces.known_names import known_names
from traces.spec.field_notes import Basis, Unit, note_of
from traces.spec.fit_bounds import Fit, fit_of
from traces.spec.suggestions import close_names, did_you_mean

_COMPARISONS = (
    (annotated_types.Ge, "ge", "at least"),
    (annotated_types.Gt, "gt", "above"),
    (annotated_types.Le, "le", "at most"),
    (annotated_types.Lt, "lt", "below"),
)


@dataclass(frozen=True)
class Explained:
    """A field of the specs of a store.

    Attributes:
        store: the store.
        path: full path.
        kinds: of fields of the same name in several kinds of a section, those that this one is of; empty: of all.
        meaning: its description.
        type: what a spec may give, in words.
        unit, example: unit of a bare number, and a value as a spec may write it; empty: no unit.
        is_required: whether a spec must give it.
        default: value without one in the spec; None also if the default is that there is none.
        source: what the default rests on; empty if not known.
        allowed: limits that a spec is checked for, in words.
        low, high: least and greatest value of real stores; None: not known.
        fitted: bounds within which a calibration may fit it; None: it does not.
        fields: fields of a section, with their descriptions.
        presets: names of the presets of a section.
        measured_on: by preset, the machine of a measurement that may not hold for larger ones.
    """

    store: str
    path: str
    kinds: tuple[str, ...]
    meaning: str
    type: str
    unit: str
    example: str
    is_required: bool
    default: Any
    source: str
    allowed: str
    low: float | None
    high: float | None
    fitted: tuple[float, float] | None
    fields: dict[str, str]
    presets: tuple[str, ...]
    measured_on: dict[str, str] = default_of(default_factory=dict)

    def preset_text(self, name: str) -> str:
        """Return a preset's name, and what it was measured on."""
        return f"{name} (measured on {self.measured_on[name]})" if name in self.measured_on else name


def explained(store: str, form: Form, path: str) -> tuple[Explained, ...]:
    """Describe the field at a path, which may be abbreviated as for `resolved`; an empty path is the whole spec.

    There are several if kinds of a section have fields of the same name that differ.

    Raises:
        InputError: there is no such field, or several; the message names candidates.
    """
    model = type(form) if isinstance(form, BaseModel) else form
    if not path:
        return (_whole(store, model),)
    full = _resolved(form, path)
    nested = dict(nested_specs(form)) if isinstance(form, BaseModel) else {}
    prefix = max((p for p in nested if full.startswith(f"{p}.")), key=len, default="")
    inside = type(nested[prefix]) if prefix else model
    parts = full.removeprefix(f"{prefix}." if prefix else "").split(".")
    found = list(_fields(inside, parts))
    if not found:
        sections = list(_fields(inside, parts[:-1]))
        names = sorted({name for owner in sections for name in _children(owner[2])})
        fields = ", ".join(names) or "no fields"
        raise InputError(f"{full}: no such field{did_you_mean(parts[-1], names)}; {'.'.join(parts[:-1])} has {fields}")
    if parts[-1] == "kind" and len(found) > 1:
        return (_kind_of_section(store, full, [owner for owner, *_ in found]),)
    different: list[Explained] = []
    for field in found:
        each, kind = _explained(store, full, field, parts[-1]), _own_kind(field[0])
        same = next((i for i, other in enumerate(different) if replace(other, kinds=()) == each), None)
        if same is None:
            different.append(replace(each, kinds=kind))
        else:
            different[same] = replace(each, kinds=(*different[same].kinds, *kind))
    return tuple(different) if len(different) > 1 else (replace(different[0], kinds=()),)


def _explained(store: str, full: str, found: _Field, key: str) -> Explained:
    owner, name, annotation, is_element = found
    field = owner.model_fields[name]
    unit, basis, fit = note_of(owner, name, Unit), note_of(owner, name, Basis), fit_of(owner, name)
    low, high = range_of(owner, name)
    default: Any = None if field.is_required() else field.get_default(call_default_factory=True)
    if is_element:
        default = default.get(key) if isinstance(default, dict) else None
    section = _model(annotation)
    presets_in = owner if name == "preset" else section
    presets = {} if presets_in is None else presets_of(presets_in)
    return Explained(
        store,
        full,
        (),
        field.description or _summary(section),
        _type(annotation, unit, section),
        unit_of(owner, name),
        unit.example if unit else "",
        field.is_required() and not is_element,
        _plain(default),
        basis.source if basis else "",
        _allowed(field, annotation),
        low,
        high,
        (fit.low, fit.high) if isinstance(fit, Fit) else None,
        _children(annotation),
        tuple(presets),
        {name: preset.measured_on for name, preset in presets.items() if preset.measured_on},
    )


def _kind_of_section(store: str, full: str, kinds: Sequence[type[BaseModel]]) -> Explained:
    """Describe the field that selects the kind of a section."""
    meanings = {
        name: model.model_fields["kind"].description or _summary(model) for model in kinds for name in _own_kind(model)
    }
    allowed = f"one of {', '.join(meanings)}"
    return Explained(
        store, full, (), "Kind of the section.", allowed, "", "", True, None, "", "", None, None, None, meanings, ()
    )


def _own_kind(model: type[BaseModel]) -> tuple[str, ...]:
    field = model.model_fields.get("kind")
    return () if field is None else tuple(map(str, get_args(field.annotation)[:1]))


def _resolved(form: Form, path: str) -> str:
    """Return the full path of a field as `resolved` does, with suggestions for a misspelt end of a path."""
    try:
        return resolved(form, path)
    except InputError:
        depth = path.count(".") + 1
        ends = {".".join(full.split(".")[-depth:]): full for full in paths_of(form)}
        close = [] if path in ends else close_names(path, ends)
        if not close:
            raise
        raise InputError(f"{path}: no such field; did you mean {' or '.join(ends[end] for end in close)}?") from None


def _whole(store: str, model: type[BaseModel]) -> Explained:
    fields = _children(model)
    return Explained(store, "", (), _summary(model), "spec", "", "", True, None, "", "", None, None, None, fields, ())


_Field = tuple[type[BaseModel], str, Any, bool]
"""Class that has a field, its name, the annotation of the value, and whether it is an element of a mapping there."""


def _fields(annotation: Any, parts: Sequence[str], owner: _Field | None = None) -> Iterator[_Field]:
    if not parts:
        if owner is not None:
            yield (*owner[:2], annotation, owner[3])
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(parts[0])
        if field is not None:
            yield from _fields(field.annotation, parts[1:], (annotation, parts[0], None, False))
    elif get_origin(annotation) is dict and owner is not None:
        key, value = get_args(annotation)
        if not (names := known_names(key)) or parts[0] in names:
            yield from _fields(value, parts[1:], (*owner[:2], None, True))
    else:
        is_list = get_origin(annotation) in (tuple, list)
        rest = parts[1:] if is_list and parts[0].isdecimal() else parts
        for argument in get_args(annotation):
            yield from _fields(argument, rest, owner)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [] if get_origin(annotation) is dict else [m for a in get_args(annotation) for m in _models(a)]


def _model(annotation: Any) -> type[BaseModel] | None:
    return next(iter(_models(annotation)), None)


def _children(annotation: Any) -> dict[str, str]:
    """Return the fields of a section, or the keys of a mapping, with descriptions."""
    if get_origin(annotation) is dict:
        return dict.fromkeys(known_names(get_args(annotation)[0]), "")
    found: dict[str, str] = {}
    for model in _models(annotation):
        for name, field in model.model_fields.items():
            found.setdefault(name, field.description or _summary(_model(field.annotation)))
    return found


def _summary(model: type[BaseModel] | None) -> str:
    """Return the first paragraph of a section's docstring."""
    return " ".join((model.__doc__ or "").split("\n\n")[0].split()) if model is not None else ""


def _type(annotation: Any, unit: Unit | None, section: type[BaseModel] | None) -> str:
    kinds = _kinds(annotation)
    if kinds:
        return f"one of the kinds {', '.join(kinds)}"
    if section is not None:
        if issubclass(section, ServiceDemand):
            return "duration such as 5ms, or a section"
        short = "name of a preset, or a " if presets_of(section) and "preset" not in section.model_fields else ""
        return f"{short}section" if get_origin(annotation) not in (tuple, list) else "list of sections"
    if get_origin(annotation) is dict:
        return "mapping"
    choices = _choices(annotation)
    if choices:
        return f"one of {', '.join(map(str, choices))}"
    names = {"s": "duration", "B": "size", "B/s": "bandwidth", "/s": "rate"}
    if unit is not None:
        return f"{names.get(unit.symbol, 'number')} such as {unit.example}"
    plain = {int: "whole number", float: "number", bool: "true or false", str: "text"}
    found = [plain[a] for a in (annotation, *get_args(annotation)) if a in plain]
    return found[0] if found else "value"


def _kinds(annotation: Any) -> list[str]:
    kinds = [kind for model in _models(annotation) for kind in _own_kind(model)]
    return kinds if len(kinds) > 1 else []


def _choices(annotation: Any) -> tuple[Any, ...]:
    if names := known_names(annotation):
        return names
    return next((c for a in get_args(annotation) if (c := _choices(a))), ())


def _allowed(field: FieldInfo, annotation: Any) -> str:
    marks = [*field.metadata, *_metadata(annotation)]
    found = []
    for mark in marks:
        for kind, name, words in _COMPARISONS:
            if isinstance(mark, kind):
                found.append(f"{words} {getattr(mark, name):g}")
    return ", ".join(dict.fromkeys(found))


def _metadata(annotation: Any) -> list[Any]:
    own: list[Any] = []
    for mark in getattr(annotation, "__metadata__", ()):
        own += mark.metadata if isinstance(mark, FieldInfo) else [mark]
    return own + [mark for argument in get_args(annotation) for mark in _metadata(argument)]


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        same = [
            name
            for name, p in presets_of(type(value)).items()
            if all(getattr(value, f) == v for f, v in p.values.items())
        ]
        return same[0] if same else value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value

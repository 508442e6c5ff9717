"""Where each value of a spec comes from: the spec file, an override, a preset, a profile, or a default.

A spec is validated from nested mappings, which may be incomplete or short (``5ms`` for a demand, ``nvme`` for a
device). The walk follows the validated spec and these mappings side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel

from models.devices.presets import PRESETS_OF, presets_of
from models.network.service_demand import ServiceDemand
from models.sdk.defaults import SDKS, origin_of
from models.shared.client_policy import ClientPolicies
from models.spec.plausibility import unit_of
from traces.spec.field_notes import Basis, note_of

OriginKind = Literal["given", "set", "preset", "profile", "derived", "default"]
"""Given in the file, set by an override, from a preset, from a profile, derived from other values, or default."""

_NONE: Any = object()


@dataclass(frozen=True)
class Origin:
    """A value of a spec and its origin.

    Attributes:
        path: dotted path.
        value: the value; text, number, None or a list of them.
        unit: unit of the number; empty: none.
        kind: the kind of the origin.
        source: name of file, preset or profile; of a default what it rests on, empty if not known.
        low, high: confidence interval of a value from a profile.
        part_of: path of the service demand or device that the value is a part of; its own path otherwise.
    """

    path: str
    value: Any
    unit: str
    kind: OriginKind
    source: str
    low: float | None
    high: float | None
    part_of: str


@dataclass(frozen=True)
class Written:
    """A value that is written over those of the file; sections in between are created.

    Attributes:
        path: dotted path.
        value: the value as in a file: a plain one, or nested mappings and lists.
        kind, source, low, high: as of an `Origin`.
    """

    path: str
    value: Any
    kind: OriginKind
    source: str = ""
    low: float | None = None
    high: float | None = None


def origins_of(
    spec: BaseModel, data: Mapping[str, Any], source: str = "", written: Sequence[Written] = ()
) -> tuple[Origin, ...]:
    """Return the origin of each value of a spec, in the order of its fields.

    Args:
        spec: the spec validated from `data` with `written`.
        data: the mapping of the spec file.
        source: name of the file.
        written: values written over it, in order.
    """
    root = _node(data, Written("", None, "given", source))
    for each in written:
        place = root
        *sections, last = each.path.split(".")
        for name in sections:
            place = place.children.setdefault(name, _Node())
        place.children[last] = _node(each.value, each)
    return tuple(_walk(spec, _At("", root)))


@dataclass
class _Node:
    """A place in the mappings: a plain value (of a section its short form), and what is inside."""

    written: Written | None = None
    value: Any = None
    children: dict[str, _Node] = field(default_factory=dict)


def _node(value: Any, written: Written) -> _Node:
    inner = value if isinstance(value, Mapping) else dict(enumerate(value)) if isinstance(value, list) else {}
    return _Node(written, value, {str(name): _node(each, written) for name, each in inner.items()})


@dataclass(frozen=True)
class _At:
    """The place of a value.

    Attributes:
        path: its dotted path.
        node: its place in the mappings; None: it is not there.
        kind, source: of its origin if it is not there.
        unit: of the value.
        preset: the preset's value here, if a section above has a preset that supplies one.
        preset_name: name of that preset.
        preset_kind: kind of the origin of its values.
        part_of: path of the demand or device above.
    """

    path: str
    node: _Node | None
    kind: OriginKind = "default"
    source: str = ""
    unit: str = ""
    preset: Any = _NONE
    preset_name: str = ""
    preset_kind: OriginKind = "preset"
    part_of: str = ""

    def inner(self, name: str, is_set: bool) -> _At:
        """Return the place of a field or element; `is_set`: its value is not the default."""
        path = f"{self.path}.{name}" if self.path else name
        at = replace(self, path=path, unit="", preset=_part(self.preset, name))
        if self.node is None:
            return at
        child = self.node.children.get(name)
        if child is not None:
            return replace(at, node=child)
        at = replace(at, node=None, kind="default", source="")
        if not is_set:
            return at
        is_short = self.node.written is not None and not isinstance(self.node.value, Mapping | list)
        if at.preset is not _NONE and (not is_short or self.node.value == self.preset_name):
            return replace(at, kind=self.preset_kind, source=self.preset_name)
        return replace(at, node=_Node(self.node.written)) if is_short else replace(at, kind="derived")


def _walk(value: Any, at: _At) -> Iterator[Origin]:
    if isinstance(value, BaseModel):
        yield from _section(value, at)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _walk(each, at.inner(str(name), True))
    elif isinstance(value, tuple | list) and any(isinstance(each, BaseModel) for each in value):
        for number, each in enumerate(value):
            yield from _walk(each, at.inner(str(number), True))
    else:
        yield _origin(value, at)


def _section(section: BaseModel, at: _At) -> Iterator[Origin]:
    model = type(section)
    # Presets are loaded only if one is named, or if the section itself is one by default.
    is_whole = model in PRESETS_OF and "preset" not in model.model_fields
    if is_whole or isinstance(section, ServiceDemand):
        at = replace(at, part_of=at.part_of or at.path)
    name = _preset_name(at.node) if model in PRESETS_OF else ""
    if name and name in (presets := presets_of(model)):
        at = replace(at, preset=presets[name].values, preset_name=name)
    elif is_whole and at.kind == "default" and at.node is None and not at.source:
        at = replace(at, source=_source_of_same(section))
    sdk = section.sdk if isinstance(section, ClientPolicies) else None
    if sdk is not None:
        at = replace(at, preset=SDKS[sdk].values, preset_name=origin_of(sdk), preset_kind="default")
    for name in model.model_fields:
        is_set = name in section.model_fields_set and (name != "kind" or at.node is None or not at.node.children)
        inner = at.inner(name, is_set)
        basis = note_of(model, name, Basis)
        known = basis.source if basis and inner.kind == "default" and not inner.source else inner.source
        yield from _walk(getattr(section, name), replace(inner, unit=unit_of(model, name), source=known))


def _source_of_same(section: BaseModel) -> str:
    """Return name and source of the preset that a default is equal to; empty if there is none."""
    for preset in presets_of(type(section)).values():
        if all(_part(section, name) == value for name, value in preset.values.items()):
            return f"preset {preset.name}: {preset.source}"
    return ""


def _preset_name(node: _Node | None) -> str:
    if node is None:
        return ""
    named = node.children["preset"].value if "preset" in node.children else node.value
    return named if isinstance(named, str) else ""


def _part(value: Any, name: str) -> Any:
    if isinstance(value, BaseModel):
        return getattr(value, name, _NONE)
    return value.get(name, _NONE) if isinstance(value, Mapping) else _NONE


def _origin(value: Any, at: _At) -> Origin:
    plain = list(value) if isinstance(value, tuple) else value
    part_of = at.part_of or at.path
    if at.node is not None:
        by = at.node.written or next(_written_in(at.node), Written("", None, "given"))
        is_own = by.path == at.path
        low, high = (by.low, by.high) if is_own else (None, None)
        return Origin(at.path, plain, at.unit, by.kind, by.source, low, high, part_of)
    is_derived = at.kind == "preset" and at.preset is not _NONE and at.preset != value
    kind = "derived" if is_derived else at.kind
    return Origin(at.path, plain, at.unit, kind, at.source, None, None, part_of)


def _written_in(node: _Node) -> Iterator[Written]:
    for child in node.children.values():
        if child.written is not None:
            yield child.written
        yield from _written_in(child)

"""Values of a spec by their dotted paths: which can be fitted, their values, and copies with other values.

A path leads through sections, mappings with known keys and lists, such as ``hosts.cpu.GET.constant`` or
``pools.0.hosts.count``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from traces.errors import InputError
from traces.spec.fit_bounds import Fit, fit_of
from traces.spec.spec_file import validated
from traces.workload.workload import Workload

Model = TypeVar("Model", bound=BaseModel)


def fitted_fields(section: BaseModel | Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Fit, float]]:
    """Yield path, fit and value of each field that a spec sets and that can be fitted.

    Fields with default values are left out, and so are those of a `Workload`.
    """
    for name, value in _named(section):
        inner = f"{path}.{name}" if path else name
        fit = fit_of(type(section), name) if isinstance(section, BaseModel) else None
        if fit is not None and isinstance(value, int | float):
            yield inner, fit, float(value)
        elif isinstance(value, BaseModel | dict) and not isinstance(value, Workload):
            yield from fitted_fields(value, inner)


def sections_of(spec: BaseModel, path: str) -> list[Any]:
    """Return the spec, and the sections, mappings and lists that an existing path leads through."""
    found: list[Any] = [spec]
    for part in path.split(".")[:-1]:
        found.append(_part(found[-1], part))
    return found


def parts_of(spec: BaseModel, path: str) -> list[Any]:
    """Return the spec, the sections, mappings and lists that a path leads through, and the value at its end."""
    found = sections_of(spec, path)
    return [*found, _part(found[-1], path.rpartition(".")[2])]


def with_part(spec: Model, path: str, value: Any) -> Model:
    """Return the spec with another value or section at an existing path; it is not checked."""
    changed: Model = _with(spec, [(path.split("."), value)])
    return changed


def fit_at(spec: BaseModel, path: str) -> Fit | None:
    """Return how the value at an existing path is fitted, or None if its field cannot be fitted."""
    section = sections_of(spec, path)[-1]
    return fit_of(type(section), path.rpartition(".")[2]) if isinstance(section, BaseModel) else None


def value_at(spec: BaseModel, path: str, source: str = "spec") -> float:
    """Return the number at a path.

    Raises:
        InputError: there is no number above 0.
    """
    value: Any = spec
    for part in path.split("."):
        if not _has(value, part):
            raise InputError(f"{source}: {path} is not in the spec; a parameter to fit must be")
        value = _part(value, part)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise InputError(f"{source}: {path} is {value!r}; a parameter to fit requires an initial value above 0")
    return float(value)


def with_values(spec: Model, values: Mapping[str, float]) -> Model:
    """Return the spec with other values at existing paths; the values are not checked (`check_value`)."""
    changed: Model = _with(spec, [(path.split("."), value) for path, value in values.items()]) if values else spec
    return changed


def check_value(spec: BaseModel, path: str, value: float, source: str = "spec") -> None:
    """Validate a value for an existing path.

    Raises:
        InputError: the section does not allow it, or allows only whole numbers.
    """
    parts, sections = path.split("."), sections_of(spec, path)
    depth = max(k for k, section in enumerate(sections) if isinstance(section, BaseModel))
    changed: BaseModel = _with(sections[depth], [(parts[depth:], value)])
    checked: Any = validated(type(changed), dict(changed), source, ".".join(parts[:depth]))
    for part in parts[depth:]:
        checked = _part(checked, part)
    if not isinstance(checked, float):
        raise InputError(f"{source}: {path}: is a whole number; only continuous values can be fitted")


def _named(section: BaseModel | Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(section, BaseModel):
        names = type(section).model_fields
        return ((name, getattr(section, name)) for name in names if name in section.model_fields_set)
    return iter(section.items())


def _with(section: Any, values: Iterable[tuple[Sequence[str], Any]]) -> Any:
    """Return a section with other values at paths within it; a section with several of them is copied once."""
    within: dict[str, list[tuple[Sequence[str], Any]]] = {}
    for (name, *rest), value in values:
        within.setdefault(name, []).append((rest, value))
    changed = {name: _with(_part(section, name), of) if (last := of[-1])[0] else last[1] for name, of in within.items()}
    if isinstance(section, BaseModel):
        return section.model_copy(update=changed)
    if isinstance(section, tuple):
        return tuple(changed.get(str(number), each) for number, each in enumerate(section))
    return {**section, **changed}


def _has(section: Any, part: str) -> bool:
    if isinstance(section, BaseModel):
        return part in type(section).model_fields
    return isinstance(section, dict) and part in section


def _part(section: Any, part: str) -> Any:
    if isinstance(section, BaseModel):
        return getattr(section, part)
    return section[int(part)] if isinstance(section, tuple) else section[part]

"""The paths of a spec's fields, with abbreviations and suggestions for wrong ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from models.shared.store_spec import StoreSpec
from traces.errors import InputError
from traces.known_names import known_names
from traces.spec.suggestions import close_names

Form = BaseModel | type[BaseModel]
"""A spec, or its type; the fields of a nested spec are known only from the spec itself."""

_FREE_KEYS = "assumed"
"""A mapping whose keys are not names."""
_Below = tuple[tuple[str, type[StoreSpec]], ...]


def paths_of(form: Form) -> tuple[str, ...]:
    """Return the dotted paths of all fields of a spec, including sections.

    They include elements of mappings with known keys, such as ``hosts.cpu.GET.constant``, and of a spec its groups of
    clients and of hosts, but not elements of lists.
    """
    if not isinstance(form, BaseModel):
        return _paths(form, (), ())
    named = tuple(_names_in(form))
    return _paths(type(form), tuple((path, type(below)) for path, below in nested_specs(form)), named)


def _names_in(section: BaseModel, path: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the keys of the mappings of a spec, by path."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from _names_in(value, f"{path}{name}.")
        elif isinstance(value, dict) and value and name != _FREE_KEYS:
            yield f"{path}{name}", tuple(value)


def nested_specs(spec: BaseModel, path: str = "") -> Iterator[tuple[str, StoreSpec]]:
    """Yield the specs nested in a spec, by path."""
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if isinstance(value, StoreSpec):
            yield f"{path}{name}", value
            yield from nested_specs(value, f"{path}{name}.")


@cache
def _paths(model: type[BaseModel], below: _Below, named: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_walk(model, "", (), dict(below), dict(named))))


def resolved(form: Form, path: str, counted: bool = False) -> str:
    """Return the full path of a field.

    A path may be abbreviated to the end of a full path, such as ``clients`` for ``workload.clients``. If several match,
    the one with the fewest parts is taken: ``latency`` is ``network.latency``, not ``hosts.internode.latency``. With
    `counted`, a section means its count, such as ``gateways`` for ``gateways.count``.

    Raises:
        InputError: no field has the path, or it is ambiguous; the message names candidates.
    """
    paths = paths_of(form)
    found = [path] if path in paths else [p for p in paths if p.endswith(f".{path}")]
    if not found and _has_known_section(path, paths):
        return path  # a preset, an index, or a mistake, which validation reports with the fields of the section
    if counted:
        found = [f"{p}.count" if f"{p}.count" in paths else p for p in found]
    fewest = min((p.count(".") for p in found), default=0)
    found = [p for p in found if p.count(".") == fewest]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{path}: is ambiguous; give the full path: {_or(found)}")
    close = close_names(path, paths)
    raise InputError(f"{path}: no such field" + (f"; did you mean {_or(close)}?" if close else ""))


def _or(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _has_known_section(path: str, paths: tuple[str, ...]) -> bool:
    """Return whether the path up to its last part, or up to an index, is that of a field."""
    parts = path.split(".")
    end = next((i for i, part in enumerate(parts) if part.isdecimal()), len(parts) - 1)
    return ".".join(parts[:end]) in paths


def _walk(
    annotation: Any,
    path: str,
    above: tuple[type[BaseModel], ...],
    below: dict[str, type[StoreSpec]],
    keys: dict[str, tuple[str, ...]],
) -> Iterator[str]:
    """`keys`: those of mappings whose type does not say them, by path."""
    if path in below:
        annotation, above = below[path], ()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation in above:
            return  # recursive
        for name, field in annotation.model_fields.items():
            if name == "workload" and path in below:
                continue  # that of the layer above
            inner = f"{path}.{name}" if path else name
            yield inner
            yield from _walk(field.annotation, inner, (*above, annotation), below, keys)
    elif get_origin(annotation) is dict:
        key, value = get_args(annotation)
        for name in known_names(key) or keys.get(path, ()):
            yield f"{path}.{name}"
            yield from _walk(value, f"{path}.{name}", above, below, keys)
    elif get_origin(annotation) not in (tuple, list):
        for argument in get_args(annotation):
            yield from _walk(argument, path, above, below, keys)

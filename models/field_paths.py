"""The paths of a spec's fields, and what a short or a wrong one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from models.store_spec import StoreSpec
from traces.errors import InputError

_CLOSE = 0.6  # likeness from which a name is offered
_OFFERED = 4


Form = BaseModel | type[BaseModel]
"""A spec, or its type; of a spec that holds another one, only the spec itself tells which fields that has."""

_Below = tuple[tuple[str, type[StoreSpec]], ...]


def paths_of(form: Form) -> tuple[str, ...]:
    """The dotted paths of all fields of a spec, sections among them.

    Elements of a mapping with known keys are there, as ``host.cpu.GET.constant``; those of a list are not.
    """
    if isinstance(form, BaseModel):
        return _paths(type(form), tuple(_below(form)))
    return _paths(form, ())


def _below(spec: BaseModel, path: str = "") -> Iterator[tuple[str, type[StoreSpec]]]:
    """The specs that a spec holds, by path."""
    for name in type(spec).model_fields:
        value = getattr(spec, name)
        if isinstance(value, StoreSpec):
            yield f"{path}{name}", type(value)
            yield from _below(value, f"{path}{name}.")


@cache
def _paths(model: type[BaseModel], below: _Below) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_walk(model, "", (), dict(below))))


def resolved(form: Form, path: str, counted: bool = False) -> str:
    """The full path of a field.

    A path may be short: the end of a full path, as ``clients`` of ``workload.clients``, and of several the one with the
    fewest parts, as ``latency`` of ``network.latency`` rather than ``host.internode.latency``. Where a number is meant
    (`counted`), a section stands for its count, as ``gateways`` for ``gateways.count``.

    Raises:
        InputError: no field has the path, or several may be meant; those are named.
    """
    paths = paths_of(form)
    found = [path] if path in paths else [p for p in paths if p.endswith(f".{path}")]
    if not found and _has_known_section(path, paths):
        return path  # a preset, an index, or a mistake: reading the spec tells, and what its section may have
    if counted:
        found = [f"{p}.count" if f"{p}.count" in paths else p for p in found]
    fewest = min((p.count(".") for p in found), default=0)
    found = [p for p in found if p.count(".") == fewest]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{path}: may be {_or(found)}; write the whole path")
    close = difflib.get_close_matches(path, paths, _OFFERED, _CLOSE)
    raise InputError(f"{path}: no such field" + (f"; close are {', '.join(close)}" if close else ""))


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _has_known_section(path: str, paths: tuple[str, ...]) -> bool:
    """Whether the path up to its last part, or up to an index, is that of a field."""
    parts = path.split(".")
    end = next((i for i, part in enumerate(parts) if part.isdecimal()), len(parts) - 1)
    return ".".join(parts[:end]) in paths


def _walk(
    annotation: Any, path: str, above: tuple[type[BaseModel], ...], below: dict[str, type[StoreSpec]]
) -> Iterator[str]:
    if path in below:
        annotation, above = below[path], ()
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation in above:
            return  # it holds itself
        for name, field in annotation.model_fields.items():
            inner = f"{path}.{name}" if path else name
            yield inner
            yield from _walk(field.annotation, inner, (*above, annotation), below)
    elif get_origin(annotation) is dict:
        key, value = get_args(annotation)
        for name in get_args(key) if get_origin(key) is Literal else ():
            yield f"{path}.{name}"
            yield from _walk(value, f"{path}.{name}", above, below)
    elif get_origin(annotation) not in (tuple, list):
        for argument in get_args(annotation):
            yield from _walk(argument, path, above, below)

"""What is probably not meant in a valid spec: values without effect, mixed units, sizes above a limit, and others.

Rules that hold for all stores follow from notes on fields (`traces/spec/field_notes.py`: `LinkRate`, `FittedAt`), from
weights, and from capabilities: `Store.unused`, `Store.object_limits`. Others are a store's own (`Store.doubts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from models.below.lifted import BELOW
from models.capabilities import LINKS_GBIT, Doubt
from models.spec.origins import Origin
from models.store import Spec, faults_of, store_of
from traces.spec.field_notes import FittedAt, LinkRate, Unit, note_of
from traces.spec.units import WEIGHT, parse_weight
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys
from traces.workload.workload import Workload

_GIGABYTES = re.compile(r"\s*(\d+)(?:\.0*)?\s*GB(?:/s)?\s*")
_SAMPLE = 200  # requests, of which the largest counts
_ALL_WEIGHTS = 1.0, 100.0
_ROUNDED = 0.02  # relative difference of a sum of rounded weights


@dataclass(frozen=True)
class _Field:
    """A field of a spec: the class that it is in, its name, value and path, and what the file gives for it."""

    owner: BaseModel
    name: str
    path: str
    given: Any

    @property
    def value(self) -> Any:
        return getattr(self.owner, self.name)


def doubts(
    spec: Spec, data: Mapping[str, Any] | None = None, origins: Iterable[Origin] = (), trace: Trace | None = None
) -> tuple[Doubt, ...]:
    """Return what is probably not meant.

    Args:
        spec: a valid spec.
        data: the mapping that it was made from; None: how its values are written is not checked.
        origins: the origins of its values, of which those that are given and have no effect are named.
        trace: its requests; None: some are generated from its workload.
    """
    store, fields = store_of(spec), list(_fields(spec, {} if data is None else data, ""))
    found = [doubt for field in fields for doubt in (*_link_rate(field), *_weights(field), *_fitted(spec, field))]
    if store.doubts is not None:
        found += store.doubts(spec)
    found += [
        *_workloads_below({} if data is None else data),
        *_large_objects(spec, trace),
        *_late_faults(spec),
        *without_effect(spec, origins),
    ]
    return tuple(dict.fromkeys(found))


def _workloads_below(data: Mapping[str, Any], before: str = "") -> Iterator[Doubt]:
    """Find workloads of stores below a layer, which get the requests that it issues."""
    below = data.get(BELOW)
    if isinstance(below, Mapping):
        if "workload" in below:
            text = "has no effect: the requests that reach this store follow from those of the store on it"
            yield Doubt(f"{before}{BELOW}.workload", text)
        yield from _workloads_below(below, f"{before}{BELOW}.")


def _fields(section: BaseModel, given: Any, before: str) -> Iterator[_Field]:
    """Yield all fields of a section and of those in it, also in mappings and lists."""
    for name in type(section).model_fields:
        if name == "workload" and before:
            continue  # of the store below, which is not given
        raw = given.get(name) if isinstance(given, Mapping) else None
        path = f"{before}{name}"
        yield _Field(section, name, path, raw)
        yield from _inside(getattr(section, name), raw, f"{path}.")


def _inside(value: Any, given: Any, before: str) -> Iterator[_Field]:
    if isinstance(value, BaseModel):
        yield from _fields(value, given, before)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            raw = given.get(name) if isinstance(given, Mapping) else None
            yield from _inside(inner, raw, f"{before}{name}.")
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            raw = given[number] if isinstance(given, list | tuple) and number < len(given) else None
            yield from _inside(inner, raw, f"{before}{number}.")


def _link_rate(field: _Field) -> Iterator[Doubt]:
    """Find a rate of Ethernet in Gbit/s that is written in GB/s."""
    written = _GIGABYTES.fullmatch(field.given) if isinstance(field.given, str) else None
    if written and int(written[1]) in LINKS_GBIT and note_of(type(field.owner), field.name, LinkRate):
        rate = int(written[1])
        yield Doubt(field.path, f"{rate} GB/s are {8 * rate} Gbit/s; did you mean {rate}Gbit/s?")


def _weights(field: _Field) -> Iterator[Doubt]:
    """Find fractions of 1 among weights that are percentages."""
    values = field.value
    if note_of(type(field.owner), field.name, Unit) == WEIGHT and isinstance(values, Mapping | tuple):
        names = list(values) if isinstance(values, Mapping) else list(range(len(values)))
        yield from _mixed({f"{field.path}.{name}": values[name] for name in names})
        yield from _percentages(field.path, field.given)
    elif isinstance(values, tuple) and values and isinstance(values[0], BaseModel):
        weighted = [name for name in type(values[0]).model_fields if note_of(type(values[0]), name, Unit) == WEIGHT]
        for name in weighted:
            each = [getattr(value, name, None) for value in values]
            if all(isinstance(weight, int | float) for weight in each):
                yield from _mixed({f"{field.path}.{number}.{name}": weight for number, weight in enumerate(each)})


def _percentages(path: str, given: Any) -> Iterator[Doubt]:
    """Find percentages that are not 100 % together."""
    if not isinstance(given, Mapping) or len(given) < 2:
        return
    texts = [str(each).strip() for each in given.values()]
    if all(text.endswith("%") for text in texts):
        total = sum(map(parse_weight, texts))
        if abs(total - 100) > 100 * _ROUNDED:
            yield Doubt(path, f"its percentages are {total:g} % together; as weights are relative, they are scaled")


def _mixed(weights: Mapping[str, Any]) -> Iterator[Doubt]:
    total = sum(weights.values())
    if any(abs(total - whole) <= _ROUNDED * whole for whole in _ALL_WEIGHTS):
        return
    largest = max(weights.values(), default=0.0)
    for path, weight in weights.items():
        if 0 < weight < 1 and largest > 1:
            text = f"{weight:g} next to {largest:g} is {weight / total:.2%} of all, as weights are relative"
            yield Doubt(path, f"{text}; write all as fractions or all as percentages")


def _fitted(spec: Spec, field: _Field) -> Iterator[Doubt]:
    """Find defaults outside of the range in which they were fitted, if they have an effect."""
    note, conditions = note_of(type(field.owner), field.name, FittedAt), store_of(spec).conditions
    default = type(field.owner).model_fields[field.name].default
    if note is None or note.quantity not in conditions or field.value != default:
        return
    here = conditions[note.quantity](spec)
    if not note.low <= here <= note.high and not _is_unused(spec, field.path):
        low, high, now = (f"{value:,.4g}" if value < 1000 else f"{value:,.0f}" for value in (note.low, note.high, here))
        text = f"its default was fitted at {low} to {high} {note.quantity}; here are {now}"
        yield Doubt(field.path, text)


def _is_unused(spec: Spec, path: str) -> bool:
    """Whether a field has no effect with the other values of the spec and its operations."""
    unused = store_of(spec).unused
    paths = unused(spec, spec.workload.ops) if unused else ()
    return any(path == each or path.startswith(f"{each}.") for each in paths)


def _large_objects(spec: Spec, trace: Trace | None) -> Iterator[Doubt]:
    """Find objects that the store refuses; parts of uploads have limits of their own."""
    limits = store_of(spec).object_limits
    of_store = limits(spec) if limits else None
    if of_store is None:
        return
    for path, largest in _largest(spec, trace):
        if largest > of_store.object_bytes:
            text = f"{largest:,} B are above the largest object, {of_store.object_bytes:,} B ({of_store.source})"
            yield Doubt(path, text)
        elif largest > of_store.request_bytes and spec.client.multipart is None:
            text = f"{largest:,} B are above the largest upload by one request, {of_store.request_bytes:,} B"
            yield Doubt(path, f"{text} ({of_store.source}); larger ones need client.multipart")


def _largest(spec: Spec, trace: Trace | None) -> Iterator[tuple[str, int]]:
    """Yield the largest object of the requests, or of each group of clients."""
    if trace is not None:
        yield "trace", int(trace.size_bytes.max(initial=0))
        return
    parts: Mapping[str, Any] = spec.workload.groups or {"": spec.workload}
    for name, part in parts.items():
        few = Workload(
            object_size=part.object_size, keys=UniformKeys(count=_SAMPLE), operations=_SAMPLE, mix={"GET": 1}
        )
        path = f"workload.groups.{name}.object_size" if name else "workload.object_size"
        yield path, int(generate(few, 0).size_bytes.max())


def _late_faults(spec: Spec) -> Iterator[Doubt]:
    """Find faults that begin when the workload has ended."""
    ends = [part.duration for part in spec.workload.parts.values()]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return
    for path, fault in faults_of(spec).items():
        at = getattr(fault, "at", 0.0)
        if isinstance(at, int | float) and at >= max(known):
            text = f"{at:g} s is after the end of the workload, {max(known):g} s: the fault has no effect"
            yield Doubt(f"{path}.at", text)


def without_effect(spec: Spec, origins: Iterable[Origin]) -> Iterator[Doubt]:
    """Yield values that are given and have no effect with the others, whatever the operations; sections once."""
    store = store_of(spec)
    paths = store.unused(spec, store.operations) if store.unused else ()
    given = [origin.path for origin in origins if origin.kind in ("given", "set")]
    for path in paths:
        if any(each == path or each.startswith(f"{path}.") for each in given):
            yield Doubt(path, "has no effect with the other values of the spec")

"""The main values of a spec, each with the values that it may be moved to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cli.quantities import quantity
from models.spec.explained import explained
from models.spec.field_paths import paths_of
from models.spec.spec_values import parts_of
from models.store import Spec, spec_of, store_of
from traces.errors import InputError
from traces.spec.spec_file import override

_SCALABLE = (
    r"workload\.(groups\.\w+\.)?(rate|clients)",
    r"workload\.(groups\.\w+\.)?object_size",
    r"(below\.)?\w+\.count",
    r"(below\.)?(hosts|clients?|gateways|proxies|mounts)\.(drives|machines|nic)",
    r"(below\.)?\w+\.cores\.count",
    r"(below\.)?network\.(latency|bandwidth)",
    r"(below\.)?\w+\.(parity|replicas)",
)
"""Fields whose numbers are multiplied."""
_FACTORS = (1 / 8, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 0.8, 1, 1.25, 1.5, 2, 3, 4, 8)
_CHOICES = {
    "client.hedge.after": ("null", "p90", "p95", "p99"),
    "client.timeout": ("null", "50ms", "200ms", "1s", "5s"),
    "client.retry.retries": ("0", "1", "2", "5"),
}
"""Fields with a few values worth trying."""
_WEIGHTS = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class Knob:
    """A value of a spec that can be moved.

    Attributes:
        path: of the field.
        meaning: its description.
        values: as they may be assigned, from the least to the greatest of numbers.
        texts: the same for readers.
        present: index of the value that the spec has.
        is_ordered: whether the values are numbers, or have an order like these.
    """

    path: str
    meaning: str
    values: tuple[str, ...]
    texts: tuple[str, ...]
    present: int
    is_ordered: bool = True

    def assignment(self, index: int) -> str | None:
        """Return ``PATH=VALUE`` for one of the values; None: it is the present one."""
        return None if index == self.present else f"{self.path}={self.values[index]}"


def knobs_of(data: Mapping[str, Any], source: str) -> list[Knob]:
    """Return the main values of the spec of a mapping; values with which it would not be valid are left out.

    Raises:
        InputError: the spec itself is not valid.
    """
    spec = spec_of(data, source)
    found: list[Knob] = []
    for knob in (*_scaled(spec), *_mixed(spec), *_chosen(spec), *_presets(spec, data)):
        allowed = [n for n in range(len(knob.values)) if n == knob.present or _is_valid(data, knob, n)]
        if len(allowed) > 1:
            kept = [tuple(each[n] for n in allowed) for each in (knob.values, knob.texts)]
            found.append(replace(knob, values=kept[0], texts=kept[1], present=allowed.index(knob.present)))
    return found


def _is_valid(data: Mapping[str, Any], knob: Knob, index: int) -> bool:
    try:
        spec_of(override(data, [knob.assignment(index) or ""]), "")
    except InputError:
        return False
    return True


def _scaled(spec: Spec) -> Iterator[Knob]:
    """Yield numbers that are multiplied by factors; whole numbers stay whole."""
    patterns = [re.compile(pattern) for pattern in _SCALABLE]
    unused = _unused(spec)
    for path in sorted(paths_of(spec), key=lambda path: _rank(path, patterns)):
        if _rank(path, patterns) == len(patterns):
            break
        value, described = _value_at(spec, path), explained(spec.store, spec, path)[0]
        if value is None or any(path == one or path.startswith(f"{one}.") for one in unused):
            continue
        moved = [value * factor for factor in _FACTORS]
        unit = described.unit or _UNITS.get(path.rpartition(".")[2], "")
        is_whole = isinstance(value, int)
        near = [max(round(each), 1) if is_whole else float(f"{each:.3g}") for each in moved]
        by_text = {quantity(each, unit): each for each in (*near, value)}
        values = sorted(by_text.values())
        texts = tuple(quantity(each, unit) for each in values)
        yield Knob(path, described.meaning, tuple(map(repr, values)), texts, values.index(value))


def _unused(spec: Spec) -> set[str]:
    """Return paths without effect in this spec, also the clients of open loops."""
    workload, groups = spec.workload, dict(spec.workload.groups or {})
    loads = {"workload": workload} if not groups else {f"workload.groups.{name}": each for name, each in groups.items()}
    unused = {f"{path}.clients" for path, load in loads.items() if load.rate}
    store = store_of(spec)
    if store.unused is not None:
        unused |= set(store.unused(spec, workload.ops))
    return unused


_UNITS = {"object_size": "B", "rate": "/s"}


def _rank(path: str, patterns: list[re.Pattern[str]]) -> int:
    return next((rank for rank, pattern in enumerate(patterns) if pattern.fullmatch(path)), len(patterns))


def _value_at(spec: Spec, path: str) -> int | float | None:
    """Return a positive number at a path, of object sizes that of constant ones; None: there is none."""
    try:
        value = parts_of(spec, path)[-1]
    except (InputError, AttributeError, KeyError, TypeError):
        return None
    value = getattr(value, "size", value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and 0 < value < float("inf") else None


def _mixed(spec: Spec) -> Iterator[Knob]:
    """Yield the weight of the first of two operations."""
    mix = dict(spec.workload.mix) if spec.workload.mix and not spec.workload.groups else {}
    if len(mix) == 2:
        (first, weight), (second, other) = mix.items()
        present = 100 * weight / (weight + other)
        weights = sorted({*map(float, _WEIGHTS), present})
        values = tuple(f"{{{first}: {each:g}, {second}: {100 - each:g}}}" for each in weights)
        texts = tuple(f"{each:.3g}% {first}, {100 - each:.3g}% {second}" for each in weights)
        yield Knob("workload.mix", "Weights of the operations.", values, texts, weights.index(present))


def _chosen(spec: Spec) -> Iterator[Knob]:
    """Yield fields with a few values, of which one is that of the spec."""
    known = set(paths_of(spec))
    for path, choices in _CHOICES.items():
        if path not in known:
            continue
        described = explained(spec.store, spec, path)[0]
        value = parts_of(spec, path)[-1] if _has(spec, path) else None
        own = "null" if value is None else f"{value}"
        values = choices if own in choices else (own, *choices)
        shown = {each: "none" if each == "null" else each for each in values}
        if own not in choices:
            shown[own] = quantity(value, described.unit)
        yield Knob(path, described.meaning, values, tuple(shown.values()), values.index(own), False)


def _has(spec: Spec, path: str) -> bool:
    try:
        parts_of(spec, path)
    except (InputError, AttributeError, KeyError, TypeError):
        return False
    return True


def _presets(spec: Spec, data: Mapping[str, Any]) -> Iterator[Knob]:
    """Yield sections whose preset the mapping names."""
    for path, name in _texts(data):
        section = path.removesuffix(".preset")
        if section not in paths_of(spec):
            continue
        presets = explained(spec.store, spec, section)[0].presets
        if name in presets:
            yield Knob(path, f"Preset of {section}.", presets, presets, presets.index(name), False)


def _texts(data: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _texts(value, f"{path}{name}.")
        elif isinstance(value, str):
            yield f"{path}{name}", value

"""Variants of a spec: other values at some of its paths, all simulated with the same seeds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, BeforeValidator

from models.client_policy import Delay
from models.store import Spec, spec_of
from sim.experiments.measures import Measures
from sim.experiments.sweep import Job, Settings, measured
from sim.parallel.result_cache import ResultFolder
from sim.parallel.worker_map import WorkerMap
from traces.errors import InputError
from traces.spec_file import load_mapping, override
from traces.units import parse_bandwidth, parse_bytes, parse_rate, parse_seconds

Simulations = Callable[[Sequence[str]], Measures]
"""What the variant with these ``path=value`` assignments gives; an InputError where it cannot be."""

DEFAULTS = Settings()

_UNITS: dict[Any, str] = {
    parse_seconds: "s", get_args(Delay)[1].func: "s", parse_rate: "1/s", parse_bytes: "B", parse_bandwidth: "B/s",
}  # fmt: skip
"""What the numbers that these read are in."""


@dataclass(frozen=True)
class Variants:
    """A spec that is to be varied, and how its variants are simulated: each with the same seeds.

    Attributes:
        data: the spec as its file has it.
        source: what to call it in a message.
        settings: how each is simulated.
        workers: threads or processes, see `WorkerMap`.
    """

    data: Mapping[str, Any]
    source: str = "spec"
    settings: Settings = DEFAULTS
    workers: int = 1

    @staticmethod
    def of(path: Path, assignments: Sequence[str] = (), settings: Settings = DEFAULTS, workers: int = 1) -> Variants:
        """Those of a spec's file with overrides.

        Raises:
            InputError: the file cannot be read, or does not describe a store.
        """
        variants = Variants(override(load_mapping(path), assignments), str(path), settings, workers)
        variants.spec()
        return variants

    def spec(self, assignments: Sequence[str] = ()) -> Spec:
        """The variant with these assignments.

        Raises:
            InputError: the spec refuses a value.
        """
        return spec_of(override(self.data, assignments), self.source)

    def number(self, path: str, text: str | None = None) -> int | float | None:
        """The number at a path, in the spec's unit (s, bytes, 1/s); None: there is none as yet.

        Args:
            path: of a field, as in `traces.spec_file.override`.
            text: a value to have there, with its unit; None: as the spec stands.

        Raises:
            InputError: there is no such field, the spec refuses the value, or it is not a number.
        """
        value = value_at(self.spec([] if text is None else [assignment(path, text)]), path)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise InputError(
            f"{path}: is a {type(value).__name__}, not a number; name a field that is one, such as workload.rate"
        )

    def unit(self, path: str) -> str:
        """The unit of a number's field: ``s``, ``1/s``, ``B``, ``B/s``, or nothing."""
        section, _, name = path.rpartition(".")
        holder = value_at(self.spec(), section) if section else self.spec()
        if not isinstance(holder, BaseModel):
            return ""
        field = type(holder).model_fields[name]
        parsers = [
            part.func for part in (*field.metadata, *_parts(field.annotation)) if isinstance(part, BeforeValidator)
        ]
        return next((_UNITS[parser] for parser in parsers if parser in _UNITS), "")

    @contextlib.contextmanager
    def simulations(self, cache: ResultFolder | None = None) -> Iterator[Simulations]:
        """How its variants are simulated, while the workers live; `cache` has those that are done already.

        Raises:
            InputError: a count is out of range, or a worker was killed.
        """
        if self.workers < 1:
            raise InputError(f"workers is {self.workers}; at least 1 is needed")
        with WorkerMap(self.workers) as mapping:

            def simulation(assignments: Sequence[str]) -> Measures:
                found = measured(Job(self.spec(assignments), self.settings), mapping, cache)
                if isinstance(found, InputError):
                    raise found
                return found

            yield simulation


def assignment(path: str, value: float | str) -> str:
    """``path=value``, as `load_spec` takes it."""
    return f"{path}={value if isinstance(value, str) else repr(value)}"


def value_at(spec: Spec, path: str) -> Any:
    """The value that a spec has at a path.

    Raises:
        InputError: there is no such field; those that are there are named.
    """
    place: Any = spec
    for part in path.split("."):
        fields = _fields(place)
        if part not in fields:
            allowed = f"allowed are {', '.join(fields)}" if fields else "a value without fields comes before it"
            raise InputError(f"{path}: the spec has no field {part!r} there; {allowed}")
        place = fields[part]
    return place


def _fields(place: Any) -> dict[str, Any]:
    if isinstance(place, BaseModel):
        return {name: getattr(place, name) for name in type(place).model_fields}
    if isinstance(place, Mapping):
        return dict(place)
    return {str(i): value for i, value in enumerate(place)} if isinstance(place, tuple) else {}


def _parts(annotation: Any) -> Iterator[Any]:
    """A type and all that it is made of, validators among them."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)

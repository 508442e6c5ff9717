"""Variants of a spec, with other values at some paths, all simulated with the same seeds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, BeforeValidator

from models.shared.client_policy import Delay
from models.store import Spec, spec_of
from sim.experiments.failure_kinds import Failure
from sim.experiments.measures import Measures
from sim.experiments.probability import Draws
from sim.experiments.sweep import Point, PointTask, Settings, measured, sweep
from sim.parallel.result_cache import ResultFolder
from sim.parallel.worker_map import WorkerMap
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from traces.spec.suggestions import instead
from traces.spec.units import parse_bandwidth, parse_bytes, parse_rate, parse_seconds

DEFAULTS = Settings()

_UNITS: dict[Any, str] = {
    parse_seconds: "s", get_args(Delay)[1].func: "s", parse_rate: "1/s", parse_bytes: "B", parse_bandwidth: "B/s",
}  # fmt: skip
"""The unit of the numbers returned by each parser."""


@dataclass(frozen=True)
class Variants:
    """A spec to vary, and the simulation settings of its variants, which have the same seeds.

    Attributes:
        data: the contents of the spec file.
        source: name of the spec in messages.
        settings: of each simulation.
        workers: number of threads or processes, see `WorkerMap`.
        failure: in force during all simulations; None: there is none.
        draws: of the values that are not known, which are simulated besides; None: there are none.
    """

    data: Mapping[str, Any]
    source: str = "spec"
    settings: Settings = DEFAULTS
    workers: int = 1
    failure: Failure | None = None
    draws: Draws | None = None

    @staticmethod
    def of(path: Path, assignments: Sequence[str] = (), settings: Settings = DEFAULTS, workers: int = 1) -> Variants:
        """Read a spec file and apply overrides.

        Raises:
            InputError: the file cannot be read, or does not describe a store.
        """
        variants = Variants(override(load_mapping(path), assignments), str(path), settings, workers)
        variants.spec()
        return variants

    def spec(self, assignments: Sequence[str] = ()) -> Spec:
        """Return the variant with these assignments.

        Raises:
            InputError: the spec refuses a value.
        """
        return spec_of(self.mapping(assignments), self.source)

    def mapping(self, assignments: Sequence[str] = ()) -> dict[str, Any]:
        """Return the contents of a spec file for the variant, with the failure among its faults.

        Raises:
            InputError: the spec refuses a value, or the store cannot have the failure.
        """
        data = override(self.data, assignments)
        if self.failure is None:
            return data
        event = self.failure.lasting(spec_of(data, self.source))
        return dict(self.failure.added_to(data, event, self.source))

    def number(self, path: str, text: str | None = None) -> int | float | None:
        """Return the number at a path, in the spec's unit (s, bytes, 1/s); None: it is absent.

        Args:
            path: of a field, as in `traces.spec.spec_file.override`.
            text: a value to set there, with its unit; None: use the spec's.

        Raises:
            InputError: there is no such field, the spec refuses the value, or it is not a number.
        """
        value = value_at(self.spec([] if text is None else [assignment(path, text)]), path)
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise InputError(
            f"{path}: is a {type(value).__name__}; a field with a number is needed, for example workload.rate"
        )

    def unit(self, path: str) -> str:
        """Return the unit of a numeric field: ``s``, ``1/s``, ``B``, ``B/s``, or nothing."""
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
        """Start workers and return the simulations of variants; `cache` has results of earlier ones.

        Raises:
            InputError: a count is out of range, or a worker was killed.
        """
        if self.workers < 1:
            raise InputError(f"workers is {self.workers}; it must be at least 1")
        with WorkerMap(self.workers) as mapping:
            yield Simulations(self, mapping, cache)


@dataclass(frozen=True)
class Simulations:
    """Simulates variants on workers that have been started; `cache` has results of earlier ones."""

    variants: Variants
    workers: WorkerMap
    cache: ResultFolder | None

    def __call__(self, assignments: Sequence[str]) -> Measures:
        """Return the figures of the variant with these ``path=value`` assignments.

        Raises:
            InputError: it is infeasible.
        """
        job = PointTask(self.variants.spec(assignments), self.variants.settings)
        found = measured(job, self.workers, self.cache)
        if isinstance(found, InputError):
            raise found
        return found

    def drawn(self, assignments: Sequence[str]) -> list[Point | None]:
        """Return the result of each draw of the variant (`Variants.draws`); None: its values do not fit together.

        Raises:
            InputError: the variant is infeasible.
        """
        draws, settings = self.variants.draws, self.variants.settings
        assert draws is not None
        specs = draws.specs(self.variants.mapping(assignments), assignments, settings.seed)
        jobs = {k: PointTask(spec, draws.settings(k, settings)) for k, spec in enumerate(specs) if spec is not None}
        found = dict(zip(jobs, sweep([*jobs.values()], cache=self.cache, started=self.workers), strict=True))
        return [found.get(k) for k in range(len(specs))]


def assignment(path: str, value: float | str) -> str:
    """Return ``path=value``, as for `load_spec`."""
    return f"{path}={value if isinstance(value, str) else repr(value)}"


def value_at(spec: Spec, path: str) -> Any:
    """Return the value at a path of a spec.

    Raises:
        InputError: there is no such field; the message lists the allowed ones.
    """
    place: Any = spec
    for part in path.split("."):
        fields = _fields(place)
        if part not in fields:
            allowed = instead(part, fields) if fields else "the value before it has no fields"
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
    """Yield a type and all its parts, including validators."""
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)

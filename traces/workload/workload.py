"""The synthetic workload of a spec: operations, arrival process or clients, object sizes and keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from traces.errors import InputError
from traces.spec_file import BareKind, load_mapping, override, validated
from traces.units import Fraction, PerSecond, Seconds, Weight, parse_seconds
from traces.workload.arrivals import MAX_REQUESTS, Arrivals, Poisson
from traces.workload.distributions import Deterministic, Shape, Strict
from traces.workload.keys import Keys, SequentialKeys, UniformKeys, WriteOnceReadOnce, ZipfKeys
from traces.workload.loops import OF_LOOP
from traces.workload.sizes import SizeDistribution

Op = Literal["GET", "PUT", "HEAD", "DELETE", "LIST"]


class ThinkTime(Strict):
    """The think time of a closed-loop client before each of its requests."""

    mean: Seconds = Field(description="Mean pause of a client before each of its requests.")
    distribution: Annotated[Shape, BareKind()] = Field(
        Deterministic(), description="Distribution of think times around the mean."
    )


def _as_mean(value: Any) -> Any:
    """Expand a bare duration to a constant think time."""
    return {"mean": parse_seconds(value)} if isinstance(value, int | float | str) else value


class Objects(Strict):
    """Objects used by one operation only: their keys and sizes."""

    object_size: SizeDistribution = Field(description="Sizes of these objects; an object keeps its size.")
    keys: Annotated[UniformKeys | ZipfKeys | SequentialKeys, Field(discriminator="kind"), BareKind()] = Field(
        UniformKeys(), description="Which of these keys the operation's requests name."
    )


class Ranges(Strict):
    """Ranged GETs, which start anywhere in the object."""

    fraction: Fraction = Field(1.0, ge=0, le=1, description="Fraction of GETs that read a range.")
    size: SizeDistribution = Field(description="Length of the range; smaller objects are read as a whole.")


class Workload(Strict):
    """The requests issued to the store: an open loop with `rate`, a closed loop without; not both."""

    rate: Annotated[PerSecond, Field(gt=0)] | None = Field(
        None, description="Mean arrival rate of an open loop; absent: a closed loop of `clients`."
    )
    arrivals: Arrivals = Field(Poisson(), description="Open loop: arrival process at the mean rate.")
    clients: int = Field(1, ge=1, description="Closed loop: number of clients, each with one request at a time.")
    think_time: Annotated[ThinkTime, BeforeValidator(_as_mean, json_schema_input_type=ThinkTime | float | str)] = Field(
        ThinkTime(mean=0.0),
        description="Closed loop: pause of a client before each request; a bare duration is constant.",
    )
    stagger: Seconds = Field(0.0, description="Closed loop: delay between the starts of successive clients.")
    operations: int | None = Field(
        None, ge=1, le=MAX_REQUESTS, description="Number of requests; with write_once_read_once, number of keys."
    )
    duration: Annotated[Seconds, Field(gt=0)] | None = Field(
        None,
        description="End of the workload: no request is issued at or after this time. If `operations` is also given, "
        "the first limit ends the run.",
    )
    object_size: SizeDistribution = Field(description="Sizes of the objects; an object keeps its size.")
    mix: dict[Op, Weight] = Field(
        {"GET": 1.0},
        description="Weights of the operations. A LIST names a prefix of a thousand keys; each DELETE names a key of "
        "its own, so that no other request misses it.",
    )
    keys: Keys = Field(UniformKeys(), description="Key popularity: which keys the requests name.")
    own_objects: dict[Literal["GET", "PUT", "HEAD"], Objects] = Field(
        {},
        description="Objects used by one operation only, for example PUTs that never overwrite what GETs read; the "
        "other operations share the objects of `keys` and `object_size`.",
    )
    ranges: Ranges | None = Field(None, description="Ranged GETs; absent: all GETs read whole objects.")
    buckets: int = Field(1, ge=1, le=1_000_000, description="Number of buckets; keys are distributed by hash.")

    @field_validator("mix")
    @classmethod
    def _some_weight(cls, mix: dict[Op, float]) -> dict[Op, float]:
        if not 0 < sum(mix.values()) < float("inf"):
            raise ValueError("the weights must be finite and not all 0")
        return mix

    @model_validator(mode="after")
    def _check(self) -> Workload:
        of_closed = [name for name in OF_LOOP["rate"][1] if name in self.model_fields_set]
        # A section with all fields has defaults, not two loops.
        if self.rate is not None and of_closed and self.model_fields_set != set(type(self).model_fields):
            raise ValueError(
                f"has rate and {' and '.join(of_closed)}: open or closed loop? Give rate for an open loop, or clients "
                "for a closed one"
            )
        if self.operations is None and self.duration is None:
            raise ValueError("operations and duration are both missing; give at least one of them")
        if isinstance(self.keys, WriteOnceReadOnce):
            self._check_write_once()
        return self

    def _check_write_once(self) -> None:
        if self.rate is not None:
            raise ValueError("keys: write_once_read_once reads after all writes: it needs a closed loop, without rate")
        if self.operations is None or self.duration is not None:
            raise ValueError("keys: write_once_read_once ends after the last read: give operations and no duration")
        if self.mix != {"GET": 1.0}:
            raise ValueError("keys: write_once_read_once issues PUTs and GETs only: give no mix")
        if self.own_objects:
            raise ValueError("keys: write_once_read_once reads the objects it wrote: give no own_objects")


def load_workload(path: Path, assignments: Sequence[str] = ()) -> Workload:
    """Load the workload of a YAML file: the file itself, or its section ``workload``.

    Args:
        path: the file.
        assignments: overrides such as ``workload.clients=8``, with the name of the section in either case.

    Raises:
        InputError: the file cannot be read or is not a workload; the message names line or field.
    """
    data = load_mapping(path)
    for assignment in assignments:
        if not assignment.strip().startswith(("workload.", "workload=")):
            raise InputError(f"{assignment}: a workload's paths begin with workload, as in workload.clients=8")
    bare = "workload" not in data
    data = override({"workload": data} if bare else data, assignments)
    return validated(Workload, data["workload"], str(path), at="" if bare else "workload")

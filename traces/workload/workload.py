"""The synthetic workload of a spec: what is asked of the store, how fast, of which objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, NonNegativeFloat, field_validator, model_validator

from traces.errors import InputError
from traces.spec_file import BareKind, load_mapping, override, validated
from traces.units import PerSecond, Seconds, parse_seconds
from traces.workload.arrivals import MAX_REQUESTS, Arrivals, Poisson
from traces.workload.distributions import Deterministic, Shape, SizeDistribution, Strict
from traces.workload.keys import Keys, SequentialKeys, UniformKeys, WriteOnceReadOnce, ZipfKeys

Op = Literal["GET", "PUT", "HEAD", "DELETE", "LIST"]


class ThinkTime(Strict):
    """The pause of a closed-loop client before each of its requests."""

    mean: Seconds = Field(description="Mean pause.")
    distribution: Annotated[Shape, BareKind()] = Field(
        Deterministic(), description="Shape of the pause about its mean."
    )


def _as_mean(value: Any) -> Any:
    """A bare duration stands for a constant think time."""
    return {"mean": parse_seconds(value)} if isinstance(value, int | float | str) else value


class Objects(Strict):
    """Objects that an operation has for itself: their names and sizes."""

    object_size: SizeDistribution = Field(description="Sizes of these objects; an object keeps its size.")
    keys: Annotated[UniformKeys | ZipfKeys | SequentialKeys, Field(discriminator="kind"), BareKind()] = Field(
        UniformKeys(), description="Which of these keys the operation's requests name."
    )


class Ranges(Strict):
    """GETs of a part of an object, which begins anywhere in it."""

    share: float = Field(1.0, ge=0, le=1, description="Share of the GETs that ask for a part.")
    size: SizeDistribution = Field(description="How much they ask for; of a smaller object, all of it.")


class Workload(Strict):
    """What is asked of the store: with `rate` in an open loop, without in a closed one."""

    rate: Annotated[PerSecond, Field(gt=0)] | None = Field(
        None, description="Mean arrival rate of an open loop; absent: a closed loop of `clients`."
    )
    arrivals: Arrivals = Field(Poisson(), description="Open loop: how arrivals spread about the mean rate.")
    clients: int = Field(1, ge=1, description="Closed loop: clients, each with one request under way at a time.")
    think_time: Annotated[ThinkTime, BeforeValidator(_as_mean, json_schema_input_type=ThinkTime | float | str)] = Field(
        ThinkTime(mean=0.0), description="Closed loop: a client's pause before each request."
    )
    stagger: Seconds = Field(0.0, description="Closed loop: client i starts i times this later.")
    operations: int | None = Field(
        None, ge=1, le=MAX_REQUESTS, description="How many requests; with write_once_read_once, how many keys."
    )
    duration: Annotated[Seconds, Field(gt=0)] | None = Field(
        None,
        description="No request is issued at or after this time. With `operations` too, whichever ends first.",
    )
    object_size: SizeDistribution = Field(description="Sizes of objects; an object keeps its size.")
    mix: dict[Op, NonNegativeFloat] = Field(
        {"GET": 1.0},
        description="Weights of the operations. A LIST names a prefix that a thousand keys share; a DELETE names a key "
        "of its own, so that no other request misses it.",
    )
    keys: Keys = Field(UniformKeys(), description="Which keys the requests name.")
    own_objects: dict[Literal["GET", "PUT", "HEAD"], Objects] = Field(
        {},
        description="Operations that name objects of their own, as PUTs that never write over what is read; all others "
        "share those of `keys` and `object_size`.",
    )
    ranges: Ranges | None = Field(None, description="GETs of parts of objects; absent: all read whole objects.")
    buckets: int = Field(1, ge=1, le=1_000_000, description="Buckets, over which the keys are spread by hash.")

    @field_validator("mix")
    @classmethod
    def _some_weight(cls, mix: dict[Op, float]) -> dict[Op, float]:
        if not 0 < sum(mix.values()) < float("inf"):
            raise ValueError("the weights must not all be 0, and be finite")
        return mix

    @model_validator(mode="after")
    def _ends(self) -> Workload:
        if self.operations is None and self.duration is None:
            raise ValueError("operations and duration are both missing; give at least one of them")
        if isinstance(self.keys, WriteOnceReadOnce):
            self._check_write_once()
        return self

    def _check_write_once(self) -> None:
        if self.rate is not None:
            raise ValueError("keys: write_once_read_once reads after all is written: a closed loop only, without rate")
        if self.operations is None or self.duration is not None:
            raise ValueError("keys: write_once_read_once ends when all is read: give operations and no duration")
        if self.mix != {"GET": 1.0}:
            raise ValueError("keys: write_once_read_once has its own operations: give no mix")
        if self.own_objects:
            raise ValueError("keys: write_once_read_once reads what it wrote: give no own_objects")


def load_workload(path: Path, assignments: Sequence[str] = ()) -> Workload:
    """The workload of a YAML file: the file itself, or its section ``workload``.

    Args:
        path: the file.
        assignments: overrides such as ``workload.clients=8``, with the section's name in either case.

    Raises:
        InputError: the file cannot be read or does not describe a workload; line or field are named.
    """
    data = load_mapping(path)
    for assignment in assignments:
        if not assignment.strip().startswith(("workload.", "workload=")):
            raise InputError(f"{assignment}: a workload's paths begin with workload, as in workload.clients=8")
    bare = "workload" not in data
    data = override({"workload": data} if bare else data, assignments)
    return validated(Workload, data["workload"], str(path), at="" if bare else "workload")

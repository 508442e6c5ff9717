"""The synthetic workload of a spec: operations, arrivals or clients, object sizes and keys, of one group or several."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from traces.errors import InputError
from traces.operations import OPS, KeepingOp, Op, ops_that
from traces.spec.spec_file import BareKind, load_mapping, override, validated
from traces.spec.units import MOST_COUNT, PerSecond, Seconds, Weight, parse_seconds
from traces.workload.arrivals import MAX_REQUESTS, Arrivals, Poisson
from traces.workload.distributions import Deterministic, Shape, Strict
from traces.workload.keys import Keys, SequentialKeys, UniformKeys, WriteOnceReadOnce, ZipfKeys
from traces.workload.loops import OF_LOOP
from traces.workload.ranges import Ranges
from traces.workload.reuse import ReuseKeys
from traces.workload.sizes import FixedSize, SizeDistribution


def _group_name(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
        raise ValueError(f"is not a name of a group: {name!r}; allowed are lower-case letters, digits and hyphens")
    return name


GroupName = Annotated[str, AfterValidator(_group_name)]
"""A name of lower-case letters, digits and hyphens: those of the group's buckets begin with it."""


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
    keys: Annotated[UniformKeys | ZipfKeys | SequentialKeys | ReuseKeys, Field(discriminator="kind"), BareKind()] = (
        Field(UniformKeys(), description="Which of these keys the operation's requests name.")
    )


class ClientGroup(Strict):
    """The requests of clients of one kind: an open loop with `rate`, a closed loop without; not both."""

    rate: Annotated[PerSecond, Field(gt=0)] | None = Field(
        None, description="Mean arrival rate of an open loop; absent: a closed loop of `clients`."
    )
    arrivals: Arrivals = Field(Poisson(), description="Open loop: arrival process at the mean rate.")
    clients: int = Field(
        1, ge=1, le=MOST_COUNT, description="Closed loop: number of clients, each with one request at a time."
    )
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
        description="Weights of the operations. A LIST names a prefix of a thousand keys, a READDIR the directory of "
        "a thousand files. Each DELETE, UNLINK, RENAME, CREATE and MKDIR names a key of its own, so that no other "
        "request misses it or finds it there; a CREATEd file is empty.",
    )
    keys: Keys = Field(UniformKeys(), description="Key popularity: which keys the requests name.")
    own_objects: dict[KeepingOp, Objects] = Field(
        {},
        description="Objects used by one operation only, for example PUTs that never overwrite what GETs read; the "
        "other operations share the objects of `keys` and `object_size`.",
    )
    ranges: Ranges | None = Field(None, description="Ranges that GETs, READs and WRITEs are of; absent: whole objects.")
    buckets: int = Field(1, ge=1, le=1_000_000, description="Number of buckets; keys are distributed by hash.")

    @field_validator("mix")
    @classmethod
    def _some_weight(cls, mix: dict[Op, float]) -> dict[Op, float]:
        if not 0 < sum(mix.values()) < float("inf"):
            raise ValueError("the weights must be finite and not all 0")
        return mix

    @model_validator(mode="after")
    def _check(self) -> Self:
        of_closed = [name for name in OF_LOOP["rate"][1] if name in self.model_fields_set]
        # A section with all fields has defaults, not two loops.
        if self.rate is not None and of_closed and self.model_fields_set != set(type(self).model_fields):
            raise ValueError(
                f"has rate and {' and '.join(of_closed)}: open or closed loop? Give rate for an open loop, or clients "
                "for a closed one"
            )
        self._check_end()
        if isinstance(self.keys, WriteOnceReadOnce):
            self._check_write_once()
        self._check_operations_in_order()
        return self

    def _check_end(self) -> None:
        """A group may end with the workload."""

    @property
    def ops_of_part(self) -> list[Op]:
        """The operations with a weight, and both of a write and a read phase."""
        phases = self.keys.phases if isinstance(self.keys, WriteOnceReadOnce) else ()
        return [op for op in OPS if op in phases or self.mix.get(op)]

    def _check_operations_in_order(self) -> None:
        keys = self.keys
        if not isinstance(keys, ReuseKeys):
            return
        if keys.operations is None:
            for op in ops_that("names_own"):
                if self.mix.get(op) and op in ops_that("names_object"):
                    raise ValueError(f"keys: reuse with {op}s needs operations, which say when an object gets one")
            return
        named = {op for place in range(4) for op, weight in keys.operations.at(place).items() if weight}
        for op in sorted(named):
            if not self.mix.get(op):
                raise ValueError(f"keys.operations: {op} has no weight in mix; give it one")
            if op in self.own_objects:
                raise ValueError(f"keys.operations: {op} has own_objects, so it is not an operation on these keys")

    def _check_write_once(self) -> None:
        if self.rate is not None:
            raise ValueError("keys: write_once_read_once reads after all writes: it needs a closed loop, without rate")
        if self.operations is None or self.duration is not None:
            raise ValueError("keys: write_once_read_once ends after the last read: give operations and no duration")
        if self.mix != type(self).model_fields["mix"].default:
            raise ValueError("keys: write_once_read_once issues PUTs and GETs only: give no mix")
        if self.own_objects:
            raise ValueError("keys: write_once_read_once reads the objects it wrote: give no own_objects")


_NO_SIZE = FixedSize(size=0)
_FAR = 10  # ratio of the times of two ends, from which the later one does not count
"""The object size of a workload whose groups have sizes."""


class Workload(ClientGroup):
    """The requests issued to the store: of clients of one kind, or of several groups that run at the same time."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema["required"].remove("object_size"))

    groups: dict[GroupName, ClientGroup] = Field(
        {},
        description="Groups of clients, by name, that run at the same time, each with objects in buckets of its own; "
        "the workload then has no other fields than `operations` (of all groups) and `duration`.",
    )

    @model_validator(mode="before")
    @classmethod
    def _leaves_sizes_to_groups(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("groups") and "object_size" not in data:
            return {**data, "object_size": _NO_SIZE}
        return data

    @property
    def parts(self) -> dict[str, ClientGroup]:
        """The groups by name, each with its end; without groups, the workload itself under the empty name."""
        if not self.groups:
            return {"": self}
        return {name: group.model_copy(update=self._end_of(group)) for name, group in self.groups.items()}

    def _end_of(self, group: ClientGroup) -> dict[str, Any]:
        ends = {}
        for name in ("operations", "duration"):
            known = [value for value in (getattr(self, name), getattr(group, name)) if value is not None]
            ends[name] = min(known, default=None)
        return ends

    @property
    def total_rate(self) -> float | None:
        """Mean arrival rate of all requests; None if some of them are of a closed loop."""
        rates = [part.rate for part in self.parts.values()]
        known = [rate for rate in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None

    @property
    def ops(self) -> list[Op]:
        """The operations that may be requested."""
        found = {op for part in self.parts.values() for op in part.ops_of_part}
        return [op for op in OPS if op in found]

    @property
    def subjects(self) -> list[str]:
        """The operations of all requests, then those of each group such as ``backup.PUT``."""
        return [*self.ops, *(f"{name}.{op}" for name, group in self.groups.items() for op in group.ops_of_part)]

    @property
    def total_buckets(self) -> int:
        """Number of buckets of all groups."""
        return sum(part.buckets for part in self.parts.values())

    def with_rate(self, rate: float) -> Workload:
        """Return the workload with another total rate, in which groups have the same fractions."""
        if not self.groups:
            return self.model_copy(update={"rate": rate})
        factor = rate / (self.total_rate or math.nan)
        return self._changed(lambda group: {"rate": (group.rate or 0.0) * factor})

    def with_fields(self, **fields: Any) -> Workload:
        """Return the workload with other values of fields, of all groups if there are any."""
        return self._changed(lambda group: fields) if self.groups else self.model_copy(update=fields)

    def limited(self, operations: int) -> Workload:
        """Return the workload with this number of requests as its only end."""
        ends = {"operations": operations, "duration": None}
        every = self._changed(lambda group: dict.fromkeys(ends)) if self.groups else self
        return every.model_copy(update=ends)

    @property
    def ends(self) -> dict[str, float]:
        """The values of `operations` and `duration` that are given; those of groups are not among them.

        One that an open loop reaches ten times as late as the other is left out.
        """
        known: dict[str, float | None] = {"operations": self.operations, "duration": self.duration}
        if self.rate and self.operations and self.duration:
            ratio = self.operations / (self.rate * self.duration)
            if max(ratio, 1 / ratio) >= _FAR:
                known["operations" if ratio > 1 else "duration"] = None
        return {name: value for name, value in known.items() if value is not None}

    def longer(self, factor: int) -> Workload:
        """Return the workload with ends that come later by a factor."""

        def ends(part: ClientGroup) -> dict[str, Any]:
            known = {name: getattr(part, name) for name in ("operations", "duration")}
            return {name: value * factor for name, value in known.items() if value is not None}

        every = self._changed(ends) if self.groups else self
        return every.model_copy(update=ends(self))

    def _changed(self, change: Callable[[ClientGroup], dict[str, Any]]) -> Workload:
        groups = {name: group.model_copy(update=change(group)) for name, group in self.groups.items()}
        return self.model_copy(update={"groups": groups})

    def _check_end(self) -> None:
        if self.groups:
            self._check_groups()
        elif self.operations is None and self.duration is None:
            raise ValueError("operations and duration are both missing; give at least one of them")

    def _check_groups(self) -> None:
        has_all = self.model_fields_set == set(type(self).model_fields)
        if self.object_size == _NO_SIZE and not has_all:
            self.model_fields_set.discard("object_size")
        outside = self.model_fields_set - {"operations", "duration", "groups"}
        if outside and not has_all:
            raise ValueError(f"has groups and {' and '.join(sorted(outside))}; give such fields in each group")
        closed = [name for name, group in self.groups.items() if group.rate is None]
        for name, group in self.groups.items():
            if group.rate is None and "clients" not in group.model_fields_set:
                raise ValueError(
                    f"groups.{name}: has neither rate nor clients; give rate for an open loop, or clients for a closed "
                    "one"
                )
            if isinstance(group.keys, WriteOnceReadOnce):
                raise ValueError(f"groups.{name}.keys: write_once_read_once is of a workload without groups")
        if closed and self.operations is not None:
            raise ValueError(
                f"operations: how many of them are requests of the clients of {closed[0]} is not known beforehand; "
                f"give duration, or groups.{closed[0]}.operations"
            )
        for name, part in self.parts.items():
            if part.operations is None and part.duration is None:
                raise ValueError(f"groups.{name}: has no end; give duration, of the workload or of the group")


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

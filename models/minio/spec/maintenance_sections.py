"""The sections of a MinIO spec for its own work: what is stored, healing of a replaced drive, and the scanner."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from models.network.service_demand import NOTHING, Demand
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes, Seconds
from traces.workload.distributions import Strict

_LEAST_WORKERS = 4

SCANNER_SPEEDS: dict[str, tuple[float, float, float]] = {
    "fastest": (0.0, 0.0, 1.0),
    "fast": (1.0, 0.1, 60.0),
    "default": (2.0, 1.0, 60.0),
    "slow": (10.0, 15.0, 60.0),
    "slowest": (100.0, 15.0, 1800.0),
}
"""Pause as a multiple of the work, longest pause and shortest cycle in s (internal/config/scanner/scanner.go)."""


class Stored(Strict):
    """The objects of the cluster when a run begins, which healing and the scanner have to read."""

    objects: Annotated[float, Unit("", "1e7"), Field(ge=1)] = Field(
        description="Number of objects in the cluster; pools have them by free space, erasure sets in equal parts."
    )
    object_size: Bytes = Field(description="Length of an object; all objects have the same.")


class Healing(Strict):
    """How MinIO heals a drive that was replaced by an empty one (healErasureSet, cmd/global-heal.go)."""

    workers: Annotated[int, Basis("MinIO's choice: a quarter of the cores, at least 4", 1, 128)] | None = Field(
        None,
        ge=1,
        description="Number of objects that are healed at the same time (MINIO_HEAL_DRIVE_WORKERS); absent: a quarter "
        "of the cores of the drive's host, at least 4.",
    )
    pause: Annotated[Seconds, Basis("assumed: fewer than 100 requests run (heal max_io)", 0, 0.25)] = Field(
        0.0,
        description="Pause of a worker after each object. MinIO waits while 100 or more requests run at the host, for "
        "up to 250 ms (heal max_io, max_sleep); which of both applies does not follow from the simulated load.",
    )
    cpu: Annotated[Demand, Basis("assumed: none; in a box all hosts took 22 ms together", 0, 0.03)] = Field(
        NOTHING, description="CPU time on the drive's host for each object; per-byte times apply to the object."
    )

    def workers_of(self, cores: int) -> int:
        """Return the number of workers on a host with these cores."""
        return max(_LEAST_WORKERS, cores // 4) if self.workers is None else self.workers


class Movement(Strict):
    """How MinIO moves objects to other pools (decommissionPool, cmd/erasure-server-pool-decom.go)."""

    workers: Annotated[int, Basis("MinIO's choice: one for each erasure set of the pool", 1, 256)] | None = Field(
        None,
        ge=1,
        description="Number of objects that move at the same time (_MINIO_DECOMMISSION_WORKERS, "
        "_MINIO_REBALANCE_WORKERS); absent: one for each erasure set of the pool.",
    )
    cpu: Annotated[Demand, Basis("assumed: the CPU times of a GET and a PUT")] | None = Field(
        None,
        description="CPU time on the first host of the pool for each object; per-byte times apply to the object. "
        "Absent: those of a GET and a PUT.",
    )


class Scanner(Strict):
    """The data scanner, which walks over all objects again and again (cmd/data-scanner.go)."""

    speed: Annotated[
        Literal["off", "fastest", "fast", "default", "slow", "slowest"],
        BeforeValidator(lambda value: "off" if value is False else value),  # YAML reads a bare off as false
        Basis("assumed: no load; MinIO's setting is `default`"),
    ] = Field(
        "off",
        description="Speed of the scanner (MINIO_SCANNER_SPEED): the pause after each object is 0, 1, 2, 10 or 100 "
        "times the work, but at most 0, 0.1, 1, 15 or 15 s; off: it does not run.",
    )
    cycles: Annotated[int, Basis("dataUsageUpdateDirCycles, cmd/data-scanner.go", 1, 16)] = Field(
        16,
        ge=1,
        description="Number of cycles in which each object is visited once; 1: each time, as in prefixes of 2,500 or "
        "more objects.",
    )

"""A storage device: service times of random reads and writes, and how they change with fill and load.

An access has two parts. During the exclusive part (`read`, `write`: 1 / IOPS for a small access, 1 / bandwidth for each
byte) other accesses wait; the rest of the latency (`read_latency`, `write_latency`) overlaps with other accesses. So
three published figures are met together: the latency at queue depth 1, the IOPS at high depth, and the bandwidth of
large transfers at any depth. A hard disk has one arm and therefore no second part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import scipy
from pydantic import BeforeValidator, Field, model_validator

from models.devices.data_sheet import DataSheet
from models.devices.hdd import Hdd, rescaled
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes, Seconds, parse_fraction
from traces.workload.distributions import Strict

_MOST_SPARE = 10.0
SpareFlash = Annotated[
    float,
    Unit("", "15%"),
    BeforeValidator(lambda value: parse_fraction(value, _MOST_SPARE), json_schema_input_type=float | str),
]


class Device(Strict):
    """One drive; `read` and `write` may be left out if `disk` or `data_sheet` is given."""

    read: Annotated[Demand, DRIVE_BANDWIDTH] = Field(
        description="Exclusive time of a random read, during which other accesses wait: 1 / IOPS for a small one."
    )
    write: Annotated[Demand, DRIVE_BANDWIDTH] = Field(
        description="Exclusive time of a random write, during which other accesses wait: 1 / IOPS for a small one."
    )
    read_latency: Demand = Field(NOTHING, description="Further latency of a read, which overlaps with other accesses.")
    write_latency: Demand = Field(
        NOTHING, description="Further latency of a write, which overlaps with other accesses."
    )
    queue_depth: int = Field(
        1, ge=1, le=MOST_COUNT, description="Number of accesses in their exclusive part at the same time."
    )
    max_access: Annotated[Bytes, Field(gt=0), Basis("assumed: no limit", 4096, 1 << 30)] | None = Field(
        None,
        description="Largest access; more bytes take several, each with the whole constant time; absent: no limit.",
    )
    capacity: Annotated[Bytes, Basis("no default: presets have the figures of data sheets", 10**10, 2 * 10**14)] = (
        Field(gt=0, description="Usable capacity of the drive, from which its fill follows.")
    )
    flush: Seconds = Field(
        0.0, description="Additional time until a write is durable; 0: the drive has power-loss protection."
    )
    over_provisioning: Annotated[SpareFlash, Basis("no default: presets have their own", 0.02, 1)] | None = Field(
        None,
        gt=0,
        le=_MOST_SPARE,
        description="Spare flash as a fraction of the capacity; absent: data are overwritten in place, without "
        "garbage collection.",
    )
    disk: Hdd | None = Field(None, description="Mechanism of a hard disk, from which its times follow; absent: flash.")
    data_sheet: DataSheet | None = Field(
        None,
        description="Figures of a data sheet, from which times follow that are not given, or the name of a file with "
        "them, such as one of `tailcast probe`; absent: all are given.",
    )

    @model_validator(mode="before")
    @classmethod
    def _by_mechanism(cls, data: Any) -> Any:
        """Derive the times of a hard disk from its mechanism, or those of any drive from its data sheet."""
        if not isinstance(data, Mapping) or {"read", "write"} <= data.keys():
            return data
        if data.get("data_sheet") is not None:
            sheet = DataSheet.model_validate(data["data_sheet"])
            return {**sheet.times, "flush": sheet.flush, **data}
        if data.get("disk") is None:
            return data
        disk = Hdd.model_validate(data["disk"])
        return {"read": disk.access("read"), "write": disk.access("write"), **data}

    def accesses(self, size_bytes: float) -> int:
        """Return the number of accesses that bytes take, at least 1."""
        return max(1, math.ceil(size_bytes / self.max_access)) if self.max_access else 1

    @property
    def has_one_access(self) -> bool:
        """Whether it serves one access at a time, no part of which overlaps with a write."""
        return self.queue_depth == 1 and not self.write_latency.takes_time

    @property
    def rotational(self) -> bool:
        """Whether it is a hard disk."""
        return self.disk is not None

    def filled(self, fraction: float, newest: float = 1.0) -> Device:
        """Return the device with data on a fraction of it, the `newest` fraction of which is accessed.

        A hard disk is filled from its outer blocks inwards, as file systems and BlueStore do (assumed), and its seeks
        cover the accessed blocks only. Flash collects less garbage than when it is full, the state that its published
        figures are for; bytes of large writes cost the same.

        Raises:
            ValueError: a fraction is not above 0 and at most 1.
        """
        if not 0 < fraction <= 1 or not 0 < newest <= 1:
            raise ValueError(f"fraction is {fraction}, newest is {newest}; above 0 and at most 1 is allowed")
        if self.disk is not None:
            return self._with(self.disk.model_copy(update={"at": fraction * (1 - newest), "span": fraction * newest}))
        if self.over_provisioning is None:
            return self
        relative = write_amplification(fraction, self.over_provisioning) / write_amplification(
            1, self.over_provisioning
        )
        write = self.write.model_copy(update={"constant": self.write.constant * relative})
        return self.model_copy(update={"write": write})

    def at_depth(self, depth: float) -> Device:
        """Return the device with `depth` queued accesses on average: a hard disk serves the one that it reaches first.

        Flash gains nothing, because its figures are those of many accesses already.

        Raises:
            ValueError: the depth is below 1.
        """
        if depth < 1:
            raise ValueError(f"depth is {depth}; at least 1 is allowed")
        return self if self.disk is None else self._with(self.disk.model_copy(update={"depth": depth}))

    def _with(self, disk: Hdd) -> Device:
        """Return the device with another mechanism; times that a spec gave change in proportion."""
        assert self.disk is not None
        read = rescaled(self.read, self.disk.access("read"), disk.access("read"))
        write = rescaled(self.write, self.disk.access("write"), disk.access("write"))
        return self.model_copy(update={"disk": disk, "read": read, "write": write})


def write_amplification(utilization: float, over_provisioning: float) -> float:
    """Return the flash pages written for each page of uniformly random writes, under greedy garbage collection.

    ``a / (a + W(-a exp(-a)))`` with a = physical over used pages and W Lambert's function (Xiang and Kurkoski,
    arXiv 1110.4245, 2011; Desnoyers, SYSTOR 2012, has the same for blocks collected in order).

    Args:
        utilization: fraction of the capacity that holds data, above 0 and at most 1.
        over_provisioning: spare flash as a fraction of the capacity, above 0.
    """
    a = (1 + over_provisioning) / utilization
    return a / (a + float(scipy.special.lambertw(-a * math.exp(-a)).real))

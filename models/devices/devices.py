"""Storage devices: service times of random reads and writes, from the figures of data sheets and reviews.

An access has two parts. During the exclusive part (`read`, `write`: 1 / IOPS for a small access, 1 / bandwidth for each
byte) other accesses wait; the rest of the latency (`read_latency`, `write_latency`) overlaps with other accesses. So
three published figures are met together: the latency at queue depth 1, the IOPS at high depth, and the bandwidth of
large transfers at any depth. A hard disk has one arm and therefore no second part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import scipy
from pydantic import BeforeValidator, Field, model_validator

from models.devices.hdd import Hdd, Seek, rescaled
from models.devices.presets import PRESETS_OF, Preset, Presets
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from traces.spec.field_notes import Basis, Unit
from traces.spec.suggestions import instead
from traces.spec.units import MOST_COUNT, Bytes, Seconds, parse_fraction
from traces.workload.distributions import Empirical, Lognormal, Shape, Strict

BLOCK_BYTES = 4096
"""Size of the accesses whose latency and IOPS data sheets give."""

_MOST_SPARE = 10.0
SpareFlash = Annotated[
    float,
    Unit("", "15%"),
    BeforeValidator(lambda value: parse_fraction(value, _MOST_SPARE), json_schema_input_type=float | str),
]


class Device(Strict):
    """One drive; `read` and `write` may be left out if `disk` is given."""

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

    @model_validator(mode="before")
    @classmethod
    def _by_mechanism(cls, data: Any) -> Any:
        """Derive the times of a hard disk from its mechanism."""
        if not isinstance(data, Mapping) or data.get("disk") is None or {"read", "write"} <= data.keys():
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


def _exclusive(iops: float, bandwidth: float) -> ServiceDemand:
    """Return the exclusive time of an access; `bandwidth` in bytes per second."""
    per_byte_s = 1 / bandwidth
    return ServiceDemand(constant=max(1 / iops - BLOCK_BYTES * per_byte_s, 0.0), per_byte=per_byte_s)


def _rest(latency_s: float, iops: float, shape: Shape) -> ServiceDemand:
    """Return the overlapping rest of the latency at queue depth 1."""
    return ServiceDemand(constant=latency_s - 1 / iops, distribution=shape)


_NORMAL = {0.999: 3.090232306167813, 0.99999: 4.264890793923841}
"""Quantiles of the standard normal distribution (`scipy.special.ndtri`, whose import takes 0.1 s), by probability."""


def _lognormal(latency_s: float, iops: float, probability: float, quantile_s: float) -> Lognormal:
    """Return the shape (assumed lognormal) of the rest of a latency of which mean and one quantile are published."""
    ratio = (quantile_s - 1 / iops) / (latency_s - 1 / iops)
    z = _NORMAL[probability]
    sigma = z - math.sqrt(z**2 - 2 * math.log(ratio))  # quantile / mean = exp(z sigma - sigma² / 2)
    return Lognormal(cv=math.sqrt(math.expm1(sigma**2)))


def _hdd(disk: Hdd, capacity: str) -> Device:
    # The block after the last one written has just passed under the head.
    return Device.model_validate({"disk": disk, "capacity": capacity, "flush": disk.turn_s})


@dataclass(frozen=True)
class DevicePreset:
    """A device by the name that specs give it.

    Attributes:
        name: value of `preset`, or of the field itself.
        source: data sheet, review or measurement that the figures are from.
        device: its times and capacity.
    """

    name: str
    source: str
    device: Device


_OVER_PROVISIONING = 0.145  # assumed: 4096 GiB of flash sold as 3.84 TB
_READ_SHAPE = _lognormal(110e-6, 72_000, 0.999, 300e-6)  # the S4500's; assumed for flash with no published quantile
_WRITE_SHAPE = _lognormal(52e-6, 33_000, 0.999, 800e-6)
_OPTANE_READ_SHAPE = Empirical(
    probabilities=(0.0, 0.99, 0.99999, 1.0), values=tuple(t - 1.82e-6 for t in (7.5e-6, 10e-6, 37e-6, 60e-6))
)

_PRESETS = (
    DevicePreset(
        "hdd-7k2",
        "Average seek: HGST Ultrastar 7K4000 (SAS specification, table 6). Rotation and rates: Seagate "
        "Constellation ES.3. Single track: WD Ultrastar DC HC310 (OEM specification, table 6). Full stroke: "
        "2.3 times the average, as the Constellation.2's (assumed). Overhead: the Constellation.2's.",
        _hdd(
            Hdd(
                read_seek=Seek(track=0.23e-3, average=8.2e-3, full_stroke=18.9e-3),
                write_seek=Seek(track=0.32e-3, average=8.2e-3, full_stroke=18.9e-3),
                rpm=7200, outer=175e6, inner=83e6, overhead=0.2e-3,
            ),
            "4TB",
        ),
    ),
    DevicePreset(
        "hdd-7k2-2.5in",
        "Seagate Constellation.2 (product manual): all figures.",
        _hdd(
            Hdd(
                read_seek=Seek(track=0.23e-3, average=7.5e-3, full_stroke=17.26e-3),
                write_seek=Seek(track=0.44e-3, average=8.5e-3, full_stroke=18.28e-3),
                rpm=7200, outer=163e6, inner=84e6, overhead=0.2e-3,
            ),
            "1TB",
        ),
    ),
    DevicePreset(
        "hdd-5k4",
        "Hitachi 5K320 (specification): seeks and rotation. Rates and overhead: assumed.",
        _hdd(
            Hdd(
                read_seek=Seek(track=1.0e-3, average=12e-3, full_stroke=20e-3),
                write_seek=Seek(track=1.1e-3, average=13e-3, full_stroke=21e-3),
                rpm=5400, outer=80e6, inner=40e6, overhead=0.2e-3,
            ),
            "320GB",
        ),
    ),
    DevicePreset(
        "sata-ssd",
        "Intel SSD DC S4500 (product specification): 4 KB random at depth 32 over all blocks, typical and "
        "99.9 % latencies.",
        Device(
            read=_exclusive(72_000, 500e6), read_latency=_rest(110e-6, 72_000, _READ_SHAPE),
            write=_exclusive(33_000, 490e6), write_latency=_rest(52e-6, 33_000, _WRITE_SHAPE),
            capacity="3840GB", over_provisioning=_OVER_PROVISIONING,
        ),
    ),
    DevicePreset(
        "nvme",
        "Samsung PM983 3.84 TB (specification 1.0, January 2018): sustained random IOPS, typical latencies. "
        "Bandwidths: assumed.",
        Device(
            read=_exclusive(540_000, 3.0e9), read_latency=_rest(85e-6, 540_000, _READ_SHAPE),
            write=_exclusive(50_000, 1.9e9), write_latency=_rest(50e-6, 50_000, _WRITE_SHAPE),
            capacity="3840GB", over_provisioning=_OVER_PROVISIONING,
        ),
    ),
    DevicePreset(
        "nvme-p3700",
        "Intel SSD DC P3700 2 TB (product specification 330566-005): IOPS, bandwidths, and the sequential "
        "write latency, as writes go to its buffer. Read latency measured (AnandTech 11209). Its spare flash: "
        "assumed (10 writes a day).",
        Device(
            read=_exclusive(460_000, 2.8e9), read_latency=_rest(77.9e-6, 460_000, _READ_SHAPE),
            write=_exclusive(175_000, 2.0e9), write_latency=_rest(20e-6, 175_000, _WRITE_SHAPE),
            capacity="2TB", over_provisioning=0.28,
        ),
    ),
    DevicePreset(
        "optane",
        "Intel Optane SSD DC P4800X 375 GB (AnandTech 11209, 11930): IOPS and bandwidths by specification; "
        "reads one at a time as measured (mean 8.9 us, p99 10, p99.999 37; least and most: assumed); writes' "
        "mean assumed as reads', their p99.999 by specification.",
        Device(
            read=_exclusive(550_000, 2.4e9), read_latency=_rest(8.9e-6, 550_000, _OPTANE_READ_SHAPE),
            write=_exclusive(500_000, 2.0e9),
            write_latency=_rest(8.9e-6, 500_000, _lognormal(8.9e-6, 500_000, 0.99999, 100e-6)),
            capacity="375GB",
        ),
    ),
)  # fmt: skip

DEVICE_PRESETS = {preset.name: preset for preset in _PRESETS}
"""The devices that specs may name, with their sources."""

PRESETS: dict[str, Device] = {preset.name: preset.device for preset in _PRESETS}
"""The devices by name."""


def _as_device(value: Any) -> Any:
    """Read the name of a preset, or a mapping of fields that may start from a preset."""
    if not isinstance(value, str | Mapping):
        return value
    fields = {"preset": value} if isinstance(value, str) else dict(value)
    if "preset" not in fields:
        return fields
    name = fields.pop("preset")
    if not isinstance(name, str) or name not in PRESETS:
        allowed = [*PRESETS, "a mapping of a device's fields"]
        raise ValueError(f"{name!r} is not a device preset; {instead(str(name), allowed)}")
    preset = PRESETS[name]
    derived = {"read", "write"} if "disk" in fields else set()  # the preset's times are those of its own mechanism
    disk = fields.get("disk")
    if preset.disk is not None and isinstance(disk, Mapping):
        fields["disk"] = {**preset.disk.model_dump(), **disk}
    return {field: getattr(preset, field) for field in Device.model_fields if field not in derived} | fields


DeviceField = Annotated[Device, BeforeValidator(_as_device)]
"""A `Device` in a spec: a preset's name (``nvme``), or a mapping of fields; ``preset: nvme`` supplies the others."""


def _presets() -> Presets:
    return {
        name: Preset(name, preset.source, {field: getattr(preset.device, field) for field in Device.model_fields})
        for name, preset in DEVICE_PRESETS.items()
    }


PRESETS_OF[Device] = _presets

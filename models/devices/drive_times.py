"""Service times of the drives of a store: those of a device by its name, and of a hard disk at a load."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from models.devices.data_sheet import DataSheet
from models.devices.hdd import Hdd, rescaled
from models.devices.presets import Preset, Presets, PresetSection
from models.devices.raid import Raid
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from traces.spec.field_notes import Basis
from traces.spec.units import MOST_COUNT

_DURABLE_BYTES = 4096  # of a durable write (assumed): the inode, and the block of the journal


class DriveTimes(PresetSection):
    """Drives with `read` and `write` times, and one for making writes durable if the store has it (`durable`)."""

    durable: ClassVar[str] = ""
    """Name of the field with the time of a durable write; empty: there is none."""

    disk: Hdd | None = Field(
        None,
        description="Mechanism of a hard disk, from which service times that are absent follow (default: that of the "
        "preset); absent: flash, or times as given.",
    )
    data_sheet: DataSheet | None = Field(
        None,
        description="Figures of a data sheet, from which service times that are absent follow, instead of a preset; or "
        "the name of a file with them, such as one of `tailcast probe`.",
    )
    reorder_depth: Annotated[int, Basis("native command queuing of SATA has 32 commands", 1, 256)] = Field(
        32,
        ge=1,
        description="Largest number of waiting accesses from which a hard disk (`disk`) takes the one that its head "
        "reaches first; fewer if fewer are waiting. 1: in the order of arrival.",
    )

    @classmethod
    def completed(cls, data: Any) -> Any:
        """Return the fields of a section with those that follow from its preset, its disk or its data sheet."""
        if isinstance(data, Mapping) and data.get("data_sheet") is not None:
            return cls._from_sheet(data)
        data = super().completed(data)
        if not isinstance(data, Mapping) or data.get("disk") is None:
            return data
        return {**cls._times_of(Hdd.model_validate(data["disk"])), **data}

    @classmethod
    def _from_sheet(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        for other in ("preset", "disk"):
            if data.get(other) is not None:
                raise ValueError(f"data_sheet: {other} supplies the same times; give one of them")
        sheet = DataSheet.model_validate(data["data_sheet"])
        times = sheet.times
        if cls.durable:
            times[cls.durable] = durable_write(times["write"], sheet.flush, times["write_latency"])
        return {**{name: time for name, time in times.items() if name in cls.model_fields}, **data}

    @classmethod
    def _times_of(cls, disk: Hdd) -> dict[str, ServiceDemand]:
        """Return the times that follow from the mechanism of a hard disk.

        A durable write takes a turn more, until the block after it is under the head again.
        """
        times = {"read": disk.access("read"), "write": disk.access("write")}
        return times | ({cls.durable: durable_write(times["write"], disk.turn_s)} if cls.durable else {})

    @property
    def deepest(self) -> int:
        """Largest number of waiting accesses from which a drive takes the one that it reaches first."""
        return 1 if self.disk is None else self.reorder_depth

    def at_depth(self, waiting: float) -> Self:
        """Return the drives with the times of hard disks at which `waiting` accesses wait on average, at least 1.

        A durable write that is given stays as it is, as what it consists of is not known.
        """
        if self.disk is None or self.reorder_depth == 1:
            return self
        depth = max(1.0, min(waiting, self.reorder_depth))
        before, after = (self._times_of(each) for each in (self.disk, self.disk.model_copy(update={"depth": depth})))
        given = {name: getattr(self, name) for name in before}
        changed = {
            name: rescaled(time, before[name], after[name])
            for name, time in given.items()
            if time is not None and (name != self.durable or time == before[name])
        }
        return self.model_copy(update=changed)


class ArrayTimes(DriveTimes):
    """Drives each of which may be an array of equal ones."""

    read: ServiceDemand | None = None
    write: ServiceDemand | None = None
    read_latency: ServiceDemand = NOTHING
    write_latency: ServiceDemand = NOTHING
    raid: Raid | None = Field(
        None, description="Array that each drive is, whose members have the times of the section; absent: one drive."
    )

    def at_depth(self, waiting: float) -> Self:
        """Return the drives as `DriveTimes.at_depth` does, with the times of arrays instead of their members."""
        if self.raid is None:
            return super().at_depth(waiting)
        raid, one = self.raid, super().at_depth(max(1.0, waiting / self.raid.members))
        read, write = one.read or NOTHING, one.write or NOTHING
        times: dict[str, ServiceDemand | None] = {}
        times["read"], times["read_latency"] = raid.read(read, one.read_latency)
        times["write"], times["write_latency"] = raid.write(read, write, one.write_latency)
        if (durable := getattr(one, self.durable, None)) is not None:
            times[self.durable] = raid.durable(read, durable)
        given = {name: time for name, time in times.items() if getattr(self, name) is not None}
        return one.model_copy(update={**given, "raid": None})

    @property
    def deepest(self) -> int:
        """Largest number of waiting accesses from which the members take those that they reach first."""
        return super().deepest * (self.raid.members if self.raid and super().deepest > 1 else 1)


class HostDrives(DriveTimes):
    """The drives of each host, which are identical."""

    preset: str | None = Field(None, description="Name of a device, such as nvme or hdd-7k2.")
    count: Annotated[int, Basis("assumed: one drive", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of drives of a host."
    )
    queue_depth: Annotated[int, Basis("assumed: one access at a time", 1, 1024)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of accesses that a drive serves at the same time."
    )
    read: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(None, description="Service time of reading data.")
    write: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(None, description="Service time of writing data.")
    read_latency: Demand = Field(NOTHING, description="Further latency of a read, which overlaps with other accesses.")


def durable_write(write: ServiceDemand, flush_s: float, latency: ServiceDemand | None = None) -> ServiceDemand:
    """Return the time of a small write that is made durable: of `write`, its further latency, and a flush."""
    varies = latency if latency is not None and latency.takes_time else write
    constant_s = write.constant + write.per_byte * _DURABLE_BYTES + (latency.constant if latency else 0.0) + flush_s
    return ServiceDemand(constant=constant_s, distribution=varies.distribution)


@cache
def drive_presets(fields: tuple[str, ...], durable: str = "") -> Presets:
    """Return the presets of a section with drives: one for each device.

    Args:
        fields: attributes of a device that the section has.
        durable: the section's field for the time of a durable write; empty: it has none.
    """
    from models.devices.devices import DEVICE_PRESETS  # imports scipy; few specs need it

    found = {}
    for name, preset in DEVICE_PRESETS.items():
        device, source = preset.device, preset.source
        values: dict[str, Any] = {field: getattr(device, field) for field in fields}
        if durable:
            values[durable] = durable_write(device.write, device.flush, device.write_latency)
            source = f"{source} A {durable}: one durable write of 4 KiB (assumed)."
        found[name] = Preset(name, source, values)
    return found

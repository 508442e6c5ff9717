"""What parts of stores cost by a catalogue: drives, machines, cores and network interfaces, with the entries used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from models.catalogue.entries import Catalogue, DriveEntry, Entry
from models.devices.device import Device
from models.devices.drive_times import HostDrives
from models.devices.hdd import Hdd
from models.network.service_demand import ServiceDemand
from traces.errors import InputError

CORE_MEMORY_GB = 8.0
"""Memory for each core of a machine of which it is not known (assumed)."""

_SEEK_S = 1e-3  # the least time of a random read of a hard disk (assumed)
_DISK, _FLASH = "hdd-7k2", "nvme"  # stand for drives without a preset


@dataclass(frozen=True)
class Quote:
    """The price of a part, and what it is from.

    Attributes:
        amount: price in the currency of the catalogue.
        sources: name, kind and date of each entry used.
    """

    amount: float
    sources: tuple[str, ...]

    def __add__(self, other: Quote) -> Quote:
        """Return the price of both parts together."""
        return Quote(self.amount + other.amount, tuple(dict.fromkeys((*self.sources, *other.sources))))

    def times(self, factor: float) -> Quote:
        """Return the price of several parts, or of a fraction of one."""
        return Quote(self.amount * factor, self.sources)


NOTHING = Quote(0.0, ())


def mean(quotes: Iterable[tuple[Quote, float]]) -> Quote:
    """Return the mean price of parts, given how many of each there are; that of none is `NOTHING`."""
    found = [(quote, count) for quote, count in quotes if count]
    total = sum(count for _, count in found)
    return sum((quote.times(count / total) for quote, count in found), NOTHING)


@dataclass(frozen=True)
class Quotes:
    """The prices of a catalogue."""

    catalogue: Catalogue

    def drive(self, preset: str | None, is_disk: bool, capacity_bytes: float | None) -> Quote:
        """Return the price of a drive.

        Args:
            preset: its name; None: the usual hard disk or NVMe drive stands for it.
            is_disk: whether it is a hard disk; needed without a preset only.
            capacity_bytes: its capacity; None: that of the preset.

        Raises:
            InputError: the catalogue has no such drive.
        """
        from models.devices.devices import PRESETS  # imports scipy

        name = preset or (_DISK if is_disk else _FLASH)
        entries = self.catalogue.drives.get(name)
        if entries is None:
            raise InputError(f"prices.catalogue: has no drive {name}; add it under drives, or give prices")
        amount, used = _interpolated(entries, capacity_bytes or PRESETS[name].capacity)
        stands = "" if preset else " for a drive without a preset"
        return Quote(amount, tuple(_said(f"{name} {each.capacity / 1e12:g} TB{stands}", each) for each in used))

    def drives_of(self, drives: HostDrives) -> Quote:
        """Return the price of one of the drives of a section, or of the array that it is.

        Raises:
            InputError: the catalogue has no such drive.
        """
        raid = getattr(drives, "raid", None)
        capacity_bytes: float | None = getattr(drives, "capacity", None)
        return self.drive(drives.preset, _is_disk(drives.disk, drives.read), capacity_bytes).times(
            raid.members if raid else 1
        )

    def device(self, device: Device) -> Quote:
        """Return the price of a device, by the preset with its times.

        Raises:
            InputError: the catalogue has no such drive.
        """
        from models.devices.devices import PRESETS  # imports scipy

        known = (name for name, preset in PRESETS.items() if (preset.read, preset.write) == (device.read, device.write))
        return self.drive(next(known, None), _is_disk(device.disk, device.read), device.capacity)

    def flash_gb(self) -> Quote:
        """Return the price of a GB of an NVMe drive."""
        from models.devices.devices import PRESETS  # imports scipy

        return self.drive(_FLASH, False, None).times(1e9 / PRESETS[_FLASH].capacity)

    def server(self) -> Quote:
        """Return the price of a server without processor, memory, drives and interface."""
        return self._entry("server", "server", self.catalogue.server)

    def core(self, memory_gb: float = CORE_MEMORY_GB) -> Quote:
        """Return the price of a core with its memory."""
        memory = self._entry("memory_gb", "memory", self.catalogue.memory_gb)
        return self._entry("core", "core", self.catalogue.core) + memory.times(memory_gb)

    def nic(self, bytes_per_s: float) -> Quote:
        """Return the price of the smallest interface with a bandwidth in B/s, or of several of the largest; 0: none."""
        if bytes_per_s <= 0:
            return NOTHING
        nics = sorted(self.catalogue.nics, key=lambda each: each.bandwidth)
        if not nics:
            raise InputError("prices.catalogue: has no network interfaces; add nics, or give prices")
        used = next((each for each in nics if each.bandwidth >= bytes_per_s * (1 - 1e-9)), nics[-1])
        count = max(1, math.ceil(bytes_per_s / used.bandwidth - 1e-9))
        return Quote(used.price * count, (_said(f"interface {used.bandwidth * 8e-9:g} Gbit/s", used),))

    def nic_gbit(self, bytes_per_s: float) -> Quote:
        """Return the price of each Gbit/s of an interface with this bandwidth in B/s."""
        return NOTHING if bytes_per_s <= 0 else self.nic(bytes_per_s).times(1 / (bytes_per_s * 8e-9))

    def machine(self, cores: int, *nics_bytes_per_s: float, memory_bytes: float | None = None) -> Quote:
        """Return the price of a machine with its interfaces, without drives."""
        each_gb = CORE_MEMORY_GB if memory_bytes is None else memory_bytes / 1e9 / cores
        return sum((self.nic(nic) for nic in nics_bytes_per_s), self.server() + self.core(each_gb).times(cores))

    def _entry(self, field: str, name: str, entry: Entry | None) -> Quote:
        if entry is None:
            raise InputError(f"prices.catalogue: has no {field}; add it, or give prices")
        return Quote(entry.price, (_said(name, entry),))


Quoted = Callable[[Quotes], Quote]
"""Returns the price of a part."""


def _is_disk(disk: Hdd | None, read: ServiceDemand | None) -> bool:
    """Whether a drive is a hard disk: by its mechanism, or by a small read that takes as long as a seek."""
    return disk is not None or (read is not None and read.constant > _SEEK_S)


def _said(name: str, entry: Entry) -> str:
    """Return name, kind and date of an entry."""
    return f"{name} ({', '.join(part for part in (entry.kind, entry.date) if part)})"


def _interpolated(entries: Sequence[DriveEntry], capacity_bytes: float) -> tuple[float, list[DriveEntry]]:
    """Return the price of a capacity: between two entries on a line, beyond them in proportion to the nearest."""
    ordered = sorted(entries, key=lambda each: each.capacity)
    below = [each for each in ordered if each.capacity <= capacity_bytes]
    above = [each for each in ordered if each.capacity >= capacity_bytes]
    if not below or not above:
        nearest = (below or above)[-1 if below else 0]
        return nearest.price * capacity_bytes / nearest.capacity, [nearest]
    low, high = below[-1], above[0]
    if low.capacity == high.capacity:
        return low.price, [low]
    part = (capacity_bytes - low.capacity) / (high.capacity - low.capacity)
    return low.price + part * (high.price - low.price), [low, high]

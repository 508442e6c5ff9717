"""How a store keeps its objects: the capability from which follows what it survives."""

from __future__ import annotations

from dataclasses import dataclass

from models.durability.data_loss import annual_loss, failure_rate
from models.durability.promise import Event, Promise
from models.network.service_demand import NOTHING, ServiceDemand

DISK_AFR, FLASH_AFR = 0.0157, 0.0098
"""Fraction of drives that fail within a year: Backblaze, "Drive Stats for 2024" (hard disks of all ages), and "The SSD
edition: 2022 Drive Stats". Studies of other fleets: 2 to 4 %, up to 13 % (Schroeder and Gibson, FAST 2007); flash of
storage systems 0.22 % (Maneas et al., FAST 2020)."""


@dataclass(frozen=True)
class Rebuild:
    """How the parts of a failed drive come back.

    Attributes:
        copy_s: time in s from its beginning until all parts are elsewhere or on a new drive; None: not known, as the
            spec says neither how many objects are stored nor how large drives are.
        waits_s: time in s from the failure until it begins; None: it begins when the drive is replaced.
        source: what both follow from.
    """

    copy_s: float | None
    waits_s: float | None
    source: str

    def total_s(self, promise: Promise) -> float | None:
        """Return the time in s from the failure until all is rebuilt; None: not known."""
        if self.copy_s is None:
            return None
        return self.copy_s + (promise.replaced_after if self.waits_s is None else self.waits_s)


@dataclass(frozen=True)
class Durability:
    """How the objects of a spec are kept.

    Attributes:
        width: parts of an object (copies, or data and parity shards), each on another drive.
        data: parts that restore it.
        acknowledged: parts that have been written for certain when a PUT is acknowledged, all servers being up.
        synced: whether these are on drives then, rather than in the memory of servers.
        on_host: most parts of an object on one host.
        on_rack: most parts of an object on one rack; None: the model has no racks.
        hosts: number of hosts.
        fatal: number of sets of drives, one more than an object can lose, whose loss loses data (`data_loss`).
        rebuild: of a failed drive.
        is_disk: whether drives are hard disks.
        reason: why acknowledged parts are synced, or not: a sentence without a full stop.
        source: of what is said of acknowledgements: place in the store's code or documentation.
        settings: what the protection is in the store's own words, such as ``EC 8+4``.
        on_drive: most parts of an object on one drive.
        caveat: what may be lost although acknowledged parts are synced: a sentence without a full stop; empty: nothing.
        weaker: another kind of data, such as an index, that objects are lost without, and what is less for it; None:
            there is none.
        usable: fraction of the drives' bytes that objects have, if not all have the same parts; None: data / width.
    """

    width: int
    data: int
    acknowledged: int
    synced: bool
    on_host: int
    on_rack: int | None
    hosts: int
    fatal: float
    rebuild: Rebuild
    is_disk: bool
    reason: str
    source: str
    settings: str
    on_drive: int = 1
    caveat: str = ""
    weaker: Weaker | None = None
    usable: float | None = None

    @property
    def parity(self) -> int:
        """Parts that an object can lose."""
        return self.width - self.data

    @property
    def usable_fraction(self) -> float:
        """Fraction of the drives' bytes that objects have."""
        return self.data / self.width if self.usable is None else self.usable

    def lost_parts(self, event: Event) -> int:
        """Return how many of the parts of an object an event takes at most, for good or until power is back."""
        if event == "drive":
            return self.on_drive
        if event in ("host", "host_power"):
            return self.on_host
        return self.width if event == "power" or self.on_rack is None else self.on_rack

    def survives(self, event: Event, newest: bool) -> bool:
        """Return whether objects survive an event.

        Args:
            event: what happens.
            newest: whether also those that were acknowledged just before it.
        """
        lost = self.lost_parts(event)
        if event in ("host_power", "power"):
            if not newest or self.synced:
                return True
            return self.acknowledged - lost >= self.data
        return (self.acknowledged if newest else self.width) - lost >= self.data

    def annual_loss(self, promise: Promise) -> float | None:
        """Return the probability of data loss within a year; None: how long a rebuild takes is not known."""
        rebuild_s = self.rebuild.total_s(promise)
        if rebuild_s is None:
            return None
        annual = promise.annual_failures or (DISK_AFR if self.is_disk else FLASH_AFR)
        return annual_loss(self.fatal, self.parity, failure_rate(annual), max(rebuild_s, 1.0))


@dataclass(frozen=True)
class Weaker:
    """Data without which objects are lost, and that is kept less well than they are.

    Attributes:
        name: what it is, in the plural, such as ``bases of the directory``.
        copies: number of copies, each on another host; any one restores it.
        acknowledged: of them, those written when a PUT is acknowledged.
        synced: whether these are on drives then.
    """

    name: str
    copies: int
    acknowledged: int
    synced: bool

    def survives(self, event: Event, newest: bool) -> bool:
        """Return whether it survives an event, as `Durability.survives`; copies are on drives of different hosts."""
        if event in ("host_power", "power") and (self.synced or not newest):
            return True
        if event == "power":
            return False
        return (self.acknowledged if newest else self.copies) >= 2


def copied_s(
    pieces: float, piece_bytes: float, read: ServiceDemand | None, write: ServiceDemand | None, streams: float,
    sync: ServiceDemand | None = None, targets: int = 1,
) -> float:  # fmt: skip
    """Return the least time in s of copying the pieces of a drive, by some at the same time.

    Args:
        pieces: number of them.
        piece_bytes: size of each.
        read, write: times of a drive for a piece.
        streams: copies at the same time, each of which reads a piece, and then writes it.
        sync: time of the drive that is written to, after each piece.
        targets: drives that are written to.
    """
    import numpy as np

    size = np.array([round(piece_bytes)])
    read_s, write_s, sync_s = (float((each or NOTHING).mean_s(size)[0]) for each in (read, write, sync))
    return pieces * max((write_s + sync_s) / targets, (read_s + write_s + sync_s) / max(streams, 1.0))


def capacity_of(preset: str | None) -> int | None:
    """Return the capacity in bytes of a drive by the name of its preset; None: there is none."""
    from models.devices.devices import DEVICE_PRESETS  # imports scipy; few specs need it

    return DEVICE_PRESETS[preset].device.capacity if preset in DEVICE_PRESETS else None

"""Hosts that differ, in groups of equal ones, and where the OSDs are on them.

What a group does not say is as in the sections `hosts` and `device`. The *cluster of a group* is the spec as if all
hosts were those of the group: what OSDs there do follows from it, as in a cluster of equal hosts. Hosts are numbered
group by group, OSDs host by host, and after them the OSDs that have only bucket indexes. How full the OSDs of a group
are follows from their placement groups, not from weights: three hosts have a replica of everything whatever they weigh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models.devices.device import Device
from models.devices.devices import DeviceField
from models.devices.processors import BARE_COUNT, OnOneMachine, ProcessorCores
from traces.spec.field_notes import Basis, LinkRate, Unit
from traces.spec.units import MOST_COUNT, BytesPerSecond, Fraction
from traces.workload.distributions import Strict

_TIB = 2.0**40  # CRUSH weights are in TiB
_SATA_BYTES_PER_S = 6e8  # 6 Gbit/s with 8b/10b: no drive behind it reads faster

DeviceClass = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
"""A device class of CRUSH: hdd, ssd, nvme, or a name that someone chose."""


class HostCores(OnOneMachine, ProcessorCores):
    """The cores of an OSD host."""

    count: Annotated[int, Basis("assumed: one socket", 1, 768)] = Field(
        32, ge=1, le=MOST_COUNT, description="Number of logical cores of each host; hyper-threads count."
    )


class HostGroup(Strict):
    """Equal hosts among those of a cluster; what is absent is as in `hosts` and `device`."""

    count: Annotated[int, Field(ge=1, le=MOST_COUNT), Basis("that of `hosts`", 1, 10_000)] | None = Field(
        None, description="Number of hosts of the group."
    )
    drives: Annotated[int, Field(ge=1, le=MOST_COUNT), Basis("that of `hosts`", 1, 106)] | None = Field(
        None, description="Number of data drives of each of its hosts."
    )
    osds_per_drive: Annotated[int, Field(ge=1, le=32), Basis("that of `hosts`", 1, 4)] | None = Field(
        None, description="Number of OSDs on each of its data drives, with equal parts of it."
    )
    device: DeviceField | None = Field(
        None, description="Data device of each of its OSDs: the name of a preset, or its figures."
    )
    device_class: DeviceClass | None = Field(
        None,
        description="Device class of its OSDs, by which pools choose them; absent: hdd for hard disks, nvme for flash "
        "that reads faster than SATA allows (600 MB/s), otherwise ssd.",
    )
    cores: Annotated[HostCores, BARE_COUNT] | None = Field(
        None, description="Cores of each of its hosts; a bare number is their count."
    )
    nic: Annotated[BytesPerSecond, Field(gt=0), Basis("that of `hosts`", 1.25e8, 5e10), LinkRate()] | None = Field(
        None, description="NIC bandwidth of each of its hosts in each direction."
    )
    cluster_nic: Annotated[BytesPerSecond, Field(gt=0), Basis("that of `hosts`", 1.25e8, 5e10), LinkRate()] | None = (
        Field(None, description="NIC bandwidth of each of its hosts in the cluster network, in each direction.")
    )
    with_db: bool = Field(
        True, description="Whether its OSDs have a block.db as in the section `db`; without one it has no effect."
    )
    index_drives: Annotated[int, Field(ge=0, le=MOST_COUNT), Basis("`index.drives`", 0, 24)] | None = Field(
        None,
        description="Number of drives of each of its hosts that only the index pool is on; absent: `index.drives`.",
    )
    weight: Annotated[float, Unit("", "7.28"), Field(ge=0, allow_inf_nan=False), Basis("Ceph's: its TiB")] | None = (
        Field(None, description="CRUSH weight of each of its OSDs, in proportion to which they have data; absent: TiB.")
    )
    reweight: Annotated[Fraction, Basis("Ceph's default: none")] = Field(
        1.0,
        ge=0,
        le=1,
        description="Fraction of the placement groups of an OSD by its weight that it keeps (`ceph osd reweight`); "
        "others have the rest.",
    )


@dataclass(frozen=True)
class Layout:
    """Where the hosts and OSDs of a cluster are.

    Attributes:
        groups: names of the groups; one empty name if hosts are equal.
        hosts: number of hosts of each group.
        osds: number of OSDs with data of each host of a group.
        index_osds: the same of those that have only bucket indexes.
        osds_per_drive: number of OSDs with data on a drive of each group.
        weights: CRUSH weight of an OSD of each group in the data pool; None: all are equal.
        index_weights: the same in the index pool, of OSDs with data.
    """

    groups: tuple[str, ...]
    hosts: tuple[int, ...]
    osds: tuple[int, ...]
    index_osds: tuple[int, ...]
    osds_per_drive: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    index_weights: tuple[float, ...] | None = None

    @cached_property
    def group_of_host(self) -> NDArray[np.int64]:
        """The group of each host, shape (hosts,)."""
        return np.repeat(np.arange(len(self.groups)), self.hosts)

    @cached_property
    def first_osd(self) -> NDArray[np.int64]:
        """The first OSD with data of each host, and the number of all of them, shape (hosts + 1,)."""
        return _firsts(np.array(self.osds)[self.group_of_host])

    @cached_property
    def first_index_osd(self) -> NDArray[np.int64]:
        """The first OSD of each host that has only bucket indexes, and the number of all OSDs, shape (hosts + 1,)."""
        return self.data_osds + _firsts(np.array(self.index_osds)[self.group_of_host])

    @cached_property
    def first_drive(self) -> NDArray[np.int64]:
        """The first drive with data of each host, and the number of all of them, shape (hosts + 1,)."""
        return _firsts((np.array(self.osds) // np.array(self.osds_per_drive))[self.group_of_host])

    @cached_property
    def drive_of_osd(self) -> NDArray[np.int64]:
        """The drive of each OSD with data, shape (data OSDs,); drives are numbered host by host."""
        host = self.host_of_osd[: self.data_osds]
        in_host = np.arange(self.data_osds) - self.first_osd[host]
        each = np.array(self.osds_per_drive)[self.group_of_host[host]]
        return np.asarray(self.first_drive[host] + in_host // each, np.int64)

    @property
    def data_osds(self) -> int:
        """Number of OSDs with data."""
        return int(self.first_osd[-1])

    @property
    def all_osds(self) -> int:
        """Number of OSDs."""
        return int(self.first_index_osd[-1])

    def osds_on(self, host: int) -> range:
        """Return the OSDs with data of a host."""
        return range(*self.first_osd[host : host + 2].tolist())

    def index_osds_on(self, host: int) -> range:
        """Return the OSDs of a host that have only bucket indexes."""
        return range(*self.first_index_osd[host : host + 2].tolist())

    @cached_property
    def host_of_osd(self) -> NDArray[np.int64]:
        """The host of each OSD, shape (all OSDs,)."""
        hosts = np.arange(len(self.group_of_host))
        return np.concatenate([
            np.repeat(hosts, np.diff(self.first_osd)), np.repeat(hosts, np.diff(self.first_index_osd)),
        ])  # fmt: skip

    @cached_property
    def group_of_osd(self) -> NDArray[np.int64]:
        """The group of the host of each OSD, shape (all OSDs,)."""
        return self.group_of_host[self.host_of_osd]

    def place(self, osd: int) -> tuple[int, int]:
        """Return the host of an OSD with data, and its number there."""
        host = int(self.host_of_osd[osd])
        return host, osd - int(self.first_osd[host])

    def named(self, name: str, host: int) -> str:
        """Return the name of a part of a host, with the host's group if there are several."""
        group = self.groups[self.group_of_host[host]]
        return f"{name} ({group})" if group else name

    def of_groups(self, per_group: Mapping[str, float]) -> float:
        """Return the sum over all hosts of what each host of a group has."""
        return sum(hosts * per_group[group] for group, hosts in zip(self.groups, self.hosts, strict=True))


def _firsts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)])


def class_of(device: Device) -> str:
    """Return the device class that Ceph gives to an OSD on a device: hdd, ssd, or nvme."""
    if device.rotational:
        return "hdd"
    return "nvme" if device.read.per_byte * _SATA_BYTES_PER_S < device.queue_depth else "ssd"


def crush_weight(group: HostGroup, capacity_bytes: float, osds_per_drive: int) -> float:
    """Return the weight of an OSD: by default that of its part of the drive, as ceph-volume sets it; times reweight.

    A reweight rejects placement groups by chance, and CRUSH chooses again from all hosts. A lower weight moves as many.
    """
    weight = capacity_bytes / osds_per_drive / _TIB if group.weight is None else group.weight
    return weight * group.reweight

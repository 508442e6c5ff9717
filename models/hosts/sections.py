"""Sections of specs: hosts that run a store's services on their own drives, behind their page caches."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from models.devices.drive_times import HostDrives, drive_presets
from models.devices.presets import Presets, PresetSection
from models.devices.processors import BARE_COUNT, Cores
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from models.shared.caches import PageCache
from models.shared.links import NicBandwidth
from models.shared.prices import Price, PriceList
from models.shared.store_spec import Internode
from traces.operations import Op, S3Op
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes
from traces.workload.distributions import Strict

Balance: TypeAlias = Annotated[Literal["round_robin", "proxy"], Basis("assumed: clients use the hosts in turn")]
BALANCE = (
    "At which host a request arrives: in turn; or in turn at those that are up, as by a proxy, whose own time is not "
    "modelled."
)


class Calls(Internode):
    """A call from one service to another."""

    call: Demand = Field(
        NOTHING, description="CPU time of a call on each of its two sides; per-byte: of what it moves."
    )


class HostMachines(PresetSection):
    """The machines that a store runs on, which are identical; a store's own section has the calls between them."""

    preset: str | None = Field(None, description="Name of a host, which supplies its CPU times.")
    count: Annotated[int, Basis("assumed: one host", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of machines of the store, each with its drives."
    )
    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of a host, which its services use; a bare number is their count."
    )
    nic: NicBandwidth = Field(
        0.0, ge=0, description="Bandwidth of a host's network interface in each direction; 0: no limit."
    )
    page_cache: PageCache = Field(
        PageCache(), description="Page cache of a host, which serves a fraction of its reads."
    )
    cpu: dict[S3Op, Demand] = Field({}, description="CPU time of the service that takes requests, by operation.")

    def cpu_demand(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of a request."""
        return self.cores.at_speed(self.cpu.get(op, NOTHING))


class ServerHosts(HostMachines):
    """Machines whose services call each other."""

    internode: Calls = Field(Calls(), description="Calls between services.")


class Gateways(PresetSection):
    """The S3 gateways, which are identical and take requests in turn."""

    preset: str | None = Field(None, description="Name of a gateway, which supplies its CPU times.")
    collocated: bool = Field(
        False,
        description="Whether there is a gateway on each host, with its cores and NIC; then `count`, `cores` and `nic` "
        "have no effect.",
    )
    count: Annotated[int, Basis("assumed: one gateway", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of machines with a gateway."
    )
    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of such a machine; a bare number is their count."
    )
    nic: NicBandwidth = Field(
        0.0, ge=0, description="Bandwidth of a gateway's network interface in each direction; 0: no limit."
    )
    cpu: dict[S3Op, Demand] = Field({}, description="CPU time of a gateway for a request, by operation.")


class BufferedDrives(HostDrives):
    """The drives of each host behind its page cache, which receives what is written."""

    durable: ClassVar[str] = "sync"

    read: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None, description="Service time of reading data that the page cache does not have."
    )
    write: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None, description="Service time of writing data back from the page cache."
    )
    sync: Demand | None = Field(None, description="Time of a sync, for which its request waits; of a drive's journal.")
    capacity: Annotated[Bytes, Field(gt=0), Basis("assumed: 8 TB", 1e11, 4e13)] = Field(
        8 * 10**12, description="Bytes that a drive takes."
    )


class DirectDrives(BufferedDrives):
    """Drives of a store whose requests wait for accesses that no page cache takes, if it is so."""

    direct: Annotated[bool, Basis("assumed: the page cache takes what is written")] = Field(
        False,
        description="Whether each read and write call reaches the drive and its request waits, as on a file system "
        "without a page cache, such as that of a box.",
    )


def buffered_drive_presets() -> Presets:
    """Return the presets of a section of such drives: one for each device."""
    fields = ("queue_depth", "read", "write", "read_latency", "disk", "capacity")
    return drive_presets(fields, durable=BufferedDrives.durable)


class StoredObjects(Strict):
    """The objects that the store holds before the run."""

    objects: Annotated[float, Unit("", "1e9"), Basis("assumed: an empty store", 1, 1e12)] = Field(
        0.0, ge=0, description="Number of objects before the run, over all buckets."
    )
    object_size: Bytes | None = Field(
        None, description="Mean size of these objects; absent: that of the objects that are requested."
    )


class HostPrices(PriceList):
    """The prices of hosts and drives."""

    host: Price = Field(0.0, description="Price of each host without drives.")
    drive: Price = Field(0.0, description="Price of each drive of the hosts.")


class GatewayPrices(HostPrices):
    """The prices of gateways, hosts and drives."""

    gateway: Price = Field(0.0, description="Price of each gateway that has a machine of its own.")

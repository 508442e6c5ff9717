"""The sections of a Ceph spec: clients, network, hosts, OSDs, gateways, pools, buckets, and what the cluster holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.ceph.mechanisms.redundancy import ProtectionField
from models.ceph.mechanisms.resharding import Resharding
from models.client_policy import ClientPolicies
from models.devices.devices import PRESETS, DeviceField
from models.network.service_demand import Demand, ServiceDemand
from models.prices import Price, PriceList
from models.store_spec import Link
from traces.fit_bounds import Fit
from traces.units import Bytes, BytesPerSecond, Seconds
from traces.workload.distributions import Lognormal, Strict
from traces.workload.workload import Op

_CPU_SHAPE = Lognormal(cv=0.5)  # assumed


def _cpu(constant_s: float, per_byte_s: float = 0.0) -> ServiceDemand:
    return ServiceDemand(constant=constant_s, per_byte=per_byte_s, distribution=_CPU_SHAPE)


class Clients(ClientPolicies):
    """The machines that the requests come from."""

    nodes: int = Field(1, ge=1, description="client machines, over which the clients are spread")
    nic: BytesPerSecond = Field(3.125e9, gt=0, description="each machine's network interface, each way")
    cpu: dict[Op, Demand] = Field({}, description="client time of an operation, on no core that anybody shares")


class Links(Link):
    """The network between machines.

    What a host's network stack makes of a NIC under thousands of connections: 10 nodes of 100GbE and 10 clients, 4 MB
    objects (ceph.io, "Reef Freeze RGW performance", 2023). GETs of 50.7 GB/s, each byte sent 1.9 times, are 0.77 of the
    rate; librbd's writes of 25 GB/s, each byte received three times, are 0.60.
    """

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean")] = Field(
        50e-6, description="one way between two machines: wire, switches, interrupts"
    )
    sent: float = Field(0.77, gt=0, le=1, description="share of a NIC's rate that a host sends at most")
    received: float = Field(0.60, gt=0, le=1, description="share of a NIC's rate that a host receives at most")


class Hosts(Strict):
    """The OSD hosts, all alike."""

    count: int = Field(3, ge=1, description="OSD hosts")
    drives: int = Field(4, ge=1, description="OSDs a host, one a drive")
    cores: int = Field(32, ge=1, description="logical cores of a host")
    nic: BytesPerSecond = Field(3.125e9, gt=0, description="network interface, each way; 25GbE is 3.125GB/s")


class Database(Strict):
    """A faster device for RocksDB and its write-ahead log (block.db)."""

    device: DeviceField = PRESETS["nvme"]
    size: Bytes = Field(64 << 30, gt=0, description="partition of each OSD")


class Osd(Strict):
    """What an OSD's daemon costs.

    The CPU times come from a published cluster of EPYC 7742 (Quincy, replica 3; ceph.io, "Reef Freeze RGW performance",
    2023). 4 KB objects: 475 cores at 178 K PUT/s and 102 cores at 305 K GET/s are 0.30 ms for each of a PUT's nine
    transactions and 0.33 ms a read. Per byte: 152 cores at 18.3 GB/s of 4 MB PUTs (three replicas), 55 at 50.7 GB/s.
    The kv_sync thread's times are fitted to the 4 KB PUTs.
    """

    backend: Literal["bluestore", "filestore"] = "bluestore"
    read: Demand = _cpu(0.33e-3, 1.0e-9)
    write: Demand = _cpu(0.30e-3, 2.5e-9)
    memory_target: Bytes = Field(4 << 30, gt=0, description="osd_memory_target")
    read_depth: int = Field(4, ge=1, description="reads that an HDD may put in order: threads of its OSD (assumed)")
    random_write_fraction: float = Field(
        0.5,
        ge=0,
        le=1,
        description="writes of an HDD that are away from the one before (fitted to 6.5 K small PUT/s on 112)",
    )
    commit: Seconds = Field(20e-6, description="CPU of the one kv_sync thread for a batch")
    commit_member: Annotated[Seconds, Fit(1e-8, 0.1, "s", "mean")] = Field(
        20e-6, description="CPU of the one kv_sync thread for each transaction"
    )


class Gateways(Strict):
    """The RADOS gateways (RGW), all alike, and how requests are spread over them.

    CPU times: same source as an OSD's, 269 cores at 178 K PUT/s and 302 at 305 K GET/s; per byte: 88 at 50.7 GB/s
    of GETs, and for PUTs, whose digests differ by client and processor, what lets 4 cores carry 0.8 GB/s (Red
    Hat's series of 2019). With 20 gateways, each used 13 to 15 cores.
    """

    count: int = Field(1, ge=1, description="gateways")
    collocated: bool = Field(False, description="on the OSD hosts, whose NICs and cores they share; else on their own")
    cores: int = Field(8, ge=1, description="cores that each may use; if collocated, its host's OSDs have the rest")
    scales_to: int = Field(14, ge=1, description="cores that one process makes use of, however many there are")
    nic: BytesPerSecond = Field(3.125e9, gt=0, description="network interface of a gateway's own host, each way")
    frontend: Literal["beast", "civetweb"] = "beast"
    threads: int = Field(512, ge=1, description="rgw_thread_pool_size: connections served at a time with civetweb")
    max_requests: int = Field(1024, ge=1, description="rgw_max_concurrent_requests, with beast")
    queue: int | None = Field(
        None, ge=0, description="requests that wait for one of those at most, more are refused; absent: all wait"
    )
    balance: Literal["round robin", "random", "least outstanding", "power of two"] = "round robin"
    tls: bool = False
    cpu: dict[Op, Demand] = Field(
        {
            "GET": _cpu(0.99e-3, 1.5e-9),
            "PUT": _cpu(1.51e-3, 4.0e-9),
            "HEAD": _cpu(0.8e-3),
            "DELETE": _cpu(1.3e-3),
            "LIST": _cpu(3.0e-3),
        },
        description="CPU of an operation; one not named costs nothing",
    )


class Pools(Strict):
    """Where data and the bucket index live."""

    data: ProtectionField = Field("replica 3", validate_default=True, description="such as replica 3, or ec 4+2")
    index_replicas: int = Field(3, ge=1, le=10)
    pg_num: int = Field(1024, ge=1, le=65536, description="placement groups of the data pool")
    failure_domain: Literal["host", "osd"] = "host"
    fast_read: bool = Field(False, description="EC: ask all shards, decode from the first that are enough")


class Buckets(Strict):
    """The bucket index. How many buckets there are, the workload says."""

    shards: int = Field(11, ge=1, le=65521, description="index shards of each bucket")
    listed_entry: Seconds = Field(4e-6, description="CPU for each entry that a LIST reads (assumed)")
    resharding: Resharding = Field(
        Resharding(dynamic=False), description="of indexes of buckets that grow; absent: the shards stay as many"
    )


class Holdings(Strict):
    """What the cluster holds when the run begins."""

    objects: float = Field(0.0, ge=0, le=1e13, description="objects stored")
    object_size: Annotated[Bytes, Field(gt=0)] | None = Field(None, description="their size; absent: the workload's")
    working_set: Annotated[float, Field(gt=0)] | None = Field(
        None, description="reads are for the newest so many objects; absent: for all"
    )
    warm: float = Field(0.0, ge=0, le=1, description="share of data reads that caches of the OSDs answer")
    churn: float = Field(0.0, ge=0, le=1, description="share of writes into space that a delete has freed")


class CephPrices(PriceList):
    """Prices of what a Ceph cluster consists of; what is not named costs nothing."""

    gateway: Price = Field(0.0, description="a gateway, without its cores")
    gateway_core: Price = Field(0.0, description="a core that a gateway may use")
    osd_host: Price = Field(0.0, description="an OSD host, without its drives")
    drive: Price = Field(0.0, description="a data drive")
    db_gb: Price = Field(0.0, description="a GB (10^9 bytes) of block.db")
    copied_tb: Price = Field(0.0, description="copying a TB of objects to a pool with another protection")

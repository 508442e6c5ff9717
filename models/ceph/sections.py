"""The sections of a Ceph spec: clients, network, hosts, OSDs, gateways, pools, buckets, and stored objects."""

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
    """The client machines."""

    nodes: int = Field(1, ge=1, description="Number of client machines, over which the clients are distributed.")
    nic: BytesPerSecond = Field(3.125e9, gt=0, description="NIC bandwidth of each machine in each direction.")
    cpu: dict[Op, Demand] = Field(
        {}, description="Client CPU time by operation, without queueing for cores; 0 for operations not given."
    )


class Links(Link):
    """The network between machines.

    The fractions of a NIC's rate that a host's network stack reaches with thousands of connections come from 10 nodes
    of 100GbE and 10 clients with 4 MB objects (ceph.io, "Reef Freeze RGW performance", 2023): GETs of 50.7 GB/s, each
    byte sent 1.9 times, are 0.77 of the rate; librbd's writes of 25 GB/s, each byte received three times, are 0.60.
    """

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean")] = Field(
        50e-6, description="One-way latency between two machines: wire, switches, interrupts."
    )
    sent: float = Field(0.77, gt=0, le=1, description="Largest fraction of a NIC's rate at which a host sends.")
    received: float = Field(0.60, gt=0, le=1, description="Largest fraction of a NIC's rate at which a host receives.")


class Hosts(Strict):
    """The OSD hosts, which are identical."""

    count: int = Field(3, ge=1, description="Number of OSD hosts.")
    drives: int = Field(4, ge=1, description="Number of OSDs per host, each with one drive.")
    cores: int = Field(32, ge=1, description="Logical cores per host.")
    nic: BytesPerSecond = Field(
        3.125e9, gt=0, description="NIC bandwidth of each host in each direction; 25GbE is 3.125GB/s."
    )


class Database(Strict):
    """A faster device for RocksDB and its write-ahead log (block.db)."""

    device: DeviceField = Field(PRESETS["nvme"], description="Device with block.db.")
    size: Bytes = Field(64 << 30, gt=0, description="Size of the partition of each OSD.")


class Osd(Strict):
    """The costs of an OSD daemon.

    The CPU times come from a published cluster of EPYC 7742 (Quincy, replica 3; ceph.io, "Reef Freeze RGW performance",
    2023). 4 KB objects: 475 cores at 178 K PUT/s and 102 cores at 305 K GET/s are 0.30 ms for each of a PUT's nine
    transactions and 0.33 ms a read. Per byte: 152 cores at 18.3 GB/s of 4 MB PUTs (three replicas), 55 at 50.7 GB/s.
    The kv_sync thread's times are fitted to the 4 KB PUTs.
    """

    backend: Literal["bluestore", "filestore"] = Field("bluestore", description="Object store of the OSDs.")
    read: Demand = Field(_cpu(0.33e-3, 1.0e-9), description="CPU time of a read.")
    write: Demand = Field(_cpu(0.30e-3, 2.5e-9), description="CPU time of a write.")
    memory_target: Bytes = Field(4 << 30, gt=0, description="osd_memory_target.")
    read_depth: int = Field(
        4, ge=1, description="Number of queued reads that an HDD reorders: the threads of its OSD (assumed)."
    )
    random_write_fraction: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Fraction of an HDD's writes that do not follow the previous one on disk (fitted to 6.5 K small "
        "PUT/s on 112 HDDs).",
    )
    commit: Seconds = Field(20e-6, description="CPU time of the single kv_sync thread per batch.")
    commit_member: Annotated[Seconds, Fit(1e-8, 0.1, "s", "mean")] = Field(
        20e-6, description="CPU time of the single kv_sync thread per transaction."
    )


class Gateways(Strict):
    """The RADOS gateways (RGW), which are identical, and how requests are distributed over them.

    CPU times: same source as an OSD's, 269 cores at 178 K PUT/s and 302 at 305 K GET/s; per byte: 88 at 50.7 GB/s
    of GETs, and for PUTs, whose digests differ by client and processor, the value with which 4 cores serve 0.8 GB/s
    (Red Hat's series of 2019). With 20 gateways, each used 13 to 15 cores.
    """

    count: int = Field(1, ge=1, description="Number of gateways.")
    collocated: bool = Field(
        False,
        description="Whether they run on the OSD hosts and share their NICs and cores; else on hosts of their own.",
    )
    cores: int = Field(
        8, ge=1, description="Cores that each gateway may use; if collocated, the OSDs of its host have the others."
    )
    scales_to: int = Field(14, ge=1, description="Largest number of cores that one gateway process can use.")
    nic: BytesPerSecond = Field(3.125e9, gt=0, description="NIC bandwidth of a gateway's own host in each direction.")
    frontend: Literal["beast", "civetweb"] = Field("beast", description="HTTP frontend.")
    threads: int = Field(
        512, ge=1, description="rgw_thread_pool_size: connections served at the same time, with civetweb."
    )
    max_requests: int = Field(1024, ge=1, description="rgw_max_concurrent_requests, with beast.")
    queue: int | None = Field(
        None,
        ge=0,
        description="Number of requests that may wait for `threads` or `max_requests`; further ones are "
        "refused; absent: no limit.",
    )
    balance: Literal["round robin", "random", "least outstanding", "power of two"] = Field(
        "round robin", description="How the load balancer chooses a gateway."
    )
    tls: bool = Field(False, description="Whether gateways encrypt connections.")
    cpu: dict[Op, Demand] = Field(
        {
            "GET": _cpu(0.99e-3, 1.5e-9),
            "PUT": _cpu(1.51e-3, 4.0e-9),
            "HEAD": _cpu(0.8e-3),
            "DELETE": _cpu(1.3e-3),
            "LIST": _cpu(3.0e-3),
        },
        description="Gateway CPU time by operation; 0 for operations not given.",
    )


class Pools(Strict):
    """The pools of data and bucket indexes."""

    data: ProtectionField = Field(
        "replica 3", validate_default=True, description="Protection of the data, such as `replica 3` or `ec 4+2`."
    )
    index_replicas: int = Field(3, ge=1, le=10, description="Number of replicas of bucket indexes.")
    pg_num: int = Field(1024, ge=1, le=65536, description="Number of placement groups of the data pool.")
    failure_domain: Literal["host", "osd"] = Field(
        "host", description="No two replicas or chunks of an object are in the same failure domain."
    )
    fast_read: bool = Field(
        False, description="With an erasure code: read all chunks and decode from the first ones that suffice."
    )


class Buckets(Strict):
    """The bucket indexes; the workload has the number of buckets."""

    shards: int = Field(11, ge=1, le=65521, description="Number of index shards per bucket.")
    listed_entry: Seconds = Field(4e-6, description="CPU time per entry that a LIST reads (assumed).")
    resharding: Resharding = Field(
        Resharding(dynamic=False),
        description="Resharding of growing buckets; absent: the number of shards is constant.",
    )


class Holdings(Strict):
    """The objects in the cluster when the run begins."""

    objects: float = Field(0.0, ge=0, le=1e13, description="Number of objects stored.")
    object_size: Annotated[Bytes, Field(gt=0)] | None = Field(
        None, description="Mean object size; absent: that of the workload."
    )
    working_set: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Number of newest objects that reads request; absent: all objects."
    )
    warm: float = Field(0.0, ge=0, le=1, description="Fraction of data reads served from caches of the OSDs.")
    churn: float = Field(0.0, ge=0, le=1, description="Fraction of writes to space that a delete has freed.")


class CephPrices(PriceList):
    """Prices of the parts of a Ceph cluster; parts without a price cost nothing."""

    gateway: Price = Field(0.0, description="Price of a gateway without its cores.")
    gateway_core: Price = Field(0.0, description="Price of a core that a gateway may use.")
    osd_host: Price = Field(0.0, description="Price of an OSD host without its drives.")
    drive: Price = Field(0.0, description="Price of a data drive.")
    db_gb: Price = Field(0.0, description="Price of a GB (10^9 bytes) of block.db.")
    copied_tb: Price = Field(0.0, description="Price of copying a TB of objects to a pool with another protection.")

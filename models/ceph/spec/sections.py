"""The sections of a Ceph spec: clients, network, hosts, OSDs, gateways and prices; pools are in `pools.py`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from models.ceph.spec.host_groups import HostCores, HostGroup
from models.devices.devices import PRESETS, DeviceField
from models.devices.processors import BARE_COUNT, ProcessorCores
from models.network.service_demand import Demand, ServiceDemand
from models.shared.caches import Cache
from models.shared.clients import ClientMachines, Nic
from models.shared.prices import Price, PriceList
from models.shared.proxies import Proxy
from models.shared.store_spec import Link
from traces.operations import S3Op
from traces.spec.field_notes import Basis, FittedAt, LinkRate, Unit
from traces.spec.fit_bounds import Fit
from traces.spec.units import MOST_COUNT, Bytes, BytesPerSecond, Fraction, Seconds
from traces.workload.distributions import Lognormal, Strict
from traces.workload.workload import GroupName

_CPU_SHAPE = Lognormal(cv=0.5)  # assumed


def _cpu(constant_s: float, per_byte_s: float = 0.0) -> ServiceDemand:
    return ServiceDemand(constant=constant_s, per_byte=per_byte_s, distribution=_CPU_SHAPE)


ASSUMED_NVME = Basis("assumed: a Samsung PM983 3.84 TB (specification 1.0, 2018), whose bandwidths are assumed, too")
MachineCount = Annotated[int, Basis("assumed: a small cluster", 1, 10_000)]
_QUINCY = "published: 10 nodes of EPYC 7742, Quincy, replica 3 (ceph.io, 'Reef Freeze RGW performance', 2023)"
_REEF = "published: 5 hosts of EPYC 7742 with 2 to 20 threads a drive, Reef, replica 3 (ceph.io, 'OSDs per NVMe', 2023)"
_PG = "published: ten such hosts with 64 to 16,384 placement groups (ceph.io, 'A journey to 1 TiB/s', 2024)"
_PACIFIC = "published: an OSD on EPYC 7742, Pacific, replica 1 (ceph.io, 'RocksDB tuning deep dive', 2022)"
_KV_SYNC = Basis(f"fitted to PUTs of 4 KB; {_QUINCY}", 1e-6, 1e-3)
_OP_SHARDS = Basis("Ceph's default of the release: osd_op_num_shards_ssd and others, src/common/options/osd.yaml.in")


class Clients(ClientMachines):
    """The client machines."""

    nic: Nic = Field(3.125e9, ge=0, description="NIC bandwidth of each client machine in each direction; 0: no limit.")


class Links(Link):
    """The network between machines."""

    latency: Annotated[
        Seconds, Fit(1e-7, 1.0, "s", "mean"), Basis("assumed: one switch and kernel TCP", 5e-6, 5e-3)
    ] = Field(50e-6, description="One-way latency between two machines: wire, switches, interrupts.")
    delayed_ack: Annotated[
        Seconds, Basis("Linux: TCP_DELACK_MIN, include/net/tcp.h; seen 42 to 46 ms with a tick of 4 ms", 0.02, 0.2)
    ] = Field(
        0.04,
        ge=0,
        description="Time after which a client acknowledges a few segments, for which a response without `tcp_nodelay` "
        "waits.",
    )
    connection_rate: Annotated[
        BytesPerSecond, Basis("42 Gbit/s: a flow on one core (Cai et al., SIGCOMM 2021)", 2e8, 1.2e10)
    ] = Field(
        5.25e9,
        gt=0,
        description="Largest rate of one connection, which one core of a host can receive; never more than `window` in "
        "a round trip.",
    )
    window: Annotated[Bytes, Basis("Linux's default: the largest of net.ipv4.tcp_rmem", 1 << 16, 1 << 30)] = Field(
        6 << 20, gt=0, description="Bytes of a connection on the way before they are acknowledged (TCP window)."
    )
    secure: bool = Field(
        False,
        description="Whether transfers between daemons are encrypted (msgr v2 secure mode), which takes CPU time.",
    )

    def connections(self, nic_bytes_per_s: float) -> int:
        """Return the number of connections that together reach the rate of a NIC, rounded; at least 1."""
        rate = self.connection_rate
        if self.latency:
            rate = min(rate, self.window / (2 * self.latency))
        return max(1, round(self.payload_rate(nic_bytes_per_s) / rate))


class Hosts(Strict):
    """The OSD hosts, which are identical but for what their groups say."""

    count: MachineCount = Field(3, ge=1, description="Number of OSD hosts, over which the data are distributed.")
    drives: Annotated[int, Basis("assumed: a small cluster", 1, 106)] = Field(
        4, ge=1, le=MOST_COUNT, description="Number of data drives per host."
    )
    osds_per_drive: Annotated[int, Basis("Ceph's default: osds-per-device of ceph-volume lvm batch", 1, 4)] = Field(
        1, ge=1, le=32, description="Number of OSDs on each data drive, with equal parts of it."
    )
    cores: Annotated[HostCores, BARE_COUNT] = Field(
        HostCores(),
        description="Cores of each host, for its OSDs and for collocated gateways; a bare number is their count.",
    )
    nic: Nic = Field(3.125e9, gt=0, description="NIC bandwidth of each host in each direction; 25GbE is 3.125GB/s.")
    cluster_nic: (
        Annotated[BytesPerSecond, Field(gt=0), Basis("assumed: one NIC for both networks", 1.25e8, 5e10), LinkRate()]
        | None
    ) = Field(
        None,
        description="NIC bandwidth of each host in the cluster network, in each direction: for replicas and chunks "
        "between OSDs; absent: they use `nic`.",
    )
    dma_bandwidth: Annotated[BytesPerSecond, Basis("assumed: no limit", 5e9, 1e12)] = Field(
        0.0,
        ge=0,
        description="Bytes per second that NICs and drives of a host move to and from its memory (DMA), in both "
        "directions together; 0: no limit.",
    )
    groups: dict[GroupName, HostGroup] = Field(
        {},
        description="Groups of equal hosts by name, if hosts or their drives differ; what a group does not say is as "
        "in `hosts` and `device`. Hosts are numbered group by group, in this order.",
    )


class Database(Strict):
    """A faster device for RocksDB and its write-ahead log (block.db)."""

    device: Annotated[DeviceField, ASSUMED_NVME] = Field(
        PRESETS["nvme"], description="Device that has the block.db of one or more OSDs."
    )
    size: Annotated[Bytes, Basis("assumed: 1 to 4 % of a 4 TB disk, as Ceph's documentation advises", 1 << 30)] = Field(
        64 << 30, gt=0, description="Size of the block.db of each OSD; RocksDB spills what does not fit."
    )
    osds_per_device: Annotated[
        int, Basis("assumed: a device for each OSD; Ceph's documentation advises 4 to 12 hard disks to a device", 1, 24)
    ] = Field(
        1,
        ge=1,
        description="Number of OSDs of a host whose block.db is on the same device; the last device may have fewer.",
    )


class IndexDrives(Strict):
    """Drives that only the index pool is on, as with a device class of its own: an OSD on each, with its RocksDB."""

    drives: Annotated[int, Basis("assumed: one", 1, 24)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of these drives of each OSD host."
    )
    device: Annotated[DeviceField, ASSUMED_NVME] = Field(
        PRESETS["nvme"], description="Each of these drives: the name of a preset, or its figures."
    )


class OsdCache(Cache):
    """The cache of data in each OSD: its size, or the fraction of reads that it serves."""

    hit_ratio: Fraction = Field(
        0.0,
        ge=0,
        le=1,
        description="Fraction of data reads that the OSDs serve without a drive, if it is known; the alternative to "
        "`size`.",
    )

    @model_validator(mode="after")
    def _is_given_once(self) -> OsdCache:
        if self.present and self.hit_ratio:
            raise ValueError("hit_ratio: size decides which reads are served from memory; give one of them")
        return self


class Osd(Strict):
    """The costs of an OSD daemon.

    An operation takes the time of its work on the OSD and of its messages. Blocks of 4 KiB on RBD take 0.09 to 0.11 ms
    of a thread of an EPYC 7742 a read, with two messages, and 0.73 to 0.81 ms a write, with three transactions and ten
    messages (Reef, replica 3; ceph.io, "OSDs per NVMe", 2023). With 1,024 to 16,384 placement groups reads are limited
    by the shard with the most of them, whose two threads take 0.128 to 0.133 ms a read, 0.087 of it for the drive
    (ceph.io, "A journey to 1 TiB/s", 2024, and the 2023 article). PUTs of 4 KiB on two cores, which are four threads,
    take 0.69 ms, with three transactions and six messages (Pacific, replica 1; ceph.io, "RocksDB tuning deep dive",
    2022). These give 0.045 ms a read, 0.16 ms a transaction, and 26 us a message. Per byte: 152 cores at 18.3 GB/s of 4
    MB PUTs on three replicas and 55 at 50.7 GB/s of GETs (Quincy; ceph.io, "Reef Freeze RGW performance", 2023).
    """

    backend: Literal["bluestore", "filestore"] = Field(
        "bluestore", description="Back end that stores the objects on a drive."
    )
    device_class: Literal["hdd", "ssd"] | None = Field(
        None,
        description="Class of the data device as the OSD sees it, from which the release's defaults follow; absent: "
        "that of `device`. Virtual disks often report themselves as hard disks.",
    )
    read: Annotated[Demand, Basis(f"fitted to reads of 4 KiB; {_REEF}; {_PG}; per byte of Quincy; spread assumed")] = (
        Field(
            _cpu(0.045e-3, 1.0e-9),
            description="CPU time of a read on an OSD without its messages; per-byte times apply to a chunk.",
        )
    )
    write: Annotated[Demand, Basis(f"fitted to writes of 4 KiB; {_REEF}; per byte of Quincy; spread assumed")] = Field(
        _cpu(0.16e-3, 2.5e-9),
        description="CPU time of a transaction on an OSD without its messages; per-byte times apply to a chunk.",
    )
    message: Annotated[
        Seconds,
        Basis(f"fitted to reads that one shard limits, and to writes with ten messages; {_REEF}; {_PG}", 1e-6, 1e-4),
    ] = Field(26e-6, ge=0, description="CPU time of an OSD for each message that it receives or sends.")
    shards: Annotated[int, _OP_SHARDS, Field(ge=1, le=1024)] | None = Field(
        None,
        description="Number of shards of an OSD (osd_op_num_shards), each with its workers; absent: "
        "the release's, 8, and on a hard disk 1 (5 before Reef).",
    )
    threads_per_shard: Annotated[int, _OP_SHARDS, Field(ge=1, le=1024)] | None = Field(
        None,
        description="Number of worker threads of a shard (osd_op_num_threads_per_shard), each of which executes an "
        "operation and waits for its reads; absent: the release's, 2, and on a hard disk 5 (1 before Reef).",
    )
    contention: Annotated[
        Fraction,
        Basis(f"fitted to 4 KiB at 2 to 20 threads a drive; {_REEF}", 0, 0.2),
        FittedAt("threads for each OSD", 1, 20),
    ] = Field(
        0.044,
        ge=0,
        le=1,
        description="Fraction of an OSD's work that its threads cannot do at the same time (locks, hand-offs), by "
        "which they use less of further cores; gateways and clients of the host use the others.",
    )
    memory_target: Annotated[
        Bytes, Basis("Ceph's default: osd_memory_target, src/common/options/global.yaml.in", 896 << 20, 1 << 40)
    ] = Field(4 << 30, gt=0, description="Memory of an OSD (osd_memory_target), from which its caches follow.")
    cache: OsdCache = Field(
        OsdCache(),
        description="Cache of data in each OSD, for reads: writes bypass it (bluestore_default_buffered_write).",
    )
    read_depth: Annotated[int, Basis("assumed: the threads of an OSD on a hard disk", 1, 128)] = Field(
        4,
        ge=1,
        description="Largest number of queued accesses from which a hard disk takes the one that it reaches first; "
        "fewer if fewer are waiting.",
    )
    random_write_fraction: Annotated[
        Fraction,
        Basis("fitted to 6.5 K PUT/s of 64 KB on 112 HDDs (Red Hat's series on RHCS 3.3, 2019)"),
        FittedAt("B for each object", 1, 65536),
    ] = Field(
        0.5,
        ge=0,
        le=1,
        description="Fraction of a hard disk's writes that do not follow the previous one on disk, and require a seek, "
        "in a workload that only writes; reads in between cause more of them.",
    )
    commit: Annotated[Seconds, _KV_SYNC] = Field(
        20e-6, description="CPU time of the single kv_sync thread for each batch of transactions."
    )
    commit_member: Annotated[
        Seconds, Fit(1e-8, 0.1, "s", "mean"), Basis(f"36.5 K PUT/s of three transactions; {_PACIFIC}", 1e-6, 1e-3)
    ] = Field(
        14.5e-6,
        description="CPU time of the single kv_sync thread for each transaction of a batch with memtables of 8 MiB; "
        "larger ones take longer.",
    )
    commit_cv: Annotated[float, Unit("", "0.3"), Basis("assumed: of a log on flash or on a hard disk", 0, 1)] = Field(
        0.3,
        ge=0,
        le=5,
        description="Coefficient of variation of the time of a commit, lognormal: writes wait for the slowest one.",
    )


class Ingress(Proxy):
    """The load balancer between clients and gateways."""

    placement: Literal["own", "gateway_hosts"] = Field(
        "own",
        description="Where the load balancer runs: on a machine of its own, or as one on each host with gateways, as "
        "cephadm's ingress. Then its bytes pass the NICs of these hosts, once more if the gateway is on another one, "
        "`cores` are those of each, and `nic` has no effect.",
    )

    @property
    def on_gateway_hosts(self) -> bool:
        """Whether the hosts of the gateways have the load balancers."""
        return self.placement == "gateway_hosts"


class GatewayCores(ProcessorCores):
    """The cores of a gateway."""

    shared: bool = Field(
        False,
        description="Whether collocated gateways and the OSDs of their host use all cores of it, as they do unless "
        "they are bound to some; then `count` has no effect, and work takes equal parts of the cores.",
    )


def _as_gateway_cores(value: Any) -> Any:
    return {"shared": True} if value == "shared" else value


class Gateways(Strict):
    """The RADOS gateways (RGW), which are identical, and how requests are distributed over them.

    CPU times: same source as an OSD's, 269 cores at 178 K PUT/s and 302 at 305 K GET/s; per byte: 88 at 50.7 GB/s
    of GETs, and for PUTs, whose digests differ by client and processor, the value with which 4 cores serve 0.8 GB/s
    (Red Hat's series of 2019). With 20 gateways, each used 13 to 15 cores.
    """

    count: MachineCount = Field(1, ge=1, description="Number of gateway processes, behind one load balancer.")
    collocated: bool = Field(
        False,
        description="Whether gateways run on the OSD hosts and share their NICs and cores; otherwise each has a host.",
    )
    cores: Annotated[
        GatewayCores,
        BARE_COUNT,
        BeforeValidator(_as_gateway_cores, json_schema_input_type=int | dict[str, Any] | Literal["shared"]),
    ] = Field(
        GatewayCores(),
        description="Cores that each gateway may use; a bare number is their count. If collocated, they are cores of "
        "its host, with the speed of those, and the OSDs have the others; or `shared`.",
    )
    scales_to: Annotated[int, Basis(f"{_QUINCY}: 13 to 15 cores used by each of 20 gateways", 1, 128)] = Field(
        14,
        ge=1,
        le=MOST_COUNT,
        description="Largest number of cores that one gateway process can use; more of them stay idle.",
    )
    nic: Nic = Field(3.125e9, gt=0, description="NIC bandwidth of a gateway's own host in each direction.")
    frontend: Literal["beast", "civetweb"] = Field(
        "beast",
        description="Front end that serves HTTP: asynchronous (beast), or one thread per connection (civetweb).",
    )
    tcp_nodelay: Annotated[bool, Basis("Ceph's default up to 20.2: doc/radosgw/frontends.rst")] = Field(
        False,
        description="Whether beast sends small segments at once (tcp_nodelay=1). Otherwise the body of a GET of a few "
        "segments, up to 8.7 KB, waits for `network.delayed_ack`, unless a proxy reads it.",
    )
    threads: (
        Annotated[
            int,
            Basis("Ceph's default of the release: rgw_thread_pool_size, src/common/options/rgw.yaml.in", 1, 10_000),
            Field(ge=1),
        ]
        | None
    ) = Field(
        None,
        description="Number of connections that civetweb serves at the same time (rgw_thread_pool_size); absent: the "
        "release's.",
    )
    max_requests: Annotated[
        int, Basis("Ceph's default: rgw_max_concurrent_requests, src/common/options/rgw.yaml.in", 1, 100_000)
    ] = Field(
        1024,
        ge=1,
        le=MOST_COUNT,
        description="Number of requests that beast serves at the same time (rgw_max_concurrent_requests).",
    )
    queue: int | None = Field(
        None,
        ge=0,
        description="Number of requests that may wait for `threads` or `max_requests`; further ones are "
        "refused; absent: no limit.",
    )
    reads_in_flight: Annotated[
        int,
        Basis(
            "Ceph's defaults: objecter_inflight_op_bytes (100 MiB) over rgw_get_obj_max_req_size (4 MiB), which each "
            "read reserves; seen on a real 16.2.15",
            1,
            10_000,
        ),
    ] = Field(
        25,
        ge=1,
        description="Number of RADOS reads that a gateway has in progress; further ones wait, also those of OSDs that "
        "respond.",
    )
    balance: Literal["round_robin", "random", "least_outstanding", "power_of_two"] = Field(
        "round_robin", description="Rule by which the load balancer chooses the gateway of a request."
    )
    redispatch: bool = Field(
        False,
        description="Whether the load balancer sends a request whose connection is refused to another gateway at once "
        "(HAProxy's option redispatch with gateways in turn, as cephadm's ingress has it), so that only requests in "
        "progress at a gateway fail with it.",
    )
    cache: Cache = Field(
        Cache(),
        description="Cache of objects in each gateway, for reads (D3N), of what was read through it: a hit takes only "
        "CPU time of the gateway and the transfer to the client.",
    )
    tls: bool = Field(False, description="Whether gateways encrypt connections (TLS), which takes CPU time.")
    sse: bool = Field(
        False,
        description="Whether gateways encrypt objects (SSE-S3 or SSE-KMS), which takes CPU time and a key for each "
        "request.",
    )
    key_request: Annotated[Seconds, Basis("assumed: a key server in the same network", 1e-4, 0.1)] = Field(
        1e-3, ge=0, description="Time until the key server responds to a gateway (`sse`)."
    )
    cpu: Annotated[
        dict[S3Op, Demand],
        Basis(
            f"{_QUINCY}: 269 cores at 178 K PUT/s and 302 at 305 K GET/s of 4 KB, 88 at 50.7 GB/s; PUT per byte: 4 "
            "cores at 0.8 GB/s (Red Hat, 2019); HEAD, DELETE, LIST and spread assumed"
        ),
    ] = Field(
        {
            "GET": _cpu(0.99e-3, 1.5e-9),
            "PUT": _cpu(1.51e-3, 4.0e-9),
            "HEAD": _cpu(0.8e-3),
            "DELETE": _cpu(1.3e-3),
            "LIST": _cpu(3.0e-3),
        },
        description="CPU time of a gateway for a request, by operation; 0 for operations not given.",
    )


class GroupPrices(Strict):
    """Prices of the hosts of a group; those that are absent are as in `prices`."""

    osd_host: Price | None = Field(None, description="Price of each of its hosts without drives.")
    drive: Price | None = Field(None, description="Price of each of its data drives.")
    index_drive: Price | None = Field(None, description="Price of each of its drives that only the index pool is on.")


class CephPrices(PriceList):
    """Prices of the parts of a Ceph cluster; parts without a price cost nothing."""

    gateway: Price = Field(0.0, description="Price of a gateway without its cores.")
    gateway_core: Price = Field(0.0, description="Price of a core that a gateway may use.")
    osd_host: Price = Field(0.0, description="Price of an OSD host without its drives.")
    drive: Price = Field(0.0, description="Price of each data drive of the OSD hosts.")
    index_drive: Price = Field(0.0, description="Price of each drive that only the index pool is on.")
    db_gb: Price = Field(0.0, description="Price of a GB (10^9 bytes) of block.db.")
    groups: dict[GroupName, GroupPrices] = Field({}, description="Prices of groups of hosts, by their names.")
    copied_tb: Price = Field(0.0, description="Price of copying a TB of objects to a pool with another protection.")

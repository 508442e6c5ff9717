"""The sections of a Swift spec: proxies, hosts, drives, the object ring, container databases."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from models.devices.drive_times import ArrayTimes, HostDrives
from models.devices.presets import PRESETS_OF, PresetSection
from models.devices.processors import BARE_COUNT, Cores, SharedCores
from models.hosts.speed_groups import SpeedGroup, counted, figures, refuse_own_cores, refuse_single_links
from models.network.service_demand import NOTHING, Demand, ServiceDemand
from models.shared.links import NicBandwidth
from models.shared.prices import Price, PriceList
from models.shared.store_spec import Internode
from models.swift.spec import presets
from traces.operations import Op, S3Op
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import MOST_COUNT, Bytes, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import GroupName

_PROXY_CONF = "Swift's default: etc/proxy-server.conf-sample"
_OBJECT_CONF = "Swift's default: etc/object-server.conf-sample"


class Proxies(PresetSection):
    """The proxy servers, which are identical, and the timeouts and hedging of their requests to other servers."""

    preset: str | None = Field(None, description="Name of a measured proxy, which supplies its CPU times.")
    count: Annotated[int, Basis("assumed: one proxy", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of proxy servers, which take requests in turn."
    )
    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of a proxy, with a worker process on each; a bare number is their count."
    )
    nic: NicBandwidth = Field(
        0.0, ge=0, description="Bandwidth of a proxy's network interface in each direction; 0: no limit."
    )
    cpu: dict[S3Op, Demand] = Field({}, description="CPU time of a proxy for a request, by operation.")
    concurrent_gets: bool = Field(
        False,
        description="Hedged reads: a GET or HEAD that has no response after `concurrency_timeout` is sent to the next "
        "replica as well, and the first response is used.",
    )
    concurrency_timeout: Annotated[Seconds, Field(gt=0), Basis(f"{_PROXY_CONF}, that of conn_timeout", 0.001, 10)] = (
        Field(0.5, description="Delay of each further request of a hedged read.")
    )
    concurrent_ec_extra_requests: int = Field(
        0, ge=0, description="Number of further fragments that a hedged read with erasure coding requests at once."
    )
    conn_timeout: Annotated[Seconds, Field(gt=0), Basis(_PROXY_CONF, 0.01, 60)] = Field(
        0.5, description="Time limit of opening a connection to another server."
    )
    node_timeout: Annotated[Seconds, Field(gt=0), Basis(_PROXY_CONF, 0.1, 600)] = Field(
        10.0, description="Time limit of a response of another server."
    )
    post_quorum_timeout: Annotated[Seconds, Field(gt=0), Basis(_PROXY_CONF, 0.01, 60)] = Field(
        0.5, description="Time for which a write waits for its last servers, once a quorum has responded."
    )
    error_suppression_limit: Annotated[int, Basis(_PROXY_CONF, 1, 1000)] = Field(
        10, ge=1, description="Number of errors of a server after which a process of a proxy avoids it."
    )
    error_suppression_interval: Annotated[Seconds, Field(gt=0), Basis(_PROXY_CONF, 1, 3600)] = Field(
        60.0, description="Time for which a process of a proxy avoids a server after too many errors."
    )


class Hosts(PresetSection):
    """The storage hosts, which are identical but for what their groups say: servers, and their drives."""

    preset: str | None = Field(None, description="Name of a measured host, which supplies its CPU times.")
    count: Annotated[int, Basis("assumed: one host", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of storage hosts."
    )
    zones: Annotated[int, Basis("assumed: one zone", 1, 100)] = Field(
        1,
        ge=1,
        le=MOST_COUNT,
        description="Number of zones, over which hosts are distributed in turn and replicas are spread.",
    )
    cores: Annotated[SharedCores, BARE_COUNT] = Field(
        SharedCores(),
        description="Cores of a host, which its servers use; a bare number is their count. If they are `shared`, the "
        "proxies use them as well.",
    )
    nic: NicBandwidth = Field(
        0.0, ge=0, description="Bandwidth of a host's network interface in each direction; 0: no limit."
    )
    memory: Annotated[Bytes, Basis("assumed: all metadata fit", 1 << 30, 1 << 43)] | None = Field(
        None,
        gt=0,
        description="Memory of a host; three quarters cache files and their metadata (assumed). Opening a `stored` "
        "object reads from its drive what does not fit (XFS); absent: all fit.",
    )
    workers: Annotated[int, Basis("assumed: one for each of 8 cores", 1, 512)] = Field(
        8, ge=1, le=MOST_COUNT, description="Number of object server processes of a host, if `servers_per_port` is 0."
    )
    servers_per_port: int = Field(
        0,
        ge=0,
        le=MOST_COUNT,
        description="Number of object server processes of each drive; 0: all drives have the same `workers`.",
    )
    threads: Annotated[int, Basis(f"{_OBJECT_CONF}; 1 with servers_per_port", 1, 1000)] = Field(
        20,
        ge=1,
        le=MOST_COUNT,
        description="Number of threads of an object server process, which sync files and directories.",
    )
    cpu: dict[S3Op, Demand] = Field(
        {}, description="CPU time of an object server for a request, by operation; LIST: of a container server."
    )
    update_cpu: Demand = Field(NOTHING, description="CPU time of a container server for the update of a row.")
    internode: Internode = Field(
        Internode(), description="Network between the servers; each of their requests opens a connection first."
    )
    groups: dict[GroupName, SpeedGroup] = Field(
        {},
        description="Groups of equal hosts by name, if cores, NICs or the speed of drives differ; `count` is then "
        "their sum. Hosts are numbered group by group, and are in zones in turn.",
    )

    @model_validator(mode="before")
    @classmethod
    def _counts_groups(cls, data: Any) -> Any:
        return counted(data)

    @model_validator(mode="after")
    def _fits_groups(self) -> Hosts:
        refuse_single_links(self.groups, self.nic)
        refuse_own_cores(self.groups, self.cores.shared)
        return self

    def of_hosts(self, field: Literal["cores", "core_speed", "nic", "drive_speed"]) -> list[float]:
        """Return a figure of each host: number and speed of cores, B/s of its NIC, relative speed of drives."""
        common = {"cores": self.cores.count, "core_speed": 1.0, "nic": self.nic, "drive_speed": 1.0}
        return figures(self.groups, self.count, field, common[field])

    def cpu_demand(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of an object server for a request."""
        return self.cores.at_speed(self.cpu.get(op, NOTHING))


class Drives(HostDrives, ArrayTimes):
    """The drives of each host, which hold objects."""

    durable: ClassVar[str] = "sync"

    capacity: (
        Annotated[Bytes, Basis("no default: presets have the figures of data sheets", 10**10, 2 * 10**14)] | None
    ) = Field(None, gt=0, description="Usable capacity of a drive, for `timeline` and `plan`; absent: no limit.")
    write_latency: Demand = Field(
        NOTHING, description="Further latency of a write, which overlaps with other accesses."
    )
    sync: Demand | None = Field(None, description="Service time of making a file or a directory durable (fsync).")
    lookup: Demand = Field(
        NOTHING,
        description="Drive time of opening an object: directories and inodes with extended attributes; 0: what "
        "`hosts.memory` does not hold of `stored` objects, or nothing.",
    )
    read_size: Annotated[Bytes, Field(gt=0), Basis("Linux's read-ahead, 128 KiB", 4096, 1 << 24)] = Field(
        1 << 17, description="Bytes of one access when data are read."
    )
    write_size: Annotated[Bytes, Basis("the page cache collects an object until it is synced", 4096, 1 << 24)] = Field(
        0,
        description="Bytes of one access when data are written through (Swift writes 64 KiB at a time); 0: the page "
        "cache collects them, and the drive writes them in one access when the file is synced.",
    )


class Erasure(Strict):
    """An erasure-coded policy."""

    data: Annotated[int, Basis("assumed", 1, 32)] = Field(
        ge=1, le=32, description="Number of data fragments that an object is divided into."
    )
    parity: Annotated[int, Basis("assumed", 1, 16)] = Field(
        ge=1, le=16, description="Number of parity fragments that an object gets in addition."
    )


class ObjectRing(Strict):
    """The object ring: partitions, and the devices that hold each of them."""

    part_power: Annotated[int, Basis("assumed: 2^10 partitions", 1, 24)] = Field(
        10, ge=1, le=32, description="Binary logarithm of the number of partitions."
    )
    replicas: Annotated[int, Basis("assumed: Swift's usual 3", 1, 10)] = Field(
        3, ge=1, le=10, description="Number of replicas of an object, if it is not erasure coded."
    )
    erasure: Erasure | None = Field(None, description="Erasure coding of all objects; absent: replicas.")
    weights: Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], Unit("", "[100, 200]")] = Field(
        (),
        description="Weight of each drive, host by host, as `swift-ring-builder` shows it: drives have partitions in "
        "proportion, and those of weight 0 none; empty: all are equal.",
    )


class Containers(Strict):
    """Container databases, which list the objects of a bucket; a PUT or DELETE updates a row in each of them."""

    replicas: Annotated[int, Basis("assumed: Swift's usual 3", 1, 10)] = Field(
        3, ge=1, le=10, description="Number of replicas of each container database."
    )
    shards: Annotated[int, Basis("Swift's default: not sharded", 1, 10_000)] = Field(
        1,
        ge=1,
        le=MOST_COUNT,
        description="Number of shards of each container; a LIST visits the root, then the shard of its prefix.",
    )
    update: Demand = Field(
        NOTHING, description="Time for which an update locks a database: a row is appended to its pending file."
    )
    list: Demand = Field(NOTHING, description="Time of a page of a listing in the SQLite database.")
    timeout: Annotated[Seconds, Field(gt=0), Basis("Swift's default: container_update_timeout", 0.01, 60)] = Field(
        1.0, description="Time limit of an update, which is then deferred to an updater (async pending)."
    )


class Stored(Strict):
    """The objects that the store holds before the run."""

    objects: Annotated[float, Unit("", "1e9"), Basis("assumed: an empty store", 1, 1e12)] = Field(
        0.0, ge=0, description="Number of objects; the fewer there are, the more new names need a new directory."
    )
    object_size: Bytes | None = Field(
        None, description="Mean size of an object, which the auditor reads; required with `auditor`."
    )


class SwiftPrices(PriceList):
    """The prices of the parts of a Swift cluster."""

    proxy: Price = Field(0.0, description="Price of each proxy server with its cores.")
    host: Price = Field(0.0, description="Price of each storage host without drives.")
    drive: Price = Field(0.0, description="Price of each drive of the storage hosts.")


PRESETS_OF[Proxies] = presets.proxies
PRESETS_OF[Hosts] = presets.hosts
PRESETS_OF[Drives] = presets.drives

"""The sections of a MinIO spec: clients, the network, hosts, drives, erasure sets and the proxy."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from models.devices.drive_times import ArrayTimes
from models.devices.presets import PRESETS_OF, PresetSection
from models.devices.processors import BARE_COUNT, CoreCount, Cores, SharedCores
from models.hosts.speed_groups import (
    SpeedGroup,
    counted,
    figures,
    group_of_hosts,
    refuse_own_cores,
    refuse_single_links,
)
from models.minio.spec import presets
from models.minio.spec.garbage_collector import GarbageCollector
from models.minio.spec.layout import MAX_SET, default_parity
from models.minio.spec.release import has_fixed_parity
from models.network.service_demand import DRIVE_BANDWIDTH, NOTHING, Demand, ServiceDemand
from models.network.station import Caches
from models.shared.caches import Cache
from models.shared.clients import ClientMachines
from models.shared.prices import Price, PriceList
from models.shared.store_spec import Internode, Link
from traces.operations import Op, S3Op
from traces.spec.field_notes import Basis, LinkRate, Unit
from traces.spec.fit_bounds import Fit
from traces.spec.units import MOST_COUNT, Bytes, BytesPerSecond, Fraction, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import GroupName

DIRECT_WRITE_BYTES = 1 << 20
_SHORTEST_QUANTUM_S = 1e-4  # no scheduler has shorter ones, and each is a visit to simulate

_PARITY = Basis("MinIO's default for the set size: internal/config/storageclass/storage-class.go", 0, 8)
_ACCESS = Basis("assumed: one access for a shard", 4096, 1 << 26)
_NIC = Basis("assumed: no limit", 1.25e8, 5e10)
CacheTime = Annotated[
    Seconds,
    Basis("assumed: half of 256 KiB was evicted after 3 ms of idling on one machine, 5 to 10 ms on another", 3e-4, 0.1),
]


class Client(ClientMachines):
    """The client machines and their policies for late and failed responses."""

    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of each client machine; a bare number is their count."
    )


class NetworkLink(Link):
    """The network between clients and store."""

    bandwidth: Annotated[
        BytesPerSecond, Fit(1e6, 1e12, "B/s"), Basis("assumed: no limit", 1.25e8, 5e10), LinkRate()
    ] = Field(0.0, ge=0, description="Bandwidth in each direction, shared by all transfers; 0: no limit.")


class Calls(Internode):
    """A call from one MinIO server to another, for a shard, its metadata or a lock, by grid or HTTP."""

    call: Demand = Field(
        NOTHING, description="CPU time of a call on each of its two sides; per-byte times apply to a shard."
    )
    lock_conflict_fraction: Annotated[Fraction, Fit(0.002, 0.95)] = Field(
        0.0,
        ge=0,
        lt=1,
        description="Fraction of small PUTs whose lock is refused at first because the release of their own read lock "
        "is still in progress; they pause for up to 0.35 s.",
    )


class HostCores(SharedCores):
    """The cores of a host."""

    count: CoreCount = Field(8, ge=1, le=MOST_COUNT, description="Number of cores that MinIO may use on a host.")


class HostCaches(Strict):
    """CPU cache warm-up: idle cores lose their caches to power states and to other processes."""

    cold_penalty: Annotated[Seconds, Fit(1e-6, 0.1, "s")] = Field(
        0.0, description="Additional CPU time, in total, until cold caches are warm; 0: caches are not simulated."
    )
    warm_up: CacheTime = Field(0.003, gt=0, description="Time constant of warming up, in CPU time of work.")
    decay: CacheTime = Field(0.003, gt=0, description="Time constant of cooling down, in idle time of a core.")

    @property
    def of_station(self) -> Caches | None:
        """The caches of a station; None without a penalty."""
        return Caches(self.cold_penalty, self.warm_up, self.decay) if self.cold_penalty else None


class Hosts(PresetSection):
    """The machines that MinIO runs on, which are identical but for what their groups say."""

    count: Annotated[int, Basis("assumed: one host", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of machines in the pool."
    )
    cores: Annotated[HostCores, BARE_COUNT] = Field(
        HostCores(), description="Cores of a host; a bare number is their count."
    )
    nic: Annotated[BytesPerSecond, Fit(1e6, 1e12, "B/s"), _NIC, LinkRate()] = Field(
        0.0, ge=0, description="Bandwidth of a host's network interface in each direction; 0: no limit."
    )
    racks: Annotated[int, Basis("assumed: one rack", 1, 100)] = Field(
        1,
        ge=1,
        le=MOST_COUNT,
        description="Number of racks, among which the hosts are divided evenly, in order of their numbers.",
    )
    max_requests: Annotated[int, Basis("MinIO's limit follows from its memory: 6,400 a host with 128 GiB")] | None = (
        Field(
            None,
            ge=1,
            description="Most requests in progress in the whole cluster (MINIO_API_REQUESTS_MAX), divided among hosts; "
            "further ones are refused with 429 (before 2024-08-17 they wait). Absent: no limit.",
        )
    )
    tls: Demand = Field(
        NOTHING, description="CPU time of TLS for a request, in addition to `cpu`; per-byte times apply to its body."
    )
    setup_time: Annotated[Seconds, Fit(1e-7, 0.01, "s")] = Field(
        0.0, description="Setup time: additional service time on a core that was idle, due to interrupts."
    )
    cpu_caches: HostCaches = Field(
        HostCaches(), description="CPU cache warm-up: additional CPU time on cores that were idle."
    )
    page_cache: Cache = Field(
        Cache(),
        description="Page cache of each host, which reads pass through. Writes do so in a cluster of one drive; others "
        "use direct I/O, except for an xl.meta of up to 4 KiB.",
    )
    memory: Annotated[Bytes, Basis("assumed: all metadata fit", 1 << 30, 1 << 43)] | None = Field(
        None,
        gt=0,
        description="Memory of a host; three quarters cache files and their metadata (assumed). Look-ups of `stored` "
        "objects whose directories and inodes do not fit read them from the drives (XFS); absent: all fit.",
    )
    quantum: Annotated[Seconds, Basis("assumed: work is never divided", 1e-4, 0.1)] = Field(
        0.0,
        description="Scheduling quantum: longest time that a request keeps a core while others wait. Longer work is "
        "divided into equal quanta, each with its own draw; 0: work is never divided.",
    )
    age_bias: Fraction = Field(
        0.0,
        ge=0,
        le=1,
        description="Age bias: fraction of scheduling choices at which a free core takes the older of two random "
        "waiting jobs; otherwise it takes one at random.",
    )
    groups: dict[GroupName, SpeedGroup] = Field(
        {},
        description="Groups of equal hosts by name, if cores, NICs or the speed of drives differ; `count` is then "
        "their sum. All hosts have as many drives, on which erasure sets are. Hosts are numbered group by group.",
    )
    cpu: dict[S3Op, Demand] = Field(
        {}, description="CPU time of the server for a request, by operation; 0 for operations not given."
    )
    entry_cpu: Annotated[Seconds, Fit(1e-7, 1e-3, "s")] = Field(
        0.0, ge=0, description="CPU time of the server that takes a LIST for each entry of the page."
    )
    entry_read_cpu: Annotated[Seconds, Fit(1e-7, 1e-3, "s")] = Field(
        0.0, ge=0, description="CPU time of a drive's host for each entry that a LIST reads from the drive."
    )
    inline_cpu: dict[Literal["GET", "PUT"], Demand] = Field(
        {}, description="CPU time of the server if the object is stored inside xl.meta; absent: as in `cpu`."
    )
    missing_cpu: dict[Literal["HEAD", "LIST"], Demand] = Field(
        {}, description="CPU time of the server if nothing has the name or prefix; absent: as in `cpu`."
    )
    after_commit: Annotated[
        Fraction, Fit(0.02, 0.9), Basis("assumed: the Runs of examples/recorded leave 0.04 to 0.9 open")
    ] = Field(
        0.3,
        ge=0,
        lt=1,
        description="Fraction of the CPU time before the response of a PUT or DELETE that follows its commit; the "
        "request queues for a core again.",
    )
    after_response: Annotated[Fraction, Fit(0.02, 0.97)] = Field(
        0.0,
        ge=0,
        lt=1,
        description="Fraction of an operation's CPU time that follows its response (cleanup): the client does not wait "
        "for it, but it occupies a core.",
    )
    garbage_collector: GarbageCollector = Field(
        GarbageCollector(), description="Garbage collector of MinIO's Go runtime, which takes cores from requests."
    )
    processes: Annotated[int, Basis("assumed: one process a host, as MinIO recommends", 1, 16)] = Field(
        1,
        ge=1,
        le=MOST_COUNT,
        description="Number of MinIO processes of a host, each with an equal part of its drives.",
    )
    internode: Calls = Field(Calls(), description="Calls between server processes, if there are several.")
    preset: str | None = Field(
        None, description="Name of a preset, which supplies CPU times and how cores serve, measured on one machine."
    )

    @model_validator(mode="before")
    @classmethod
    def _counts_groups(cls, data: Any) -> Any:
        return counted(data)

    @model_validator(mode="after")
    def _shares_cores_alike(self) -> Hosts:
        refuse_single_links(self.groups, self.nic)
        refuse_own_cores(self.groups, self.cores.shared)
        return self

    @field_validator("quantum")
    @classmethod
    def _quantum_is_no_instant(cls, quantum_s: float) -> float:
        if 0 < quantum_s < _SHORTEST_QUANTUM_S:
            raise ValueError(f"is {quantum_s:g} s; allowed are 0 and {_SHORTEST_QUANTUM_S:g} s or more")
        return quantum_s

    @property
    def group_of(self) -> list[str]:
        """The name of the group of each host; empty names, if hosts are equal."""
        return group_of_hosts(self.groups, self.count)

    def of_hosts(self, field: Literal["cores", "core_speed", "nic", "drive_speed"]) -> list[float]:
        """Return a figure of each host: number and speed of cores, B/s of its NIC, relative speed of drives."""
        common = {"cores": self.cores.count, "core_speed": 1.0, "nic": self.nic, "drive_speed": 1.0}
        return figures(self.groups, self.count, field, common[field])

    def cpu_demand(self, op: Op, inline: bool, missing: bool = False) -> ServiceDemand:
        """Return the server CPU demand of an operation; `missing`: on what does not exist."""
        if missing and (op == "HEAD" or op == "LIST") and op in self.missing_cpu:
            return self.at_speed(self.missing_cpu[op])
        if inline and (op == "GET" or op == "PUT") and op in self.inline_cpu:
            return self.at_speed(self.inline_cpu[op])
        return self.at_speed(self.cpu.get(op, NOTHING))

    def entries_demand(self, each_s: float, entries: float) -> ServiceDemand:
        """Return the server CPU demand of a number of entries of a LIST."""
        return self.at_speed(ServiceDemand(constant=each_s * entries))

    def at_speed(self, demand: ServiceDemand) -> ServiceDemand:
        """Return a CPU demand at the speed of the cores."""
        return self.cores.at_speed(demand)


class Drives(ArrayTimes):
    """The drives of the hosts, which are identical."""

    durable: ClassVar[str] = "commit"

    count: Annotated[int, Basis("one folder, as `minio server /data`", 1, 400)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of drives of each host."
    )
    capacity: (
        Annotated[Bytes, Basis("no default: presets have the figures of data sheets", 10**10, 2 * 10**14)] | None
    ) = Field(None, gt=0, description="Usable capacity of a drive, for `timeline` and `plan`; absent: no limit.")
    queue_depth: Annotated[int, Basis("assumed: one access at a time, as a disk with one arm", 1, 1024)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of accesses that a drive serves at the same time."
    )
    read: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None,
        description="Time to read a shard from a drive; per-byte times apply to the shard. Required for GET, HEAD and "
        "LIST; 0: from memory.",
    )
    write: Annotated[Demand, DRIVE_BANDWIDTH] | None = Field(
        None,
        description="Time to write a shard to a drive; per-byte times apply to the shard. Required for PUT; 0: to "
        "memory, until a commit.",
    )
    read_latency: Demand = Field(NOTHING, description="Further latency of a read, which overlaps with other accesses.")
    write_latency: Demand = Field(
        NOTHING, description="Further latency of a write, which overlaps with other accesses."
    )
    commit: Demand | None = Field(
        None,
        description="Time of one fsync of the journal, which makes all pending writes durable. Required for PUT and "
        "DELETE.",
    )
    commit_member: Annotated[Seconds, Fit(1e-8, 0.1, "s", "mean")] = Field(
        0.0, description="Time added to a commit by each write after the first."
    )
    shared_journal: bool = Field(
        False, description="Whether all drives of a host are folders of one file system, whose journal they share."
    )
    commit_in: Literal["journal", "queue"] = Field(
        "journal",
        description="Where commits are served: by a journal, which makes all waiting ones durable together and writes "
        "the metadata of objects; or one by one in the drive's queue, after a write of the metadata.",
    )
    direct: bool = Field(
        False,
        description="Whether each read and write call of MinIO reaches the drive, as with direct I/O: two reads for "
        "each block of 1 MiB, writes of up to 1 MiB, and one for the end of a file that is not a multiple of 4 KiB. "
        "False: the page cache reads ahead and collects writes, so a shard is one access.",
    )
    read_size: Annotated[Bytes, _ACCESS] = Field(
        0, description="Largest read; a larger shard takes several, each with the constant time. 0: no limit."
    )
    write_size: Annotated[Bytes, _ACCESS] = Field(
        0, description="Largest write; a larger shard takes several, each with the constant time. 0: no limit."
    )
    preset: str | None = Field(
        None, description="Name of a device, which supplies the times of reads, writes and commits."
    )

    @model_validator(mode="before")
    @classmethod
    def _has_no_parity(cls, data: Any) -> Any:
        if isinstance(data, dict) and "parity" in data:
            raise ValueError("parity is now in the section erasure: erasure.parity")
        return data

    @property
    def largest_write(self) -> int:
        """Largest write of a shard's file; 0: no limit (ODirectPoolLarge, internal/ioutil)."""
        return self.write_size or (DIRECT_WRITE_BYTES if self.direct else 0)


class Erasure(Strict):
    """The erasure sets of a pool."""

    set_size: Annotated[int, Basis("MinIO's choice: the largest divisor up to 16, symmetric to the hosts")] | None = (
        Field(
            None,
            ge=1,
            le=MAX_SET,
            description="Number of drives of an erasure set (MINIO_ERASURE_SET_DRIVE_COUNT); absent: MinIO's choice.",
        )
    )
    parity: Annotated[int, _PARITY] | None = Field(
        None, ge=0, description="Number of parity shards of an object; absent: MinIO's default for the set size."
    )

    def parity_of(self, size: int, release: str) -> int:
        """Return the number of parity shards in a set of this size."""
        if self.parity is not None:
            return self.parity
        return default_parity(size) if has_fixed_parity(release) else size // 2


class FurtherPool(Strict):
    """A further server pool of the cluster."""

    hosts: Hosts = Field(Hosts(), description="Hosts of the pool; CPU times and calls are those of the first pool.")
    drives: Drives = Field(Drives(), description="Drives of each host of the pool.")
    erasure: Erasure = Field(Erasure(), description="Size of its sets, and parity of objects in it.")
    weight: Annotated[float, Unit("", "2"), Basis("assumed: equal free space")] = Field(
        1.0,
        gt=0,
        description="Free space of the pool, as a multiple of that of the first pool: new objects go to a "
        "random pool by free space.",
    )


PRESETS_OF[Hosts] = presets.hosts
PRESETS_OF[Drives] = presets.drives


class MinioPrices(PriceList):
    """Prices of the parts of a MinIO cluster; parts without a price cost nothing."""

    host: Price = Field(0.0, description="Price of each host without cores and drives.")
    core: Price = Field(0.0, description="Price of each core of the hosts.")
    drive: Price = Field(0.0, description="Price of each drive of the hosts.")
    nic_gbit: Price = Field(0.0, description="Price of each Gbit/s of the network interface of a host.")

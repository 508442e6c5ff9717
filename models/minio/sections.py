"""The sections of a MinIO spec: clients, the network, the host and its drives."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from models.clients import ClientCores, ClientMachines, CoreCount, Cores
from models.minio import presets
from models.minio.garbage_collector import GarbageCollector
from models.network.service_demand import DRIVE_BANDWIDTH, Demand, ServiceDemand
from models.network.station import Caches
from models.presets import PRESETS_OF, with_preset
from models.prices import Price, PriceList
from models.store_spec import Link
from traces.field_notes import Basis
from traces.fit_bounds import Fit
from traces.units import BytesPerSecond, Fraction, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Op

NOTHING = ServiceDemand()
_SHORTEST_QUANTUM_S = 1e-4  # no scheduler has shorter ones, and each is a visit to simulate
_MAX_SET = 16  # maximum number of drives of an erasure set

_PARITY = Basis("MinIO's default for the set size: internal/config/storageclass/storage-class.go", 0, 8)
CacheTime = Annotated[
    Seconds,
    Basis("assumed: half of 256 KiB was evicted after 3 ms of idling on one machine, 5 to 10 ms on another", 3e-4, 0.1),
]


class Client(ClientMachines):
    """The client machines and their policies for late and failed responses."""

    cores: Cores = Field(ClientCores(), description="Cores of each client machine; a bare number is their count.")


class NetworkLink(Link):
    """The network between clients and store."""

    bandwidth: Annotated[BytesPerSecond, Fit(1e6, 1e12, "B/s"), Basis("assumed: no limit", 1.25e8, 5e10)] = Field(
        0.0, ge=0, description="Bandwidth in each direction, shared by all transfers; 0: no limit."
    )


class Internode(Strict):
    """A call from one MinIO server to another, for a shard, its metadata or a lock, by grid or HTTP."""

    call: Demand = Field(
        NOTHING, description="CPU time of a call on each of its two sides; per-byte times apply to a shard."
    )
    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean"), Basis("assumed: none", 5e-6, 5e-3)] = Field(
        0.0, description="One-way latency between two servers, without queueing."
    )
    lock_conflict_fraction: Annotated[Fraction, Fit(0.002, 0.95)] = Field(
        0.0,
        ge=0,
        lt=1,
        description="Fraction of small PUTs whose lock is refused at first because the release of their own read lock "
        "is still in progress; they pause for up to 0.35 s.",
    )


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


class Host(Strict):
    """The machine that MinIO runs on."""

    cores: CoreCount = Field(8, ge=1, description="Number of cores that MinIO may use.")
    setup_time: Annotated[Seconds, Fit(1e-7, 0.01, "s")] = Field(
        0.0, description="Setup time: additional service time on a core that was idle, due to interrupts."
    )
    cpu_caches: HostCaches = Field(
        HostCaches(), description="CPU cache warm-up: additional CPU time on cores that were idle."
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
    cpu: dict[Op, Demand] = Field(
        {}, description="CPU time of the server for a request, by operation; 0 for operations not given."
    )
    inline_cpu: dict[Literal["GET", "PUT"], Demand] = Field(
        {}, description="CPU time of the server if the object is stored inside xl.meta; absent: as in `cpu`."
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
    servers: int = Field(
        1, ge=1, description="Number of MinIO processes, each with an equal part of the drives of every erasure set."
    )
    internode: Internode = Field(Internode(), description="Calls between the servers, if there are several.")
    preset: str | None = Field(
        None, description="Name of a preset, which supplies CPU times and how cores serve, measured on one machine."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, data: Any) -> Any:
        return with_preset(data, presets.hosts)

    @field_validator("quantum")
    @classmethod
    def _quantum_is_no_instant(cls, quantum_s: float) -> float:
        if 0 < quantum_s < _SHORTEST_QUANTUM_S:
            raise ValueError(f"is {quantum_s:g} s; allowed are 0 and {_SHORTEST_QUANTUM_S:g} s or more")
        return quantum_s

    def cpu_demand(self, op: Op, inline: bool) -> ServiceDemand:
        """Return the server CPU demand of an operation."""
        if inline and (op == "GET" or op == "PUT") and op in self.inline_cpu:
            return self.inline_cpu[op]
        return self.cpu.get(op, NOTHING)


class Drives(Strict):
    """The drives of the host, which are identical."""

    count: Annotated[int, Basis("one folder, as `minio server /data`", 1, 400)] = Field(
        1, ge=1, description="Number of drives of the host, divided into erasure sets of at most 16."
    )
    parity: Annotated[int, _PARITY] | None = Field(
        None, ge=0, description="Number of parity shards of an object; absent: MinIO's default for the set size."
    )
    queue_depth: Annotated[int, Basis("assumed: one access at a time, as a disk with one arm", 1, 1024)] = Field(
        1, ge=1, description="Number of accesses that a drive serves at the same time."
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
        False, description="Whether all drives are folders of one file system, whose journal their commits share."
    )
    preset: str | None = Field(
        None, description="Name of a device, which supplies the times of reads, writes and commits."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, data: Any) -> Any:
        return with_preset(data, presets.drives)

    @property
    def set_size(self) -> int:
        """Number of drives of an erasure set: the largest divisor of the count that is at most 16."""
        return max(size for size in range(1, _MAX_SET + 1) if self.count % size == 0)

    @property
    def parity_shards(self) -> int:
        """Parity shards of an object (default: internal/config/storageclass/storage-class.go of MinIO)."""
        if self.parity is not None:
            return self.parity
        size = self.set_size
        return 0 if size == 1 else 1 if size <= 3 else 2 if size <= 5 else 3 if size <= 7 else 4

    @property
    def metadata_quorum(self) -> int:
        """Number of drives whose metadata a GET or HEAD waits for (getObjectFileInfo in cmd/erasure-object.go)."""
        data_shards = self.set_size - self.parity_shards
        return data_shards + (2 * data_shards == self.set_size)

    @model_validator(mode="after")
    def _parity_fits(self) -> Drives:
        if self.parity_shards > self.set_size // 2:
            raise ValueError(
                f"parity is {self.parity}; an erasure set of {self.set_size} allows 0 to {self.set_size // 2}"
            )
        return self


PRESETS_OF[Host] = presets.hosts
PRESETS_OF[Drives] = presets.drives


class MinioPrices(PriceList):
    """Prices of the parts of a MinIO host; parts without a price cost nothing."""

    host: Price = Field(0.0, description="Price of the host without cores and drives.")
    core: Price = Field(0.0, description="Price of each core of the host.")
    drive: Price = Field(0.0, description="Price of each drive of the host.")

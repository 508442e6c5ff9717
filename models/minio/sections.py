"""The sections of a MinIO spec: clients, the network, the host and its drives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from models.client_policy import ClientPolicies
from models.minio.garbage_collector import GarbageCollector
from models.network.service_demand import Demand, ServiceDemand
from models.network.station import Caches
from models.prices import Price, PriceList
from models.store_spec import Link
from traces.fit_bounds import Fit
from traces.units import BytesPerSecond, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Op

NOTHING = ServiceDemand()
_SHORTEST_QUANTUM_S = 1e-4  # no scheduler has shorter ones, and each is a visit to simulate
_MAX_SET = 16  # drives of an erasure set at most


class Client(ClientPolicies):
    """The machine that the requests come from, and what it does when an answer is late or does not come."""

    on_host: bool = Field(False, description="the clients run on the store's own host and share its cores")
    cores: int = Field(8, ge=1, description="cores of the clients' machine, when it is not the store's")
    cpu: dict[Op, Demand] = Field({}, description="client CPU of an operation; one not named costs nothing")


class NetworkLink(Link):
    """The network between clients and store."""

    bandwidth: Annotated[BytesPerSecond, Fit(1e6, 1e12, "B/s")] = Field(
        0.0, ge=0, description="each way, shared by all transfers; 0: no limit"
    )


class Internode(Strict):
    """A call of one MinIO server to another, for a shard, its metadata or a lock: grid or HTTP, taken as alike."""

    call: Demand = Field(NOTHING, description="CPU of a call on each of its two sides; bytes count per shard")
    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean")] = Field(0.0, description="one way, without queueing")
    lock_conflict_fraction: Annotated[float, Fit(0.002, 0.95)] = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of small PUTs whose lock is refused at first, as the release of their own read lock is "
        "still under way; they pause for up to 0.35 s",
    )


class HostCaches(Strict):
    """What idle cores lose of their caches: to power states, and to whom else the machine runs."""

    cold_penalty: Annotated[Seconds, Fit(1e-6, 0.1, "s")] = Field(
        0.0, description="what work takes longer, in all, until lost caches are full; 0: nothing"
    )
    warm_up: Seconds = Field(0.003, gt=0, description="work that fills them but for 1 / e")
    decay: Seconds = Field(0.003, gt=0, description="idle time of a core that loses all but 1 / e")

    @property
    def of_station(self) -> Caches | None:
        """As a station has them."""
        return Caches(self.cold_penalty, self.warm_up, self.decay) if self.cold_penalty else None


class Host(Strict):
    """The machine that MinIO runs on."""

    cores: int = Field(8, ge=1, description="cores that MinIO may use")
    setup_time: Annotated[Seconds, Fit(1e-7, 0.01, "s")] = Field(
        0.0, description="what work takes longer on a core that was idle: interrupts"
    )
    cpu_caches: HostCaches = HostCaches()
    quantum: Seconds = Field(
        0.0,
        description="longest that a request keeps a core while others wait; what takes longer is done in equal slices, "
        "each with a draw of its own; 0: to the end of each piece of work",
    )
    age_bias: float = Field(
        0.0,
        ge=0,
        le=1,
        description="how often a core that turns free takes the older of two of those that wait, as a share; else it "
        "takes any of them",
    )
    cpu: dict[Op, Demand] = Field({}, description="server CPU of an operation; one not named costs nothing")
    inline_cpu: dict[Literal["GET", "PUT"], Demand] = Field(
        {}, description="server CPU where the object lives inside xl.meta; absent: as in cpu"
    )
    after_commit: Annotated[float, Fit(0.02, 0.9)] = Field(
        0.3,
        ge=0,
        lt=1,
        description="share of a PUT's or DELETE's CPU before its answer that follows its commit: it queues for a core "
        "again",
    )
    after_response: Annotated[float, Fit(0.02, 0.97)] = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of an operation's CPU that follows its answer (cleaning up): nobody "
        "waits for it, but it takes a core",
    )
    garbage_collector: GarbageCollector = GarbageCollector()
    servers: int = Field(1, ge=1, description="MinIO processes, each with an equal part of every erasure set's drives")
    internode: Internode = Internode()

    @field_validator("quantum")
    @classmethod
    def _quantum_is_no_instant(cls, quantum_s: float) -> float:
        if 0 < quantum_s < _SHORTEST_QUANTUM_S:
            raise ValueError(f"is {quantum_s:g} s; allowed are 0 and {_SHORTEST_QUANTUM_S:g} s or more")
        return quantum_s

    def law(self, op: Op, inline: bool) -> ServiceDemand:
        """The server CPU of an operation."""
        if inline and (op == "GET" or op == "PUT") and op in self.inline_cpu:
            return self.inline_cpu[op]
        return self.cpu.get(op, NOTHING)


class Drives(Strict):
    """The drives, all alike."""

    count: int = Field(1, ge=1, description="drives of the host")
    parity: int | None = Field(None, ge=0, description="parity shards; default as MinIO chooses by set size")
    queue_depth: int = Field(1, ge=1, description="accesses that a drive serves at a time")
    read: Demand = Field(NOTHING, description="reading a shard; bytes count per shard")
    write: Demand = Field(NOTHING, description="writing a shard; bytes count per shard")
    commit: Demand = Field(NOTHING, description="one fsync of the journal, however many writes it makes durable")
    commit_member: Annotated[Seconds, Fit(1e-8, 0.1, "s", "mean")] = Field(
        0.0, description="time each further member adds to a commit"
    )
    shared_journal: bool = Field(False, description="all drives are folders of one file system")

    @property
    def set_size(self) -> int:
        """Drives of an erasure set: the largest divisor of the count that is at most 16."""
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
        """Drives whose metadata a GET or HEAD waits for (getObjectFileInfo in cmd/erasure-object.go of MinIO)."""
        data_shards = self.set_size - self.parity_shards
        return data_shards + (2 * data_shards == self.set_size)

    @model_validator(mode="after")
    def _parity_fits(self) -> Drives:
        if self.parity_shards > self.set_size // 2:
            raise ValueError(
                f"parity is {self.parity}; an erasure set of {self.set_size} allows 0 to {self.set_size // 2}"
            )
        return self


class MinioPrices(PriceList):
    """Prices of what a MinIO host consists of; what is not named costs nothing."""

    host: Price = Field(0.0, description="the host, without cores and drives")
    core: Price = Field(0.0, description="a core of the host")
    drive: Price = Field(0.0, description="a drive")

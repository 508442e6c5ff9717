"""MinIO: one host, its drives in erasure sets, and the clients, as stations and routes.

What a request does (MinIO source at 7aac2a2c): a PUT sends its shards to all drives of the object's erasure set and
waits for all of them; shards up to the inline limit live in `xl.meta`, so one commit makes them durable, larger
ones are written and committed first. A GET reads from as many drives as hold data.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from models.client_policy import ClientPolicies
from models.demand import Demand, ServiceDemand
from models.network import Discipline, Member, Network, Route, Stage, Station, Visit, single
from models.placement import key_hashes
from models.sheet import Requests
from traces.distributions import Strict
from traces.tables import OPS
from traces.trace import Trace
from traces.units import Bytes, BytesPerSecond, Seconds
from traces.workload import Op, Workload

_NOTHING = ServiceDemand()
_MAX_SET = 16  # drives of an erasure set at most


class Client(ClientPolicies):
    """The machine that the requests come from, and what it does when an answer is late or does not come."""

    on_host: bool = Field(False, description="the clients run on the store's own host and share its cores")
    cores: int = Field(8, ge=1, description="cores of the clients' machine, when it is not the store's")
    cpu: dict[Op, Demand] = Field({}, description="client CPU of an operation; one not named costs nothing")


class NetworkLink(Strict):
    """The network between clients and store."""

    latency: Seconds = Field(0.0, description="one way, without queueing")
    bandwidth: BytesPerSecond = Field(0.0, ge=0, description="each way, shared by all transfers; 0: no limit")


class Host(Strict):
    """The machine that MinIO runs on."""

    cores: int = Field(8, ge=1, description="cores that MinIO may use")
    cpu: dict[Op, Demand] = Field({}, description="server CPU of an operation; one not named costs nothing")
    after_commit: float = Field(
        0.3,
        ge=0,
        lt=1,
        description="share of a PUT's or DELETE's CPU that follows its commit: it queues for a core again",
    )


class Drives(Strict):
    """The drives, all alike."""

    count: int = Field(1, ge=1, description="drives of the host")
    parity: int | None = Field(None, ge=0, description="parity shards; default as MinIO chooses by set size")
    queue_depth: int = Field(1, ge=1, description="accesses that a drive serves at a time")
    read: Demand = Field(_NOTHING, description="reading a shard; bytes count per shard")
    write: Demand = Field(_NOTHING, description="writing a shard; bytes count per shard")
    commit: Demand = Field(_NOTHING, description="one fsync of the journal, however many writes it makes durable")
    commit_member: Seconds = Field(0.0, description="time each further member adds to a commit")
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

    @model_validator(mode="after")
    def _parity_fits(self) -> Drives:
        if self.parity_shards > self.set_size // 2:
            raise ValueError(
                f"parity is {self.parity}; an erasure set of {self.set_size} allows 0 to {self.set_size // 2}"
            )
        return self


class MinioSpec(Strict):
    """A MinIO host, its clients and what is asked of it."""

    store: Literal["minio"]
    workload: Workload
    client: Client = Client()
    network: NetworkLink = NetworkLink()
    host: Host = Host()
    drives: Drives = Drives()
    inline_limit: Annotated[Bytes, Field(description="shards up to this size live inside xl.meta")] = 128 * 1024

    def compile(self, trace: Trace) -> tuple[Network, Requests]:
        """The Network of this host, and the requests of a Trace on it."""
        plan = _Plan(self)
        network = Network(tuple(plan.stations), plan.routes(), (plan.sets(), plan.journals()), trace.pacing)
        return network, _requests(self, network, trace)


def _requests(spec: MinioSpec, network: Network, trace: Trace) -> Requests:
    names = {route.name: i for i, route in enumerate(network.routes)}
    route = np.array([names[op] for op in OPS], np.int32)[trace.op]
    data_shards = spec.drives.set_size - spec.drives.parity_shards
    inline = -(-trace.size_bytes // data_shards) <= spec.inline_limit
    route[(trace.op == OPS.index("PUT")) & inline] = names["PUT inline"]
    issued = slice(trace.issued)
    return Requests(
        route[issued], trace.transfer_bytes[issued], key_hashes(trace)[issued], trace.arrival_s[issued],
        trace.think_s[issued], trace.phase[issued], trace.pacing.repeat,
    )  # fmt: skip


class _Plan:
    """Numbers the stations of a spec and writes its routes down."""

    def __init__(self, spec: MinioSpec):
        self.spec = spec
        drives = spec.drives
        # Work on a core is shorter than a scheduler's time slice, and run queues keep no order among threads: measured
        # latencies under load have the spread of random order, not that of processor sharing or FIFO.
        self.stations = [Station("host cpu", "host cpu", Discipline.RANDOM_ORDER, spec.host.cores)]
        self.host_cpu = self.client_cpu = 0
        if not spec.client.on_host:
            self.client_cpu = self._add(Station("client cpu", "client cpu", Discipline.RANDOM_ORDER, spec.client.cores))
        self.latency = self._add(Station("network latency", "network latency", Discipline.DELAY))
        self.up = self._add(Station("network up", "network", Discipline.PROCESSOR_SHARING))
        self.down = self._add(Station("network down", "network", Discipline.PROCESSOR_SHARING))
        self.first_drive = len(self.stations)
        for d in range(drives.count):
            self._add(Station(f"drive {d}", "drive", Discipline.FIFO, drives.queue_depth))
        self.first_journal = len(self.stations)
        for j in range(1 if drives.shared_journal else drives.count):
            item_s = drives.commit_member
            self._add(Station(f"journal {j}", "journal", Discipline.GROUP_COMMIT, batch_item_s=item_s))

    def _add(self, station: Station) -> int:
        self.stations.append(station)
        return len(self.stations) - 1

    def sets(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        """The drives of each erasure set, in every rotation: an object's shards start at a drive of its own."""
        size = self.spec.drives.set_size
        rotations = (np.arange(size)[:, None] + np.arange(size)) % size
        sets = np.arange(self.spec.drives.count // size)[:, None, None] * size + rotations
        return (self.first_drive + sets.reshape(-1, size)).astype(np.int32)

    def journals(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        """The journal of each drive in `sets`."""
        drive = self.sets() - self.first_drive
        return (self.first_journal + (drive * (not self.spec.drives.shared_journal))).astype(np.int32)

    def routes(self) -> tuple[Route, ...]:
        """One for each operation, and one more for PUTs that are inlined."""
        drives = self.spec.drives
        size, data_shards = drives.set_size, drives.set_size - drives.parity_shards
        read, write = drives.read.per_shard(data_shards), drives.write.per_shard(data_shards)
        fetch = Stage(tuple((Visit(Member(0, d), read),) for d in range(data_shards)), data_shards, delivers=True)
        look = single(Visit(Member(0, 0), drives.read))
        commit = Stage(tuple((Visit(Member(1, d), drives.commit),) for d in range(size)), size)
        write_and_commit = Stage(
            tuple((Visit(Member(0, d), write), Visit(Member(1, d), drives.commit)) for d in range(size)), size
        )
        policy = self.spec.client.policy
        return (
            Route("GET", (self._ask("GET"), fetch, *self._answer(body=True)), policy=policy("GET")),
            Route("PUT", (self._ask("PUT"), write_and_commit, commit, *self._finish("PUT")), policy=policy("PUT")),
            Route("PUT inline", (self._ask("PUT"), write_and_commit, *self._finish("PUT")), policy=policy("PUT")),
            Route("HEAD", (self._ask("HEAD"), look, *self._answer()), policy=policy("HEAD")),
            Route("DELETE", (self._ask("DELETE"), commit, *self._finish("DELETE")), policy=policy("DELETE")),
            Route("LIST", (self._ask("LIST"), look, *self._answer()), policy=policy("LIST")),
        )

    def _ask(self, op: Op) -> Stage:
        """The client's work, the way to the host, and the host's work."""
        spec, visits = self.spec, []
        if op in spec.client.cpu:
            visits.append(Visit(self.client_cpu, spec.client.cpu[op]))
        visits += self._transfer(self.up, body=op == "PUT")
        law = spec.host.cpu.get(op, _NOTHING)
        commits = op in ("PUT", "DELETE")
        visits.append(Visit(self.host_cpu, law.scaled(1 - spec.host.after_commit) if commits else law))
        return single(*visits)

    def _finish(self, op: Op) -> tuple[Stage, ...]:
        """What follows a commit: the rest of the host's work, and the answer."""
        host = self.spec.host
        if not host.after_commit or op not in host.cpu:
            return self._answer()
        rest = single(Visit(self.host_cpu, host.cpu[op].scaled(host.after_commit)))
        return (rest, *self._answer())

    def _answer(self, body: bool = False) -> tuple[Stage, ...]:
        visits = self._transfer(self.down, body)
        return (single(*visits),) if visits else ()

    def _transfer(self, link: int, body: bool) -> list[Visit]:
        network = self.spec.network
        visits = []
        if network.latency:
            visits.append(Visit(self.latency, ServiceDemand(constant=network.latency)))
        if body and network.bandwidth:
            visits.append(Visit(link, ServiceDemand(per_byte=1 / network.bandwidth)))
        return visits

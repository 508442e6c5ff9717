"""What the OSDs of a Ceph cluster do for a request: they read, write and remove RADOS objects.

A replicated or erasure-coded write waits for all members of the placement group, an erasure-coded read for as many
chunks as there are data chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from models.ceph.cluster.stations import Osd, Stations
from models.ceph.demands.cost_functions import CostFunctions, DeviceAccess, of_size
from models.ceph.requests.by_group import OsdGroups
from models.ceph.requests.transfers import Transfers
from models.ceph.spec.spec import CephSpec
from models.network.route import Chance, words
from models.network.service_demand import ServiceDemand
from models.shared.steps import (
    Stages,
    Step,
    access,
    acquire,
    changed,
    check,
    commit,
    fan_out,
    hold,
    in_series,
    joined,
    release,
    round_trip,
    sometimes,
    use,
    visit,
)
from traces.operations import Op

Cut = Literal["", "in stripes", "in parts"]
CUTS: tuple[Cut, ...] = get_args(Cut)


@dataclass(frozen=True)
class Kind:
    """The common properties of requests with the same route, and of their RADOS objects.

    Attributes:
        deferred: whether chunks are small enough to be written after the commit, on OSDs of each group of hosts.
        chunk_bytes: bytes of a chunk, for demands that do not follow from the size of each request.
        parts: mean number of chunks that the bytes of a RADOS object fill; an erasure code may pad them to more.
        cached: whether the OSDs have the data in memory.
        at_gateway: whether the gateway has the object in its cache.
        merged: number of writes that are sent as one; chunks are those of the merged write.
        cut: how the bytes are divided; empty: they are in one RADOS object.
        tail: number of stripes after the head that a DELETE removes.
        shares: whether a COPY refers to the stripes of its source after the head.
        held: whether the body of the response waits until the client has acknowledged its headers.
        pool: number of the data pool.
    """

    op: Op
    deferred: tuple[bool, ...] = (False,)
    chunk_bytes: int = 0
    parts: float = 1.0
    cached: bool = False
    at_gateway: bool = False
    merged: float = 1.0
    cut: Cut = ""
    tail: int = 0
    shares: bool = False
    held: bool = False
    pool: int = 0

    @property
    def object_bytes(self) -> float:
        """Mean bytes of a request in each of its RADOS objects."""
        return self.parts * self.chunk_bytes

    @property
    def variant(self) -> str:
        """That of the route."""
        return words(
            self.cut,
            f"of {1 + self.tail} RADOS objects" * (self.tail > 0),
            "by reference" * self.shares,
            self._deferred_text,
            "cached" * self.cached,
            "cached at gateway" * self.at_gateway,
            "held until acknowledged" * self.held,
            "second pool" * self.pool,
        )

    @property
    def _deferred_text(self) -> str:
        if all(self.deferred) or not any(self.deferred):
            return "deferred" * any(self.deferred)
        return f"deferred by groups {', '.join(str(k) for k, is_late in enumerate(self.deferred) if is_late)}"


class OsdRoutes:
    """Builds the parts of routes on OSDs."""

    def __init__(self, spec: CephSpec, costs: CostFunctions, stations: Stations):
        self.spec, self.costs, self.at = spec, costs, stations
        data = spec.pools.data
        self.width, self.data_shards, self.is_ec = data.width, data.data_shards, data.is_ec
        self.hop = visit(stations.latency, ServiceDemand(constant=spec.network.latency))
        self.net = Transfers(spec, costs, stations)
        self.groups = OsdGroups(costs)

    def _read(self, kind: Kind) -> Stages:
        """The OSDs read a RADOS object and send it."""
        return self._read_shards(kind) if self.is_ec else in_series(self._read_replica(kind))

    def _read_replica(self, kind: Kind) -> Step:
        """The primary reads a RADOS object and sends it."""
        osd, parts = self.at.osd(0), kind.parts
        read = self._work(osd, lambda costs: self._read_cpu(costs, kind, parts), ties=True)
        dma = self.net.dma(osd, self._from_drive(kind) / parts + self.net.remote_to_osds)
        found = self._by_worker(osd, 1, read, self._fetch(osd, kind, parts))
        return self._with_token(self._go("data"), found, dma, self._to_gateway(osd))

    def _with_token(self, *read: Step) -> Step:
        """A RADOS read of a gateway, which limits those that are in progress."""
        return hold(self.at.gateway("reads"), *read)

    def _by_worker(self, osd: Osd, requests: int, *work: Step) -> Step:
        """A worker thread of an OSD does this work, and no other until it is done.

        Before, other threads receive and send the messages of `requests` that the OSD serves or issues for it: two
        each. Those that are sent later are counted with the others.
        """
        locked = hold(osd.lock, *work) if self.at.has_pg_locks and osd.is_of_data else joined(work)
        held = hold(osd.threads, locked)
        if not held:
            return ()
        sent = self.costs.messages(2 * requests).takes_time
        return (self._work(osd, lambda costs: costs.messages(2 * requests)) if sent else ()) + held

    def _work(self, osd: Osd, demand: Callable[[CostFunctions], ServiceDemand], *, ties: bool = False) -> Step:
        """An OSD's threads use a core, of those that they can use if the host has other work."""
        used = self.groups.each(osd, lambda at, costs: visit(at.cpu, demand(costs), ties=ties))
        return hold(osd.cores, used) if self.spec.osds_share_cores else used

    def _go(self, pool: Literal["data", "index"], writes: bool = False) -> Step:
        """The gates before the primary of a placement group, and the way to it."""
        return self.at.gates(pool, writes) + self.hop

    def _read_shards(self, kind: Kind) -> Stages:
        """The primary fetches the chunks and sends the decoded object to the gateway."""
        needed = self._chunks_reached(kind)
        members = range(self.width if self.spec.pools.fast_read else needed)
        if needed < self.data_shards:  # seldom the primary's own
            members = range(1, needed + 1)
        requests = 1 + sum(member > 0 for member in members)
        taken, returned = self._read_tokens()
        primary = self.at.osd(0)
        begin = self._work(primary, lambda costs: costs.spec.osd.read.without_bytes, ties=True)
        start = taken + self._go("data") + self._by_worker(primary, requests, begin)
        transferred = 1 + (len(members) - 2) / kind.parts  # apart from a chunk of its own
        fetch = [self._chunk(kind, member, transferred) for member in members]
        decode = self.spec.pools.data.decode(1, self.spec.release)
        own = 0 in members
        at_primary = self._from_drive(kind) * own + len(members) - own  # read, and received
        moved = at_primary / kind.parts + self.net.remote_to_osds
        decoded = joined(visit(cpu, decode) for cpu in self.at.decoders())
        send = decoded + self.net.dma(primary, moved) + self._to_gateway(primary) + returned
        return in_series(start) + fan_out(fetch, wait_for=needed) + in_series(send)

    def _read_tokens(self) -> tuple[Step, Step]:
        """The token of a gateway's reads is taken in one stage and returned in another."""
        return acquire(self.at.gateway("reads")), release(self.at.gateway("reads"))

    def _chunk(self, kind: Kind, member: int, transferred: float) -> Step:
        """The primary reads its chunk, or another member does and sends it to the primary.

        The primary encrypts or decrypts `transferred` times the bytes of the request in secure mode, too.
        """
        osd, parts = self.at.osd(member), kind.parts

        def own(costs: CostFunctions) -> ServiceDemand:
            return _more(self._read_cpu(costs, kind, parts).of_bytes, costs.secure_s * transferred)

        if not member:
            return self._by_worker(osd, 0, self._work(osd, own), self._fetch(osd, kind, parts))
        dma = self.net.dma(osd, (self._from_drive(kind) + 1) / parts)
        read = self._work(osd, lambda costs: self._read_cpu(costs, kind, parts))
        found = self._by_worker(osd, 1, read, self._fetch(osd, kind, parts))
        return round_trip(self.hop, found, dma) + self.net.cluster(osd, "up", parts)

    def _chunks_reached(self, kind: Kind) -> int:
        """Number of data chunks of a RADOS object that a request accesses: all of them, unless optimized."""
        if not self.spec.pools.ec_optimizations:
            return self.data_shards
        return self.spec.pools.data.chunks_reached(kind.object_bytes)

    def _fetch(self, osd: Osd, kind: Kind, parts: float) -> Step:
        """Read a chunk from its drive, after the database's accesses; from memory if it is cached."""
        cached, chunk_bytes = kind.cached, kind.chunk_bytes
        return self._accesses(
            osd, lambda costs: costs.metadata_accesses if cached else costs.read_accesses(chunk_bytes), parts
        )

    @staticmethod
    def _read_cpu(costs: CostFunctions, kind: Kind, parts: float) -> ServiceDemand:
        """CPU demand of an OSD that reads a chunk, one of `parts` equal parts of the request's bytes."""
        per_byte_s = costs.decompress_s(kind.chunk_bytes) + costs.secure_s
        return _more(costs.spec.osd.read, per_byte_s).per_shard(parts)

    def _accesses(
        self, osd: Osd, accesses: Callable[[CostFunctions], tuple[DeviceAccess, ...]], parts: float = 1
    ) -> Step:
        return self.groups.each(osd, lambda at, costs: self._accessed(at, accesses(costs), parts))

    def _accessed(self, osd: Osd, accesses: tuple[DeviceAccess, ...], parts: float = 1) -> Step:
        return joined(self._access(osd, each, parts) for each in accesses)

    def _access(self, osd: Osd, cost: DeviceAccess, parts: float) -> Step:
        on_drive, overlapping = cost.on == "drive", cost.overlapping.per_shard(parts)
        waited = use(osd.latency if on_drive else self.at.latency, overlapping)
        made = access(osd.drive if on_drive else osd.db, cost.exclusive.per_shard(parts), waited)
        return sometimes([made], Chance(cost.fraction))[0] if cost.fraction < 1 else made

    def _deferred_writes(self, kind: Kind) -> list[Step]:
        """The chunks are written to their place after the commit, if they are deferred."""
        if not any(kind.deferred):
            return []
        wait = () if self.at.batches is None else check(self.at.batches)

        def later(at: Osd, costs: CostFunctions) -> Step:
            if not self._defers(kind, costs):
                return ()
            return wait + hold(at.throttle, access(at.drive, costs.deferred_write(kind.chunk_bytes)))

        return [self.groups.each(self.at.osd(member), later) for member in range(self.width)]

    def _defers(self, kind: Kind, costs: CostFunctions) -> bool:
        """Whether OSDs of a group write the chunks of a request after their commit."""
        return kind.deferred[self.costs.of_groups.index(costs)]

    def _write(self, kind: Kind) -> Stages:
        """The primary receives a RADOS object, and its chunks or replicas are committed."""
        spec = self.spec
        parts = kind.parts
        reached = self._chunks_reached(kind)
        members = [*range(reached), *range(self.data_shards, self.width)] if self.is_ec else [*range(self.width)]
        received_s = self.costs.secure_s
        encode = spec.pools.data.encode(spec.release).per_byte
        sent = (len(members) - 1) / parts
        requests = len(members) + sum(member > 0 for member in self._kept_chunks(kind, reached))
        primary = self.at.osd(0)
        arrive = self._go("data", writes=True) + self.net.public(primary, "down")
        moved = self.net.remote_to_osds + len(members) / parts  # received, sent to the others, written
        of_primary = encode + received_s * (1 + sent)
        first = self._work(primary, lambda costs: _more(costs.spec.osd.write, of_primary), ties=True)
        work = self._by_worker(primary, requests, first)
        committed = []
        for member in members:
            osd = self.at.osd(member)
            if not member:
                committed.append(self._commit(osd, parts, kind))
                continue
            received = self.net.cluster(osd, "down", parts) + self.net.dma(osd, 2 / parts)
            write = self._work(osd, lambda costs: _more(costs.spec.osd.write, received_s).per_shard(parts))
            committed.append(round_trip(self.hop, received, self._commit(osd, parts, kind, write)))
        sent_to_primary = in_series(arrive, self.net.dma(primary, moved), work)
        return sent_to_primary + self._old_chunks(kind, reached) + fan_out(committed) + in_series(self.hop)

    def _kept_chunks(self, kind: Kind, reached: int) -> Sequence[int]:
        """Return the chunks that the primary reads before an overwrite that fills stripes in part.

        These are all data chunks (ECCommon::RMWPipeline). With optimizations they are the data chunks that are not
        written, or those that are written and the parity, whichever are fewer
        (doc/dev/osd_internals/erasure_coding/enhancements.rst, "Parity delta writes").
        """
        if not self._partial_stripes(kind):
            return ()
        if not self.spec.pools.ec_optimizations:
            return range(self.data_shards)
        written = [*range(reached), *range(self.data_shards, self.width)]
        return min(range(reached, self.data_shards), written, key=len)

    def _partial_stripes(self, kind: Kind) -> float:
        """Return the mean number of stripes that an overwrite fills in part."""
        return self.spec.pools.data.partial_stripes(round(kind.object_bytes)) if self.spec.access.overwrites else 0.0

    def _old_chunks(self, kind: Kind, reached: int) -> Stages:
        """The primary reads what an overwrite leaves of the stripes that it fills in part."""
        kept = self._kept_chunks(kind, reached)
        units = self._partial_stripes(kind) * self.spec.pools.data.stripe_bytes / self.data_shards
        received = (len(kept) - 2) / kind.parts  # from the others, apart from a chunk of its own
        sized = partial(of_size, size_bytes=units * kind.parts)
        return fan_out(changed(self._chunk(kind, member, received), sized) for member in kept)

    def _commit(self, osd: Osd, parts: float, kind: Kind, work: Step = ()) -> Step:
        """A chunk is made durable after `work`: in the log if it is deferred, else on the drive and then in the log.

        A deferred one queues behind earlier deferred writes but keeps none of their tokens: it would hold the token
        until the slowest member has committed, and two writes could wait for each other forever.
        """
        compress = any(costs.compress_s(kind.chunk_bytes) for costs in self.costs.of_groups)
        packed = self._work(osd, lambda costs: self._compress(costs, kind, parts)) if compress else ()
        lookups = self._accesses(osd, lambda costs: costs.target_accesses)
        prepared = self._by_worker(osd, 1 if work else 0, work, packed, lookups)

        def durable(at: Osd, costs: CostFunctions) -> Step:
            if self._defers(kind, costs):
                turn = acquire(at.throttle) + release(at.throttle)
                return turn + self._logged(at, costs, kind.chunk_bytes)
            data = (costs.write_access(kind.chunk_bytes),) if kind.chunk_bytes else ()
            return self._accessed(at, data, parts) + self._logged(at, costs, flushes=bool(data))

        return prepared + self.groups.each(osd, durable)

    @staticmethod
    def _compress(costs: CostFunctions, kind: Kind, parts: float) -> ServiceDemand:
        """CPU demand of an OSD that compresses a chunk, one of `parts` equal parts of the request's bytes."""
        return ServiceDemand(per_byte=costs.compress_s(kind.chunk_bytes)).per_shard(parts)

    def _log(self, osd: Osd) -> Step:
        """A commit of metadata to the log of an OSD."""
        return self.groups.each(osd, self._logged)

    @staticmethod
    def _logged(osd: Osd, costs: CostFunctions, chunk_bytes: int = 0, flushes: bool = False) -> Step:
        """A commit of RocksDB's log, or of FileStore's journal, after a flush of the data that were just written."""
        written = use(osd.db if costs.logs_on_db else osd.drive, costs.log_write(chunk_bytes))
        return written + commit(osd.kv, costs.commit, flushes=flushes)

    def _compactions(self) -> list[Step]:
        """Compaction I/O on the data devices caused by the metadata of a write."""
        return [self._accesses(self.at.osd(m), lambda costs: costs.compaction_accesses) for m in range(self.width)]

    def _remove(self) -> Stages:
        """The chunks or replicas of a RADOS object are removed."""
        return in_series(self._go("data", writes=True)) + fan_out(self._removals()) + in_series(self.hop)

    def _removals(self) -> list[Step]:
        """The removal of a RADOS object on each of its OSDs."""
        branches = []
        for member in range(self.width):
            osd = self.at.osd(member)
            lookups = self._accesses(osd, lambda costs: costs.metadata_accesses)
            write = self._work(osd, lambda costs: costs.spec.osd.write.without_bytes)
            work = self._by_worker(osd, 1 if member else self.width, write, lookups)
            branches.append(round_trip(self.hop if member else (), work, self._log(osd)))
        return branches

    def _stat(self) -> Stages:
        """The primary returns the attributes of a RADOS object."""
        osd = self.at.osd(0)
        read = self._work(osd, lambda costs: costs.spec.osd.read.without_bytes, ties=True)
        found = self._by_worker(osd, 1, read, self._accesses(osd, lambda costs: costs.metadata_accesses))
        return in_series(self._go("data"), found, self.hop)

    def _to_gateway(self, osd: Osd) -> Step:
        """A primary sends a RADOS object to the gateway or client."""
        return self.hop + self.net.public(osd, "up")

    def _from_drive(self, kind: Kind) -> float:
        """Fraction of the data that are read from drives."""
        return 0.0 if kind.cached else 1 - self.spec.osd.cache.hit_ratio


def _more(demand: ServiceDemand, per_byte_s: float) -> ServiceDemand:
    """Return the demand with `per_byte_s` more for each byte."""
    return demand.model_copy(update={"per_byte": demand.per_byte + per_byte_s})

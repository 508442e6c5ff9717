"""SeaweedFS's requests as routes: in which order they visit the stations, and what they wait for.

As in SeaweedFS's source at cc8364a0 (weed/s3api, weed/operation/upload_chunked.go, weed/storage/volume_write.go). A
gateway cuts a body into chunks, of which four are in progress. For each, the master assigns an id and a volume; the
gateway sends it to all copies of the volume at the same time, and waits for all. Then the filer creates the entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from models.network.route import Route, words
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.sub_requests import SubRequests
from models.seaweedfs.places import Places, Stations
from models.seaweedfs.spec import SeaweedSpec
from models.shared.multipart import SubRoutes
from models.shared.steps import (
    Server,
    Stages,
    Step,
    access,
    acquire,
    append,
    check,
    chunked,
    commit,
    delay,
    detached,
    fan_out,
    hold,
    in_series,
    instant,
    joined,
    pipelined,
    release,
    round_trip,
    send,
    starts,
    use,
    visit,
)
from traces.operations import Op

NEEDLE_BYTES = 48
"""Of a chunk's header, checksum and padding; an entry of the index follows by itself (measured)."""
CHUNKS_AT_ONCE = 4
"""Chunks of a request in progress, for writes and for reads that are ahead."""
READ_AT_ONCE_BYTES = (1 << 20) - NEEDLE_BYTES
"""Largest chunk that is read by one call; of others, the header is read by two, and then 1 MiB at a time (measured)."""
HEADER_READS = 2
DIRECT_BYTES = 1 << 20
"""Largest access of a direct drive, as the kernel splits the calls of a FUSE file system."""
MOST_SYNCED, MOST_SYNCED_BYTES = 128, 4 << 20
"""Chunks, and their bytes, that a sync is for at most (weed/storage/volume_write.go, startWorker)."""
HEADER_LIMIT_S = 30.0
"""How long a read waits for the header of a response, before it goes to another copy."""


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        several: whether the object has several chunks.
        cached: whether the page caches have the chunks of a GET.
        coded: whether its volume is erasure coded.
        paged: whether a direct drive reads a chunk by several calls.
    """

    op: Op
    several: bool = False
    cached: bool = False
    coded: bool = False
    paged: bool = False

    @property
    def variant(self) -> str:
        """That of the route."""
        coded, paged = "erasure coded" * self.coded, "paged" * self.paged
        return words("in chunks" * self.several, "cached" * self.cached, coded, paged)


class Routes:
    """Builds the route of each kind of request.

    Args:
        batch: mean number of chunks that have a sync of a direct drive in common, at least 1.
    """

    def __init__(self, spec: SeaweedSpec, stations: Stations, places: Places, batch: float = 1.0):
        self.batch = batch
        self.spec, self.stations, self.places, self.clients = spec, stations, places, stations.clients
        self.drives, self.volumes, self.head = spec.drives, spec.volumes, places.head
        self.wire, self.gateway = spec.network.wire(spec.hosts.nic), spec.network.wire(spec.gateway_nic)
        self.call = spec.hosts.cores.at_speed(spec.hosts.internode.call)
        self.way = delay(stations.latency, spec.network.latency)

    def routes(self, kinds: Sequence[Kind]) -> tuple[Route, ...]:
        """Return the routes of kinds of requests, then those of their chunks."""
        self._started = SubRoutes(len(kinds))
        return (*(self._route(kind) for kind in kinds), *self._started.all)

    def _route(self, kind: Kind) -> Route:
        stages = {
            "GET": self._get, "PUT": self._put, "DELETE": self._delete, "HEAD": self._found, "LIST": self._list
        }[kind.op](kind)  # fmt: skip
        stages = self._request(kind.op) + stages + in_series(self.way)
        return Route(kind.op, stages, policy=self.spec.client.policy(kind.op), variant=kind.variant)

    # Requests.

    def _request(self, op: Op) -> Stages:
        """The client's work, the way to a gateway, and its work on the request."""
        entry = check(self.head("entry")) if self.places.bound else ()
        work = visit(self.head("cpu"), self.spec.gateway_cpu(op).without_bytes, ties=True)
        return in_series(self.clients.work(op), self.way, entry, work)

    def _put(self, kind: Kind) -> Stages:
        return self._chunks(kind, self._chunk_written()) + self._entry(self.spec.filer.write, writes=True)

    def _get(self, kind: Kind) -> Stages:
        return self._found(kind) + self._chunks(kind, self._coded() if kind.coded else self._chunk_read(kind))

    def _delete(self, kind: Kind) -> Stages:
        """The entry is removed; tombstones of its chunks are appended later."""
        stages = fan_out(self._tombstone(at) for at in self._copies)
        if kind.several:
            route = self._started.add(Route("DELETE", stages, variant="chunk"))
            later = starts(self.stations.latency, SubRequests(
                route, self.volumes.chunk_size, own_keys=False, key_step=self.places.next_volume
            ))  # fmt: skip
            return self._entry(self.spec.filer.write, writes=True) + detached(self.stations.latency, [later])
        return self._entry(self.spec.filer.write, writes=True) + detached(
            self.stations.latency, (branch for stage in stages for branch in stage.branches)
        )

    def _found(self, kind: Kind) -> Stages:
        return self._entry(self.spec.filer.read)

    def _list(self, kind: Kind) -> Stages:
        return self._entry(self.spec.filer.list)

    def _chunks(self, kind: Kind, stages: Stages) -> Stages:
        """The transfer of an object's chunks: of one, or of several, four of them at the same time."""
        if not kind.several:
            return stages
        variant = words("cached" * kind.cached, "erasure coded" * kind.coded, "paged" * kind.paged, "chunk")
        route = self._started.add(Route(kind.op, stages, variant=variant))
        return in_series(chunked(
            self.stations.latency, self.volumes.chunk_size, route, parallel=CHUNKS_AT_ONCE, own_keys=False,
            key_step=self.places.next_volume, delivers=kind.op == "GET",
        ))  # fmt: skip

    # The filer, next to the gateway, and the master.

    def _entry(self, work: ServiceDemand | None, writes: bool = False) -> Stages:
        """An operation of the filer, with one of its store."""
        store = self.spec.filer.store
        way = delay(self.stations.latency, store.latency)
        done = use(self.head("store"), store.write if writes else store.read)
        if writes and store.synced:
            done += use(self.stations.drive_latency, self.drives.sync or NOTHING)
        stored = round_trip(way, done)
        return in_series(visit(self.head("cpu"), self.spec.of_filer(work)), stored)

    def _assigned(self) -> Step:
        """An id and a volume of the master, by way of the filer; once more if a copy of the volume fails at once."""
        demand = self.spec.master.cores.at_speed(self.spec.master.assign)
        hop = delay(self.stations.latency, self.spec.hosts.internode.latency)
        asked = use(self.head("cpu"), self.spec.of_filer(self.spec.filer.assign))
        asked += round_trip(hop, use(self.stations.master, demand))
        if not self.places.bound:
            return asked
        again = delay(self.head("again"), 4 * self.spec.hosts.internode.latency + demand.constant)
        return asked + again + check(self.head("writes"))

    # Chunks.

    @property
    def _copies(self) -> list[Server]:
        return [partial(self.places.copy, position) for position in range(self.volumes.copies)]

    def _chunk_written(self) -> Stages:
        """A chunk is received, and sent to all copies of its volume, which are all waited for."""
        received = self.clients.transfer("up") + send(self.gateway, self.head("in"))
        received += use(self.head("cpu"), self.spec.gateway_cpu("PUT").of_bytes)
        # Bytes are on the link of the gateway and on that of the server at the same time; all copies are waited for.
        arriving = (self._called(at) + send(self.wire, at("in")) for at in self._copies)
        written = fan_out([*map(self._written, self._copies), *(each for each in arriving if self.spec.hosts.nic)])
        waited = self.volumes.fsync or self.drives.direct
        back = () if waited else detached(self.stations.latency, map(self._written_back, self._copies))
        return fan_out(pipelined(received)) + in_series(self._assigned()) + written + back

    def _written(self, at: Server) -> Step:
        """A copy: the chunk is sent, and appended to the page cache of its server, or synced with others that wait."""
        step = self._called(at) + send(self.gateway, self.head("out"))
        step += visit(at("cpu"), self.spec.hosts.cpu_demand("PUT")) + self._append(at)
        if self.volumes.fsync and not self.drives.direct:
            step += access(at("drive"), self.drives.write or NOTHING)
            step += commit(at("journal"), self.drives.sync or NOTHING)
        return step

    def _append(self, at: Server, tombstone: bool = False) -> Step:
        """The append of a chunk and of its entry of the index, for which the volume is locked.

        A worker of the volume syncs a direct drive within the lock, once for the chunks that wait.
        """
        if not self.drives.direct:
            return append(at("volume"), self._appended, tombstone=tombstone)
        write = self.drives.write or NOTHING
        entry = access(at("drive"), write.without_bytes)
        data = entry if tombstone else self._accesses(at, "PUT", write, READ_AT_ONCE_BYTES)
        synced: Step = ()
        if self.volumes.fsync and not tombstone:
            synced = use(at("drive"), (self.drives.sync or NOTHING).scaled(1 / self.batch))
        return hold(at("volume"), use(self.stations.latency, self._appended.without_bytes), data, entry, synced)

    def _accesses(self, at: Server, op: Op, demand: ServiceDemand, largest_bytes: int) -> Step:
        """Accesses of a direct drive to a chunk, one after the other."""
        route = self._started.add(Route(op, in_series(access(at("drive"), demand)), variant="access"))
        return chunked(self.stations.latency, largest_bytes, route, parallel=1, own_keys=False, keeps=())

    @property
    def _appended(self) -> ServiceDemand:
        return self.spec.hosts.cores.at_speed(self.volumes.append)

    def _written_back(self, at: Server) -> Step:
        return self._awaited(at) + access(at("drive"), self.drives.write or NOTHING)

    def _tombstone(self, at: Server) -> Step:
        work = visit(at("cpu"), self.spec.hosts.cpu_demand("DELETE").without_bytes)
        return self._called(at) + work + self._append(at, tombstone=True) + self._vacuumed(at)

    def _vacuumed(self, at: Server) -> Step:
        """The copy of a volume without its garbage, in proportion to what is deleted.

        A volume with a fraction g of garbage has (1 - g) / g bytes for each of these, which are read and written.
        """
        copied = (1 - self.volumes.garbage_threshold) / self.volumes.garbage_threshold
        moved = (demand.of_bytes.scaled(copied) for demand in (self.drives.read, self.drives.write) if demand)
        return joined(use(at("drive"), demand) for demand in moved)

    def _chunk_read(self, kind: Kind) -> Stages:
        """A chunk is read from a copy: one access at a known place; another copy's after a limit if one hangs."""
        at = self.places.read
        stages: Stages = ()
        if self.places.bound:
            late = delay(at("late"), HEADER_LIMIT_S) or instant(self.stations.latency)
            waited = [check(at("hung")), late] if any(f.kind == "host_hung" for f in self.spec.faults) else []
            stages = in_series(check(self.head("reads"))) + (fan_out(waited, wait_for=1) if waited else ())
        begun = delay(at("way"), 2 * self.spec.hosts.internode.latency) + self._unlocked(at)
        begun += self._server(at, kind.cached, kind.paged)
        return stages + in_series(begun, delivers=True) + self._sent(at)

    def _unlocked(self, at: Server) -> Step:
        """The wait until no chunk is appended to the volume (readNeedle, volume_read.go); reads do not lock it."""
        return acquire(at("volume")) + release(at("volume")) if self.drives.direct else ()

    def _server(self, at: Server, cached: bool, paged: bool = False) -> Step:
        work = visit(at("cpu"), self.spec.hosts.cpu_demand("GET"))
        if cached:
            return work
        read, latency = self.drives.read or NOTHING, use(self.stations.drive_latency, self.drives.read_latency)
        if paged:
            header = access(at("drive"), read.without_bytes, latency, times=HEADER_READS)
            return work + header + self._accesses(at, "GET", read, DIRECT_BYTES)
        return work + access(at("drive"), read, latency)

    def _coded(self) -> Stages:
        """A chunk of an erasure-coded volume: of its shard, or rebuilt from all others that are left."""
        hop_s, index = 2 * self.spec.hosts.internode.latency, self.volumes.erasure.index
        shards = [partial(self.places.shard, None)] + [
            partial(self.places.shard, n) for n in range(self.places.shards - 1 if self.places.bound else 0)
        ]  # fmt: skip
        branches = [
            delay(at("way"), hop_s) + use(at("drive"), index) + self._server(at, False) + send(self.wire, at("out"))
            for at in shards
        ]
        return fan_out(branches, delivers=True) + self._passed_on()

    def _sent(self, at: Server) -> Stages:
        """A chunk on its way to the gateway, over the links of both; it has all of it before it passes it on."""
        arriving = send(self.wire, at("out")) + send(self.gateway, self.head("in"))
        return fan_out(pipelined(arriving)) + self._passed_on()

    def _passed_on(self) -> Stages:
        work = use(self.head("cpu"), self.spec.gateway_cpu("GET").of_bytes)
        return fan_out(pipelined(work + send(self.gateway, self.head("out")) + self.clients.transfer("down")))

    # Calls.

    def _called(self, at: Server) -> Step:
        return delay(at("way"), 2 * self.spec.hosts.internode.latency) + self._awaited(at)

    def _awaited(self, at: Server) -> Step:
        return check(at("hung")) if any(f.kind == "host_hung" for f in self.spec.faults) else ()

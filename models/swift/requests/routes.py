"""Swift's requests as routes: in which order they visit the stations, and what they wait for.

As in Swift's source at d57c078e (swift/proxy/controllers/obj.py and base.py, swift/obj/server.py and diskfile.py). A
worker process of an object server blocks while it reads or writes data, so it is held meanwhile, and from the first
access to the last if drives are slower than links; it syncs files and directories in threads. The bytes of a PUT pass
links and drives at the same time. Those of a GET are sent while the next ones are read; of a hedged one, after all have
been read.

Stages that take no time are left out. Large objects are in `large_objects.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.network.route import Route, Stage, Visit, single, words
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Bound, Member
from models.swift.cluster.places import Places
from models.swift.cluster.stations import Stations
from models.swift.spec.spec import SwiftSpec
from traces.operations import Op

MESSAGE_BYTES = 4096
"""Bytes of a small write: the invalidated hash of a suffix."""

MOST_SINGLE_ACCESSES = 16
"""Further accesses to a piece are simulated in visits of several."""
_BUFFERED_BYTES = 1 << 16
"""Bytes that the sockets between a proxy and an object server take while that is busy: the window of a new connection,
half of Linux's default of 128 KiB (tcp_rmem, tcp_adv_win_scale)."""
_BEFORE = 0.5  # fraction of an object server's work on a PUT before it responds with 100 Continue (assumed)
_OPENING_WAYS = 3  # one-way latencies until a server has a request, with the handshake of its connection

Place = Callable[[str], Member | Bound]
Stages = tuple[Stage, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        accesses: to each drive for the bytes of an object's piece.
        directories: directories that a PUT syncs.
        parts: of a large object, as `Multipart.simulated` has them; 0: it is a single object.
    """

    op: Op
    accesses: int = 1
    directories: int = 1
    parts: int = 0

    @property
    def variant(self) -> str:
        """That of the route."""
        return words(
            f"{self.accesses} accesses" * (self.accesses > 1),
            {1: "", 2: "new name", 3: "new suffix"}[self.directories],
            f"in {self.parts} parts" * (self.parts > 0),
        )


class Routes:
    """Builds the route of each kind of request."""

    def __init__(self, spec: SwiftSpec, stations: Stations, places: Places):
        self.spec, self.stations, self.places = spec, stations, places
        self.hosts, self.proxies, self.drives = spec.hosts, spec.proxies, spec.drives
        self.read, self.write, self.sync = (
            each or NOTHING for each in (self.drives.read, self.drives.write, self.drives.sync)
        )

    def route(self, kind: Kind) -> Route:
        """Return the route of a kind of request."""
        return Route(kind.op, self._stages(kind), policy=self.spec.client.policy(kind.op), variant=kind.variant)

    def _stages(self, kind: Kind) -> Stages:
        match kind.op:
            case "PUT":
                return (*self._request("PUT", "writes"), *self.stored(kind), *self._respond())
            case "DELETE":
                return (*self._request("DELETE", "writes"), *self.deleted(), *self._respond())
            case "LIST":
                return (*self._request("LIST", None), *self._listed(), *self._respond())
            case _:
                return (*self._request(kind.op, "reads"), *self.fetched(kind), *self._respond())

    # Reads.

    def fetched(self, kind: Kind) -> Stages:
        """GET or HEAD of an object, as its proxy calls object servers.

        The first server in order, or as many as there are data fragments; with timers, further ones.
        """
        needed, count = self.spec.data_pieces, self.spec.data_pieces + self.places.hedged
        hedged = count > needed
        size = needed if kind.op == "GET" else 1
        branches = []
        for position in range(count):
            at = self._reader(position)
            later = max(0, position + 1 - needed - self.proxies.concurrent_ec_extra_requests)
            visits = [self._hedge(later)] if later else []
            visits += self._timeouts(at)
            visits += [Visit(at("absent"), NOTHING)] if self.places.bound else []
            visits += self._opening(at)
            further = self._read_access(kind, at, size) * (kind.accesses - 1) if kind.op == "GET" else []
            stays = not hedged and self._stays(self.read, self.drives.read_latency, self.drives.read_size)
            visits += self._opened(kind, at, size, further if stays else [])
            if hedged:
                visits[-1] = replace(visits[-1], claims=True)
            if further and not stays:
                visits += self._held(at, self._read_access(kind, at, size)) * (kind.accesses - 1)
            branches.append(tuple(visits))
        if kind.op != "GET":
            return (Stage(tuple(branches), needed, delivers=True),)
        links, last = self._links_of_read(), 1.0
        if kind.accesses > 1 and not hedged:  # all bytes but those of the last read are sent while others are read
            last = 1 / kind.accesses
            branches += [(visit,) for visit in _scaled(links, 1 - last)]
            needed = len(branches)
        fetch = Stage(tuple(branches), needed, delivers=True)
        return (fetch, *self._parallel([*_scaled(links, last), *self._proxy_bytes("GET")]))

    def _opened(self, kind: Kind, at: Place, pieces: int, further: Sequence[Visit]) -> list[Visit]:
        """The work of an object server until it responds, with the first bytes of the object.

        Args:
            further: reads that it makes before it does anything else.
        """
        cpu = self._cpu(kind.op)
        visits = [Visit(at("cpu"), cpu.without_bytes)] if cpu.without_bytes.takes_time else []
        if self.drives.lookup.takes_time:
            visits.append(Visit(at("drive"), self.drives.lookup))
        if kind.op == "GET":
            visits += self._read_access(kind, at, pieces)
        return [*self._held(at, [*visits, *further] or [self._instant]), *self._answered(at)]

    def _read_access(self, kind: Kind, at: Place, pieces: int) -> list[Visit]:
        """One access, and the work on its bytes."""
        reads = self.read.takes_time or self.drives.read_latency.takes_time
        visits = self._access(kind, at, self.read, self.drives.read_latency, pieces) if reads else []
        return [*visits, *self._bytes_of(kind, at, pieces)]

    def _stays(self, demand: ServiceDemand, latency: ServiceDemand, access_bytes: int) -> bool:
        """Whether a process stays with a request for all of its accesses: it waits for drives, never for sockets.

        It leaves a request only when a socket is full or empty, which is so if the link is slower than the drive.
        """
        nic = min((each for each in (self.hosts.nic, self.proxies.nic) if each), default=0.0)
        size = np.array([access_bytes])
        drive_s = float(demand.mean_s(size)[0] + latency.mean_s(size)[0])
        return drive_s > 0 and (not nic or drive_s >= access_bytes / nic)

    def _links_of_read(self) -> list[Visit]:
        """The bytes of an object on their way to the client: of hedged reads, those of the first servers in order."""
        visits = []
        if self.hosts.nic:
            pieces = self.spec.data_pieces
            wire = ServiceDemand(per_byte=1 / (self.hosts.nic * pieces))
            visits += [Visit(self.places.read(p, "out"), wire) for p in range(pieces)]
        if self.proxies.nic:
            wire = ServiceDemand(per_byte=1 / self.proxies.nic)
            visits += [Visit(self.places.proxy(part), wire) for part in ("in", "out")]
        visits += self.stations.clients.transfer("down")
        return visits

    # Writes.

    def stored(self, kind: Kind) -> Stages:
        """PUT of an object, as its proxy calls object servers; without accesses, it is empty."""
        pieces = self._pieces
        connect = [
            (
                *self._timeouts(at),
                *self._opening(at),
                *self._held(at, [Visit(at("cpu"), self._cpu("PUT").without_bytes.scaled(_BEFORE))]),
                *self._answered(at),
            )
            for at in pieces
        ]
        received = self._received(kind)
        stages = (Stage(tuple(connect), len(connect)), *self._parallel(received))
        rest = self._cpu("PUT").without_bytes.scaled(1 - _BEFORE)
        synced = [self._synced(kind, number, at, rest) for number, at in enumerate(pieces)]
        if self.spec.ring.erasure is None:
            return (*stages, self._awaited(synced))
        # A second round: fragments become visible once enough of them are durable.
        renamed = [
            (*self._on_threads(at, [Visit(at("drive"), self.sync)]), *self._way(at), *self._updated(number, at))
            for number, at in enumerate(pieces)
        ]
        return (*stages, self._awaited(synced), self._awaited(renamed))

    def _received(self, kind: Kind) -> list[Visit | tuple[Visit, ...]]:
        """The bytes of an object on links and in object servers, which write them if the page cache does not."""
        data, pieces = self.spec.data_pieces, self._pieces
        branches: list[Visit | tuple[Visit, ...]] = [*self.stations.clients.transfer("up"), *self._proxy_bytes("PUT")]
        if self.proxies.nic:
            once = ServiceDemand(per_byte=1 / self.proxies.nic)
            branches.append(Visit(self.places.proxy("in"), once))
            branches.append(Visit(self.places.proxy("out"), once.scaled(len(pieces) / data)))
        if self.hosts.nic:
            wire = ServiceDemand(per_byte=1 / (self.hosts.nic * data))
            branches += [Visit(at("in"), wire) for at in pieces]
        for at in pieces:
            each, count = self._written(kind, at), kind.accesses - self._buffered(kind)
            stays = self._through and self._stays(self.write, self.drives.write_latency, self.drives.write_size)
            if visits := self._held(at, each * count) if stays else self._held(at, each) * count:
                branches.append(tuple(visits))
        return branches

    def _written(self, kind: Kind, at: Place) -> list[Visit]:
        """The work of an object server on the bytes of one access."""
        if not kind.accesses:
            return []
        data = self.spec.data_pieces
        writes = self._access(kind, at, self.write, self.drives.write_latency, data) if self._through else []
        return [*writes, *self._bytes_of(kind, at, data)]

    def _buffered(self, kind: Kind) -> int:
        """The number of last accesses whose bytes are in sockets when the proxy has sent all.

        The proxy does not wait for them, but for the responses of a quorum.
        """
        return min(kind.accesses, max(1, _BUFFERED_BYTES // self.drives.write_size)) if self._through else 0

    def _synced(self, kind: Kind, number: int, at: Place, rest: ServiceDemand) -> tuple[Visit, ...]:
        """The syncs of a piece's file and directories, and in its server the row of the container."""
        data = self.spec.data_pieces
        buffered = self._held(at, self._written(kind, at)) * self._buffered(kind)
        file = (
            []
            if self._through or not kind.accesses
            else self._access(replace(kind, accesses=1), at, self.write, self.drives.write_latency, data)
        )
        syncs = Visit(at("drive"), self.sync)
        visits = [*file, syncs, *self._invalidated(at), *([syncs] * kind.directories)]
        updated = self._updated(number, at) if self.spec.ring.erasure is None else ()
        worked = self._held(at, [Visit(at("cpu"), rest)]) if rest.takes_time else []
        return (*buffered, *self._on_threads(at, visits), *worked, *updated, *self._answered(at))

    def deleted(self) -> Stages:
        """DELETE of an object: a tombstone in the place of the object, which is a file without data."""
        branches = []
        for number, at in enumerate(self._pieces):
            syncs = Visit(at("drive"), self.sync)
            visits = [*self._timeouts(at), *self._opening(at)]
            visits += self._held(at, [Visit(at("cpu"), self._cpu("DELETE"))])
            visits += self._on_threads(at, [syncs, *self._invalidated(at), syncs])
            branches.append((*visits, *self._updated(number, at), *self._answered(at)))
        return (self._awaited(branches),)

    def _awaited(self, branches: Sequence[tuple[Visit, ...]]) -> Stage:
        """A stage that waits for all servers, or for a quorum of them and some time more.

        The time is counted from the beginning of the stage, before the quorum has responded.
        """
        late = Visit(self.stations.timer, ServiceDemand(constant=self.proxies.post_quorum_timeout), timer=True)
        graces = tuple(
            (*([Visit(self.places.grace(number), NOTHING)] if self.places.bound else []), late)
            for number in range(len(branches) - self.spec.write_quorum)
        )
        return Stage((*branches, *graces), len(branches))

    def _updated(self, number: int, at: Place) -> tuple[Visit, ...]:
        """The update of a container's replica by the object server of one piece; the first pieces have one each."""
        containers = self.spec.containers
        if number >= containers.replicas:
            return ()

        def of(part: str) -> Member | Bound:
            return self.places.update(number, part)

        visits = []
        if self.places.bound:
            limit = min(containers.timeout, self.proxies.conn_timeout)
            visits.append(Visit(of("conn timeout"), ServiceDemand(constant=limit)))
        visits += self._opening(of)
        cpu = self.hosts.update_cpu
        visits += [Visit(of("cpu"), cpu)] if cpu.takes_time else []
        visits += [Visit(of("database"), containers.update)] if containers.update.takes_time else []
        return tuple(visits)

    # Listings.

    def _listed(self) -> Stages:
        """LIST: the container's database, and that of the shard of the prefix."""
        stages = []
        for _ in range(1 + (self.spec.containers.shards > 1)):
            visits = self._opening(lambda part: self.places.update(0, part))
            visits.append(Visit(self.places.update(0, "cpu"), self._cpu("LIST")))
            if self.spec.containers.list.takes_time:
                visits.append(Visit(self.places.update(0, "database"), self.spec.containers.list))
            stages.append(single(*visits))
        stages[-1] = replace(stages[-1], delivers=True)
        return tuple(stages)

    # Parts of all requests.

    def _request(self, op: Op, quorum: str | None) -> Stages:
        """The client's work, the way to a proxy, and its own work."""
        own = self.stations.clients.work(op)
        visits = [replace(v, demand=v.demand.without_bytes) for v in own]
        visits += self._latency()
        if any(fault.kind == "proxy_down" for fault in self.spec.faults):
            visits.append(Visit(self.places.proxy("entry"), NOTHING))
        return (single(*visits, *self._begun(op, quorum)),)

    def _begun(self, op: Op, quorum: str | None) -> list[Visit]:
        """The work of a proxy before it calls other servers."""
        cpu = self.proxies.cpu.get(op, NOTHING).without_bytes
        visits = [Visit(self.places.proxy("cpu"), cpu, ties=True)]
        if self.places.bound and quorum:
            visits.append(Visit(self.places.head(quorum), NOTHING))
        return visits

    def _respond(self) -> Stages:
        way = self._latency()
        return (single(*way),) if way else ()

    def _latency(self) -> list[Visit]:
        latency_s = self.spec.network.latency
        return [Visit(self.stations.latency, ServiceDemand(constant=latency_s))] if latency_s else []

    def _proxy_bytes(self, op: Op) -> list[Visit]:
        """The work of proxy and client on an object's bytes."""
        cpu = self.proxies.cpu.get(op, NOTHING).of_bytes
        visits = [Visit(self.places.proxy("cpu"), cpu)] if cpu.takes_time else []
        return [*visits, *(
            replace(v, demand=v.demand.of_bytes) for v in self.stations.clients.work(op) if v.demand.of_bytes.takes_time
        )]  # fmt: skip

    # Parts of a call to a server.

    @property
    def _pieces(self) -> list[Place]:
        return [self._writer(position) for position in range(self.spec.pieces)]

    def _writer(self, position: int) -> Place:
        return lambda part: self.places.write(position, part)

    def _reader(self, position: int) -> Place:
        return lambda part: self.places.read(position, part)

    def _hedge(self, later: int) -> Visit:
        delay = ServiceDemand(constant=later * self.proxies.concurrency_timeout)
        return Visit(self.stations.timer, delay, timer=True)

    def _timeouts(self, at: Place) -> list[Visit]:
        """The wait for another server that is silent."""
        if not self.places.bound:
            return []
        limits = {"conn timeout": self.proxies.conn_timeout, "node timeout": self.proxies.node_timeout}
        return [Visit(at(part), ServiceDemand(constant=limit)) for part, limit in limits.items()]

    def _opening(self, at: Place) -> list[Visit]:
        """The latency of a new connection, a request on it, and its response."""
        latency_s = self.spec.network.internal_latency
        return [Visit(at("latency"), ServiceDemand(constant=(_OPENING_WAYS + 1) * latency_s))] if latency_s else []

    def _way(self, at: Place) -> list[Visit]:
        """The latency of a further message on a connection, and its response."""
        latency_s = self.spec.network.internal_latency
        return [Visit(at("latency"), ServiceDemand(constant=2 * latency_s))] if latency_s else []

    def _answered(self, at: Place) -> list[Visit]:
        """The gates that hold back the response of a server that is silent by now."""
        return [Visit(at(gate), NOTHING) for gate in self.places.answers()]

    @property
    def _instant(self) -> Visit:
        return Visit(self.stations.latency, NOTHING)

    def _held(self, at: Place, visits: Sequence[Visit]) -> list[Visit]:
        """Visits during which a worker process of the object server does nothing else."""
        if not visits:
            return []
        return [Visit(at("worker"), NOTHING), *visits, Visit(at("worker"), NOTHING, releases=True)]

    def _on_threads(self, at: Place, visits: Sequence[Visit]) -> list[Visit]:
        """Visits in a thread of the object server."""
        return [Visit(at("threads"), NOTHING), *visits, Visit(at("threads"), NOTHING, releases=True)]

    def _cpu(self, op: Op) -> ServiceDemand:
        return self.hosts.cpu.get(op, NOTHING)

    def _bytes_of(self, kind: Kind, at: Place, pieces: int) -> list[Visit]:
        """The work of an object server on the bytes of one access."""
        cpu = self._cpu(kind.op).of_bytes
        return [Visit(at("cpu"), cpu.scaled(1 / (pieces * kind.accesses)))] if cpu.takes_time else []

    def _access(self, kind: Kind, at: Place, demand: ServiceDemand, latency: ServiceDemand, pieces: int) -> list[Visit]:
        """An access to the drive with a part of a piece's bytes; a visit of many accesses takes the time of several."""
        parts = pieces * kind.accesses
        size = self.drives.write_size if kind.op == "PUT" else self.drives.read_size
        each, later = (
            of.per_shard(parts) if kind.accesses <= MOST_SINGLE_ACCESSES else several(of, kind.accesses, pieces, size)
            for of in (demand, latency)
        )
        visits = [Visit(self.stations.drive_latency, later)] if latency.takes_time else []
        return [*visits, Visit(at("drive"), each)]

    def _invalidated(self, at: Place) -> list[Visit]:
        """The note that a suffix has changed (hashes.invalid), which is not synced: an access only without a cache."""
        if not self._through:
            return []
        small = self.write.without_bytes
        return [Visit(at("drive"), small)]

    @property
    def _through(self) -> bool:
        """Whether data are written through to the drive."""
        return bool(self.drives.write_size)

    def _parallel(self, branches: Sequence[Visit | tuple[Visit, ...]]) -> Stages:
        chains = tuple(branch if isinstance(branch, tuple) else (branch,) for branch in branches)
        return (Stage(chains, len(chains)),) if chains else ()


def several(demand: ServiceDemand, visits: int, pieces: int, access_bytes: int) -> ServiceDemand:
    """Return the demand of one of several visits that together are all accesses to a piece."""
    each = demand.per_shard(visits * pieces)
    if not demand.constant or demand.per_block:
        return each
    return each.model_copy(
        update={"constant": 0.0, "per_block": demand.constant / visits, "block": access_bytes * pieces}
    )


def _scaled(visits: Sequence[Visit], by: float) -> list[Visit]:
    """Return the visits with demands of a fraction."""
    return [replace(visit, demand=visit.demand.scaled(by)) for visit in visits]

"""Swift's requests as routes: in which order they visit the stations, and what they wait for.

As in Swift's source at d57c078e (swift/proxy/controllers/obj.py and base.py, swift/obj/server.py and diskfile.py). A
worker process of an object server blocks while it reads or writes data, so it is held meanwhile, and from the first
access to the last if drives are slower than links; it syncs files and directories in threads. The bytes of a PUT pass
links and drives at the same time. Those of a GET are sent while the next ones are read; of a hedged one, after all have
been read.

Stages that take no time are left out. Large objects are in `large_objects.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from models.network.route import Route, words
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.steps import (
    Server,
    Stages,
    Step,
    access,
    changed,
    check,
    claiming,
    delay,
    fan_out,
    hold,
    in_series,
    instant,
    joined,
    pipelined,
    send,
    timer,
    use,
    visit,
)
from models.swift.cluster.places import Places
from models.swift.cluster.stations import Stations
from models.swift.spec.spec import SwiftSpec
from traces.operations import Op

MOST_SINGLE_ACCESSES = 16
"""Further accesses to a piece are simulated in visits of several."""
_BUFFERED_BYTES = 1 << 16
"""Bytes that the sockets between a proxy and an object server take while that is busy: the window of a new connection,
half of Linux's default of 128 KiB (tcp_rmem, tcp_adv_win_scale)."""
_BEFORE = 0.5  # fraction of an object server's work on a PUT before it responds with 100 Continue (assumed)
_OPENING_WAYS = 3  # one-way latencies until a server has a request, with the handshake of its connection


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        accesses: to each drive for the bytes of an object's piece.
        directories: directories that a PUT syncs.
        source_accesses: to each drive for the bytes of a piece of the object that a COPY reads.
        in_parts: whether the object is a large one, of which the other properties describe a part.
    """

    op: Op
    accesses: int = 1
    directories: int = 1
    in_parts: bool = False
    source_accesses: int = 1

    @property
    def variant(self) -> str:
        """That of the route."""
        return words(
            f"{self.accesses} accesses" * (self.accesses > 1),
            {1: "", 2: "new name", 3: "new suffix"}[self.directories],
            "in parts" * self.in_parts,
            f"{self.source_accesses} reads" * (self.source_accesses > 1),
        )


class Routes:
    """Builds the route of each kind of request."""

    def __init__(self, spec: SwiftSpec, stations: Stations, places: Places):
        self.spec, self.stations, self.places = spec, stations, places
        self.hosts, self.proxies, self.drives = spec.hosts, spec.proxies, spec.drives
        self.read, self.write, self.sync = (
            each or NOTHING for each in (self.drives.read, self.drives.write, self.drives.sync)
        )
        self.way = delay(stations.latency, spec.network.latency)
        self.proxy_wire = spec.network.wire(self.proxies.nic)
        self.servers = [partial(places.write, position) for position in range(spec.pieces)]

    def route(self, kind: Kind) -> Route:
        """Return the route of a kind of request."""
        return Route(kind.op, self._stages(kind), policy=self.spec.client.policy(kind.op), variant=kind.variant)

    def _stages(self, kind: Kind) -> Stages:
        match kind.op:
            case "PUT":
                return self._request("PUT", "writes") + self.stored(kind) + self._respond()
            case "DELETE":
                return self._request("DELETE", "writes") + self.deleted() + self._respond()
            case "LIST":
                return self._request("LIST", None) + self._listed() + self._respond()
            case _:
                return self._request(kind.op, "reads") + self.fetched(kind) + self._respond()

    # Reads.

    def fetched(self, kind: Kind) -> Stages:
        """GET or HEAD of an object, as its proxy calls object servers.

        The first server in order, or as many as there are data fragments; with timers, further ones.
        """
        needed, count = self.spec.data_pieces, self.spec.data_pieces + self.places.hedged
        hedged = count > needed
        tried = [self._tried(kind, position, hedged) for position in range(count)]
        if kind.op != "GET":
            return fan_out(tried, wait_for=needed, delivers=True)
        links, last = self._links_of_read(), 1.0
        if kind.accesses > 1 and not hedged:  # all bytes but those of the last read are sent while others are read
            last = 1 / kind.accesses
            tried += pipelined(_scaled(links, 1 - last))
            needed = len(tried)
        fetch = fan_out(tried, wait_for=needed, delivers=True)
        return fetch + fan_out(pipelined(_scaled(links, last) + self._proxy_bytes("GET")))

    def _tried(self, kind: Kind, position: int, hedged: bool) -> Step:
        """The call to a server that a proxy tries, which a hedged read begins after a timer, and all its reads."""
        at, needed = partial(self.places.read, position), self.spec.data_pieces
        later = max(0, position + 1 - needed - self.proxies.concurrent_ec_extra_requests)
        begun = timer(self.stations.timer, later * self.proxies.concurrency_timeout) if later else ()
        begun += self._timeouts(at) + (check(at("absent")) if self.places.bound else ()) + self._opening(at)
        is_get = kind.op == "GET"
        read, further = self._read_access(kind, at, needed) if is_get else (), kind.accesses - 1
        stays = not hedged and self._stays(self.read, self.drives.read_latency, self.drives.read_size)
        opened = use(at("cpu"), self._cpu(kind.op).without_bytes) + use(at("drive"), self.drives.lookup)
        opened += read * (1 + further if stays else 1)
        begun += hold(at("worker"), opened or instant(self.stations.latency)) + self._answered(at)
        return (claiming(begun) if hedged else begun) + (() if stays else hold(at("worker"), read) * further)

    def _read_access(self, kind: Kind, at: Server, pieces: int) -> Step:
        """One access, and the work on its bytes."""
        reads = self.read.takes_time or self.drives.read_latency.takes_time
        read = self._access(kind, at, self.read, self.drives.read_latency, pieces) if reads else ()
        return read + self._bytes_of(kind, at, pieces)

    def _stays(self, demand: ServiceDemand, latency: ServiceDemand, access_bytes: int) -> bool:
        """Whether a process stays with a request for all of its accesses: it waits for drives, never for sockets.

        It leaves a request only when a socket is full or empty, which is so if the link is slower than the drive.
        """
        nics = [each for each in (self.hosts.nic, self.proxies.nic) if each]
        size = np.array([access_bytes])
        drive_s = float(demand.mean_s(size)[0] + latency.mean_s(size)[0])
        return drive_s > 0 and (not nics or drive_s >= access_bytes / self.spec.network.payload_rate(min(nics)))

    def _links_of_read(self) -> Step:
        """The bytes of an object on their way to the client: of hedged reads, those of the first servers in order."""
        pieces, proxy = self.spec.data_pieces, self.places.proxy
        piece = self.spec.network.wire(self.hosts.nic * pieces)
        sent = send(piece, *(self.places.read(p, "out") for p in range(pieces)))
        return sent + send(self.proxy_wire, proxy("in")) + self._to_client()

    def _to_client(self) -> Step:
        """The bytes of an object between proxy and client."""
        return send(self.proxy_wire, self.places.proxy("out")) + self.stations.clients.transfer("down")

    # Writes.

    def stored(self, kind: Kind) -> Stages:
        """PUT of an object, as its proxy calls object servers; without accesses, it is empty."""
        cpu = self._cpu("PUT").without_bytes
        before, rest = cpu.scaled(_BEFORE), cpu.scaled(1 - _BEFORE)
        connected = fan_out(
            self._timeouts(at) + self._opening(at) + hold(at("worker"), visit(at("cpu"), before)) + self._answered(at)
            for at in self.servers
        )
        synced = self._awaited(self._synced(kind, number, at, rest) for number, at in enumerate(self.servers))
        if self.spec.ring.erasure is None:
            return connected + self._received(kind) + synced
        # A second round: fragments become visible once enough of them are durable.
        renamed = self._awaited(
            hold(at("threads"), visit(at("drive"), self.sync)) + self._round(at) + self._updated(number, at)
            for number, at in enumerate(self.servers)
        )
        return connected + self._received(kind) + synced + renamed

    def _received(self, kind: Kind) -> Stages:
        """The bytes of an object on links and in object servers, which write them if the page cache does not."""
        data, proxy, once = self.spec.data_pieces, self.places.proxy, self.proxy_wire
        links = self._from_client() + send(once.scaled(len(self.servers) / data), proxy("out"))
        links += send(self.spec.network.wire(self.hosts.nic * data), *(at("in") for at in self.servers))
        stays = self._through and self._stays(self.write, self.drives.write_latency, self.drives.write_size)
        count, writes = kind.accesses - self._buffered(kind), [self._written(kind, at) for at in self.servers]
        written = (
            hold(at("worker"), each * count) if stays else hold(at("worker"), each) * count
            for at, each in zip(self.servers, writes, strict=True)
        )
        return fan_out([*pipelined(links), *written])

    def _from_client(self) -> Step:
        """The bytes of an object between client and proxy, and the work of both on them."""
        own = self.stations.clients.transfer("up") + self._proxy_bytes("PUT")
        return own + send(self.proxy_wire, self.places.proxy("in"))

    def _written(self, kind: Kind, at: Server) -> Step:
        """The work of an object server on the bytes of one access."""
        if not kind.accesses:
            return ()
        data = self.spec.data_pieces
        write = self._access(kind, at, self.write, self.drives.write_latency, data) if self._through else ()
        return write + self._bytes_of(kind, at, data)

    def _buffered(self, kind: Kind) -> int:
        """The number of last accesses whose bytes are in sockets when the proxy has sent all.

        The proxy does not wait for them, but for the responses of a quorum.
        """
        return min(kind.accesses, max(1, _BUFFERED_BYTES // self.drives.write_size)) if self._through else 0

    def _synced(self, kind: Kind, number: int, at: Server, rest: ServiceDemand) -> Step:
        """The syncs of a piece's file and directories, and in its server the row of the container."""
        data, one = self.spec.data_pieces, replace(kind, accesses=1)
        buffered = hold(at("worker"), self._written(kind, at)) * self._buffered(kind)
        has_file = kind.accesses and not self._through
        file = self._access(one, at, self.write, self.drives.write_latency, data) if has_file else ()
        sync = visit(at("drive"), self.sync)
        synced = hold(at("threads"), file, sync, self._invalidated(at), sync * kind.directories)
        updated = self._updated(number, at) if self.spec.ring.erasure is None else ()
        return buffered + synced + hold(at("worker"), use(at("cpu"), rest)) + updated + self._answered(at)

    def deleted(self) -> Stages:
        """DELETE of an object: a tombstone in the place of the object, which is a file without data."""
        return self._awaited(self._removed_from(number, at) for number, at in enumerate(self.servers))

    def _removed_from(self, number: int, at: Server) -> Step:
        begun, sync = self._timeouts(at) + self._opening(at), visit(at("drive"), self.sync)
        worked = hold(at("worker"), visit(at("cpu"), self._cpu("DELETE")))
        synced = hold(at("threads"), sync, self._invalidated(at), sync)
        return begun + worked + synced + self._updated(number, at) + self._answered(at)

    def _awaited(self, branches: Iterable[Step]) -> Stages:
        """A stage that waits for all servers, or for a quorum of them and some time more.

        The time is counted from the beginning of the stage, before the quorum has responded.
        """
        found, late = tuple(branches), timer(self.stations.timer, self.proxies.post_quorum_timeout)
        graces = (
            (check(self.places.grace(number)) if self.places.bound else ()) + late
            for number in range(len(found) - self.spec.protection.write_quorum)
        )
        return fan_out([*found, *graces], wait_for=len(found))

    def _updated(self, number: int, at: Server) -> Step:
        """The update of a container's replica by the object server of one piece; the first pieces have one each."""
        containers, of = self.spec.containers, partial(self.places.update, number)
        if number >= containers.replicas:
            return ()
        limit_s = min(containers.timeout, self.proxies.conn_timeout)
        begun = (delay(of("conn timeout"), limit_s) if self.places.bound else ()) + self._opening(of)
        return (
            begun
            + use(of("cpu"), self.hosts.cores.at_speed(self.hosts.update_cpu))
            + use(of("database"), containers.update)
        )

    # Listings.

    def _listed(self) -> Stages:
        """LIST: the container's database, and that of the shard of the prefix."""
        of, containers = partial(self.places.update, 0), self.spec.containers
        page = self._opening(of) + visit(of("cpu"), self._cpu("LIST")) + use(of("database"), containers.list)
        return in_series(page) * (containers.shards > 1) + in_series(page, delivers=True)

    # Parts of all requests.

    def _request(self, op: Op, quorum: str | None) -> Stages:
        """The client's work, the way to a proxy, and its own work."""
        own = changed(self.stations.clients.work(op), lambda demand: demand.without_bytes)
        fails = any(fault.kind == "proxy_down" for fault in self.spec.faults)
        return in_series(own, self.way, check(self.places.proxy("entry")) if fails else (), self._begun(op, quorum))

    def _begun(self, op: Op, quorum: str | None) -> Step:
        """The work of a proxy before it calls other servers."""
        work = visit(self.places.proxy("cpu"), self.spec.proxy_demand(op).without_bytes, ties=True)
        return work + (check(self.places.head(quorum)) if self.places.bound and quorum else ())

    def _respond(self) -> Stages:
        return in_series(self.way)

    def _proxy_bytes(self, op: Op) -> Step:
        """The work of proxy and client on an object's bytes."""
        of_client = joined(use(each.station, each.demand.of_bytes) for each in self.stations.clients.work(op))
        return use(self.places.proxy("cpu"), self.spec.proxy_demand(op).of_bytes) + of_client

    # Parts of a call to a server.

    def _timeouts(self, at: Server) -> Step:
        """The wait for another server that is silent."""
        if not self.places.bound:
            return ()
        proxies = self.proxies
        return delay(at("conn timeout"), proxies.conn_timeout) + delay(at("node timeout"), proxies.node_timeout)

    def _opening(self, at: Server) -> Step:
        """The latency of a new connection, a request on it, and its response."""
        return delay(at("latency"), (_OPENING_WAYS + 1) * self.hosts.internode.latency)

    def _round(self, at: Server) -> Step:
        """The latency of a further message on a connection, and its response."""
        return delay(at("latency"), 2 * self.hosts.internode.latency)

    def _answered(self, at: Server) -> Step:
        """The gates that hold back the response of a server that is silent by now."""
        return joined(check(at(gate)) for gate in self.places.answers())

    def _cpu(self, op: Op) -> ServiceDemand:
        return self.hosts.cpu_demand(op)

    def _bytes_of(self, kind: Kind, at: Server, pieces: int) -> Step:
        """The work of an object server on the bytes of one access."""
        return use(at("cpu"), self._cpu(kind.op).of_bytes.scaled(1 / (pieces * kind.accesses)))

    def _access(self, kind: Kind, at: Server, demand: ServiceDemand, latency: ServiceDemand, pieces: int) -> Step:
        """An access to the drive with a part of a piece's bytes; a visit of many accesses takes the time of several."""
        parts = pieces * kind.accesses
        size = self.drives.write_size if kind.op == "PUT" else self.drives.read_size
        each, later = (
            of.per_shard(parts) if kind.accesses <= MOST_SINGLE_ACCESSES else several(of, kind.accesses, pieces, size)
            for of in (demand, latency)
        )
        late = at("late") if self.stations.has_own_latency else self.stations.drive_latency
        return access(at("drive"), each, use(late, later))

    def _invalidated(self, at: Server) -> Step:
        """The note that a suffix has changed (hashes.invalid), which is not synced: an access only without a cache."""
        return access(at("drive"), self.write.without_bytes) if self._through else ()

    @property
    def _through(self) -> bool:
        """Whether data are written through to the drive."""
        return bool(self.drives.write_size)


def several(demand: ServiceDemand, visits: int, pieces: int, access_bytes: int) -> ServiceDemand:
    """Return the demand of one of several visits that together are all accesses to a piece."""
    each = demand.per_shard(visits * pieces)
    if not demand.constant or demand.per_block:
        return each
    return each.model_copy(
        update={"constant": 0.0, "per_block": demand.constant / visits, "block": access_bytes * pieces}
    )


def _scaled(step: Step, by: float) -> Step:
    """Return the step with demands of a fraction."""
    return changed(step, lambda demand: demand.scaled(by))

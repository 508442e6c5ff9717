"""OpenIO's requests as routes: in which order they visit the stations, and what they wait for.

As in the source at 9765c0c4 (oio/api/replication.py, ec.py and io.py, proxy/m2_actions.c, sqliterepo/replication.c).
The oio-proxy chooses the drives of a metachunk by itself. A gateway connects to all of them, and waits; sends the
bytes, and waits for all responses; only then it counts whether enough have succeeded, and begins the next metachunk. At
last the object is entered in the directory. A rawx service writes to the page cache, and syncs nothing.

Metachunks of an object that has several are sub-requests, one after the other. Stages that take no time are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from models.network.route import Route, words
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.sub_requests import SubRequests
from models.openio.places import Places
from models.openio.spec import OpenioSpec
from models.openio.stations import Stations
from models.shared.multipart import SubRoutes
from models.shared.steps import (
    Server,
    Stages,
    Step,
    access,
    acquire,
    changed,
    check,
    chunked,
    delay,
    detached,
    fan_out,
    hold,
    in_series,
    joined,
    pipelined,
    release,
    round_trip,
    send,
    starts,
    timer,
    use,
    visit,
)
from traces.operations import Op


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        several: whether the object has several metachunks.
        cached: whether the page caches have the chunks of a GET.
    """

    op: Op
    several: bool = False
    cached: bool = False

    @property
    def variant(self) -> str:
        """That of the route."""
        return words("cached" * self.cached, "in metachunks" * self.several)


class Routes:
    """Builds the route of each kind of request."""

    def __init__(self, spec: OpenioSpec, stations: Stations, places: Places):
        self.spec, self.stations, self.places, self.clients = spec, stations, places, stations.clients
        self.directory, self.drives = spec.directory, spec.drives
        self.data, width = spec.protection.data, spec.protection.width
        self.writers: list[Server] = [partial(places.writer, position) for position in range(width)]
        self.readers: list[Server] = [partial(places.reader, position) for position in range(self.data)]
        self.way = delay(stations.latency, spec.network.latency)
        self.hop = delay(stations.latency, spec.hosts.internode.latency)
        self.nic, self.wire = spec.network.wire(spec.gateway_nic), spec.network.wire(spec.hosts.nic * self.data)

    def routes(self, kinds: Sequence[Kind]) -> tuple[Route, ...]:
        """Return the routes of kinds of requests, then those of their metachunks."""
        self._started = SubRoutes(len(kinds))
        return (*(self._route(kind) for kind in kinds), *self._started.all)

    def _route(self, kind: Kind) -> Route:
        stages = {
            "GET": self._get, "PUT": self._put, "DELETE": self._delete, "HEAD": self._look_up, "LIST": self._look_up
        }[kind.op](kind)  # fmt: skip
        stages = self._request(kind.op) + stages + in_series(self.way)
        return Route(kind.op, stages, policy=self.spec.client.policy(kind.op), variant=kind.variant)

    def _put(self, kind: Kind) -> Stages:
        return self._metachunks(kind, self._stored()) + self._entered()

    def _get(self, kind: Kind) -> Stages:
        return self._look_up(kind) + self._metachunks(kind, self._fetched(kind))

    def _delete(self, kind: Kind) -> Stages:
        """The object is removed from the directory, and its chunks later, by events."""
        removed = [self._removed(at) for at in self.writers]
        if not kind.several:
            return self._entered() + detached(self.stations.latency, removed)
        route = Route(kind.op, fan_out(removed) or in_series(visit(self.stations.latency)), variant="metachunk")
        later = starts(self.stations.latency, SubRequests(self._started.add(route), self.spec.metachunk_bytes))
        return self._entered() + detached(self.stations.latency, [later])

    def _metachunks(self, kind: Kind, stages: Stages) -> Stages:
        """The transfer of an object's bytes: in one metachunk, or in several, one after the other."""
        if not kind.several:
            return stages
        route = Route(kind.op, stages, variant=words("cached" * kind.cached, "metachunk"))
        metachunks = chunked(
            self.stations.latency, self.spec.metachunk_bytes, self._started.add(route), parallel=1,
            keeps=self.places.gateways, delivers=kind.op == "GET",
        )  # fmt: skip
        return in_series(metachunks)

    # Writes.

    def _stored(self) -> Stages:
        """The chunks of a metachunk: connections, and then bytes; each time all are waited for."""
        connected = self._awaited(
            (round_trip(delay(at("way"), self._hop_s)) for at in self.writers), self.writers, "silent"
        )
        written = self._awaited(
            (self._written(at) for at in self.writers), self.writers, "hung", pipelined(self._bytes_of_put())
        )
        back = detached(self.stations.latency, map(self._written_back, self.writers))
        prepared = in_series(self._proxied())
        return prepared + connected + self._judged("connected") + written + self._judged("written") + back

    def _bytes_of_put(self) -> Step:
        """A metachunk's bytes on their way to the rawx services, all of whose links they pass at the same time."""
        gateway, spec = self.places.gateway, self.spec
        sent = self.nic.scaled(spec.remote * spec.protection.width / self.data)
        links = self.clients.transfer("up") + send(self.nic, gateway("in")) + send(sent, gateway("out"))
        links += send(self.wire.scaled(spec.remote), *(at("in") for at in self.writers))
        return links + self._bytes_at_gateway("PUT")

    def _written(self, at: Server) -> Step:
        """The work of a rawx service, which writes to the page cache, between request and response."""
        way = delay(at("way"), self._hop_s)
        dirtied = acquire(at("dirty")) if self.drives.dirty_limit else ()
        cpu = self.spec.hosts.cpu_demand("PUT").per_shard(self.data)
        return round_trip(way, dirtied, visit(at("cpu"), cpu))

    def _written_back(self, at: Server) -> Step:
        received = check(at("hung")) if self.places.bound else ()
        cleaned = release(at("dirty")) if self.drives.dirty_limit else ()
        return received + access(at("drive"), (self.drives.write or NOTHING).per_shard(self.data)) + cleaned

    def _removed(self, at: Server) -> Step:
        return delay(at("way"), 2 * self._hop_s) + use(at("cpu"), self.spec.hosts.cpu_demand("DELETE"))

    # Reads.

    def _fetched(self, kind: Kind) -> Stages:
        """The chunks that a metachunk is read from: the first bytes of each, and then all others at the same time.

        A service that fails is replaced by the next; one that is slow is not.
        """
        connected, responded = (
            self._awaited(((),) * self.data, self.readers, part) if self.places.bound else ()
            for part in ("silent", "hung")
        )
        begun = fan_out([self._begun(kind, at) for at in self.readers], delivers=True)
        return self._judged("reads") + connected + responded + begun + fan_out(pipelined(self._bytes_of_get(kind)))

    def _begun(self, kind: Kind, at: Server) -> Step:
        """A connection, the request, and the positioning of the drive."""
        opened = delay(at("way"), 2 * self._hop_s)
        asked = round_trip(delay(at("way"), self._hop_s), visit(at("cpu"), self._cpu("GET").without_bytes))
        if kind.cached:
            return opened + asked
        overlapping = use(self.stations.drive_latency, self.drives.read_latency.per_shard(self.data))
        return opened + asked + access(at("drive"), self._read.without_bytes, overlapping)

    def _bytes_of_get(self, kind: Kind) -> Step:
        gateway, spec = self.places.gateway, self.spec
        read = () if kind.cached else joined(use(at("drive"), self._read.of_bytes) for at in self.readers)
        work = joined(use(at("cpu"), self._cpu("GET").of_bytes) for at in self.readers)
        links = send(self.wire.scaled(spec.remote), *(at("out") for at in self.readers))
        links += send(self.nic.scaled(spec.remote), gateway("in")) + send(self.nic, gateway("out"))
        return read + work + links + self.clients.transfer("down") + self._bytes_at_gateway("GET")

    @property
    def _read(self) -> ServiceDemand:
        return (self.drives.read or NOTHING).per_shard(self.data)

    def _cpu(self, op: Op) -> ServiceDemand:
        return self.spec.hosts.cpu_demand(op).per_shard(self.data)

    # The directory.

    def _look_up(self, kind: Kind) -> Stages:
        """A look-up or a listing in a copy of the container's base."""
        at, demand = self.places.base, self.directory.list if kind.op == "LIST" else self.directory.read
        known = check(at("lookups")) if self.places.bound else ()
        asked = hold(at("read"), visit(at("read cpu"), self.spec.hosts.cores.at_speed(demand)))
        return in_series(self._proxied(), known, round_trip(self.hop, asked), delivers=kind.op != "GET")

    def _entered(self) -> Stages:
        """An update of the container's base, which its master keeps until all other copies have it."""
        at, speed = self.places.base, self.spec.hosts.cores.at_speed
        elected = check(at("updates")) + check(at("election")) if self.places.bound else ()
        begun = acquire(at("master")) + visit(at("master cpu"), speed(self.directory.write))
        copies = (partial(self.places.copy, position) for position in range(self.directory.replicas - 1))
        replicated = fan_out(
            round_trip(
                delay(of("way"), self._hop_s), hold(of("base"), visit(of("cpu"), speed(self.directory.replicate)))
            )
            for of in copies
        )
        return (
            in_series(self._proxied(), elected, self.hop, begun)
            + replicated
            + in_series(release(at("master")), self.hop)
        )

    def _proxied(self) -> Step:
        """The work of the oio-proxy of a gateway."""
        return use(self.places.gateway("cpu"), self.spec.gateway_cores.at_speed(self.directory.proxy))

    # Gateways.

    def _request(self, op: Op) -> Stages:
        """The client's work, the way to a gateway, and its own work."""
        own = changed(self.clients.work(op), lambda demand: demand.without_bytes)
        fails = any(fault.kind in ("gateway_down", "host_down") for fault in self.spec.faults)
        work = visit(self.places.gateway("cpu"), self.spec.gateway_cpu(op).without_bytes, ties=True)
        return in_series(own, self.way, check(self.places.gateway("entry")) if fails else (), work)

    def _bytes_at_gateway(self, op: Op) -> Step:
        """The work of gateway and client on bytes, and of an erasure code."""
        spec, cpu = self.spec, self.places.gateway("cpu")
        coding = spec.gateway_cores.at_speed(spec.gateways.coding) if spec.chunks.erasure else None
        of_client = joined(use(each.station, each.demand.of_bytes) for each in self.clients.work(op))
        return use(cpu, spec.gateway_cpu(op).of_bytes) + use(cpu, coding) + of_client

    # What is waited for.

    @property
    def _hop_s(self) -> float:
        return self.spec.hosts.internode.latency

    def _awaited(
        self, branches: Iterable[Step], servers: Sequence[Server], part: str, others: Sequence[Step] = ()
    ) -> Stages:
        """A stage that waits for all rawx services, of those that are silent or hang until a timeout at most.

        Args:
            branches: of each service.
            servers: the services.
            part: what holds a branch back: `silent` or `hung`.
            others: branches that are not of a service.
        """
        if not self.places.bound:
            return fan_out([*branches, *others])
        chunks = self.spec.chunks
        late = timer(self.stations.timer, chunks.connection_timeout if part == "silent" else chunks.timeout)
        held = [check(at(part)) + branch for at, branch in zip(servers, branches, strict=True)]
        limits = [check(at(f"not {part}")) + late for at in servers]
        return fan_out([*held, *limits, *others], wait_for=len(held) + len(others))

    def _judged(self, part: str) -> Stages:
        """Whether enough services have succeeded."""
        return in_series(check(self.places.metachunk(part))) if self.places.bound else ()

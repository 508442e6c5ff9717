"""Bob's requests as routes: in which order they visit the stations, and what they wait for.

As in Bob's source at 31cc4542 (bob/src/cluster/quorum.rs and operations.rs) and pearl's at dfa1ac9d. A message has the
whole object, so it is received before it is written or sent on. Records are appended to the page cache; they are
written back, and synced, while no client waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from models.bob.places import Places
from models.bob.spec import BobSpec
from models.bob.stations import Stations
from models.network.route import Route, words
from models.network.service_demand import NOTHING
from models.shared.steps import (
    Server,
    Stages,
    Step,
    access,
    acquire,
    append,
    call,
    check,
    claiming,
    delay,
    detached,
    fan_out,
    in_series,
    instant,
    release,
    send,
    use,
    visit,
)
from traces.operations import Op


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        local: whether the coordinator has a copy.
        closed: whether the object of a GET is in a closed blob.
        cached: whether the page cache has it.
    """

    op: Op
    local: bool = True
    closed: bool = False
    cached: bool = False

    @property
    def variant(self) -> str:
        """That of the route."""
        return words("remote" * (not self.local), "closed" * self.closed, "cached" * self.cached)


class Routes:
    """Builds the route of each kind of request."""

    def __init__(self, spec: BobSpec, stations: Stations, places: Places):
        self.spec, self.stations, self.places, self.clients = spec, stations, places, stations.clients
        self.hosts, self.drives, self.record = spec.hosts, spec.drives, spec.drives.append
        self.call, self.wire = spec.hosts.cores.at_speed(spec.hosts.internode.call), spec.network.wire(spec.hosts.nic)
        self.way = delay(stations.latency, spec.network.latency)

    def route(self, kind: Kind) -> Route:
        """Return the route of a kind of request."""
        stages = {"PUT": self._put, "DELETE": self._delete}.get(kind.op, self._get)(kind)
        return Route(kind.op, stages, policy=self.spec.client.policy(kind.op), variant=kind.variant)

    def _get(self, kind: Kind) -> Stages:
        """GET or HEAD: the coordinator's own copy, or all others in parallel, of which the first one is used."""
        if kind.local:
            read = in_series(self._found(kind, self.places.head), delivers=True)
        else:
            read = fan_out([self._read_from(kind, node) for node in self._others(kind)], wait_for=1, delivers=True)
        return self._request(kind.op) + read + self._respond(kind.op)

    def _put(self, kind: Kind) -> Stages:
        """PUT: a record in the coordinator's own copy, and in a quorum of the others; drives are written to later."""
        own, others, latency = self.places.head, self._others(kind), self.stations.latency
        writes = [self._write_to(node) for node in others]
        if kind.local:
            writes.insert(0, self._appended(own) or instant(latency))
        written = fan_out(writes, wait_for=kind.local + min(self.spec.protection.write_quorum, len(others)))
        back = detached(latency, map(self._written_back, [*others, own] if kind.local else others))
        return self._request("PUT") + written + back + self._respond("PUT")

    def _delete(self, kind: Kind) -> Stages:
        """DELETE: a record in each copy, one after the other; then all other nodes remove what they hold for others."""
        own = in_series(append(self.places.head("blob"), self.record)) if kind.local else ()
        copies = fan_out(
            self._begun(node) + self._called(node) + append(node("blob"), self.record, tombstone=True)
            for node in self._others(kind)
        )
        informed = fan_out(self._called(partial(self.places.other, n)) for n in range(self.spec.total_nodes - 1))
        return self._request("DELETE") + own + copies + informed + self._respond("DELETE")

    # The coordinator.

    def _request(self, op: Op) -> Stages:
        """The client's work, the way to a node, and its work on the request."""
        own, cpu = self.places.head, self.hosts.cpu_demand(op)
        sent = self.clients.transfer("up") + send(self.wire, own("in")) if op == "PUT" else ()
        work = visit(own("cpu"), cpu if op == "PUT" else cpu.without_bytes, ties=True)
        quorum = self._checked(own, "writes") if op in ("PUT", "DELETE") else ()
        return in_series(self.clients.work(op), self.way, sent, self._checked(own, "entry"), work, quorum)

    def _respond(self, op: Op) -> Stages:
        if op != "GET":
            return in_series(self.way)
        own = self.places.head
        cpu = use(own("cpu"), self.hosts.cpu_demand(op).of_bytes)
        return in_series(cpu, send(self.wire, own("out")), self.clients.transfer("down"), self.way)

    # Copies.

    def _others(self, kind: Kind) -> list[Server]:
        """The nodes other than the coordinator that have a copy."""
        count = self.spec.vdisks.replicas - kind.local
        return [partial(self.places.node, position) for position in range(count)]

    def _found(self, kind: Kind, node: Server) -> Step:
        """The search for an object, and the read of its data."""
        index = use(node("drive"), self.drives.index) if kind.closed else ()
        if kind.op != "GET" or kind.cached:
            return index
        return index + use(self.stations.drive_latency, self.drives.read_latency) + use(node("drive"), self.drives.read)

    def _read_from(self, kind: Kind, node: Server) -> Step:
        """A call to another node, the search for the object there, and its bytes on their way back."""
        found = self._begun(node, "absent") + self._called(node) + self._found(kind, node)
        if self.spec.vdisks.replicas > 1:
            found = claiming(found)
        if kind.op != "GET":
            return found
        sent, work = send(self.wire, node("out"), node("own in")), self.call.of_bytes
        return found + sent + use(node("cpu"), work) + use(node("caller"), work)

    def _write_to(self, node: Server) -> Step:
        """A call to another node with the object, which that node appends to its copy."""
        way = self._way(node) + send(self.wire, node("own out"), node("in"))
        return self._begun(node) + call(node("caller"), node("cpu"), self.call, way) + self._appended(node)

    def _begun(self, node: Server, failing: str = "lost") -> Step:
        """What a call to another node with a copy meets: a lost one fails, a silent one after a timeout."""
        if not self.places.bound:
            return ()
        return delay(node("timeout"), self.spec.operation_timeout) + check(node(failing))

    def _called(self, node: Server) -> Step:
        """A call to another node, without the object."""
        return call(node("caller"), node("cpu"), self.call.without_bytes, self._way(node))

    def _way(self, node: Server) -> Step:
        return delay(node("way"), 2 * self.hosts.internode.latency)

    def _appended(self, node: Server) -> Step:
        """A record in the page cache of a node, which may have to wait for others to be written back."""
        dirtied = acquire(node("dirty")) if self.drives.dirty_limit else ()
        return dirtied + append(node("blob"), self.record)

    def _written_back(self, node: Server) -> Step:
        """The write of a record from the page cache of a node to its drive."""
        cleaned = release(node("dirty")) if self.drives.dirty_limit else ()
        return access(node("drive"), self.drives.write or NOTHING) + cleaned

    def _checked(self, node: Server, part: str) -> Step:
        """What may refuse a request, if parts fail during the run."""
        return check(node(part)) if self.places.bound else ()

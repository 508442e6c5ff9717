"""Bob's requests as routes: in which order they visit the stations, and what they wait for.

As in Bob's source at 31cc4542 (bob/src/cluster/quorum.rs and operations.rs) and pearl's at dfa1ac9d. A message has the
whole object, so it is received before it is written or sent on. Records are appended to the page cache; they are
written back, and synced, while no client waits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.bob.places import Places
from models.bob.sections import NOTHING
from models.bob.spec import BobSpec
from models.bob.stations import Stations
from models.network.route import Route, Stage, Visit, single, words
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Member
from traces.operations import Op

Stages = tuple[Stage, ...]
Place = int | Member | Bound


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
        self.spec, self.stations, self.places = spec, stations, places
        self.hosts, self.drives = spec.hosts, spec.drives
        self.call = spec.hosts.cores.at_speed(spec.hosts.internode.call)

    def route(self, kind: Kind) -> Route:
        """Return the route of a kind of request."""
        stages = {"PUT": self._put, "DELETE": self._delete}.get(kind.op, self._get)(kind)
        return Route(kind.op, stages, policy=self.spec.client.policy(kind.op), variant=kind.variant)

    def _get(self, kind: Kind) -> Stages:
        """GET or HEAD: the coordinator's own copy, or all others in parallel, of which the first one is used."""
        moves = kind.op == "GET"
        if kind.local:
            found = self._found(kind, self.places.head("drive"))
            read: Stages = (single(*found, delivers=True),) if found else ()
        else:
            branches: list[tuple[Visit, ...]] = []
            for position in range(self.spec.vdisks.replicas):
                visits = [*self._called(position, read=True), *self._found(kind, self.places.node(position, "drive"))]
                last = visits.pop()
                visits.append(replace(last, claims=self.spec.vdisks.replicas > 1))
                branches.append((*visits, *(self._returned(position) if moves else ())))
            read = (Stage(tuple(branches), 1, delivers=True),)
        return (*self._request(kind.op), *read, *self._respond(kind.op))

    def _put(self, kind: Kind) -> Stages:
        copies, quorum = self.spec.vdisks.replicas, self.spec.quorum
        remotes = range(copies - kind.local)
        branches = [tuple(self._sent(p)) for p in remotes]
        if kind.local:
            own = [Visit(self.places.head("dirty"), NOTHING)] * self._limited
            own += [Visit(self.places.head("blob"), self.drives.append)] * self.drives.append.takes_time
            branches.insert(0, tuple(own) or (self._instant,))
        written = Stage(tuple(branches), kind.local + min(quorum, len(remotes)))
        node = self.places.node
        back = [self._written_back(node(p, "drive"), node(p, "dirty")) for p in remotes]
        if kind.local:
            back.append(self._written_back(self.places.head("drive"), self.places.head("dirty")))
        # The branch that takes no time is done first, and the stage needs no other.
        later = Stage(((self._instant,), *back), 1)
        return (*self._request("PUT"), written, later, *self._respond("PUT"))

    def _delete(self, kind: Kind) -> Stages:
        """DELETE: a record in each copy, one after the other; then all other nodes remove what they hold for others."""
        append = [Visit(self.places.head("blob"), self.drives.append)] if self.drives.append.takes_time else []
        own = (single(*append),) if append and kind.local else ()
        remotes = [tuple(self._called(p)) for p in range(self.spec.vdisks.replicas - kind.local)]
        others = [self._informed(p) for p in range(self.spec.total_nodes - 1)]
        rounds = [Stage(tuple(branches), len(branches)) for branches in (remotes, others) if branches]
        return (*self._request("DELETE"), *own, *rounds, *self._respond("DELETE"))

    # The coordinator.

    def _request(self, op: Op) -> Stages:
        """The client's work, the way to a node, and its work on the request."""
        visits = [*self.stations.clients.work(op), *self._latency()]
        if op == "PUT":
            visits += self.stations.clients.transfer("up")
            visits += self._wire(self.places.head("in"))
        if self.places.bound:
            visits.append(Visit(self.places.head("entry"), NOTHING))
        cpu = self.hosts.cpu_demand(op)
        visits.append(Visit(self.places.head("cpu"), cpu if op == "PUT" else cpu.without_bytes, ties=True))
        if self.places.bound and op in ("PUT", "DELETE"):
            visits.append(Visit(self.places.head("writes"), NOTHING))
        return (single(*visits),)

    def _respond(self, op: Op) -> Stages:
        visits: list[Visit] = []
        if op == "GET":
            cpu = self.hosts.cpu_demand(op).of_bytes
            visits += [Visit(self.places.head("cpu"), cpu)] if cpu.takes_time else []
            visits += self._wire(self.places.head("out"))
            visits += self.stations.clients.transfer("down")
        visits += self._latency()
        return (single(*visits),) if visits else ()

    def _latency(self) -> list[Visit]:
        latency_s = self.spec.network.latency
        return [Visit(self.stations.latency, ServiceDemand(constant=latency_s))] if latency_s else []

    def _wire(self, *links: Place) -> list[Visit]:
        nic = self.hosts.nic
        return [Visit(link, ServiceDemand(per_byte=1 / nic)) for link in links] if nic else []

    # Copies.

    def _found(self, kind: Kind, drive: Place) -> list[Visit]:
        """The search for an object, and the read of its data."""
        visits = [Visit(drive, self.drives.index)] if kind.closed and self.drives.index.takes_time else []
        if kind.op == "GET" and not kind.cached:
            latency = self.drives.read_latency
            visits += [Visit(self.stations.drive_latency, latency)] if latency.takes_time else []
            visits += [Visit(drive, self.drives.read)] if self.drives.read and self.drives.read.takes_time else []
        return visits

    def _called(self, position: int, read: bool = False) -> list[Visit]:
        """A call to another node, without the object; a lost one fails, or with a timeout before."""
        visits: list[Visit] = []
        call = self.call.without_bytes
        if self.places.bound:
            limit = ServiceDemand(constant=self.spec.operation_timeout)
            visits.append(Visit(self.places.node(position, "timeout"), limit))
            visits.append(Visit(self.places.node(position, "absent" if read else "lost"), NOTHING))
        visits.append(Visit(self.places.node(position, "caller"), call))
        visits += self._way(self.places.node(position, "way"))
        visits.append(Visit(self.places.node(position, "cpu"), call))
        if not read and self.drives.append.takes_time:
            visits.append(Visit(self.places.node(position, "blob"), self.drives.append.without_bytes))
        return visits

    def _sent(self, position: int) -> list[Visit]:
        """A call to another node with the object, which that node appends to its copy."""
        visits: list[Visit] = []
        if self.places.bound:
            limit = ServiceDemand(constant=self.spec.operation_timeout)
            visits.append(Visit(self.places.node(position, "timeout"), limit))
            visits.append(Visit(self.places.node(position, "lost"), NOTHING))
        visits.append(Visit(self.places.node(position, "caller"), self.call))
        visits += self._way(self.places.node(position, "way"))
        visits += self._wire(self.places.node(position, "own out"), self.places.node(position, "in"))
        visits.append(Visit(self.places.node(position, "cpu"), self.call))
        visits += [Visit(self.places.node(position, "dirty"), NOTHING)] * self._limited
        if self.drives.append.takes_time:
            visits.append(Visit(self.places.node(position, "blob"), self.drives.append))
        return visits

    def _returned(self, position: int) -> list[Visit]:
        """The bytes of an object on their way from another node."""
        visits = self._wire(self.places.node(position, "out"), self.places.node(position, "own in"))
        if self.call.of_bytes.takes_time:
            visits += [Visit(self.places.node(position, part), self.call.of_bytes) for part in ("cpu", "caller")]
        return visits

    def _informed(self, position: int) -> tuple[Visit, ...]:
        """A call to a node that has no copy."""
        call = self.call.without_bytes
        caller, way, cpu = (self.places.other(position, part) for part in ("caller", "way", "cpu"))
        return (Visit(caller, call), *self._way(way), Visit(cpu, call))

    def _way(self, place: Place) -> list[Visit]:
        latency_s = self.hosts.internode.latency
        return [Visit(place, ServiceDemand(constant=2 * latency_s))] if latency_s else []

    def _written_back(self, drive: Place, dirty: Place) -> tuple[Visit, ...]:
        """The write of a record from the page cache to the drive."""
        back = [Visit(drive, self.drives.write or NOTHING)]
        back += [Visit(dirty, NOTHING, releases=True)] * self._limited
        return tuple(back)

    @property
    def _limited(self) -> int:
        """1 if writes wait for dirty pages, else 0."""
        return int(bool(self.drives.dirty_limit))

    @property
    def _instant(self) -> Visit:
        return Visit(self.stations.latency, NOTHING)

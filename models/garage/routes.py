"""Garage's requests as routes: in which order they visit the stations, and what they wait for.

As in Garage 2.5.0 (garage_api_s3/put.rs and get.rs, garage_rpc/rpc_helper.rs, garage_block/manager.rs). A quorum write
goes to all copies at once; a quorum read to as many as it needs, and to the next one only after an error. Each row that
is inserted is a transaction of its own of each copy, followed by those of queues, counters and Merkle trees, which no
request waits for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from models.garage.places import Places
from models.garage.spec import GarageSpec
from models.hosts.stations import HostStations
from models.network.route import Chance, Route, words
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.sub_requests import SubRequests
from models.shared.multipart import SubRoutes
from models.shared.steps import (
    Server,
    Stages,
    Step,
    access,
    call,
    check,
    chunked,
    delay,
    detached,
    fan_out,
    hold,
    in_series,
    instant,
    round_trip,
    send,
    sometimes,
    starts,
    use,
    visit,
)
from traces.operations import Op

INLINE_BYTES = 3072
"""Objects below it are in their row (INLINE_THRESHOLD)."""
BLOCKS_AT_ONCE = 3
"""Blocks of a PUT in progress (block_max_concurrent_writes_per_request), and of a GET: one, and two read ahead."""
FIRST_READ_BYTES = 32
"""A file is read by calls of this size, again of it, and then of twice the one before (tokio's read_to_end)."""
FRAME_BYTES = 13
"""Of zstd's format with a checksum around a block, which is stored in it also if it does not become smaller."""
LATER_COMMITS = 3
"""Transactions after each insert, for which no request waits: 20 commits of a node were measured for a PUT of one
block, which inserts five rows, and 33 for one of three blocks."""


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        blocks: 0: the object is in its row; 1: it has one block; 2: it has several.
        cached: whether the page caches have the blocks of a GET.
        held: whether Nagle's algorithm holds back the response.
        reads: number of calls that read a block from a direct drive; 0: one access.
    """

    op: Op
    blocks: int = 1
    cached: bool = False
    held: bool = False
    reads: int = 0

    @property
    def variant(self) -> str:
        """That of the route."""
        return words(
            ("inline", "", "in blocks")[self.blocks], "cached" * self.cached, "held" * self.held,
            f"in {self.reads} reads" * bool(self.reads),
        )  # fmt: skip


class Routes:
    """Builds the route of each kind of request."""

    def __init__(self, spec: GarageSpec, stations: HostStations, places: Places):
        self.spec, self.stations, self.places, self.clients = spec, stations, places, stations.clients
        self.metadata, self.drives, speed = spec.metadata, spec.drives, spec.hosts.cores.at_speed
        self.call, self.wire = speed(spec.hosts.internode.call), spec.network.wire(spec.hosts.nic)
        self.commit, self.row = speed(spec.metadata.commit), speed(spec.metadata.read)
        self.way = delay(stations.latency, spec.network.latency)
        self.stalled = delay(stations.latency, spec.network.delayed_ack)

    def routes(self, kinds: Sequence[Kind]) -> tuple[Route, ...]:
        """Return the routes of kinds of requests, then those of their blocks and of what these wait for."""
        self._started = SubRoutes(len(kinds))
        return (*(self._route(kind) for kind in kinds), *self._started.all)

    def _route(self, kind: Kind) -> Route:
        stages = {
            "GET": self._get, "PUT": self._put, "DELETE": self._delete, "HEAD": self._head, "LIST": self._list
        }[kind.op](kind)  # fmt: skip
        stages = self._request(kind) + stages + in_series(self.way)
        return Route(kind.op, stages, policy=self.spec.client.policy(kind.op), variant=kind.variant)

    # Requests.

    def _request(self, kind: Kind) -> Stages:
        """The client's work, the way to a node, and its work on the request."""
        own, cpu = self.places.head, self.spec.hosts.cpu_demand(kind.op)
        entry = check(own("entry")) if self.places.bound else ()
        return in_series(self.clients.work(kind.op), self.way, entry, visit(own("cpu"), cpu.without_bytes, ties=True))

    def _put(self, kind: Kind) -> Stages:
        if kind.blocks == 0:
            return in_series(self._received()) + self._read("bucket") + self._inserted("bucket", carries=True)
        begun = self._read("bucket") + self._inserted("bucket") + self._inserted("block")
        return begun + self._blocks(kind, self._written()) + self._inserted("bucket")

    def _get(self, kind: Kind) -> Stages:
        found = self._read("bucket")
        if kind.blocks == 0:
            return found + in_series(self._sent(kind), delivers=True)
        known = check(self.places.head("blocks")) if self.places.bound else ()
        versions = [known + self._row_of("block", n) for n in range(self.spec.protection.read_quorum)]
        if kind.blocks == 1:
            fetched = fan_out([*versions, self._fetched(kind)], delivers=True)
            return found + fetched + in_series(self._sent(kind))
        return found + fan_out(versions) + self._blocks(kind, in_series(self._fetched(kind), delivers=True) + in_series(
            self._sent(kind)
        ))  # fmt: skip

    def _head(self, kind: Kind) -> Stages:
        return self._read("bucket")

    def _list(self, kind: Kind) -> Stages:
        """Ranges of rows of as many nodes as a quorum has; their rows cost as much as the request itself."""
        return self._read("bucket", self.spec.hosts.cpu_demand("LIST").without_bytes)

    def _delete(self, kind: Kind) -> Stages:
        """A tombstone; the version's row and those of its blocks follow when the client has its response."""
        later = starts(self.stations.latency, self._of_rows("block")) if kind.blocks else ()
        return self._read("bucket") + self._inserted("bucket") + detached(self.stations.latency, [later + later])

    def _blocks(self, kind: Kind, stages: Stages) -> Stages:
        """The transfer of an object's blocks: of one, or of several, some of them at the same time."""
        if kind.blocks == 1:
            return stages
        route = self._started.add(Route(kind.op, stages, variant=words(kind.variant, "block")))
        return in_series(chunked(
            self.stations.latency, self.spec.block_size, route, parallel=BLOCKS_AT_ONCE, own_keys=False,
            key_step=self.places.next_partition, delivers=kind.op == "GET", keeps=(),
        ))  # fmt: skip

    # Bytes between client and node.

    def _received(self) -> Step:
        """The bytes of a body, and the work on them: hashes, and compression."""
        own = self.places.head
        return self.clients.transfer("up") + send(self.wire, own("in")) + use(
            own("cpu"), self.spec.hosts.cpu_demand("PUT").of_bytes
        )  # fmt: skip

    def _sent(self, kind: Kind) -> Step:
        own = self.places.head
        held = round_trip(self.way, self.stalled) if kind.held and self.stalled else ()
        cpu = use(own("cpu"), self.spec.hosts.cpu_demand("GET").of_bytes)
        return cpu + held + send(self.wire, own("out")) + self.clients.transfer("down")

    # Rows.

    def _read(self, which: str, more: ServiceDemand = NOTHING) -> Stages:
        """A row of as many copies as the read quorum has."""
        part = "rows" if which == "bucket" else "blocks"
        known = in_series(check(self.places.head(part))) if self.places.bound else ()
        count = self.spec.protection.read_quorum
        return known + fan_out([self._row_of(which, n, more) or instant(self.stations.latency) for n in range(count)])

    def _row_of(self, which: str, position: int, more: ServiceDemand = NOTHING) -> Step:
        at = partial(self.places.node, f"{which} read", position)
        return self._called(at) + visit(at("cpu"), self.row) + use(at("cpu"), more)

    def _inserted(self, which: str, carries: bool = False) -> Stages:
        """A row that is written to all copies, of which a quorum is waited for; `carries`: with the object's bytes."""
        copies = range(self.spec.replication)
        branches = [self._transaction(partial(self.places.node, f"{which} write", n), carries) for n in copies]
        if carries:
            branches = [each + self._stall() for each in branches]
        later = [self._later(partial(self.places.node, f"{which} write", n)) for n in copies]
        waited = fan_out(branches, wait_for=self.spec.protection.write_quorum)
        return waited + detached(self.stations.latency, later)

    def _transaction(self, at: Server, carries: bool = False) -> Step:
        sent = send(self.wire, at("own out"), at("in")) if carries else ()
        return self._called(at, carries) + sent + self._committed(at)

    def _committed(self, at: Server) -> Step:
        """A transaction of the only writer, which syncs the environment if that is set."""
        synced = access(at("meta"), self.drives.sync or NOTHING) if self.metadata.fsync else ()
        return hold(at("writer"), visit(at("cpu"), self.commit), synced)

    def _later(self, at: Server) -> Step:
        """The transactions of queues, counters and Merkle trees; not of a node that is dead or hangs."""
        return self._awaited(at) + self._committed(at) * LATER_COMMITS

    def _of_rows(self, which: str) -> SubRequests:
        """Return a sub-request that inserts a row."""
        route = Route("PUT", self._inserted(which), variant="row of a block")
        return SubRequests(self._started.add(route), size_bytes=0, own_keys=False)

    # Blocks.

    def _written(self) -> Stages:
        """A block, and the rows of the version and of the reference to it, at the same time; quorums of each."""
        latency, copies = self.stations.latency, range(self.spec.replication)
        writes = [self._block_write(partial(self.places.node, "block write", n)) for n in copies]
        stages = fan_out(writes, wait_for=self.spec.protection.write_quorum)
        if not (self.spec.data_fsync or self.drives.direct):
            back = [self._written_back(partial(self.places.node, "block write", n)) for n in copies]
            stages += detached(latency, back)
        route = self._started.add(Route("PUT", stages, variant="copies of a block"))
        block = starts(latency, SubRequests(route, own_keys=False))
        row = starts(latency, self._of_rows("block"))
        return in_series(self._received()) + fan_out([block, row, row])

    def _block_write(self, at: Server) -> Step:
        """A file in the page cache of a node, or on a direct drive; synced with its directory if that is set."""
        moved = send(self.wire.scaled(self.spec.compressed), at("own out"), at("in"))
        stall = self._stall()
        stored: Step = ()
        if self.spec.data_fsync or self.drives.direct:
            stored = access(at("drive"), (self.drives.write or NOTHING).scaled(self.spec.compressed))
        if self.spec.data_fsync:
            stored += access(at("drive"), self.drives.sync or NOTHING, times=2)
        return self._called(at, carries=True) + moved + stall + stored

    def _written_back(self, at: Server) -> Step:
        return self._awaited(at) + access(at("drive"), (self.drives.write or NOTHING).scaled(self.spec.compressed))

    def _stall(self) -> Step:
        """The wait of the last bytes for an acknowledgement, which is not there for all of them."""
        fraction = self.spec.hosts.internode.stalled
        if not self.stalled or not fraction or self.spec.hosts.count == 1:
            return ()
        return sometimes([self.stalled], Chance(fraction))[0]

    def _fetched(self, kind: Kind) -> Step:
        """A block of the nearest copy, the node's own if it has one: the whole file is read, and then sent."""
        at = partial(self.places.node, "block read", 0)
        read: Step = ()
        if not kind.cached:
            latency = use(self.stations.drive_latency, self.drives.read_latency)
            demand = (self.drives.read or NOTHING).scaled(self.spec.compressed)
            read = access(at("drive"), demand, latency)
            read += access(at("drive"), demand.without_bytes, latency, times=max(0, kind.reads - 1))
        moved = send(self.wire.scaled(self.spec.compressed), at("out"), at("own in"))
        return self._called(at) + read + moved

    # Calls.

    def _called(self, at: Server, carries: bool = False) -> Step:
        """A call to a node with a copy, which waits for one that hangs, and fails if it is dead."""
        way = delay(at("way"), 2 * self.spec.hosts.internode.latency)
        begun = self._awaited(at)
        if not self.call.takes_time:
            return begun + way
        return begun + call(at("caller"), at("callee"), self.call if carries else self.call.without_bytes, way)

    def _awaited(self, at: Server) -> Step:
        return check(at("hung")) + check(at("dead")) if self.places.bound else ()

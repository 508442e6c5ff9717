"""versitygw's requests as routes: in which order they visit the stations, and what they wait for.

As in versitygw 1.8.0 (backend/posix/posix.go): a body goes to a temporary file without a name, which is allocated
beforehand; its attributes are set, and then it gets its name. Nothing is synced. The completion of an upload in parts
copies all parts into a new file, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.network.route import Route, words
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.multipart import SubRoutes, without_body
from models.shared.steps import (
    Stages,
    Step,
    access,
    acquire,
    check,
    chunked,
    delay,
    detached,
    fan_out,
    in_series,
    joined,
    pipelined,
    send,
    use,
    visit,
)
from models.versitygw.spec import VersitygwSpec
from models.versitygw.stations import Stations
from traces.operations import Op

CALLS: dict[str, int] = {
    "GET": 19,  # stat of bucket and object, open, fstat, and attributes one by one
    "HEAD": 22,
    "PUT": 20,  # stat of bucket, object and folders; an unnamed file, its mode, fallocate; lock file; attributes; link
    "DELETE": 9,
    "initiation": 12,  # folders, with two attributes
    "part": 14,  # stat of the upload, unnamed file, mode, fallocate, two attributes, link
    "completion": 48,  # renames of the upload's folder, attributes of upload and object, lock file, link, removals
    "of a part": 8,  # stat, three attributes, open, two copies, removal
}
"""Calls to the file system of each request, counted with strace (versitygw 1.8.0, ext4)."""
ENTRIES, CALLS_OF_ENTRY = 1000, 4
"""Keys of a page of a listing, and calls for each: stat and three attributes."""
READ_BYTES = 128 << 10
"""Largest read of a GET, by sendfile (measured)."""
READ_ONCE_BYTES, READ_TWICE_BYTES = 3528, 8192
"""Largest objects that are read by one call, and by two: into what the header leaves of a buffer of 4 KiB, and the rest
(fasthttp, maxSmallFileSize)."""
WRITE_ONCE_BYTES, WRITE_TWICE_BYTES = 8192, 15_893
"""Largest objects that are written by one call, and by two: what came with the header (measured)."""
WRITE_THRICE_BYTES = 140_267
"""Largest object that is written by three calls: the third one has what arrived during the first two, as much as a new
connection buffers (126 KB measured, of 128 KiB: the second figure of Linux's net.ipv4.tcp_rmem)."""
MOST_WRITTEN_BYTES = 1 << 20
"""Largest write of a PUT (defaultIOBufferSize, backend/posix/posix.go)."""


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        cached: whether the page cache has the file of a GET.
        in_parts: whether a PUT is an upload in parts.
        accesses: to a direct drive: one to three; 0: by the bytes, after those for what came with the header of a PUT.
    """

    op: Op
    cached: bool = False
    in_parts: bool = False
    accesses: int = 0

    @property
    def variant(self) -> str:
        """That of the route."""
        return words(
            "cached" * self.cached,
            "in parts" * self.in_parts,
            ("", "one access", "two accesses", "three accesses")[self.accesses],
        )


class Routes:
    """Builds the route of each kind of request.

    Args:
        writers: mean number of PUTs that take turns at a direct drive, at least 1.
    """

    def __init__(self, spec: VersitygwSpec, stations: Stations, writers: float = 1.0):
        self.writers = writers
        self.spec, self.stations, self.clients = spec, stations, stations.clients
        self.files, self.drives, self.at = spec.file_system, spec.drives, stations.at
        self.call = spec.hosts.cores.at_speed(spec.file_system.call)
        self.wire, self.server = spec.network.wire(spec.hosts.nic), spec.network.wire(spec.file_system.nic)
        self.way = delay(stations.latency, spec.network.latency)

    def routes(self, kinds: Sequence[Kind]) -> tuple[Route, ...]:
        """Return the routes of kinds of requests, then those of the requests of uploads."""
        self._started = SubRoutes(len(kinds))
        return (*(self._route(kind) for kind in kinds), *self._started.all)

    def _route(self, kind: Kind) -> Route:
        policy = self.spec.client.policy(kind.op)
        if kind.in_parts:
            return Route("PUT", self._upload(), variant=kind.variant)
        stages = {
            "GET": self._get, "PUT": self._put, "DELETE": self._named, "HEAD": self._named, "LIST": self._list
        }[kind.op](kind)  # fmt: skip
        stages = self._request(kind.op) + stages + in_series(self.way)
        return Route(kind.op, stages, policy=policy, variant=kind.variant)

    def _request(self, op: Op) -> Stages:
        """The client's work, the way to a gateway, and its work on the request; it keeps one of its slots."""
        cpu = self.spec.hosts.cpu_demand(op).without_bytes
        entry = check(self.at("entry")) if any(fault.kind == "host_down" for fault in self.spec.faults) else ()
        work = visit(self.at("cpu"), cpu, ties=True)
        connected = () if self.spec.hosts.keep_alive else self.way * 2
        return in_series(self.clients.work(op), connected, self.way, entry, acquire(self.at("slots")), work)

    def _named(self, kind: Kind) -> Stages:
        return in_series(self._calls(CALLS[kind.op]))

    def _list(self, kind: Kind) -> Stages:
        return in_series(self._calls(ENTRIES * CALLS_OF_ENTRY))

    def _get(self, kind: Kind) -> Stages:
        opened = self._calls(CALLS["GET"])
        moved = use(self.at("cpu"), self.spec.hosts.cpu_demand("GET").of_bytes) + send(self.wire, self.at("out"))
        links = send(self.server, self.stations.server_out) + self._to_gateway("in")
        moves = pipelined(links + moved + self.clients.transfer("down"))
        if kind.cached:
            return in_series(opened, delivers=True) + fan_out(moves)
        overlapping = use(self.stations.drive_latency, self.drives.read_latency)
        read = access(self.at("drive"), self.drives.read or NOTHING, overlapping)
        if not self.drives.direct:
            return in_series(opened, delivers=True) + fan_out([read, *moves])
        if kind.accesses:
            return in_series(opened, read * kind.accesses, delivers=True) + fan_out(moves)
        route = self._started.add(Route("GET", in_series(read, delivers=True), variant="read call"))
        reads = chunked(self.stations.latency, READ_BYTES, route, parallel=1, own_keys=False, delivers=True)
        return in_series(opened) + fan_out([reads, *moves])

    def _put(self, kind: Kind) -> Stages:
        return self._stored(CALLS["PUT"], kind.accesses)

    def _stored(self, calls: int, accesses: int = 0) -> Stages:
        """A body in a new file: its bytes are received, hashed and written, while they move on."""
        moved = self.clients.transfer("up") + send(self.wire, self.at("in"))
        moved += use(self.at("cpu"), self.spec.hosts.cpu_demand("PUT").of_bytes)
        if self.drives.direct:
            return fan_out([self._writes(accesses), *pipelined(moved)]) + in_series(self._calls(calls))
        return fan_out(pipelined(moved + self._to_server())) + in_series(self._calls(calls)) + self._written()

    def _writes(self, accesses: int) -> Step:
        """The writes of a body to a direct drive: each has what arrived during the one before."""
        write = self.drives.write or NOTHING
        latency = use(self.stations.drive_latency, self.drives.write_latency)
        if accesses:
            return access(self.at("drive"), write.scaled(1 / accesses).model_copy(update={"constant": write.constant}),
                          latency, times=accesses)  # fmt: skip
        route = self._started.add(
            Route("PUT", in_series(access(self.at("drive"), write, latency)), variant="write call")
        )
        later = chunked(self.stations.latency, self._arriving_bytes(write), route, parallel=1, own_keys=False)
        first = 2 if self.spec.hosts.keep_alive else 3
        return access(self.at("drive"), write.without_bytes, latency, times=first) + later

    def _arriving_bytes(self, write: ServiceDemand) -> int:
        """Return the bytes that the slower of the links delivers from a write to the next one, which has them.

        In between are the writes of the others that take turns, and the work on these bytes.
        """
        nics = (self.spec.hosts.nic, self.spec.client.nic)
        rates = [self.spec.network.payload_rate(nic) for nic in nics if nic]
        each_s = self.writers * write.per_byte + self.spec.hosts.cpu_demand("PUT").per_byte
        left = 1 - min(rates) * each_s if rates else 0.0
        if left <= 0:
            return MOST_WRITTEN_BYTES
        delivered = min(rates) * self.writers * write.constant / left
        return round(min(max(delivered, WRITE_TWICE_BYTES), MOST_WRITTEN_BYTES))

    def _written(self) -> Stages:
        """What is written back while no client waits, or at the close of a remote file."""
        latency = use(self.stations.drive_latency, self.drives.write_latency)
        written = access(self.at("drive"), self.drives.write or NOTHING, latency)
        if self.spec.is_remote and self.files.synced:
            return in_series(written + access(self.at("drive"), self.drives.sync or NOTHING))
        return detached(self.stations.latency, [written])

    # Uploads in parts.

    def _upload(self) -> Stages:
        multipart = self.spec.client.multipart
        assert multipart is not None
        begun = self._request("PUT") + in_series(self._calls(CALLS["initiation"])) + in_series(self.way)
        part = self._request("PUT") + self._stored(CALLS["part"]) + in_series(self.way)
        policy = self.spec.client.policy("PUT")
        numbers = [
            self._started.add(Route("PUT", stages, policy=policy, variant=name))
            for name, stages in (("initiation", begun), ("part", part), ("completion", self._completed()))
        ]
        return in_series(multipart.requests(self.stations.latency, *numbers, key_step=0))

    def _completed(self) -> Stages:
        """All parts are looked up, and copied into a new file, one after the other, on the host."""
        multipart = self.spec.client.multipart
        assert multipart is not None
        each = self._calls_demand(CALLS["of a part"])
        of_parts = ServiceDemand(per_block=each.constant, block=multipart.part_size)
        copied = use(self.at("cpu"), of_parts) + use(self.at("cpu"), self._copy)
        waits_s = 2 * self.files.latency * CALLS["of a part"]
        asked = use(self.stations.latency, ServiceDemand(per_block=waits_s, block=multipart.part_size))
        links = fan_out(pipelined(self._from_server() + self._to_server()))
        done = in_series(self._calls(CALLS["completion"])) + self._written()
        return without_body(self._request("PUT")) + in_series(asked, copied) + links + done + in_series(self.way)

    @property
    def _copy(self) -> ServiceDemand:
        """The copy of bytes from file to file in the kernel (copy_file_range), at the rate of memory."""
        return self.spec.hosts.cores.at_speed(ServiceDemand(per_byte=1 / _COPY_BYTES_PER_S))

    # The file system.

    def _calls_demand(self, count: int) -> ServiceDemand:
        return self.call.scaled(count)

    def _calls(self, count: int) -> Step:
        """Calls one after the other, each to the server of a remote file system and back."""
        hung = check(self.stations.hung) if any(f.kind == "file_system_hung" for f in self.spec.faults) else ()
        waits = delay(self.stations.latency, 2 * self.files.latency * count) if self.spec.is_remote else ()
        return hung + use(self.at("cpu"), self._calls_demand(count)) + waits

    def _to_server(self) -> Step:
        """Bytes on their way from a gateway to the server of a remote file system."""
        return self._to_gateway("out") + send(self.server, self.stations.server_in)

    def _from_server(self) -> Step:
        return send(self.server, self.stations.server_out) + self._to_gateway("in")

    def _to_gateway(self, way: str) -> Step:
        return joined([send(self.wire, self.at(way))]) if self.spec.is_remote else ()


_COPY_BYTES_PER_S = 4e9  # of one core from page cache to page cache (assumed)

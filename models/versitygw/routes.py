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
    at_rate,
    check,
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
    "GET": 10,  # stat of bucket and object, open, fstat, six attributes
    "HEAD": 9,
    "PUT": 8,  # stat of bucket and object, open of a temporary file, fallocate, mkdir, two attributes, link
    "DELETE": 4,  # stat of bucket and object, unlink, removal of empty folders
    "initiation": 6,  # stat of the bucket, mkdir, four attributes
    "part": 6,  # stat of the upload, open, fallocate, two attributes, link
    "completion": 14,  # as PUT; renames of the upload's folder, and its removal
    "of a part": 5,  # lstat twice, two attributes, open
}
"""Calls to the file system of each request, counted in the source."""
ENTRIES, CALLS_OF_ENTRY = 1000, 1
"""Keys of a page of a listing, and calls for each: stat comes with the folder, the ETag is an attribute."""


@dataclass(frozen=True)
class Kind:
    """A kind of request, which has a route of its own.

    Attributes:
        cached: whether the page cache has the file of a GET.
        in_parts: whether a PUT is an upload in parts.
    """

    op: Op
    cached: bool = False
    in_parts: bool = False

    @property
    def variant(self) -> str:
        """That of the route."""
        return words("cached" * self.cached, "in parts" * self.in_parts)


class Routes:
    """Builds the route of each kind of request."""

    def __init__(self, spec: VersitygwSpec, stations: Stations):
        self.spec, self.stations, self.clients = spec, stations, stations.clients
        self.files, self.drives, self.at = spec.file_system, spec.drives, stations.at
        self.call = spec.hosts.cores.at_speed(spec.file_system.call)
        self.wire, self.server = at_rate(spec.hosts.nic), at_rate(spec.file_system.nic)
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
        return in_series(self.clients.work(op), self.way, entry, acquire(self.at("slots")), work)

    def _named(self, kind: Kind) -> Stages:
        return in_series(self._calls(CALLS[kind.op]))

    def _list(self, kind: Kind) -> Stages:
        return in_series(self._calls(ENTRIES * CALLS_OF_ENTRY))

    def _get(self, kind: Kind) -> Stages:
        opened = in_series(self._calls(CALLS["GET"]), delivers=True)
        read: Step = ()
        if not kind.cached:
            overlapping = use(self.stations.drive_latency, self.drives.read_latency)
            read = access(self.at("drive"), self.drives.read or NOTHING, overlapping)
        moved = use(self.at("cpu"), self.spec.hosts.cpu_demand("GET").of_bytes) + send(self.wire, self.at("out"))
        links = send(self.server, self.stations.server_out) + self._to_gateway("in")
        return opened + fan_out([read, *pipelined(links + moved + self.clients.transfer("down"))])

    def _put(self, kind: Kind) -> Stages:
        return self._stored(CALLS["PUT"])

    def _stored(self, calls: int) -> Stages:
        """A body in a new file: its bytes are received, hashed and written, while they move on."""
        moved = self.clients.transfer("up") + send(self.wire, self.at("in"))
        moved += use(self.at("cpu"), self.spec.hosts.cpu_demand("PUT").of_bytes)
        return fan_out(pipelined(moved + self._to_server())) + in_series(self._calls(calls)) + self._written()

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

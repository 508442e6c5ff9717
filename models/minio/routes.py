"""MinIO's stations and routes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from models.clients import ClientStations, HostStations, Way
from models.minio.internode import Servers
from models.minio.sections import NOTHING, Client, Drives, Host, NetworkLink
from models.network.discipline import Discipline
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Member, Station
from traces.workload.workload import Op


class Plan:
    """Numbers the stations and builds the routes."""

    def __init__(self, client: Client, network: NetworkLink, host: Host, drives: Drives):
        self.client, self.network, self.host, self.drives = client, network, host, drives
        # Work on a core is shorter than a scheduler's quantum, and run queues do not keep threads in order: measured
        # latencies under load have nearly the spread of SIRO, not that of processor sharing or FIFO.
        cores = Station(
            "host cpu", "host cpu", Discipline.SIRO, host.cores,
            setup_s=host.setup_time, caches=host.cpu_caches.of_station, age_bias=host.age_bias,
        )  # fmt: skip
        self.stations = [cores]
        self.host_cpu = 0
        self.clients = ClientStations(client, self._add, hosts=[HostStations(self.host_cpu)])
        self.latency = self._add(Station("network latency", "network latency", Discipline.INFINITE_SERVER))
        self.servers = Servers(host, drives, self.host_cpu, self.latency)
        self.up = self._add(Station("network up", "network", Discipline.PROCESSOR_SHARING))
        self.down = self._add(Station("network down", "network", Discipline.PROCESSOR_SHARING))
        self.first_drive = len(self.stations)
        for d in range(drives.count):
            self._add(Station(f"drive {d}", "drive", Discipline.FIFO, drives.queue_depth))
        self.first_journal = len(self.stations)
        for j in range(1 if drives.shared_journal else drives.count):
            item_s = drives.commit_member
            self._add(Station(f"journal {j}", "journal", Discipline.GROUP_COMMIT, batch_item_s=item_s))
        self.journals_end = len(self.stations)
        if drives.read_latency.takes_time or drives.write_latency.takes_time:
            self.drive_latency = self._add(Station("drive latency", "drive latency", Discipline.INFINITE_SERVER))
        self.groups = self.clients.groups()

    def _add(self, station: Station) -> int:
        self.stations.append(station)
        return len(self.stations) - 1

    def sets(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        """Return the drives of each erasure set in every rotation, because the first shard's drive varies by object."""
        size = self.drives.set_size
        rotations = (np.arange(size)[:, None] + np.arange(size)) % size
        sets = np.arange(self.drives.count // size)[:, None, None] * size + rotations
        return (self.first_drive + sets.reshape(-1, size)).astype(np.int32)

    def journals(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        """Return the journal of each drive in `sets`, same shape."""
        drive = self.sets() - self.first_drive
        return (self.first_journal + (drive * (not self.drives.shared_journal))).astype(np.int32)

    def routes(self) -> tuple[Route, ...]:
        """Return a route per operation, further ones for inline GETs and PUTs, and those with garbage collections."""
        drives = self.drives
        size, data_shards = drives.set_size, drives.set_size - drives.parity_shards
        read, write, commit_demand = (each or NOTHING for each in (drives.read, drives.write, drives.commit))
        servers, at = self.servers, self.servers.at
        find = (*servers.lock, *servers.look_up)
        reads = tuple(at(d, *self._access(d, read, drives.read_latency, data_shards)) for d in range(size))
        fetch = fetch_inline = Stage(reads[:data_shards], data_shards, delivers=True)
        if servers.look_up:  # inline data come with the metadata
            fetch_inline = Stage(reads, drives.metadata_quorum, delivers=True)
        look = single(*self._access(0, read, drives.read_latency, 1))
        commits = tuple(Visit(Member(1, d), commit_demand) for d in range(size))
        commit = Stage(tuple(at(d, commits[d], shard=False) for d in range(size)), size)
        writes = tuple(self._access(d, write, drives.write_latency, data_shards) for d in range(size))
        write_and_commit = Stage(tuple(at(d, *writes[d], commits[d]) for d in range(size)), size)
        get, put = self._is_streamed("GET"), self._is_streamed("PUT")
        stages: dict[tuple[Op, str], tuple[Stage, ...]] = {
            ("GET", ""): (
                *self._request("GET", streamed=get),
                *find,
                fetch,
                *self._respond("GET", streamed=get),
            ),
            ("GET", " inline"): (*self._request("GET", True), *servers.lock, fetch_inline, *self._respond("GET", True)),
            ("PUT", ""): (
                *self._request("PUT", streamed=put),
                *find,
                *servers.unlock,
                write_and_commit,
                *servers.lock,
                commit,
                *servers.clean_up,
                *self._finish("PUT", streamed=put),
            ),
            ("PUT", " inline"): (
                *self._request("PUT", True),
                *find,
                *servers.unlock,
                *servers.lock_anew,
                write_and_commit,
                *servers.clean_up,
                *self._finish("PUT", True),
            ),
            ("HEAD", ""): (*self._request("HEAD"), *find, look, *self._respond("HEAD")),
            ("DELETE", ""): (*self._request("DELETE"), *find, commit, *self._finish("DELETE")),
            ("LIST", ""): (*self._request("LIST"), *servers.look_up, look, *self._respond("LIST")),
        }
        routes = [Route(op + kind, s, policy=self.client.policy(op)) for (op, kind), s in stages.items()]
        instant = Visit(self.latency, NOTHING)
        return self.host.garbage_collector.with_collections(routes, self.host_cpu, self.host.cores, instant)

    def _access(
        self, position: int, exclusive: ServiceDemand, latency: ServiceDemand, shards: int
    ) -> tuple[Visit, ...]:
        """An access to the drive at a position of the set, which moves one of `shards` parts of the bytes."""
        overlapping = (Visit(self.drive_latency, latency.per_shard(shards)),) if latency.takes_time else ()
        return (*overlapping, Visit(Member(0, position), exclusive.per_shard(shards)))

    def _is_streamed(self, op: Op) -> bool:
        """Return whether client and host process an object's bytes at the same time: if the spec has CPU of both."""
        return op in self.client.cpu and op in self.host.cpu

    def _request(self, op: Op, inline: bool = False, streamed: bool = False) -> tuple[Stage, ...]:
        """The client's work, the way to the host, and the host's work; for a streamed PUT, also the stream."""
        visits = [*self.clients.work(op)]
        demand = self._before_response(op, inline, streamed)
        if streamed:
            visits = [replace(visit, demand=visit.demand.without_bytes) for visit in visits]
        visits += self._latency()
        if op == "PUT" and not streamed:
            visits += self._link("up")
        before = demand.scaled(1 - self.host.after_commit) if op in ("PUT", "DELETE") else demand
        first, *rest = self._work(before)
        requested = single(*visits, replace(first, ties=True), *rest)
        return (requested, self._stream(op, "up")) if op == "PUT" and streamed else (requested,)

    def _before_response(self, op: Op, inline: bool, streamed: bool) -> ServiceDemand:
        """Return the host's work that a request waits for, without streamed bytes."""
        demand = self.host.cpu_demand(op, inline)
        return (demand.without_bytes if streamed else demand).scaled(1 - self.host.after_response)

    def _stream(self, op: Op, way: Way) -> Stage:
        """The transfer of an object's bytes: client, link and host process them at the same time."""
        sides = Visit(self.host_cpu, self.host.cpu_demand(op, False)), *self.clients.work(op)
        visits = [*(replace(side, demand=side.demand.of_bytes) for side in sides), *self._link(way)]
        return Stage(tuple((visit,) for visit in visits), len(visits))

    def _finish(self, op: Op, inline: bool = False, streamed: bool = False) -> tuple[Stage, ...]:
        """The host's remaining work after a commit, and the response."""
        rest = self._before_response(op, inline, streamed).scaled(self.host.after_commit)
        stages = (single(*self._work(rest)),) if rest.takes_time else ()
        return (*stages, *self._respond(op, inline, streamed))

    def _respond(self, op: Op, inline: bool = False, streamed: bool = False) -> tuple[Stage, ...]:
        """The way back, for a streamed GET after the stream; and the work that follows."""
        before = (self._stream(op, "down"),) if op == "GET" and streamed else ()
        demand = self.host.cpu_demand(op, inline)
        later = (demand.without_bytes if streamed else demand).scaled(self.host.after_response)
        # The branch that takes no time is done first, and the stage needs no other.
        after = (Stage(((Visit(self.latency, NOTHING),), self._work(later)), 1),) if later.takes_time else ()
        unlock = self.servers.unlock if op != "LIST" else ()
        visits = [*self._latency(), *(self._link("down") if op == "GET" and not streamed else ())]
        return (*before, *unlock, *after, *((single(*visits),) if visits else ()))

    def _work(self, demand: ServiceDemand) -> tuple[Visit, ...]:
        """Work on the host's cores in scheduling quanta, between which other jobs are served."""
        quanta = max(1, math.ceil(demand.constant / self.host.quantum)) if self.host.quantum else 1
        return (Visit(self.host_cpu, demand.scaled(1 / quanta)),) * quanta

    def _latency(self) -> list[Visit]:
        latency_s = self.network.latency
        return [Visit(self.latency, ServiceDemand(constant=latency_s))] if latency_s else []

    def _link(self, way: Way) -> list[Visit]:
        """The transfer of the bytes on the client's NIC and on the network link."""
        bandwidth = self.network.bandwidth
        link = self.up if way == "up" else self.down
        shared = [Visit(link, ServiceDemand(per_byte=1 / bandwidth))] if bandwidth else []
        return [*self.clients.transfer(way), *shared]

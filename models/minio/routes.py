"""MinIO's stations and routes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from models.minio.internode import Servers
from models.minio.sections import NOTHING, Client, Drives, Host, NetworkLink
from models.network.discipline import Discipline
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Member, Station
from traces.workload.workload import Op


class Plan:
    """Numbers the stations and writes the routes down."""

    def __init__(self, client: Client, network: NetworkLink, host: Host, drives: Drives):
        self.client, self.network, self.host, self.drives = client, network, host, drives
        # Work on a core is shorter than a scheduler's time slice, and run queues keep no order among threads: measured
        # latencies under load have nearly the spread of random order, not that of processor sharing or FIFO.
        cores = Station(
            "host cpu", "host cpu", Discipline.SIRO, host.cores,
            setup_s=host.setup_time, caches=host.cpu_caches.of_station, age_bias=host.age_bias,
        )  # fmt: skip
        self.stations = [cores]
        self.host_cpu = self.client_cpu = 0
        if not client.on_host:
            self.client_cpu = self._add(Station("client cpu", "client cpu", Discipline.SIRO, client.cores))
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

    def _add(self, station: Station) -> int:
        self.stations.append(station)
        return len(self.stations) - 1

    def sets(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        """The drives of each erasure set, in every rotation: an object's shards start at a drive of its own."""
        size = self.drives.set_size
        rotations = (np.arange(size)[:, None] + np.arange(size)) % size
        sets = np.arange(self.drives.count // size)[:, None, None] * size + rotations
        return (self.first_drive + sets.reshape(-1, size)).astype(np.int32)

    def journals(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
        """The journal of each drive in `sets`."""
        drive = self.sets() - self.first_drive
        return (self.first_journal + (drive * (not self.drives.shared_journal))).astype(np.int32)

    def routes(self) -> tuple[Route, ...]:
        """One for each operation, one more for GETs and PUTs of objects that are inlined, and those that collect."""
        drives = self.drives
        size, data_shards = drives.set_size, drives.set_size - drives.parity_shards
        read, write = drives.read.per_shard(data_shards), drives.write.per_shard(data_shards)
        servers, at = self.servers, self.servers.at
        find = (*servers.lock, *servers.look_up)
        reads = tuple(at(d, Visit(Member(0, d), read)) for d in range(size))
        fetch = fetch_inline = Stage(reads[:data_shards], data_shards, delivers=True)
        if servers.look_up:  # what is inlined comes with the metadata
            fetch_inline = Stage(reads, drives.metadata_quorum, delivers=True)
        look = single(Visit(Member(0, 0), drives.read))
        commit = Stage(tuple(at(d, Visit(Member(1, d), drives.commit), shard=False) for d in range(size)), size)
        write_and_commit = Stage(
            tuple(at(d, Visit(Member(0, d), write), Visit(Member(1, d), drives.commit)) for d in range(size)), size
        )
        get, put = self._is_streamed("GET"), self._is_streamed("PUT")
        stages: dict[tuple[Op, str], tuple[Stage, ...]] = {
            ("GET", ""): (
                *self._ask("GET", streamed=get),
                *find,
                fetch,
                *self._answer("GET", streamed=get),
            ),
            ("GET", " inline"): (*self._ask("GET", True), *servers.lock, fetch_inline, *self._answer("GET", True)),
            ("PUT", ""): (
                *self._ask("PUT", streamed=put),
                *find,
                *servers.unlock,
                write_and_commit,
                *servers.lock,
                commit,
                *servers.clean_up,
                *self._finish("PUT", streamed=put),
            ),
            ("PUT", " inline"): (
                *self._ask("PUT", True),
                *find,
                *servers.unlock,
                *servers.lock_anew,
                write_and_commit,
                *servers.clean_up,
                *self._finish("PUT", True),
            ),
            ("HEAD", ""): (*self._ask("HEAD"), *find, look, *self._answer("HEAD")),
            ("DELETE", ""): (*self._ask("DELETE"), *find, commit, *self._finish("DELETE")),
            ("LIST", ""): (*self._ask("LIST"), *servers.look_up, look, *self._answer("LIST")),
        }
        routes = [Route(op + kind, s, policy=self.client.policy(op)) for (op, kind), s in stages.items()]
        instant = Visit(self.latency, NOTHING)
        return self.host.garbage_collector.with_collections(routes, self.host_cpu, self.host.cores, instant)

    def _is_streamed(self, op: Op) -> bool:
        """Whether client and host handle an object's bytes at the same time; where the spec tells their work apart."""
        return op in self.client.cpu and op in self.host.cpu

    def _ask(self, op: Op, inline: bool = False, streamed: bool = False) -> tuple[Stage, ...]:
        """The client's work, the way to the host, and the host's work; of a streamed PUT, also the stream."""
        asks = self.client.cpu.get(op, NOTHING)
        law = self._before_answer(op, inline, streamed)
        if streamed:
            asks = asks.without_bytes
        visits = [Visit(self.client_cpu, asks)] if op in self.client.cpu else []
        visits += self._latency()
        if op == "PUT" and not streamed:
            visits += self._link(self.up)
        before = law.scaled(1 - self.host.after_commit) if op in ("PUT", "DELETE") else law
        first, *rest = self._work(before)
        requested = single(*visits, replace(first, ties=True), *rest)
        return (requested, self._stream(op, self.up)) if op == "PUT" and streamed else (requested,)

    def _before_answer(self, op: Op, inline: bool, streamed: bool) -> ServiceDemand:
        """The host's work that a request waits for, but for the streamed bytes."""
        law = self.host.cpu_demand(op, inline)
        return (law.without_bytes if streamed else law).scaled(1 - self.host.after_response)

    def _stream(self, op: Op, link: int) -> Stage:
        """An object's bytes on their way: client, link and host handle them at the same time."""
        sides = (self.host_cpu, self.host.cpu_demand(op, False)), (self.client_cpu, self.client.cpu[op])
        visits = [*(Visit(station, law.of_bytes) for station, law in sides), *self._link(link)]
        return Stage(tuple((visit,) for visit in visits), len(visits))

    def _finish(self, op: Op, inline: bool = False, streamed: bool = False) -> tuple[Stage, ...]:
        """What follows a commit: the rest of the host's work, and the answer."""
        rest = self._before_answer(op, inline, streamed).scaled(self.host.after_commit)
        stages = (single(*self._work(rest)),) if rest.takes_time else ()
        return (*stages, *self._answer(op, inline, streamed))

    def _answer(self, op: Op, inline: bool = False, streamed: bool = False) -> tuple[Stage, ...]:
        """The way back; of a streamed GET, the stream before it; and the work that follows."""
        before = (self._stream(op, self.down),) if op == "GET" and streamed else ()
        law = self.host.cpu_demand(op, inline)
        later = (law.without_bytes if streamed else law).scaled(self.host.after_response)
        # The branch that takes no time is done first, and the stage needs no other.
        after = (Stage(((Visit(self.latency, NOTHING),), self._work(later)), 1),) if later.takes_time else ()
        unlock = self.servers.unlock if op != "LIST" else ()
        visits = [*self._latency(), *(self._link(self.down) if op == "GET" and not streamed else ())]
        return (*before, *unlock, *after, *((single(*visits),) if visits else ()))

    def _work(self, law: ServiceDemand) -> tuple[Visit, ...]:
        """Work on the host's cores, which others get in between its slices."""
        slices = max(1, math.ceil(law.constant / self.host.quantum)) if self.host.quantum else 1
        return (Visit(self.host_cpu, law.scaled(1 / slices)),) * slices

    def _latency(self) -> list[Visit]:
        latency_s = self.network.latency
        return [Visit(self.latency, ServiceDemand(constant=latency_s))] if latency_s else []

    def _link(self, link: int) -> list[Visit]:
        """The bytes' time on a link of the network."""
        bandwidth = self.network.bandwidth
        return [Visit(link, ServiceDemand(per_byte=1 / bandwidth))] if bandwidth else []

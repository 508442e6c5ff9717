"""The stations of a MinIO cluster: cores, network interfaces, drives and their journals, and client machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from models.hosts.speed_groups import always, latencies, named
from models.minio.cluster.epochs import depends_on_time
from models.minio.spec.layout import Layout, Table
from models.minio.spec.release import refuses
from models.minio.spec.sections import Drives, Hosts
from models.minio.spec.spec import MinioSpec
from models.network.discipline import Discipline
from models.network.station import NOWHERE, UNBOUNDED, Station
from models.shared.clients import ClientStations, HostStations
from models.shared.links import link
from models.shared.proxies import ProxyStations


@dataclass(frozen=True)
class Pool:
    """A server pool, with the indices of its stations.

    Attributes:
        hosts, drives: its sections of the spec.
        layout: its erasure sets.
        first_node, first_host, first_drive: numbers in the cluster of its first parts.
    """

    hosts: Hosts
    drives: Drives
    layout: Layout
    first_node: int
    first_host: int
    first_drive: int


class Stations:
    """Numbers the stations of a spec.

    Attributes:
        all: the stations.
        pools: the server pools.
        clients: those of the client machines.
        latency, up, down: the network of the clients.
        cpu, ins, outs: of each host: cores, and both directions of its interface; shape (hosts,).
        slots, permits: of each node: its limits of requests, and of those that read drives, shape (nodes,).
        drive, journal: of each drive, shape (drives,).
        late: of each drive, where the latency of its accesses that overlaps with others passes, shape (drives,).
        cores, links, drives: speeds of hosts and drives that differ from those of their pool, all the time.
        changes: what makes the overlapping latency of drives as long as it is.
        host_of_node: shape (nodes,).
        later: where metadata wait that file systems write back; that of the latency if none do.
        nowhere: see `NOWHERE`.
    """

    def __init__(self, spec: MinioSpec):
        self.all: list[Station] = []
        self.pools = tuple(_pools(spec))
        alone = len(self.pools) == 1 and spec.hosts.count == 1
        total_hosts = sum(pool.hosts.count for pool in self.pools)

        self._groups = [group for pool in self.pools for group in pool.hosts.group_of]

        def name(host: int, part: str) -> str:
            return part if alone else f"{named(host, self._groups[host])} {part}"

        self.cpu = np.array(list(self._cores(alone)), np.int32)
        group = len(self.pools) if depends_on_time(spec) else 0  # those of pools come first
        if not spec.client.on_storage_hosts:
            self.clients = ClientStations(spec.client, self.add, group=group, network=spec.network)
        self.latency = self.add(Station("network latency", "network latency", Discipline.INFINITE_SERVER))
        self.up, self.down = (
            self.add(link(f"network {way}", "network", (way,), spec.network.bandwidth, spec.network.queue))
            for way in ("up", "down")
        )
        drive: list[int] = []
        journal: list[int] = []
        for pool in self.pools:
            for d in range(pool.layout.hosts * pool.layout.drives):
                host, own = pool.first_host + d // pool.drives.count, d % pool.drives.count
                label, depth = name(host, f"drive {own}"), pool.drives.queue_depth
                drive.append(self.add(Station(label, "drive", Discipline.FIFO, depth, (host, own))))
        for pool in self.pools:
            journal += self._journals(pool, name, len(journal), drive)
        self.drive, self.journal = np.array(drive, np.int32), np.array(journal, np.int32)
        self.drive_latency = self.latency
        if any(p.drives.read_latency.takes_time or p.drives.write_latency.takes_time for p in self.pools):
            self.drive_latency = self.add(Station("drive latency", "drive latency", Discipline.INFINITE_SERVER))
        self._differ()
        self.late, self.changes = latencies(
            self.drives, len(self.drive), self.drive_latency, self.add, self.drive_latency != self.latency
        )
        self.later = self.latency
        if spec.stored is not None:
            self.later = self.add(Station("metadata written back", "write-back", Discipline.INFINITE_SERVER))
        self.nowhere = self.add(NOWHERE)
        self.ins, self.outs = self._links(total_hosts, name, spec.network.queue)
        if spec.client.on_storage_hosts:
            self.clients = ClientStations(spec.client, self.add, hosts=self._hosts(), group=group, network=spec.network)
        nodes = [
            pool.first_host + node // pool.hosts.processes for pool in self.pools for node in range(pool.layout.nodes)
        ]
        self.host_of_node = np.array(nodes, np.int32)
        self.slots, self.permits = self._slots(spec), self._permits(spec.reads_per_node)
        self.proxy_cpu = self.proxy_in = self.proxy_out = self.nowhere
        if spec.balance == "proxy":
            proxy = ProxyStations.added(spec.proxy, self.add, spec.network)
            self.proxy_cpu = proxy.cpu
            if proxy.inward is not None and proxy.outward is not None:
                self.proxy_in, self.proxy_out = proxy.inward, proxy.outward

    @property
    def nodes(self) -> int:
        """Number of server processes in the cluster."""
        return len(self.host_of_node)

    def add(self, station: Station) -> int:
        """Add a station, and return its index."""
        self.all.append(station)
        return len(self.all) - 1

    def nodes_of(self, pool: Pool, drive: Table) -> Table:
        """Return the node in the cluster of drives of a pool, same shape."""
        return pool.layout.node_of(drive) + pool.first_node

    def _cores(self, alone: bool) -> Iterator[int]:
        """Yield the cores of each host."""
        for pool in self.pools:
            hosts, cores = pool.hosts, pool.hosts.cores
            if cores.shared:
                # The system divides the cores among processes in quanta that are short next to long work.
                name = "host cpu" if len(self.pools) == 1 else f"host {pool.first_host} and further cpu"
                shared = self.add(
                    Station(name, "host cpu", Discipline.PROCESSOR_SHARING, cores.count, (pool.first_host,))
                )
                yield from [shared] * hosts.count
                continue
            own = hosts.of_hosts("cores")
            # Work on a core is shorter than a scheduler's quantum, and run queues do not keep threads in order:
            # measured latencies under load have nearly the spread of SIRO, not that of processor sharing or FIFO.
            for host in range(pool.first_host, pool.first_host + hosts.count):
                yield self.add(Station(
                    "host cpu" if alone else f"{named(host, self._groups[host])} cpu", "host cpu", Discipline.SIRO,
                    int(own[host - pool.first_host]), (host,),
                    setup_s=hosts.setup_time, caches=hosts.cpu_caches.of_station, age_bias=hosts.age_bias,
                ))  # fmt: skip

    def _differ(self) -> None:
        """Take the speeds of hosts and drives, relative to those of their pool."""
        cores: list[float] = []
        links: list[float] = []
        drives: list[float] = []
        for pool in self.pools:
            cores += pool.hosts.of_hosts("core_speed")
            links += [nic / pool.hosts.nic if nic else 1.0 for nic in pool.hosts.of_hosts("nic")]
            drives += np.repeat(pool.hosts.of_hosts("drive_speed"), pool.drives.count).tolist()
        self.cores, self.links, self.drives = always(cores), always(links), always(drives)

    @property
    def has_own_latency(self) -> bool:
        """Whether the overlapping latency of some drives passes elsewhere than that of others."""
        return bool(self.changes)

    def _journals(self, pool: Pool, name: Callable[[int, str], str], before: int, drive: list[int]) -> list[int]:
        """Return where the commits of each drive are served."""
        drives, count = pool.drives, pool.layout.hosts * pool.layout.drives
        if drives.commit_in == "queue":
            return drive[before : before + count]
        found: list[int] = []
        for d in range(count):
            host, own = pool.first_host + d // drives.count, d % drives.count
            if drives.shared_journal and own:
                found.append(found[-1])
                continue
            label, item_s = name(host, f"journal {own}"), drives.commit_member
            found.append(self.add(Station(
                label, "journal", Discipline.GROUP_COMMIT, indices=(host, own), batch_item_s=item_s
            )))  # fmt: skip
        return found

    def _links(self, hosts: int, name: Callable[[int, str], str], queue: float) -> tuple[Table, Table]:
        ins, outs = np.full(hosts, self.nowhere, np.int32), np.full(hosts, self.nowhere, np.int32)
        for pool in self.pools:
            nic = pool.hosts.nic
            for host in range(pool.first_host, pool.first_host + pool.hosts.count) if nic else ():
                ins[host], outs[host] = (
                    self.add(link(name(host, way), "host network", (host, way), nic, queue)) for way in ("in", "out")
                )
        return ins, outs

    def _hosts(self) -> list[HostStations]:
        """Return the stations that clients use on each host."""
        limited = any(pool.hosts.nic for pool in self.pools)
        return [
            HostStations(int(cpu), int(up) if limited else None, int(down) if limited else None)
            for cpu, up, down in zip(self.cpu, self.outs, self.ins, strict=True)
        ]

    def _slots(self, spec: MinioSpec) -> Table:
        slots = np.full(self.nodes, self.nowhere, np.int32)
        most = spec.hosts.max_requests
        if most is not None:
            limit = 0 if refuses(spec.release) else UNBOUNDED
            tokens = max(1, most // self.nodes)
            for node in range(self.nodes):
                slots[node] = self.add(Station(
                    f"node {node} requests", "requests", Discipline.POOL, tokens, (node,), queue_limit=limit
                ))  # fmt: skip
        return slots

    def _permits(self, count: int | None) -> Table:
        permits = np.full(self.nodes, self.nowhere, np.int32)
        for node in range(self.nodes) if count else ():
            permits[node] = self.add(Station(f"node {node} reads", "reads", Discipline.POOL, count or 1, (node,)))
        return permits


def _pools(spec: MinioSpec) -> Iterator[Pool]:
    node = host = drive = 0
    for hosts, drives, layout in spec.layouts:
        yield Pool(hosts, drives, layout, node, host, drive)
        node, host, drive = node + layout.nodes, host + layout.hosts, drive + layout.hosts * layout.drives

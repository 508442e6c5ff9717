"""The stations of a Swift cluster: proxies, cores, object server processes, drives, databases, links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from models.hosts.speed_groups import always, group_of_hosts, latencies, named
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Station, StationList
from models.shared.clients import ClientStations, HostStations
from models.shared.faults import SlowParts, slowdowns_of_hosts
from models.shared.links import added_link
from models.swift.cluster.ring import Table
from models.swift.spec.faults import ProxyDown
from models.swift.spec.spec import SwiftSpec

PROXY_PARTS = ("cpu", "in", "out", "entry")
"""The stations of a proxy, in the order of a member of its group."""


class Stations(StationList):
    """Numbers the stations of a spec.

    Attributes:
        latency: infinite servers: network, drive latency, timeouts, the timers of hedged reads and of writes.
        clients: those of the client machines, or of the machine that clients share with the store.
        proxies: parts of each proxy (`PROXY_PARTS`), shape (proxies, parts).
        cpu, ins, outs: of each host.
        drive, worker, threads: of each drive: itself, its object server processes, and their threads.
        late: of each drive, where the latency of its accesses that overlaps with others passes.
        speeds: of cores, links and drives that are not those of all hosts.
        database: of each container and replica, if updates or listings take time; shape (containers, replicas).
        refused: a dead station, at which requests fail.
    """

    def __init__(self, spec: SwiftSpec, containers: int, client_group: int):
        super().__init__()
        infinite, queue = Discipline.INFINITE_SERVER, spec.network.queue
        self.latency = self.add(Station("network latency", "network latency", infinite))
        self.drive_latency = self.add(Station("drive latency", "drive latency", infinite))
        self.timeout = self.add(Station("timeout", "timeout", infinite))
        self.timer = self.add(Station("timer", "timer", infinite))
        self.refused = self.add(Station("refused", "refused", infinite))
        self._shared = self._shared_cores(spec)
        machine = [] if self._shared is None else [HostStations(cpu=self._shared)]
        self.clients = ClientStations(
            spec.client, self.add, hosts=machine, group=client_group, latency=self.latency, network=spec.network
        )
        self.proxies = np.array([self._proxy(spec, number) for number in range(spec.proxies.count)], np.int32)
        hosts, group = range(spec.hosts.count), group_of_hosts(spec.hosts.groups, spec.hosts.count)
        self.cpu = self._cores(spec)
        self.ins, self.outs = (np.full(spec.hosts.count, self.nowhere, np.int32) for _ in range(2))
        for h in hosts:
            self.ins[h], self.outs[h] = (
                added_link(self, named(h, group[h]), "host", h, way, spec.hosts.nic, queue) for way in ("in", "out")
            )
        drives = [(h, d) for h in hosts for d in range(spec.drives.count)]
        self.drive = self._next(len(drives))
        for h, d in drives:
            name = f"{named(h, group[h])} drive {d}"
            self.add(Station(name, "drive", Discipline.FIFO, spec.drives.queue_depth, (h, d)))
        self.speeds = SlowParts(
            cores=always(spec.hosts.of_hosts("core_speed")),
            links=always([nic / spec.hosts.nic if nic else 1.0 for nic in spec.hosts.of_hosts("nic")]),
            drives=always(np.repeat(spec.hosts.of_hosts("drive_speed"), spec.drives.count).tolist()),
        )
        self.late, self.own_latencies = latencies(
            self.speeds.drives, len(drives), self.drive_latency, self.add, any(
                demand.takes_time for demand in (spec.drives.read_latency, spec.drives.write_latency)
            )
        )  # fmt: skip
        self.worker, self.threads = (self._servers(spec, drives, part) for part in ("processes", "threads"))
        shape = containers, spec.containers.replicas
        self.database = np.full(shape, self.nowhere, np.int32)
        if spec.containers.update.takes_time or spec.containers.list.takes_time:
            for index in np.ndindex(shape):
                name = f"container {index[0]} database {index[1]}"
                self.database[index] = self.add(Station(name, "database", Discipline.FIFO, indices=index))

    def _shared_cores(self, spec: SwiftSpec) -> int | None:
        """Add the cores that hosts, proxies and clients on one machine share; None: they do not."""
        cores = spec.hosts.cores
        if not cores.shared:
            return None
        # The system divides them among processes in quanta that are short next to long work.
        return self.add(Station("host cpu", "host cpu", Discipline.PROCESSOR_SHARING, cores.count, (0,)))

    def _cores(self, spec: SwiftSpec) -> Table:
        """Return the cores of each host."""
        if self._shared is not None:
            return np.full(spec.hosts.count, self._shared, np.int32)
        first = self._next(spec.hosts.count)
        group = group_of_hosts(spec.hosts.groups, spec.hosts.count)
        for h, cores in enumerate(spec.hosts.of_hosts("cores")):
            self.add(Station(f"{named(h, group[h])} cpu", "host cpu", Discipline.SIRO, int(cores), (h,)))
        return first

    @property
    def has_own_latency(self) -> bool:
        """Whether the overlapping latency of some drives passes elsewhere than that of others."""
        return bool(self.own_latencies)

    def _next(self, count: int) -> Table:
        """Return the indices of the stations that are added next."""
        return np.arange(len(self.all), len(self.all) + count, dtype=np.int32)

    def _proxy(self, spec: SwiftSpec, number: int) -> list[int]:
        name = f"proxy {number}" if spec.proxies.count > 1 else "proxy"
        cpu = self._shared
        if cpu is None:
            cpu = self.add(Station(f"{name} cpu", "proxy cpu", Discipline.SIRO, spec.proxy_cores.count, (number,)))
        nic, queue = spec.proxies.nic, spec.network.queue
        into, out = (added_link(self, name, "proxy", number, way, nic, queue) for way in ("in", "out"))
        fails = any(isinstance(fault, ProxyDown) and fault.proxy == number for fault in spec.faults)
        entry = self.nowhere
        if fails:
            entry = self.add(Station(f"{name} entry", "proxy entry", Discipline.INFINITE_SERVER, indices=(number,)))
        return [cpu, into, out, entry]

    def _servers(self, spec: SwiftSpec, drives: Sequence[tuple[int, int]], part: str) -> Table:
        """Return the processes that serve each drive, or their threads: pools of tokens."""
        hosts, per_drive = spec.hosts, spec.hosts.servers_per_port
        tokens = (per_drive or hosts.workers) * (hosts.threads if part == "threads" else 1)
        found: list[int] = []
        role = "object server" if part == "processes" else "object server threads"
        for host, drive in drives:
            if not per_drive and drive:
                found.append(found[-1])
                continue
            indices = (host, drive) if per_drive else (host,)
            where = f"host {host} drive {drive}" if per_drive else f"host {host}"
            found.append(self.add(Station(f"{where} object server {part}", role, Discipline.POOL, tokens, indices)))
        return np.array(found, np.int32)


def slowdowns(spec: SwiftSpec, stations: Stations) -> list[Action]:
    """Return the effects of slow drives and of neighbours on stations."""
    changed = slowdowns_of_hosts(
        spec.faults, cpu=stations.cpu, drives=stations.drive, ins=stations.ins, outs=stations.outs,
        always=stations.speeds,
    )  # fmt: skip
    return [*changed, *stations.own_latencies]


def failed_proxies(spec: SwiftSpec, stations: Stations, group: int | None) -> list[Action]:
    """Return the failures of proxies, and when the load balancer leaves them out; `group` is that of the proxies."""
    actions: list[Action] = []
    entry = PROXY_PARTS.index("entry")
    failed = [fault for fault in spec.faults if isinstance(fault, ProxyDown)]
    for fault in sorted(failed, key=lambda fault: fault.at):  # a proxy may fail when it has just come back
        for part in (entry, PROXY_PARTS.index("cpu")):
            station = int(stations.proxies[fault.proxy, part])
            actions.append(Action(ActionKind.DOWN, station, fault.at))
            if fault.back_s < float("inf"):
                actions.append(Action(ActionKind.UP, station, fault.back_s))
        seen_s = fault.at + fault.detected_after
        if group is not None and seen_s < fault.back_s:
            actions.append(Action(ActionKind.LEAVE, group, seen_s, member=fault.proxy))
            if fault.back_s < float("inf"):
                actions.append(Action(ActionKind.JOIN, group, fault.back_s, member=fault.proxy))
    return actions

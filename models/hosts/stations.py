"""The stations of hosts with drives, and of clients."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from models.devices.drive_times import HostDrives
from models.hosts.faults import HostOutage
from models.hosts.sections import ServerHosts
from models.network.discipline import Discipline
from models.network.scenario import Action
from models.network.station import Station, StationList
from models.shared.clients import ClientMachines, ClientStations
from models.shared.faults import shut_actions, slowdowns_of_hosts
from models.shared.links import added_link
from models.shared.store_spec import Link


class HostStations(StationList):
    """Numbers the stations of hosts and clients.

    Attributes:
        refused: a dead station, at which requests and calls fail.
        latency, drive_latency, timer: infinite servers.
        cpu, ins, outs: of each host, shape (hosts,).
        drive: of each host and drive, shape (hosts, drives).
    """

    def __init__(
        self, client: ClientMachines, hosts: ServerHosts, drives: HostDrives, *, network: Link, client_group: int
    ):
        super().__init__()
        infinite = Discipline.INFINITE_SERVER
        self.refused = self.add(Station("refused", "refused", infinite))
        self.latency = self.add(Station("network latency", "network latency", infinite))
        self.drive_latency = self.add(Station("drive latency", "drive latency", infinite))
        self.timer = self.add(Station("timer", "timer", infinite))
        self.clients = ClientStations(client, self.add, group=client_group, latency=self.latency, network=network)
        numbers, cores = range(hosts.count), hosts.cores.count
        self.cpu = np.array(
            [self.add(Station(f"host {h} cpu", "host cpu", Discipline.SIRO, cores, (h,))) for h in numbers], np.int32
        )
        self.ins, self.outs = (
            np.array(
                [added_link(self, f"host {h}", "host", h, way, hosts.nic, network.queue) for h in numbers], np.int32
            )
            for way in ("in", "out")
        )
        self.drive = np.array([
            [
                self.add(Station(f"host {h} drive {d}", "drive", Discipline.FIFO, drives.queue_depth, (h, d)))
                for d in range(drives.count)
            ]
            for h in numbers
        ], np.int32)  # fmt: skip

    def of_each_host(self, name: str, role: str, discipline: Discipline, servers: int = 1) -> list[int]:
        """Add a station to each host, such as a lock or a pool; return their indices."""
        return [self.add(Station(f"host {h} {name}", role, discipline, servers, (h,))) for h in range(len(self.cpu))]

    def slowdowns(self, faults: Iterable[object]) -> list[Action]:
        """Return the effects of slow drives and of neighbours on stations."""
        return slowdowns_of_hosts(faults, cpu=self.cpu, drives=self.drive, ins=self.ins, outs=self.outs)

    def hung_gates(self, hangs: Iterable[HostOutage]) -> tuple[dict[int, int], list[Action]]:
        """Add a gate to each host that hangs; return them by host, and what keeps them shut until it responds again."""
        spans: dict[int, list[tuple[float, float]]] = {}
        for hang in hangs:
            spans.setdefault(hang.host, []).append((hang.at, hang.back_s))
        gates = {
            host: self.add(Station(f"host {host} hangs", "silent part", Discipline.GATE, indices=(host,)))
            for host in sorted(spans)
        }
        return gates, [action for host, gate in gates.items() for action in shut_actions(gate, spans[host])]

"""The stations of a Bob cluster: cores, links, drives, the page cache, blobs."""

from __future__ import annotations

import numpy as np

from models.bob.spec import BobSpec
from models.network.discipline import Discipline
from models.network.scenario import Action
from models.network.station import Station, StationList
from models.shared.clients import ClientStations
from models.shared.faults import slowdowns_of_hosts
from models.shared.links import added_link


class Stations(StationList):
    """Numbers the stations of a spec.

    Attributes:
        refused: a dead station, at which requests and calls fail.
        latency, timeout: infinite servers.
        cpu, ins, outs, dirty: of each host; the last has a token for each object that is not written back.
        drive: of each host and drive, shape (hosts, drives).
        blob: of each virtual disk and node: its active blob, shape (vdisks, nodes).
    """

    def __init__(self, spec: BobSpec, dirty_objects: int, client_group: int):
        super().__init__()
        infinite, queue = Discipline.INFINITE_SERVER, spec.network.queue
        self.refused = self.add(Station("refused", "refused", infinite))
        self.latency = self.add(Station("network latency", "network latency", infinite))
        self.drive_latency = self.add(Station("drive latency", "drive latency", infinite))
        self.timeout = self.add(Station("timeout", "timeout", infinite))
        self.clients = ClientStations(
            spec.client, self.add, group=client_group, latency=self.latency, network=spec.network
        )
        hosts, drives = range(spec.hosts.count), range(spec.drives.count)
        cores = spec.hosts.cores.count
        self.cpu = np.array(
            [self.add(Station(f"host {h} cpu", "host cpu", Discipline.SIRO, cores, (h,))) for h in hosts]
        )
        self.ins, self.outs, self.dirty = (np.full(spec.hosts.count, self.nowhere) for _ in range(3))
        for h in hosts:
            self.ins[h], self.outs[h] = (
                added_link(self, f"host {h}", "host", h, way, spec.hosts.nic, queue) for way in ("in", "out")
            )
            if dirty_objects:
                station = Station(f"host {h} dirty pages", "page cache", Discipline.POOL, dirty_objects, (h,))
                self.dirty[h] = self.add(station)
        depth = spec.drives.queue_depth
        self.drive = np.array([
            [self.add(Station(f"host {h} drive {d}", "drive", Discipline.FIFO, depth, (h, d))) for d in drives]
            for h in hosts
        ])  # fmt: skip
        self.blob = np.full((spec.vdisks.count, spec.total_nodes), self.nowhere)
        if spec.drives.append.takes_time:
            for vdisk, node in np.ndindex(self.blob.shape):
                if node in replicas_of(spec, vdisk):
                    name = f"node {node} vdisk {vdisk} blob"
                    self.blob[vdisk, node] = self.add(Station(name, "blob", Discipline.FIFO, indices=(node, vdisk)))


def replicas_of(spec: BobSpec, vdisk: int) -> list[int]:
    """Return the nodes with a copy of a virtual disk; successive nodes are on different hosts."""
    nodes = spec.total_nodes
    return [(vdisk + copy) % nodes for copy in range(spec.vdisks.replicas)]


def slowdowns(spec: BobSpec, stations: Stations) -> list[Action]:
    """Return the effects of slow drives and of neighbours on stations."""
    return slowdowns_of_hosts(
        spec.faults, cpu=stations.cpu, drives=stations.drive, ins=stations.ins, outs=stations.outs
    )

"""The stations of an OpenIO cluster: gateways, cores, links, drives, the page cache, bases of the directory."""

from __future__ import annotations

import math

import numpy as np

from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Station, StationList
from models.openio.faults import GatewayDown, HostDown
from models.openio.spec import OpenioSpec
from models.shared.clients import ClientStations
from models.shared.faults import merged, outage_actions, slowdowns_of_hosts
from models.shared.links import added_link

GATEWAY_PARTS = ("cpu", "in", "out", "entry")
"""The stations of a gateway, in the order of a member of its group."""


class Stations(StationList):
    """Numbers the stations of a spec.

    Attributes:
        refused: a dead station, at which requests fail.
        latency, drive_latency, timer: infinite servers.
        cpu, ins, outs, dirty: of each host; the last has a token for each chunk that is not written back.
        drive: of each drive, host by host.
        base: of each container and copy: a pool with one token; shape (containers, copies).
        gateways: parts of each gateway (`GATEWAY_PARTS`), shape (gateways, parts).
    """

    def __init__(self, spec: OpenioSpec, containers: int, dirty_chunks: int, client_group: int):
        super().__init__()
        infinite, queue = Discipline.INFINITE_SERVER, spec.network.queue
        self.refused = self.add(Station("refused", "refused", infinite))
        self.latency = self.add(Station("network latency", "network latency", infinite))
        self.drive_latency = self.add(Station("drive latency", "drive latency", infinite))
        self.timer = self.add(Station("timer", "timer", infinite))
        self.clients = ClientStations(
            spec.client, self.add, group=client_group, latency=self.latency, network=spec.network
        )
        hosts, cores = range(spec.hosts.count), spec.hosts.cores.count
        self.cpu = np.array(
            [self.add(Station(f"host {h} cpu", "host cpu", Discipline.SIRO, cores, (h,))) for h in hosts], np.int32
        )
        self.ins, self.outs = (
            np.array([added_link(self, f"host {h}", "host", h, way, spec.hosts.nic, queue) for h in hosts])
            for way in ("in", "out")
        )
        self.dirty = np.full(spec.hosts.count, self.nowhere)
        if dirty_chunks:
            for h in hosts:
                station = Station(f"host {h} dirty pages", "page cache", Discipline.POOL, dirty_chunks, (h,))
                self.dirty[h] = self.add(station)
        depth = spec.drives.queue_depth
        self.drive = np.array([
            self.add(Station(f"host {h} drive {d}", "drive", Discipline.FIFO, depth, (h, d)))
            for h in hosts for d in range(spec.drives.count)
        ])  # fmt: skip
        self.base = np.array([
            [
                self.add(Station(f"container {c} base {k}", "directory base", Discipline.POOL, 1, (c, k)))
                for k in range(spec.directory.replicas)
            ]
            for c in range(containers)
        ])  # fmt: skip
        self.gateways = np.array([self._gateway(spec, g) for g in range(spec.gateway_count)], np.int32)

    def _gateway(self, spec: OpenioSpec, number: int) -> list[int]:
        entry = self.nowhere
        if any(outages_of(spec, number)):
            name = f"gateway {number} entry"
            entry = self.add(Station(name, "gateway entry", Discipline.INFINITE_SERVER, indices=(number,)))
        if spec.gateways.collocated:
            return [int(self.cpu[number]), int(self.ins[number]), int(self.outs[number]), entry]
        name, nic, queue = f"gateway {number}", spec.gateways.nic, spec.network.queue
        cpu = self.add(Station(f"{name} cpu", "gateway cpu", Discipline.SIRO, spec.gateways.cores.count, (number,)))
        return [cpu, *(added_link(self, name, "gateway", number, way, nic, queue) for way in ("in", "out")), entry]


def outages_of(spec: OpenioSpec, gateway: int) -> list[tuple[float, float, float]]:
    """Return the outages of a gateway: beginning, end, and when the load balancer leaves it out, in s."""
    found = []
    for fault in spec.faults:
        if isinstance(fault, GatewayDown) and fault.gateway == gateway:
            found.append((fault.at, fault.back_s, fault.at + fault.detected_after))
        elif isinstance(fault, HostDown) and spec.gateways.collocated and fault.host == gateway:
            found.append((fault.at, fault.back_s, fault.at + fault.left_out_after))
    return found


def failed_gateways(spec: OpenioSpec, stations: Stations, group: int | None) -> list[Action]:
    """Return the failures of gateways, and when the load balancer leaves them out; `group` is that of the gateways."""
    actions: list[Action] = []
    for number, parts in enumerate(stations.gateways.tolist()):
        outages = outages_of(spec, number)
        # Requests in progress at a collocated gateway still complete, as its cores are those of other services, too.
        failing = [parts[GATEWAY_PARTS.index(part)] for part in ("entry", *(["cpu"] * (not spec.gateways.collocated)))]
        actions += outage_actions(((at_s, back_s) for at_s, back_s, _ in outages), failing if outages else ())
        left_out = merged((seen_s, back_s) for _, back_s, seen_s in outages if seen_s < back_s)
        for at_s, back_s in left_out if group is not None else ():
            actions.append(Action(ActionKind.LEAVE, group or 0, at_s, member=number))
            if back_s < math.inf:
                actions.append(Action(ActionKind.JOIN, group or 0, back_s, member=number))
    return actions


def slowdowns(spec: OpenioSpec, stations: Stations) -> list[Action]:
    """Return the effects of slow drives and of neighbours on stations."""
    return slowdowns_of_hosts(
        spec.faults, cpu=stations.cpu, drives=stations.drive, ins=stations.ins, outs=stations.outs
    )

"""Where the visits of a request take place: a table with a row for each node that it may arrive at, and virtual disk.

The node at which a request arrives (its *coordinator*) has its own copy or not, and calls the other nodes that have
one. A block of columns is an epoch, in which some hosts are killed or silent; the present one is chosen when an attempt
begins. In the place of what a request does not visit there is an open gate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.bob.faults import LinkDown, epochs_of
from models.bob.spec import BobSpec
from models.bob.stations import Stations, replicas_of
from models.hosts.faults import HostEpoch
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Member, Station
from models.shared.epochs import all_well
from models.shared.placement_table import numbered, placed_by_epoch

_HEAD = ("entry", "writes", "cpu", "in", "out", "drive", "blob", "dirty")
_NODE = (
    "timeout", "lost", "absent", "caller", "way", "own in", "own out", "in", "out", "cpu", "drive", "blob", "dirty",
)  # fmt: skip
_OTHER = ("caller", "way", "cpu")


class Places:
    """The placement table of a spec, and the places of visits in it.

    Attributes:
        table, groups, scenario: those of the network.
        coordinators: nodes at which requests arrive.
        local: whether a coordinator has a copy of a virtual disk, shape (coordinators, vdisks).
    """

    def __init__(self, spec: BobSpec, stations: Stations):
        self.spec, self.stations = spec, stations
        self.epochs = epochs_of(spec.faults)
        self.bound = not all_well(self.epochs)
        self.coordinators = 1 if spec.balance == "single" else spec.total_nodes
        self.copies = [replicas_of(spec, vdisk) for vdisk in range(spec.vdisks.count)]
        self.local = np.array([[c in copies for copies in self.copies] for c in range(self.coordinators)])
        self.scenario = [Action(ActionKind.DOWN, stations.refused)] * self.bound
        self._unreachable: dict[int, int] = {}
        cuts = [fault for fault in spec.faults if isinstance(fault, LinkDown) and fault.back_at is not None]
        for fault in sorted(cuts, key=lambda fault: fault.at):
            self._unreachable[fault.host] = self._gate(fault)
        columns = [
            *((part,) for part in _HEAD),
            *numbered("node", spec.vdisks.replicas, _NODE),
            *numbered("other", spec.total_nodes - 1, _OTHER),
        ]
        self._placement, changes = placed_by_epoch(stations.add, self.epochs, columns, self._block)
        self.table, self.groups = self._placement.stations, self._placement.groups
        self.scenario += changes

    def head(self, part: str) -> Member | Bound:
        """Return a part of the coordinator, or of its own copy."""
        return self._placement.at(part)

    def node(self, position: int, part: str) -> Member | Bound:
        """Return a part of another node with a copy."""
        return self._placement.at("node", position, part)

    def other(self, position: int, part: str) -> Member | Bound:
        """Return a part of a call to any other node."""
        return self._placement.at("other", position, part)

    def row_hashes(self, key_hash: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what selects the row of each request, same shape: coordinators take turns."""
        vdisks = np.uint64(self.spec.vdisks.count)
        turn = np.arange(len(key_hash), dtype=np.uint64) % np.uint64(self.coordinators)
        return np.asarray(turn * vdisks + key_hash % vdisks, np.uint64)

    def _host(self, node: int) -> int:
        return node % self.spec.hosts.count

    def _block(self, epoch: HostEpoch) -> NDArray[np.int32]:
        vdisks = range(self.spec.vdisks.count)
        return np.array([self._row(c, vdisk, epoch) for c in range(self.coordinators) for vdisk in vdisks], np.int32)

    def _row(self, coordinator: int, vdisk: int, epoch: HostEpoch) -> list[int]:
        """Return the columns of a coordinator and a virtual disk."""
        stations, none, spec = self.stations, self.stations.nowhere, self.spec
        host, copies = self._host(coordinator), self.copies[vdisk]
        is_local = coordinator in copies
        remotes = [node for node in copies if node != coordinator]
        lost = [node for node in remotes if self._host(node) in epoch.dead | epoch.silent]
        support = [
            node
            for node in range(spec.total_nodes)
            if node not in copies and node != coordinator and self._host(node) not in epoch.dead | epoch.silent
        ]
        missing = spec.protection.lacking(len(lost))
        aliens = support[:missing]
        entry = none
        if host in epoch.cut:
            entry = self._unreachable.get(host, stations.refused)
        elif host in epoch.dead:
            entry = stations.refused
        found = [
            entry, stations.refused if missing > len(aliens) else none,
            int(stations.cpu[host]), int(stations.ins[host]), int(stations.outs[host]),
            *(self._copy(coordinator, vdisk) if is_local else [none] * 3),
        ]  # fmt: skip
        # A copy that fails is not waited for: its branch fails if the others are enough, or else is done at once.
        enough = len(remotes) - len(lost) >= min(spec.quorum, len(remotes))
        for position in range(spec.vdisks.replicas):
            node = remotes[position] if position < len(remotes) else None
            silent = node is not None and self._host(node) in epoch.silent
            fails = none
            if node in lost:
                fails = stations.refused
                node = aliens.pop(0) if aliens else None
            found += [
                stations.timeout if silent else none,
                fails if enough else none,
                fails,
                *(self._call(coordinator, node) if node is not None else [none] * 7),
                *(self._copy(node, vdisk) if node is not None else [none] * 3),
            ]
        for node in range(spec.total_nodes):
            if node != coordinator:
                down = self._host(node) in epoch.dead | epoch.silent
                call = self._call(coordinator, node)
                found += [none] * 3 if down else [call[0], call[1], call[6]]
        return found

    def _copy(self, node: int, vdisk: int) -> list[int]:
        stations, host = self.stations, self._host(node)
        drive = stations.drive[host, vdisk % self.spec.drives.count]
        return [int(drive), int(stations.blob[vdisk, node]), int(stations.dirty[host])]

    def _call(self, caller: int, node: int) -> list[int]:
        """Return caller, way, links of the caller's host and of the node's, and the node's cores."""
        stations, own, host = self.stations, self._host(caller), self._host(node)
        none = stations.nowhere
        links = [stations.ins[own], stations.outs[own], stations.ins[host], stations.outs[host]]
        way = none if own == host else stations.latency
        return [int(stations.cpu[own]), way, *(none if own == host else int(k) for k in links), int(stations.cpu[host])]

    def _gate(self, fault: LinkDown) -> int:
        gate = self._unreachable.get(fault.host)
        if gate is None:
            name = f"host {fault.host} is silent"
            gate = self.stations.add(Station(name, "silent part", Discipline.GATE, indices=(fault.host,)))
        self.scenario.append(Action(ActionKind.SHUT, gate, fault.at))
        self.scenario.append(Action(ActionKind.OPEN, gate, fault.back_s))
        return gate

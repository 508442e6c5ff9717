"""Where the visits of a request take place: a table with a row for each bucket, partition and node that takes requests.

A partition has its copies on successive nodes. The rows of a bucket's objects are in the partition of the bucket, all
others in that of a version or block. A node reads from itself first, then from the others in a fixed order, as by their
pings. A block of columns is an epoch, in which some hosts are killed or hang.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from models.garage.faults import HostHung, epochs_of
from models.garage.spec import GarageSpec
from models.hosts.faults import HostEpoch, passed_to
from models.hosts.stations import HostStations
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Indices, Member
from models.shared.epochs import all_well
from models.shared.placement_table import numbered, placed_by_epoch

_HEAD = ("entry", "cpu", "in", "out", "rows", "blocks")
_NODE = ("hung", "dead", "way", "caller", "callee", "cpu", "in", "out", "own in", "own out", "writer", "meta", "drive")
_MOST_BUCKETS = 8  # whose rows are on different nodes: more are as good as these
SETS = ("bucket", "block")
"""The partitions of a request: that of its bucket, and that of a version or block."""


class Places:
    """The placement table of a spec, and the places of visits in it.

    Attributes:
        table, groups, scenario: those of the network.
        bound: whether hosts fail during the run.
        coordinators: number of nodes that take requests.
        writer: of each host, the token of LMDB's only writer.
    """

    def __init__(self, spec: GarageSpec, stations: HostStations, buckets: int):
        self.spec, self.stations = spec, stations
        self.writer = stations.of_each_host("metadata writer", "metadata writer", Discipline.POOL)
        self.epochs = epochs_of(spec.faults)
        self.bound = not all_well(self.epochs)
        self.coordinators, hosts = spec.hosts.count, spec.hosts.count
        self.buckets = max(1, min(buckets, hosts, _MOST_BUCKETS))
        self.partitions = hosts * spec.drives.count
        self._gates, shut = stations.hung_gates([fault for fault in spec.faults if isinstance(fault, HostHung)])
        self.scenario = [*[Action(ActionKind.DOWN, stations.refused)] * self.bound, *shut]
        protection = spec.protection
        columns: list[Indices] = [(part,) for part in _HEAD]
        for name in SETS:
            columns += numbered(f"{name} read", protection.read_quorum, _NODE)
            columns += numbered(f"{name} write", protection.width, _NODE)
        self._placement, changes = placed_by_epoch(stations.add, self.epochs, columns, self._block)
        self.table, self.groups = self._placement.stations, self._placement.groups
        self.scenario += changes

    def head(self, part: str) -> Member | Bound:
        """Return a part of the node that takes the request."""
        return self._placement.at(part)

    def node(self, which: str, position: int, part: str) -> Member | Bound:
        """Return a part of a node with a copy; `which`: such as ``bucket read`` or ``block write``."""
        return self._placement.at(which, position, part)

    def row_hashes(self, key_hash: NDArray[np.uint64], bucket: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return what selects the row of each request, same shape: nodes take turns."""
        turn = np.arange(len(key_hash), dtype=np.uint64) % np.uint64(self.coordinators)
        of_bucket = (bucket % self.buckets).astype(np.uint64)
        partition = of_bucket * np.uint64(self.partitions) + key_hash % np.uint64(self.partitions)
        return np.asarray(partition * np.uint64(self.coordinators) + turn, np.uint64)

    @property
    def next_partition(self) -> int:
        """Rows from those of a partition to those of the next one, of the same node."""
        return self.coordinators

    def _block(self, epoch: HostEpoch) -> NDArray[np.int32]:
        parts = product(range(self.buckets), range(self.partitions), range(self.coordinators))
        return np.array([self._row(*each, epoch) for each in parts], np.int32)

    def _row(self, bucket: int, partition: int, coordinator: int, epoch: HostEpoch) -> list[int]:
        stations, none, spec = self.stations, self.stations.nowhere, self.spec
        coordinator = passed_to(coordinator, partition, epoch.dead, spec.hosts.count, spec.balance)
        entry = none
        if coordinator in epoch.cut:
            entry = self._gates[coordinator]
        elif coordinator in epoch.dead:
            entry = stations.refused
        row = [entry, stations.cpu[coordinator], stations.ins[coordinator], stations.outs[coordinator]]
        nodes: list[int] = []
        readable = []
        for first, drive in ((bucket, 0), (partition, partition // spec.hosts.count % spec.drives.count)):
            copies = [(first + copy) % spec.hosts.count for copy in range(spec.replication)]
            order = _read_order(coordinator, copies)
            alive = [node for node in order if node not in epoch.dead]
            count = spec.protection.read_quorum
            readable.append(len(alive) >= count)
            for node in [*alive, *order][:count]:
                nodes += self._node(coordinator, node, drive, epoch)
            for node in copies:
                nodes += self._node(coordinator, node, drive, epoch)
        row += [none if found else stations.refused for found in readable]
        return [int(each) for each in [*row, *nodes]]

    def _node(self, coordinator: int, node: int, drive: int, epoch: HostEpoch) -> list[int]:
        stations, none, own = self.stations, self.stations.nowhere, coordinator == node
        if node in epoch.dead and not own:
            return [none, stations.refused, *[none] * (len(_NODE) - 2)]
        return [
            self._gates[node] if node in epoch.silent and not own else none,
            none,
            *((none,) * 3 if own else (stations.latency, stations.cpu[coordinator], stations.cpu[node])),
            stations.cpu[node],
            *((none,) * 4 if own else (
                stations.ins[node], stations.outs[node], stations.ins[coordinator], stations.outs[coordinator]
            )),
            self.writer[node], stations.drive[node, 0], stations.drive[node, drive],
        ]  # fmt: skip


def _read_order(coordinator: int, copies: list[int]) -> list[int]:
    """Return the nodes with a copy in the order in which a node reads from them: itself first, if it is one of them.

    Pings decide between the others; nodes are equally near here, so each has an order of its own.
    """
    others = [node for node in copies if node != coordinator]
    first = coordinator % len(others) if others else 0
    return [node for node in copies if node == coordinator] + others[first:] + others[:first]

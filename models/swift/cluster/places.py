"""Where the visits of a request take place: the table of the object ring and that of the container ring.

A row of the object table is a partition with an order in which a proxy tries its drives, which it shuffles for each
request; a row of the container table is a container. A block of columns is an epoch: the present one is chosen when an
attempt begins. A block has the servers in the order in which a GET tries them, then those to which a PUT sends a piece
each. In the place of what a request does not visit there is an open gate.

A request has one hash for both tables: their numbers of rows have no common divisor.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Choice, Group, Indices, Member, Station
from models.shared.epochs import all_well
from models.shared.faults import shut_actions
from models.shared.placement_table import PlacementTable, epoch_changes, epoch_names, numbered
from models.swift.cluster.epochs import Epoch, epochs_of, silences_of
from models.swift.cluster.ring import Table, orders_of, partitions_of, placed
from models.swift.cluster.stations import PROXY_PARTS, Stations, failed_proxies
from models.swift.spec.spec import SwiftSpec
from traces.random_streams import stream_id, uniforms

_HEAD = ("reads", "writes")
_SERVER = ("conn timeout", "node timeout", "absent", "latency", "worker", "threads", "cpu", "drive", "in", "out")
_UPDATE = ("conn timeout", "latency", "cpu", "database")

_APART = (5**0.5 - 1) / 2  # of the ring, from the partition of a segment to that of the next one

OBJECTS, CONTAINERS, PROXIES = range(3)
"""Placement tables and groups, in order; there are fewer groups without faults, or with one proxy."""


class Places:
    """The placement tables of a spec, and the places of visits in them.

    Attributes:
        tables, groups, scenario: those of the network.
        host: of each drive.
        ring: the drives of each partition: replicas or fragments, then handoffs; shape (partitions, drives).
        hedged: number of further servers that a read may be sent to.
    """

    def __init__(self, spec: SwiftSpec, stations: Stations, containers: int):
        self.spec, self.stations = spec, stations
        self.epochs = epochs_of(spec)
        self.bound = not all_well(self.epochs)
        self.scenario: list[Action] = []
        self.hedged = spec.pieces - spec.data_pieces if spec.proxies.concurrent_gets else 0
        self._silences = silences_of(spec)
        self._gates = [self._gate(n, s.at_s, s.until_s) for n, s in enumerate(self._silences)]
        drives, per_host = spec.total_drives, spec.drives.count
        self.host = np.arange(drives, dtype=np.int32) // per_host
        self._zone = (self.host % spec.hosts.zones).astype(np.int32)
        self._orders = orders_of(spec.pieces)
        partitions = partitions_of(spec.ring.part_power, spec.pieces, spec.total_drives)
        self.ring = placed("objects", partitions, spec.pieces, self.host, self._zone, spec.ring.weights)
        names = epoch_names(stations.add, len(self.epochs)) if self.bound else []
        self._objects = PlacementTable(
            OBJECTS, self._object_columns(), [self._object_block(epoch) for epoch in self.epochs], names,
            indices=(OBJECTS,),
        )  # fmt: skip
        replicas = numbered("update", spec.containers.replicas, _UPDATE)
        blocks = self._container_blocks(containers, len(self._objects.stations))
        self._containers = PlacementTable(CONTAINERS, replicas, blocks, names, indices=(CONTAINERS,))
        self.tables = (self._objects.stations, self._containers.stations)
        self.groups: tuple[Group, ...] = (*self._objects.groups, *self._containers.groups)
        for table in (OBJECTS, CONTAINERS) if self.bound else ():
            self.scenario += epoch_changes(table, names, [epoch.at_s for epoch in self.epochs])
        self._proxies: int | None = None
        if len(stations.proxies) > 1:
            self._proxies = len(self.groups)
            self.groups += (Group(Choice.ROUND_ROBIN, stations.proxies, role="proxies"),)
        self.scenario += failed_proxies(spec, stations, self._proxies)
        if self.bound:
            self.scenario.append(Action(ActionKind.DOWN, stations.refused))

    def proxy(self, part: str) -> int | Bound:
        """Return a part of the proxy."""
        position = PROXY_PARTS.index(part)
        if self._proxies is None:
            return int(self.stations.proxies[0, position])
        return Bound(self._proxies, position)

    def head(self, part: str) -> Member | Bound:
        """Return what depends on the object's partition: whether enough servers are left."""
        return self._objects.at(part)

    def grace(self, number: int) -> Member | Bound:
        """Return where it is refused not to wait for one more server, because it has not been called."""
        return self._objects.at("grace", number)

    def read(self, position: int, part: str) -> Member | Bound:
        """Return a part of the server that a GET tries, in order."""
        return self._objects.at("read", position, part)

    def write(self, position: int, part: str) -> Member | Bound:
        """Return a part of the server to which a PUT sends a piece."""
        return self._objects.at("write", position, part)

    @property
    def proxies(self) -> tuple[int, ...]:
        """The group of the proxies; none if there is one proxy."""
        return () if self._proxies is None else (self._proxies,)

    @property
    def segment_step(self) -> int:
        """What the key hash of a segment adds to that of the one before, and the first one's to that of the object.

        So a segment has the order of drives and the container of the object, and a partition of its own: the steps go
        through all partitions.
        """
        objects, containers = (len(table) for table in self.tables)
        partitions, orders = len(self.ring), len(self._orders)
        apart = next(n for n in itertools.count(max(1, int(_APART * partitions))) if math.gcd(n, partitions) == 1)
        return containers * (apart * orders * pow(containers, -1, objects) % objects if objects > 1 else 0)

    def update(self, position: int, part: str) -> Member | Bound:
        """Return a part of the server of a container's replica that the object server of a piece updates."""
        return self._containers.at("update", position, part)

    def answers(self) -> list[str]:
        """Return the parts of a server that hold back its responses while it is silent."""
        return [f"silence {n}" for n in range(len(self._silences))]

    def row_hashes(self, key_hash: NDArray[np.uint64], container: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return what selects the rows of requests in both tables, same shape.

        Args:
            key_hash: of each request.
            container: number of the container database of each request.
        """
        objects, containers = (len(table) for table in self.tables)
        orders = len(self._orders)
        shuffled = (uniforms(0, stream_id("swift/shuffle"), 0, len(key_hash)) * orders).astype(np.int64)
        row = (key_hash % np.uint64(objects // orders)).astype(np.int64) * orders + shuffled
        # The Chinese remainder theorem: the hash that leaves both remainders.
        inverse = pow(objects, -1, containers) if containers > 1 else 0
        return np.asarray(row + objects * ((container - row) * inverse % containers), np.uint64)

    # Tables.

    def _object_columns(self) -> list[Indices]:
        """Return the names of the columns of an object's partition."""
        late = ("late",) if self.stations.has_own_latency else ()  # without a column for what is the same for all
        spec, parts = self.spec, (*_SERVER, *late, *self.answers())
        return [
            *((part,) for part in _HEAD),
            *(("grace", number) for number in range(spec.pieces - spec.protection.write_quorum)),
            *numbered("read", self._readers, parts),
            *numbered("write", spec.pieces, parts),
        ]

    @property
    def _readers(self) -> int:
        return self.spec.data_pieces + self.hedged

    def _object_block(self, epoch: Epoch) -> Table:
        spec, ring, partitions = self.spec, self.ring, len(self.ring)
        writers, writes, graces = self._writers(ring, epoch)
        by_order = [self._readers_of(ring[:, : spec.pieces][:, order], epoch) for order in self._orders]
        rows = [np.column_stack([refused, writes, graces, reads, writers]) for reads, refused in by_order]
        # The orders of a partition come one after the other.
        return np.stack(rows, axis=1).reshape(partitions * len(self._orders), -1).astype(np.int32)

    def _writers(self, ring: Table, epoch: Epoch) -> tuple[Table, Table, Table]:
        """Return the columns of the servers that pieces are written to, whether there are too few, and `grace`."""
        pieces, nowhere, stations = self.spec.pieces, self.stations.nowhere, self.stations
        absent = np.isin(ring, list(epoch.avoided | epoch.frozen | epoch.cut))
        spare = np.where(absent, np.iinfo(np.int32).max, np.arange(ring.shape[1]))
        spare[:, :pieces] = np.iinfo(np.int32).max
        handoffs = np.argsort(spare, axis=1, kind="stable")
        spares = (~absent[:, pieces:]).sum(axis=1)
        used, columns = np.zeros(len(ring), np.int64), []
        rows = np.arange(len(ring))
        served = np.zeros(len(ring), np.int64)
        for position in range(pieces):
            drive, gone = ring[:, position], absent[:, position]
            has_handoff = gone & (used < spares)
            handoff = ring[rows, handoffs[rows, np.minimum(used, ring.shape[1] - 1)]]
            used += has_handoff
            conn, node = np.isin(drive, list(epoch.cut)), np.isin(drive, list(epoch.frozen))
            served += ~gone | has_handoff
            columns.append(self._server(np.where(gone, handoff, drive), gone & ~has_handoff, conn, node))
        refused = np.where(self.spec.protection.can_write(pieces - served), nowhere, stations.refused)
        number = np.arange(pieces - self.spec.protection.write_quorum)
        graces = np.where(number < (pieces - served)[:, None], stations.refused, nowhere)
        return np.column_stack(columns), refused, graces

    def _readers_of(self, tried: Table, epoch: Epoch) -> tuple[Table, Table]:
        """Return the columns of the servers that a read tries in this order, and whether there are too few."""
        needed, count = self.spec.data_pieces, tried.shape[1]
        avoided = np.isin(tried, list(epoch.avoided))
        order = np.argsort(avoided, axis=1, kind="stable")
        tried = np.take_along_axis(tried, order, axis=1)
        avoided = np.take_along_axis(avoided, order, axis=1)
        cut, frozen = (np.isin(tried, list(drives)) & ~avoided for drives in (epoch.cut, epoch.frozen))
        alive = ~(avoided | cut | frozen)
        none = np.zeros(len(tried), bool)
        columns = []
        next_spare = np.full(len(tried), needed)
        rows = np.arange(len(tried))
        for position in range(self._readers):
            if self.hedged or position >= needed:
                # Another server is tried after a timer, so a silent one is not waited for.
                columns.append(self._server(tried[:, position], none, none, none, absent=~alive[:, position]))
                continue
            drive, conn, node = tried[:, position].copy(), cut[:, position].copy(), frozen[:, position].copy()
            lost = ~alive[:, position]
            for _ in range(count):
                left = lost & (next_spare < count)
                spare = np.minimum(next_spare, count - 1)
                drive = np.where(left, tried[rows, spare], drive)
                next_spare += left
                lost = lost & ~(left & alive[rows, spare])
            columns.append(self._server(drive, none, conn, node, absent=lost))
        refused = np.where(alive.sum(axis=1) < needed, self.stations.refused, self.stations.nowhere)
        return np.column_stack(columns), refused

    def _server(
        self,
        drive: Table,
        nowhere: NDArray[np.bool_],
        conn: NDArray[np.bool_],
        node: NDArray[np.bool_],
        absent: NDArray[np.bool_] | None = None,
    ) -> Table:
        """Return the columns of a server, after timeouts of another one that is silent."""
        stations, none = self.stations, self.stations.nowhere
        host = self.host[drive]
        parts = [
            np.where(conn, stations.timeout, none),
            np.where(node, stations.timeout, none),
            np.where(absent, stations.refused, none) if absent is not None else np.full(len(drive), none),
            *(
                np.where(nowhere, none, each)
                for each in (
                    np.full(len(drive), stations.latency), stations.worker[drive], stations.threads[drive],
                    stations.cpu[host], stations.drive[drive], stations.ins[host], stations.outs[host],
                    *([stations.late[drive]] if stations.has_own_latency else []),
                )
            ),
            *(
                np.where(np.isin(drive, list(silence.drives)) & ~nowhere, gate, none)
                for silence, gate in zip(self._silences, self._gates, strict=True)
            ),
        ]  # fmt: skip
        return np.column_stack(parts)

    def _container_blocks(self, containers: int, objects: int) -> list[Table]:
        """Return the table of containers, next to one of `objects` rows; rows beyond the last one have no requests."""
        spec, stations, none = self.spec, self.stations, self.stations.nowhere
        ring = placed("containers", containers, spec.containers.replicas, self.host, self._zone)
        ring = ring[:, : spec.containers.replicas]
        rows = next(n for n in range(containers, containers + objects) if math.gcd(n, objects) == 1)
        blocks = []
        for epoch in self.epochs:
            hosts = self.host[ring]
            cut, dead = (np.isin(hosts, list(each)) for each in (epoch.cut_hosts, epoch.dead_hosts))
            gone = cut | dead
            parts = [
                np.where(cut, stations.timeout, none),
                np.where(gone, none, stations.latency),
                np.where(gone, none, stations.cpu[hosts]),
                np.where(gone, none, stations.database),
            ]
            block = np.stack(parts, axis=2).reshape(containers, -1).astype(np.int32)
            blocks.append(block[np.minimum(np.arange(rows), containers - 1)])
        return blocks

    def _gate(self, number: int, shut_s: float, open_s: float) -> int:
        gate = self.stations.add(Station(f"silence {number}", "silent part", Discipline.GATE, indices=(number,)))
        self.scenario += shut_actions(gate, [(shut_s, open_s)])
        return gate

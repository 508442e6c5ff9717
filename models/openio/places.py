"""Where the visits of a request take place: the table of chunks and that of the directory.

A row of the first table is a set of drives that the conscience may choose for the chunks of a metachunk, with an order
in which they are read; a row of the second one is a container, with the copy of its base that is read. A block of
columns is an epoch: the present one is chosen when an attempt begins. In the place of what a request does not visit
there is an open gate.

A request has one hash for both tables: their numbers of rows have no common divisor.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Choice, Group, Member, Station
from models.openio.faults import Epoch, HostDown, RawxHung, drives_of, epochs_of
from models.openio.spec import OpenioSpec
from models.openio.stations import GATEWAY_PARTS, Stations, failed_gateways, slowdowns
from models.shared.epochs import all_well
from models.shared.faults import shut_actions
from models.shared.placement_table import PlacementTable, epoch_changes, epoch_names, numbered
from traces.random_streams import stream_id, uniforms

CHUNKS, DIRECTORY = range(2)
"""Placement tables and, with faults, groups, in order."""

_CHUNK_HEAD = ("reads", "connected", "written")
_CHUNK = ("silent", "not silent", "hung", "not hung", "way", "cpu", "drive", "dirty", "in", "out")
_BASE_HEAD = ("updates", "lookups", "election", "master", "master cpu", "read", "read cpu")
_COPY = ("way", "base", "cpu")
_SETS_PER_DRIVE, _MOST_SETS = 16, 1024  # of drives for chunks; more if that makes all equally loaded
_SPARES = 64  # further drives of a set, in the place of those that are avoided
_POLL_S, _WAIT_S = 0.5, 20.0  # sqliterepo.election.wait.quantum and .delay in conf.json


class Places:
    """The placement tables of a spec, and the places of visits in them.

    Attributes:
        tables, groups, scenario: those of the network.
        bound: whether parts fail during the run.
    """

    def __init__(self, spec: OpenioSpec, stations: Stations):
        self.spec, self.stations = spec, stations
        self.epochs = epochs_of(spec.faults, spec.drives.count)
        self.bound = not all_well(self.epochs)
        self.scenario: list[Action] = [Action(ActionKind.DOWN, stations.refused)] * self.bound
        self._silence, self._election = self._silence_gates(), self._election_gates()
        names = epoch_names(stations.add, len(self.epochs)) if self.bound else []
        width, copies = spec.protection.width, spec.directory.replicas
        self._sets = sets_of_drives(spec.hosts.count, spec.drives.count, width)
        chunk = [*((part,) for part in _CHUNK_HEAD), *numbered("read", spec.protection.data, _CHUNK),
                 *numbered("write", width, _CHUNK)]  # fmt: skip
        self._chunks = PlacementTable(
            CHUNKS, chunk, [self._chunk_block(epoch) for epoch in self.epochs], names, indices=(CHUNKS,)
        )
        base = [*((part,) for part in _BASE_HEAD), *numbered("copy", copies - 1, _COPY)]
        self._bases = PlacementTable(
            DIRECTORY, base, [self._base_block(epoch) for epoch in self.epochs], names, indices=(DIRECTORY,)
        )
        self.tables = (self._chunks.stations, self._bases.stations)
        self.groups: tuple[Group, ...] = (*self._chunks.groups, *self._bases.groups)
        for table in (CHUNKS, DIRECTORY) if self.bound else ():
            self.scenario += epoch_changes(table, names, [epoch.at_s for epoch in self.epochs])
        self._gateways: int | None = None
        if len(stations.gateways) > 1:
            self._gateways = len(self.groups)
            self.groups += (Group(Choice.ROUND_ROBIN, stations.gateways, role="gateways"),)
        self.scenario += [*failed_gateways(spec, stations, self._gateways), *slowdowns(spec, stations)]

    def gateway(self, part: str) -> int | Bound:
        """Return a part of the gateway."""
        position = GATEWAY_PARTS.index(part)
        if self._gateways is None:
            return int(self.stations.gateways[0, position])
        return Bound(self._gateways, position)

    @property
    def gateways(self) -> tuple[int, ...]:
        """The group of the gateways; none if there is one gateway."""
        return () if self._gateways is None else (self._gateways,)

    def metachunk(self, part: str) -> Member | Bound:
        """Return what depends on all chunks of a metachunk: whether enough of them can be read or written."""
        return self._chunks.at(part)

    def reader(self, position: int, part: str) -> Member | Bound:
        """Return a part of the rawx service that a chunk is read from."""
        return self._chunks.at("read", position, part)

    def writer(self, position: int, part: str) -> Member | Bound:
        """Return a part of the rawx service that a chunk is written to."""
        return self._chunks.at("write", position, part)

    def base(self, part: str) -> Member | Bound:
        """Return a part of the base of a container: of its master, or of the copy that is read."""
        return self._bases.at(part)

    def copy(self, position: int, part: str) -> Member | Bound:
        """Return a part of a copy of a base other than the master."""
        return self._bases.at("copy", position, part)

    def row_hashes(self, key_hash: NDArray[np.uint64], container: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return what selects the rows of requests in both tables, same shape.

        Args:
            key_hash: of each request.
            container: number of the container of each request.
        """
        chunks, bases = (len(table) for table in self.tables)
        orders, readers = self.spec.protection.width, self._readers
        drawn = [uniforms(0, stream_id(f"openio/{of}"), 0, len(key_hash)) for of in ("order", "copy")]
        order, reader = ((u * n).astype(np.int64) for u, n in zip(drawn, (orders, readers), strict=True))
        row = (key_hash % np.uint64(len(self._sets))).astype(np.int64) * orders + order
        # The Chinese remainder theorem: the hash that leaves both remainders.
        inverse = pow(chunks, -1, bases) if bases > 1 else 0
        return np.asarray(row + chunks * ((container * readers + reader - row) * inverse % bases), np.uint64)

    # Chunks.

    def _chunk_block(self, epoch: Epoch) -> NDArray[np.int32]:
        width, block = self.spec.protection.width, []
        for drives in self._sets.tolist():
            written = self._written(drives, epoch)
            for first in range(width):
                refused, read = self._read([*drives[first:width], *drives[:first]], epoch)
                block.append([refused, *written[:2], *read, *written[2:]])
        return np.array(block, np.int32)

    def _read(self, tried: list[int], epoch: Epoch) -> tuple[int, list[int]]:
        """Return whether too few chunks are left, and the columns of those that are read, after what fails of others.

        Services with a score of 0 are tried last; one that fails is replaced by the next.
        """
        gone = epoch.dead | epoch.silent | epoch.hung | epoch.avoided
        order = [drive for drive in tried if drive not in epoch.avoided]
        needed = self.spec.protection.data
        spares = iter([drive for drive in order[needed:] if drive not in gone])
        columns: list[int] = []
        for position in range(needed):
            drive = order[position] if position < len(order) else None
            used = drive if drive not in gone else next(spares, None)
            columns += self._chunk(used, drive, epoch)
        left = len(tried) - sum(drive in gone for drive in tried)
        return self._refused_unless(left >= needed), columns

    def _written(self, drives: list[int], epoch: Epoch) -> list[int]:
        """Return whether connections and responses are too few, and the columns of the chunks that are written."""
        width, quorum = self.spec.protection.width, self.spec.protection.write_quorum
        chosen = [drive for drive in drives if drive not in epoch.avoided][:width]
        away = sum(drive in epoch.dead | epoch.silent for drive in chosen)
        hung = sum(drive in epoch.hung for drive in chosen)
        columns: list[int] = []
        for position in range(width):
            drive = chosen[position] if position < len(chosen) else None
            columns += self._chunk(None if drive in epoch.dead | epoch.silent else drive, drive, epoch)
        lacks = [len(chosen) - gone >= quorum for gone in (away, away + hung)]
        return [*map(self._refused_unless, lacks), *columns]

    def _chunk(self, used: int | None, first: int | None, epoch: Epoch) -> list[int]:
        """Return the columns of a chunk: waits for the service that is tried first, and the parts of the one used."""
        stations, none = self.stations, self.stations.nowhere
        gate = none if first is None else self._silence.get(first, none)
        silent, hung = first in epoch.silent, first in epoch.hung
        waits = [
            gate if silent else none, none if silent else stations.refused,
            gate if hung else none, none if hung else stations.refused,
        ]  # fmt: skip
        if used is None:
            return [*waits, *[none] * 6]
        host = used // self.spec.drives.count
        of_host = [stations.dirty[host], stations.ins[host], stations.outs[host]]
        return [*waits, stations.latency, int(stations.cpu[host]), int(stations.drive[used]), *map(int, of_host)]

    # The directory.

    @property
    def _readers(self) -> int:
        """Number of copies of a base that look-ups are spread over: slaves (proxy.prefer.slave_for_read)."""
        return max(1, self.spec.directory.replicas - 1)

    def _base_block(self, epoch: Epoch) -> NDArray[np.int32]:
        containers, rows = len(self.stations.base), len(self._sets) * self.spec.protection.width
        count = containers * self._readers
        block = [self._base(c, reader, epoch) for c in range(containers) for reader in range(self._readers)]
        while math.gcd(count, rows) > 1:  # rows beyond the last one have no requests
            block.append(block[-1])
            count += 1
        return np.array(block, np.int32)

    def _base(self, container: int, reader: int, epoch: Epoch) -> list[int]:
        """Return the columns of a container; the master is the first copy that is left."""
        stations, none, count = self.stations, self.stations.nowhere, self.spec.directory.replicas
        hosts = [(container + copy) % self.spec.hosts.count for copy in range(count)]
        left = [copy for copy in range(count) if hosts[copy] not in epoch.lost]
        before = next((h for h in hosts if h not in epoch.lost - epoch.electing), None)
        election = self._election[before] if before in epoch.electing else none
        master = left[0] if left else None
        others: list[int | None] = [*left[1:]]
        read = master if not left[1:] else left[1:][reader % len(left[1:])]
        columns = [
            self._refused_unless(len(left) >= self.spec.directory_quorum), self._refused_unless(bool(left)), election,
        ]  # fmt: skip
        for copy in (master, read):
            columns += [none, none] if copy is None else [self._pool(container, copy), int(stations.cpu[hosts[copy]])]
        for copy in [*others, *[None] * (count - 1 - len(others))]:
            parts = [none] * 3
            if copy is not None:
                parts = [stations.latency, self._pool(container, copy), int(stations.cpu[hosts[copy]])]
            columns += parts
        return columns

    def _pool(self, container: int, copy: int) -> int:
        return int(self.stations.base[container, copy])

    # Gates.

    def _refused_unless(self, holds: bool) -> int:
        return self.stations.nowhere if holds else self.stations.refused

    def _silence_gates(self) -> dict[int, int]:
        """Add a gate for each drive whose service is silent or hangs, which is shut until it responds again."""
        spans: dict[int, list[tuple[float, float]]] = {}
        for fault in self.spec.faults:
            if isinstance(fault, RawxHung | HostDown):
                for drive in drives_of(fault, self.spec.drives.count):
                    spans.setdefault(drive, []).append((fault.at, fault.back_s))
        gates = {}
        for drive in sorted(spans):
            station = Station(f"drive {drive} is silent", "silent part", Discipline.GATE, indices=(drive,))
            gates[drive] = self.stations.add(station)
            self.scenario += shut_actions(gates[drive], spans[drive])
        return gates

    def _election_gates(self) -> dict[int, int]:
        """Add a gate for each host whose bases elect another master; those that wait for it give up in the end."""
        spans: dict[int, list[tuple[float, float]]] = {}
        for fault in self.spec.faults:
            if fault.kind in ("host_down", "meta2_down"):
                spans.setdefault(fault.host, []).append((fault.at, min(fault.at + fault.elected_after, fault.back_s)))
        gates = {}
        for host in sorted(spans):
            gate = Station(
                f"host {host} election", "election", Discipline.GATE, indices=(host,), poll_s=_POLL_S,
                poll_limit=round(_WAIT_S / _POLL_S),
            )  # fmt: skip
            gates[host] = self.stations.add(gate)
            self.scenario += shut_actions(gates[host], spans[host])
        return gates


@lru_cache(maxsize=16)  # a store is compiled many times until its rate at saturation is known
def sets_of_drives(hosts: int, per_host: int, width: int) -> NDArray[np.int64]:
    """Return sets of drives that metachunks are on, shape (sets, drives): those of the chunks, then further ones.

    The conscience chooses at random by scores, which are equal here, on as many hosts as possible: drives and hosts
    have equally many chunks.

    Args:
        hosts, per_host: number of hosts, and of the drives of each.
        width: number of chunks of a metachunk.
    """
    drives = hosts * per_host
    even = drives // math.gcd(drives, width)  # each drive is in equally many sets of a multiple of this number
    sets = max(64, min(_MOST_SETS, math.ceil(_SETS_PER_DRIVE * drives / width)))
    sets = sets if even > _MOST_SETS else even * math.ceil(sets / even)
    of_host, of_drive = np.zeros(hosts), np.zeros((hosts, per_host))
    found = np.empty((sets, min(drives, width + _SPARES)), np.int64)
    for number in range(sets):
        draws = uniforms(0, stream_id("openio/chunks"), number * drives, drives).reshape(hosts, per_host)
        order = np.lexsort((draws[:, 0], of_host))
        by_load = np.argsort(of_drive + draws, axis=1)
        # The n-th drive of a host comes after the (n - 1)-th one of every other host.
        all_drives = (order[:, None] * per_host + by_load[order]).T.ravel()
        found[number] = all_drives[: found.shape[1]]
        np.add.at(of_host, all_drives[:width] // per_host, 1)
        of_drive.ravel()[all_drives[:width]] += 1
    found.setflags(write=False)
    return found

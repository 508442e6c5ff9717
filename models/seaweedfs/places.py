"""Where the visits of a request take place: a table with a row for each volume, drive and gateway.

A row has the volume that a chunk is appended to, and the copy that it is read from, which is a random one each time:
writes of a bucket go to a few volumes, and reads to all drives. A block of columns is an epoch, in which some hosts are
killed or hang.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray

from models.hosts.faults import passed_to
from models.hosts.stations import HostStations
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Indices, Member, Station
from models.seaweedfs.faults import Epoch, HostHung, epochs_of
from models.seaweedfs.spec import SeaweedSpec
from models.shared.epochs import all_well
from models.shared.links import added_link
from models.shared.placement_table import numbered, placed_by_epoch
from traces.random_streams import stream_id, uniforms

_HEAD = ("entry", "cpu", "in", "out", "store", "writes", "reads", "again")
_COPY = ("hung", "way", "cpu", "in", "volume", "journal", "drive")
_READ = ("late", "hung", "way", "cpu", "out", "drive", "volume")
_SHARD = ("way", "cpu", "out", "drive")
_MOST_BUCKETS = 8  # that have volumes of their own: more are as good as these


class Stations(HostStations):
    """Numbers the stations of a spec.

    Attributes:
        master: cores of the master.
        gateway_cpu, gateway_in, gateway_out, store: of each gateway, with its filer.
        journal: of each drive, shape (hosts, drives): syncs that wait are made together.
    """

    def __init__(self, spec: SeaweedSpec, client_group: int):
        super().__init__(
            spec.client, spec.hosts, spec.drives, network=spec.network, client_group=client_group
        )  # fmt: skip
        self.master = self.add(Station("master cpu", "master cpu", Discipline.SIRO, spec.master.cores.count))
        gateways, store = range(spec.gateway_count), spec.filer.store
        if spec.gateways.collocated:
            self.gateway_cpu, self.gateway_in, self.gateway_out = (
                each.tolist() for each in (self.cpu, self.ins, self.outs)
            )
        else:
            cores, nic, queue = spec.gateways.cores.count, spec.gateways.nic, spec.network.queue
            self.gateway_cpu = [
                self.add(Station(f"gateway {g} cpu", "gateway cpu", Discipline.SIRO, cores, (g,))) for g in gateways
            ]
            self.gateway_in, self.gateway_out = (
                [added_link(self, f"gateway {g}", "gateway", g, way, nic, queue) for g in gateways]
                for way in ("in", "out")
            )
        self.store = [
            self.add(Station(f"filer {g} store", "filer store", Discipline.FIFO, store.servers, (g,)))
            for g in (range(1) if store.shared else gateways)
        ] * (len(gateways) if store.shared else 1)
        self.journal = np.full(self.drive.shape, self.nowhere, np.int32)
        if spec.volumes.fsync:
            for host, drive in np.ndindex(self.drive.shape):
                name = f"host {host} drive {drive} journal"
                self.journal[host, drive] = self.add(
                    Station(name, "journal", Discipline.GROUP_COMMIT, 1, (host, drive))
                )


class Places:
    """The placement table of a spec, and the places of visits in it.

    Attributes:
        table, groups, scenario: those of the network.
        bound: whether hosts fail during the run.
    """

    def __init__(self, spec: SeaweedSpec, stations: Stations, buckets: int):
        self.spec, self.stations = spec, stations
        self.epochs = epochs_of(spec.faults)
        self.bound = not all_well(self.epochs)
        self.buckets = max(1, min(buckets, _MOST_BUCKETS))
        self.writable = spec.volumes.per_bucket
        # Rows of chunks, without that of the copy that is read: each volume with each drive.
        self._chunks = math.lcm(self.writable * self.buckets, spec.total_drives)
        self.volume: dict[tuple[int, int], int] = {}
        self._gates, shut = stations.hung_gates([fault for fault in spec.faults if isinstance(fault, HostHung)])
        self.scenario = [*[Action(ActionKind.DOWN, stations.refused)] * self.bound, *shut]
        columns: list[Indices] = [(part,) for part in _HEAD]
        columns += numbered("copy", spec.volumes.copies, _COPY) + numbered("read", 1, _READ)
        erasure = spec.volumes.erasure
        self.shards = erasure.data + erasure.parity if erasure.fraction else 0
        columns += numbered("shard", 1, _SHARD) + numbered("other", max(0, self.shards - 1), _SHARD)
        self._placement, changes = placed_by_epoch(stations.add, self.epochs, columns, self._block)
        self.table, self.groups = self._placement.stations, self._placement.groups
        self.scenario += changes

    def head(self, part: str) -> Member | Bound:
        """Return a part of the gateway, or of its filer."""
        return self._placement.at(part)

    def copy(self, position: int, part: str) -> Member | Bound:
        """Return a part of a copy of the volume that a chunk is appended to."""
        return self._placement.at("copy", position, part)

    def read(self, part: str) -> Member | Bound:
        """Return a part of the copy that a chunk is read from."""
        return self._placement.at("read", 0, part)

    def shard(self, position: int | None, part: str) -> Member | Bound:
        """Return a part of the shard that has a chunk, or of one of the others, which are read if that one is lost."""
        return self._placement.at("shard", 0, part) if position is None else self._placement.at("other", position, part)

    @property
    def next_volume(self) -> int:
        """Rows from those of a volume to those of the next one, of the same gateway."""
        return self.spec.gateway_count

    def row_hashes(self, key_hash: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return what selects the row of each request, same shape: gateways take turns."""
        gateways, rows = np.uint64(self.spec.gateway_count), np.uint64(self._chunks)
        turn = np.arange(len(key_hash), dtype=np.uint64) % gateways
        draws = uniforms(0, stream_id("seaweedfs/copy"), 0, len(key_hash))
        copy = (draws * self.spec.volumes.copies).astype(np.uint64)
        return np.asarray((key_hash % rows + rows * copy) * gateways + turn, np.uint64)

    # Rows.

    def _block(self, epoch: Epoch) -> NDArray[np.int32]:
        rows = product(range(self._chunks * self.spec.volumes.copies), range(self.spec.gateway_count))
        return np.array([self._row(number, gateway, epoch) for number, gateway in rows], np.int32)

    def _row(self, number: int, gateway: int, epoch: Epoch) -> list[int]:
        stations, none, spec = self.stations, self.stations.nowhere, self.spec
        if spec.gateways.collocated:
            gateway = passed_to(gateway, number, epoch.dead, spec.hosts.count, spec.balance)
        entry = stations.refused if spec.gateways.collocated and gateway in epoch.dead else none
        lost = epoch.dead | epoch.hung
        volume = number % (self.writable * self.buckets)
        holders = self._holders(volume)
        # A volume with a copy that is lost takes no chunks; another one is made if there are enough hosts.
        fails = [host for host in holders if host in lost]
        known = lost - epoch.unnoticed
        left = [host for host in self._from(volume) if host not in lost]
        writes, again = none, none
        waits = bool(fails) and any(host in epoch.hung - known for host in fails)
        if fails and not waits:
            again = stations.latency if any(host not in known for host in fails) else none
            writes = none if len(left) >= spec.volumes.copies else stations.refused
            holders = left[: spec.volumes.copies]
        copies: list[int] = []
        for position in range(spec.volumes.copies):
            host = holders[position] if position < len(holders) else None
            copies += [none] * len(_COPY) if host is None else self._copy(gateway, host, volume, epoch)
        reads, read = self._read(number, gateway, epoch)
        head = [
            entry, stations.gateway_cpu[gateway], stations.gateway_in[gateway], stations.gateway_out[gateway],
            stations.store[gateway], writes, reads, again,
        ]  # fmt: skip
        return [int(each) for each in [*head, *copies, *read, *self._shards(number, gateway, epoch)]]

    def _from(self, number: int) -> list[int]:
        """Return the hosts in the order of a volume's copies."""
        return [(number + copy) % self.spec.hosts.count for copy in range(self.spec.hosts.count)]

    def _holders(self, number: int) -> list[int]:
        return self._from(number)[: self.spec.volumes.copies]

    def _copy(self, gateway: int, host: int, volume: int, epoch: Epoch) -> list[int]:
        stations, none = self.stations, self.stations.nowhere
        drive = (volume + volume // self.spec.hosts.count) % self.spec.drives.count
        own = self.spec.gateways.collocated and host == gateway
        return [
            self._gates[host] if host in epoch.hung else none,
            none if own else stations.latency,
            stations.cpu[host],
            none if own else stations.ins[host],
            self._volume(volume, host),
            stations.journal[host, drive],
            stations.drive[host, drive],
        ]  # fmt: skip

    def _volume(self, volume: int, host: int) -> int:
        """Return the lock of a volume's copy on a host, which is added if it is not there."""
        direct = self.spec.drives.direct
        if not (direct or self.spec.volumes.append.takes_time):
            return self.stations.nowhere
        if (volume, host) not in self.volume:
            name, place = f"host {host} volume {volume}", (host, volume)
            discipline = Discipline.POOL if direct else Discipline.FIFO
            self.volume[volume, host] = self.stations.add(Station(name, "volume", discipline, indices=place))
        return self.volume[volume, host]

    def _read(self, number: int, gateway: int, epoch: Epoch) -> tuple[int, list[int]]:
        """Return whether no copy is left, and the columns of the copy that is read, after one that hangs."""
        stations, none = self.stations, self.stations.nowhere
        copies = self._holders(number)
        order = [copies[(number // self._chunks + n) % len(copies)] for n in range(len(copies))]
        tried = [host for host in order if host not in epoch.dead and (host not in epoch.hung - epoch.unnoticed)]
        good = [host for host in tried if host not in epoch.hung]
        late = stations.timer if tried and tried[0] in epoch.hung else none
        gate = self._gates[tried[0]] if late != none else none
        if not good and not tried:
            return stations.refused, [none] * len(_READ)
        host = good[0] if good else tried[0]
        return none, [late, gate, *self._server(number, gateway, host), self._written_volume(number, host)]

    def _written_volume(self, number: int, host: int) -> int:
        """Return the lock of a volume of a bucket that a host has and that chunks are appended to, if there is one."""
        here = [volume for volume in range(self.writable * self.buckets) if host in self._holders(volume)]
        if not (self.spec.drives.direct and here):
            return self.stations.nowhere
        return self._volume(here[number // self.spec.hosts.count % len(here)], host)

    def _server(self, number: int, gateway: int, host: int) -> list[int]:
        stations, none = self.stations, self.stations.nowhere
        own = self.spec.gateways.collocated and host == gateway
        drive = number // self.spec.hosts.count % self.spec.drives.count
        return [
            none if own else stations.latency, stations.cpu[host], none if own else stations.outs[host],
            stations.drive[host, drive],
        ]  # fmt: skip

    def _shards(self, number: int, gateway: int, epoch: Epoch) -> list[int]:
        """Return the columns of the shard with a chunk, or, if its host is lost, of all other shards that are left."""
        none, width = self.stations.nowhere, len(_SHARD)
        if not self.shards:
            return [none] * width
        hosts = [(number + shard) % self.spec.hosts.count for shard in range(self.shards)]
        lost, erasure = epoch.dead | epoch.hung, self.spec.volumes.erasure
        others = [host for host in hosts[1:] if host not in lost]
        if hosts[0] not in lost or len(others) < erasure.data:
            return self._server(number, gateway, hosts[0]) + [none] * width * (self.shards - 1)
        found = [none] * width
        for host in others:
            found += self._server(number, gateway, host)
        return found + [none] * (width * self.shards - len(found))

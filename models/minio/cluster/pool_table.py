"""The placement table of a pool: joined from a table of erasure sets and one of coordinators.

A key belongs to an erasure set and the drive of the first shard. A node that receives a request, its *coordinator*, has
drives of few sets only; requests to the other sets differ in the coordinator's own parts alone. So the sets have a
table, the coordinators have one, and a join says which columns are taken from where. It depends on what a set looks
like: which of its drives are on one node or host, and which are lost; nearly all sets look alike.

The columns are the coordinator's parts, then those of each drive of the set, first the coordinator's own drives; then
those of the drives that a GET reads shards from. These are the first that are present in the order of the object's
shards, wherever they are: `preferReaders` in cmd/erasure-decode.go would prefer the coordinator's own, but recognises
none that is given by a URL, as the log of the drives confirms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.epochs import Epoch, Hang
from models.minio.cluster.outage_stations import WAITS, OutageStations
from models.minio.cluster.stations import Pool, Stations
from models.minio.spec.layout import Table, protection
from models.network.joined_table import JoinedTable
from models.network.station import Indices
from models.shared.placement_table import numbered

_COORDINATOR = ("cpu", "in", "out", "slots", "permits", "connect", "entry", "response", "healer")
"""Parts in the table of coordinators."""
_OF_DRIVE = ("drive", "journal", "cpu", "in", "out")
"""Parts in the table of sets: of each drive, in the order of an object's shards."""
_OF_OTHER = ("cpu", "in", "out")
"""Parts in the table of sets: of each drive of the sets with the same key in other pools."""

_HEAD = (
    "cpu", "in", "out", "slots", "permits", "connect", "entry", "response", "reads", "writes", "heal wait", "healer",
)  # fmt: skip
_DRIVE = ("drive", "journal", "caller", "cpu", "way", "in", "out", "sender", "receiver")
_READER = ("drive", "own drive", "other drive", "caller", "cpu", "way", "out", "receiver", "sender", "in")
_CALL = ("caller", "cpu", "way", "sender", "in", "out", "receiver")
_HEAL = ("reads", "writes")

Flags = NDArray[np.bool_]
Numbers = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Healing:
    """Stations of attempts to heal objects.

    Attributes:
        wait: what lasts as long as an attempt waits.
        healers: of each node: where its attempts are made one after the other.
        heals, refills: whether attempts are made for writes that missed a drive, and for drives that were replaced.
    """

    wait: int
    healers: Sequence[int]
    heals: bool = False
    refills: bool = False


@dataclass(frozen=True)
class _State:
    """What a set looks like in an epoch: for all keys, shape (keys, …), or for one.

    Attributes:
        lost, back, fresh, down: of each drive: whether requests avoid it, wait to heal it, find it empty, and whether
            its host is down.
        hangs: of each hang: whether the set needs what hangs.
    """

    lost: Flags
    back: Flags
    fresh: Flags
    down: Flags
    hangs: Flags

    def of(self, key: int) -> _State:
        return _State(self.lost[key], self.back[key], self.fresh[key], self.down[key], self.hangs[key])


class PoolTable:
    """Builds the table of a pool.

    Attributes:
        columns: the names of its columns.
    """

    def __init__(
        self, stations: Stations, number: int, outages: OutageStations, hangs: Sequence[Hang], healing: Healing
    ):
        self._stations, self._outages, self._hangs, self._healing = stations, outages, hangs, healing
        self._pool = pool = stations.pools[number]
        self._layout, keys = pool.layout, pool.layout.rotations
        # Without a column for what is the same for all drives.
        self._of = (*_OF_DRIVE, "late") if stations.has_own_latency else _OF_DRIVE
        self._drives = keys + pool.first_drive
        self._nodes, self._hosts = stations.nodes_of(pool, keys), pool.layout.host_of(keys) + pool.first_host
        others = [_nodes_of(stations, each, len(keys)) for n, each in enumerate(stations.pools) if n != number]
        self._other_nodes = np.hstack([np.empty((len(keys), 0), np.int32), *others])
        self._key_parts: int = len(self._of) * keys.shape[1] + len(_OF_OTHER) * self._other_nodes.shape[1]
        self.columns = self._columns()

    def _columns(self) -> list[Indices]:
        size, layout = self._layout.size, self._layout
        return [
            *((part,) for part in _HEAD),
            *numbered("hang", len(self._hangs), WAITS),
            *numbered("drive", size, (*_DRIVE, *self._of[len(_OF_DRIVE) :])),
            *numbered("locker", layout.lockers, _CALL),
            *numbered("other", self._other_nodes.shape[1], _CALL),
            *numbered("reader", layout.data, (*_READER, *self._of[len(_OF_DRIVE) :])),
            *(numbered("heal", size, _HEAL) if self._healing.heals else ()),
            *((("refill", n) for n in range(size + 1)) if self._healing.refills else ()),
        ]

    def joined(self, coordinators: Sequence[int], epochs: Sequence[Epoch]) -> JoinedTable:
        """Return the table for requests that arrive at some nodes, those of one epoch after the other."""
        near = self._near()
        nodes = self._stations.host_of_node
        found: dict[bytes, int] = {}
        joins: list[Table] = []
        first_join = []
        for epoch in epochs:
            state = self._state(epoch)
            looks, key, which = np.unique(self._looks(state), axis=0, return_index=True, return_inverse=True)
            for look, example in zip(looks, key.tolist(), strict=True):
                if look.tobytes() not in found:
                    found[look.tobytes()] = len(joins) * (1 + near.shape[1])
                    joins.append(self._joins(example, state.of(example), near[example], nodes[near[example]]))
            first_join.append(np.array([found[look.tobytes()] for look in looks], np.int32)[which.ravel()])
        return JoinedTable(
            self._keyed(),
            np.vstack([self._coordinators(coordinators, epoch) for epoch in epochs]),
            np.vstack(joins),
            np.array(first_join),
            near,
        )

    # The tables of sets and of coordinators.

    def _keyed(self) -> Table:
        stations, drives, hosts = self._stations, self._drives, self._hosts
        others = stations.host_of_node[self._other_nodes]
        of_drives = (
            stations.drive[drives], stations.journal[drives], stations.cpu[hosts], stations.ins[hosts],
            stations.outs[hosts], *([stations.late[drives]] if stations.has_own_latency else []),
        )  # fmt: skip
        of_others = stations.cpu[others], stations.ins[others], stations.outs[others]
        return np.hstack([np.stack(parts, axis=2).reshape(len(drives), -1) for parts in (of_drives, of_others)])

    def _coordinators(self, nodes: Sequence[int], epoch: Epoch) -> Table:
        stations, outages = self._stations, self._outages
        hosts = stations.host_of_node[list(nodes)]
        return np.column_stack([
            stations.cpu[hosts], stations.ins[hosts], stations.outs[hosts], stations.slots[list(nodes)],
            stations.permits[list(nodes)],
            [outages.connect(host, epoch) for host in hosts.tolist()],
            [outages.entry(host, epoch) for host in hosts.tolist()],
            [outages.responses[host] for host in hosts.tolist()],
            [self._healing.healers[node] for node in nodes],
        ]).astype(np.int32)  # fmt: skip

    def _near(self) -> Table:
        """Return the nodes that are on a host with drives of each key's sets, shape (keys, near)."""
        host_of_node = self._stations.host_of_node
        first = np.searchsorted(host_of_node, np.arange(host_of_node[-1] + 2))
        hosts = np.hstack([self._hosts, host_of_node[self._other_nodes]])
        most = int(np.diff(first).max())
        nodes = first[hosts][..., None] + np.arange(most)
        # A host with fewer processes repeats its first one.
        return np.where(nodes < first[hosts + 1][..., None], nodes, first[hosts][..., None]).reshape(
            len(hosts), -1
        ).astype(np.int32)  # fmt: skip

    # Joins.

    def _state(self, epoch: Epoch) -> _State:
        drives, hosts = self._drives, self._hosts
        down = np.isin(hosts, list(epoch.hosts))
        lost = np.isin(drives, list(epoch.drives)) | down
        back = np.isin(drives, list(epoch.returning_drives)) | np.isin(hosts, list(epoch.returning_hosts))
        needs = [(drives == hang.drive) if hang.drive is not None else (hosts == hang.host) for hang in self._hangs]
        for hanging in needs:  # an attempt waits until the part is back
            back |= hanging
        hangs = np.array([hanging.any(axis=1) for hanging in needs], bool).reshape(len(needs), len(drives)).T
        return _State(lost, back & lost, np.isin(drives, list(epoch.fresh)), down, hangs)

    def _looks(self, state: _State) -> Table:
        """Return what the join of each key depends on, shape (keys, …)."""
        nodes = np.hstack([self._nodes, self._other_nodes])
        hosts = self._stations.host_of_node[nodes]
        same_node, same_host = ((each[:, :, None] == each[:, None, :]).argmax(axis=2) for each in (nodes, hosts))
        process = nodes - np.searchsorted(self._stations.host_of_node, hosts)
        flags = state.lost, state.back, state.fresh, state.down, state.hangs
        return np.hstack([same_node, same_host, process, *flags]).astype(np.int32)

    def _joins(self, key: int, state: _State, near: Table, near_hosts: Table) -> Table:
        """Return the joins of a key with a coordinator that is far, and with those that are near: (1 + near, columns).

        Numbers below 0 are those of parts, see `JoinedTable`.
        """
        node, host = (np.append(-1, each)[:, None] for each in (near, near_hosts))
        nodes, hosts, layout = self._nodes[key], self._hosts[key], self._layout
        order = np.argsort(2 * state.lost + (nodes != node), axis=1, kind="stable")
        return np.hstack([
            self._head(state, len(node)),
            self._drive_columns(order, state.lost[order], nodes[order] != node, hosts[order] != host),
            self._lockers(order, node, host, nodes, hosts, state.down),
            self._others(node, self._other_nodes[key]),
            self._readers(np.argsort(state.lost | state.fresh, kind="stable")[: layout.data], state, node, host, key),
            self._heals(order, state),
        ]).astype(np.int32)  # fmt: skip

    def _head(self, state: _State, count: int) -> Table:
        layout, nowhere, refuses = self._layout, self._stations.nowhere, self._outages.refuses
        offline = int(state.lost.sum())
        served = (
            protection(layout.size, layout.parity).can_read(offline),
            protection(layout.size, layout.parity, offline).can_write(offline),
        )
        row = [
            *(self._own(part) for part in _HEAD[: _HEAD.index("reads")]),
            *(nowhere if each else refuses for each in served),
            self._healing.wait if offline or state.fresh.any() else nowhere,
            self._own("healer") if offline else nowhere,
        ]
        for needs, waits in zip(state.hangs, self._outages.waits, strict=False):
            row += waits if needs else [nowhere] * len(waits)
        return np.tile(np.array(row, np.int32), (count, 1))

    def _drive_columns(self, order: Numbers, lost: Flags, remote: Flags, far: Flags) -> Table:
        def where(part: Numbers | int, used: Flags) -> Numbers:
            return np.where(used & ~lost, part, self._stations.nowhere)

        of, everywhere = self._of_drive, np.ones_like(lost)
        return _columns([
            where(of("drive", order), everywhere),
            where(of("journal", order), everywhere),
            where(self._own("cpu"), remote),
            where(of("cpu", order), remote),
            where(self._stations.latency, remote),
            where(of("in", order), far),
            where(of("out", order), far),
            where(self._own("out"), far),
            where(self._own("in"), far),
            *([where(of("late", order), everywhere)] if self._stations.has_own_latency else []),
        ])  # fmt: skip

    def _lockers(self, order: Numbers, node: Numbers, host: Numbers, nodes: Table, hosts: Table, down: Flags) -> Table:
        """Return the columns of calls to the lock servers of the set, the coordinator's own first."""
        first = np.array([np.sort(np.unique(nodes[each], return_index=True)[1]) for each in order])
        drive = np.take_along_axis(order, first, axis=1)
        drive = np.take_along_axis(drive, np.argsort(nodes[drive] != node, axis=1, kind="stable"), axis=1)
        used = (nodes[drive] != node) & ~down[drive]
        parts = [self._of_drive(part, drive) for part in _OF_OTHER]
        return self._calls(parts, used, used & (hosts[drive] != host))

    def _others(self, node: Numbers, others: Table) -> Table:
        """Return the columns of calls to other pools, whose sets may have the object."""
        used = others != node
        host_of_node = self._stations.host_of_node
        first = -1 - len(self._of) * self._layout.size
        number = first - len(_OF_OTHER) * np.arange(len(others))
        parts = [np.broadcast_to(number - part, used.shape) for part in range(len(_OF_OTHER))]
        host = np.where(node < 0, -1, host_of_node[node])
        return self._calls(parts, used, used & (host_of_node[others] != host))

    def _calls(self, parts: Sequence[Numbers], used: Flags, far: Flags) -> Table:
        """Return the columns of calls to nodes, given their parts in the order of `_OF_OTHER`."""
        nowhere, (cpu, inward, outward) = self._stations.nowhere, parts
        return _columns([
            np.where(used, self._own("cpu"), nowhere),
            np.where(used, cpu, nowhere),
            np.where(used, self._stations.latency, nowhere),
            np.where(far, self._own("out"), nowhere),
            np.where(far, inward, nowhere),
            np.where(far, outward, nowhere),
            np.where(far, self._own("in"), nowhere),
        ])  # fmt: skip

    def _readers(self, drive: Numbers, state: _State, node: Numbers, host: Numbers, key: int) -> Table:
        """Return the columns of the drives that a GET reads from."""
        of, nowhere = self._of_drive, self._stations.nowhere
        present = ~(state.lost | state.fresh)[drive]
        remote = present & (self._nodes[key][drive] != node)
        far = present & (self._hosts[key][drive] != host)
        here = np.broadcast_to(present, remote.shape)
        return _columns([
            np.where(here, of("drive", drive), nowhere),
            np.where(here & ~remote, of("drive", drive), nowhere),
            np.where(remote, of("drive", drive), nowhere),
            np.where(remote, self._own("cpu"), nowhere),
            np.where(remote, of("cpu", drive), nowhere),
            np.where(remote, self._stations.latency, nowhere),
            np.where(far, of("out", drive), nowhere),
            np.where(far, self._own("in"), nowhere),
            np.where(far, self._own("out"), nowhere),
            np.where(far, of("in", drive), nowhere),
            *([np.where(here, of("late", drive), nowhere)] if self._stations.has_own_latency else []),
        ])  # fmt: skip

    def _heals(self, order: Numbers, state: _State) -> Table:
        """Return the columns of attempts to heal: reads if others are lost, writes of those that are back."""
        nowhere, drive, lost, fresh = self._stations.nowhere, self._of_drive("drive", order), state.lost, state.fresh
        found = [np.empty((len(order), 0), np.int32)]
        if self._healing.heals:
            reads = np.where(lost.any() & ~lost[order], drive, nowhere)
            found.append(_columns([reads, np.where(state.back[order], drive, nowhere)]))
        if self._healing.refills:
            missed = fresh.any() and not lost.any()  # with a drive offline, nothing is tried
            found.append(np.where(missed & ~fresh[order], drive, nowhere))
            found.append(np.full((len(order), 1), self._own("healer") if missed else nowhere))
        return np.hstack(found)

    def _own(self, part: str) -> int:
        """Return the number in joins of a part of the coordinator."""
        return -1 - (self._key_parts + _COORDINATOR.index(part))

    def _of_drive(self, part: str, drive: Numbers) -> Numbers:
        """Return the numbers in joins of a part of drives, given their numbers in the set, same shape."""
        return -1 - (len(self._of) * drive + self._of.index(part))


def _columns(parts: Sequence[Numbers]) -> Table:
    """Return the columns of alike things, given each part of all of them: shape (rows, things x parts)."""
    return np.stack(parts, axis=2).reshape(len(parts[0]), -1).astype(np.int32)


def _nodes_of(stations: Stations, pool: Pool, keys: int) -> Table:
    """Return the nodes of the sets of another pool that may have the objects, each set for as many keys."""
    return stations.nodes_of(pool, pool.layout.sets[np.arange(keys) % len(pool.layout.sets)])

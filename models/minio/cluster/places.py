"""Where the visits of a request take place: placement tables by the object's key and by the node that it arrives at.

If nothing fails, the rows of all coordinators follow one another, and the row gives the stations before the run; all
attempts of a request go to one coordinator. Otherwise an attempt is bound to one of the coordinators present when it
arrives, in the present epoch, and a further attempt to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.epochs import Epoch, depends_on_time, epochs_of, hangs_of
from models.minio.cluster.outage_stations import OutageStations
from models.minio.cluster.pool_table import Healing, PoolTable
from models.minio.cluster.stations import Pool, Stations
from models.minio.spec.spec import MinioSpec
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Bound, Choice, Group, Member, Station
from models.shared.work import WORKERS
from traces.random_streams import stream_id, uniforms

_CHOICES = {
    "round_robin": Choice.ROUND_ROBIN,
    "local": Choice.ROUND_ROBIN,
    "proxy": Choice.ROUND_ROBIN,
    "dns": Choice.RANDOM,
    "single": Choice.HASH,
}


class Places:
    """The placement tables of a spec, and the places of visits in them.

    Attributes:
        tables, groups, scenario: those of the network; table and group `i` belong to pool `i`.
        coordinators: nodes that receive requests.
        bound: whether attempts are bound to a coordinator at run time, because parts fail.
        connect_s: connect timeout of clients, 0 if no host refuses connections by silence.
        local: of each pool: drives that are the coordinator's own in every row; those after them are on other nodes,
            if `mixed` is False.
        mixed: of each pool: whether other drives may be the coordinator's own as well, so that an open gate stands for
            the calls to them.
        hangs: periods in which requests wait for a part.
    """

    def __init__(self, spec: MinioSpec, stations: Stations, healed_s: Mapping[int, float] = MappingProxyType({})):
        """`healed_s` has when each replaced drive is read from again."""
        self.spec, self.stations = spec, stations
        self.epochs, self.hangs = epochs_of(spec, healed_s), hangs_of(spec)
        self.coordinators = [0] if spec.balance == "single" else list(range(stations.nodes))
        self.bound = depends_on_time(spec)
        counts = [self._locals(pool) for pool in stations.pools]
        one = self.epochs == (Epoch(),)
        self.mixed = [not one or low != high for low, high in counts]
        self.local = [0 if mixed else low for mixed, (low, _) in zip(self.mixed, counts, strict=True)]
        outages = OutageStations(stations, self.epochs, self.hangs, self.bound)
        self.scenario, self.connect_s = outages.scenario, outages.connect_s
        self._outages, self._healing = outages, self._healing_stations()
        pools = [PoolTable(stations, n, outages, self.hangs, self._healing) for n in range(len(stations.pools))]
        self._positions = [{name: k for k, name in enumerate(pool.columns)} for pool in pools]
        self.tables = tuple(pool.joined(self.coordinators, self.epochs) for pool in pools)
        self.groups: tuple[Group, ...] = ()
        if self.bound:
            self._bind()

    @property
    def loses_drives(self) -> bool:
        """Whether writes miss drives at any time."""
        return any(epoch.drives or epoch.hosts for epoch in self.epochs)

    def most_lost(self, pool: int) -> int:
        """Return the most drives of a set of a pool that are absent at any time."""
        each = self.stations.pools[pool]
        hosts = each.layout.host_of(each.layout.sets) + each.first_host
        drives = each.layout.sets + each.first_drive
        lost = [np.isin(drives, list(e.drives)) | np.isin(hosts, list(e.hosts)) for e in self.epochs]
        return int(max(absent.sum(axis=1).max() for absent in lost))

    def state_at(self, at_s: float) -> Epoch:
        """Return the state of the cluster at a time."""
        return [epoch for epoch in self.epochs if epoch.at_s <= at_s][-1]

    def head(self, pool: int, part: str) -> int | Member | Bound:
        """Return a part of the coordinator."""
        one = {"cpu": self.stations.cpu, "in": self.stations.ins, "out": self.stations.outs}.get(part)
        if one is not None and len(one) == 1:
            return int(one[0])
        return self.head_place(pool, part)

    def head_place(self, pool: int, part: str) -> Member | Bound:
        """Return a part of the coordinator that depends on the state of the cluster."""
        return self._place(pool, part)

    def hang(self, pool: int, number: int, part: str) -> Member | Bound:
        """Return what a request meets that waits for a part that hangs: a timeout, or the gate that ends it."""
        return self._place(pool, "hang", number, part)

    def drive(self, pool: int, position: int, part: str) -> Member | Bound:
        """Return a part of the drive at a position of the set, or of a call to it."""
        return self._place(pool, "drive", position, part)

    def locker(self, pool: int, number: int, part: str) -> Member | Bound:
        """Return a part of the call to a lock server of the set; the coordinator's own is the first, if it has one."""
        return self._place(pool, "locker", number, part)

    def other(self, pool: int, position: int, part: str) -> Member | Bound:
        """Return a part of the call to a drive of the sets with the same key in the other pools."""
        return self._place(pool, "other", position, part)

    def reader(self, pool: int, position: int, part: str) -> Member | Bound:
        """Return a part of a drive that a GET reads a shard from, or of the call to it."""
        if self.stations.nodes == 1:
            return self.drive(pool, position, "drive" if part == "own drive" else part)
        return self._place(pool, "reader", position, part)

    @property
    def refills(self) -> bool:
        """Whether a drive that replaces another one does not have all objects at any time."""
        return any(epoch.fresh for epoch in self.epochs)

    def heal(self, pool: int, position: int, part: str) -> Bound | Member:
        """Return a part of an attempt to heal at a drive of the set: a read if others are lost, a write if it is."""
        return self._place(pool, "heal", position, part)

    def refill(self, pool: int, position: int | None = None) -> Bound | Member:
        """Return the read, at a drive of the set, of an attempt to heal an object that a new drive does not have.

        Without a position, return what makes these attempts one after the other.
        """
        size = self.stations.pools[pool].layout.size
        return self._place(pool, "refill", size if position is None else position)

    def others(self, pool: int) -> int:
        """Return the number of drives in the sets of the other pools that may have the same object."""
        return sum(p.layout.size for number, p in enumerate(self.stations.pools) if number != pool)

    def row_hashes(self, pool: int, key_hash: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return what selects the row of requests to a pool in its table, same shape.

        Args:
            pool: number of the pool.
            key_hash: of each request.
            rows: number of each request in the trace, by which coordinators take turns.
        """
        if self.bound or len(self.coordinators) == 1:
            return key_hash
        count = len(self.coordinators)
        if self.spec.balance == "dns":
            turn = (uniforms(0, stream_id("dns"), 0, int(rows.max(initial=0)) + 1)[rows] * count).astype(np.uint64)
        else:
            turn = (rows % count).astype(np.uint64)
        per_node = np.uint64(len(self.tables[pool].keyed))
        return np.asarray(turn * per_node + key_hash % per_node, np.uint64)

    @property
    def spreads_uploads(self) -> bool:
        """Whether the requests of an upload go to several coordinators: each is sent on by a proxy, or by DNS.

        A client that uses the hosts in turn, such as warp, does so upload by upload.
        """
        return self.spec.balance in ("proxy", "dns")

    def rows_to_next(self, pool: int) -> int:
        """Return the rows of a pool's table from those of a coordinator to those of the next one; 0: key has none."""
        return 0 if self.bound or len(self.coordinators) == 1 else len(self.tables[pool].keyed)

    def coordinator_groups(self, pool: int) -> tuple[int, ...]:
        """Return the group of a pool's coordinators; none if the key has the coordinator."""
        return (pool,) if self.bound else ()

    def _place(self, pool: int, *part: int | str) -> Member | Bound:
        column = self._positions[pool][part]
        return Bound(pool, column, part) if self.bound else Member(pool, column, part)

    def _locals(self, pool: Pool) -> tuple[int, int]:
        """Return the least and greatest number of drives of a set that are the coordinator's own."""
        nodes = self.stations.nodes_of(pool, pool.layout.sets)
        if len(self.coordinators) > pool.layout.size:  # more than the nodes of a set
            return 0, int(max((nodes == nodes[:, p, None]).sum(axis=1).max() for p in range(pool.layout.size)))
        counts = [(nodes == c).sum(axis=1) for c in self.coordinators]
        return int(np.min(counts)), int(np.max(counts))

    def _healing_stations(self) -> Healing:
        stations = self.stations
        if not self.loses_drives:
            return Healing(stations.nowhere, [stations.nowhere] * stations.nodes, refills=self.refills)
        wait = stations.add(Station("heal wait", "heal wait", Discipline.INFINITE_SERVER))
        healers = [
            stations.add(Station(f"node {n} heals", WORKERS, Discipline.FIFO, indices=(n,)))
            for n in range(stations.nodes)
        ]
        return Healing(wait, healers, heals=True, refills=self.refills)

    def _bind(self) -> None:
        """Add the groups of coordinators, each of them in each epoch, and the actions that change epochs."""
        names = [(c, e) for e in range(len(self.epochs)) for c in self.coordinators]
        for c, e in names:
            self.stations.add(Station(f"node {c} in epoch {e}", "epoch", Discipline.GATE, indices=(c, e)))
        choice = _CHOICES[self.spec.balance]
        for number, table in enumerate(self.tables):
            self.groups += (Group(choice, table.coordinators, number, "coordinators", (number,)),)
            self.scenario += self._changes(number)

    def _changes(self, group: int) -> Iterator[Action]:
        """Yield the actions by which nodes take part in an epoch, from its beginning to that of the next."""
        nodes, proxied = np.array(self.coordinators), self.spec.balance == "proxy"
        members = np.arange(len(self.epochs) * len(nodes)).reshape(len(self.epochs), -1)
        present = []
        for numbers, epoch in zip(members, self.epochs, strict=True):
            avoided = np.isin(self.stations.host_of_node[nodes], list(epoch.hosts - epoch.unnoticed)) & proxied
            present.append(numbers[~avoided].tolist())
        yield from (Action(ActionKind.LEAVE, group, member=m) for m in set(members[0].tolist()).difference(present[0]))
        yield from (Action(ActionKind.LEAVE, group, member=m) for m in members[1:].ravel().tolist())
        for number in range(1, len(members)):
            at_s = self.epochs[number].at_s
            yield from (Action(ActionKind.LEAVE, group, at_s, member=m) for m in present[number - 1])
            yield from (Action(ActionKind.JOIN, group, at_s, member=m) for m in present[number])

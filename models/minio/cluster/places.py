"""Where the visits of a request take place: placement tables by the object's key and by the node that it arrives at.

A row belongs to an object's erasure set and the drive of its first shard; a block of columns to a node that may receive
the request, its *coordinator*. A block has the coordinator's parts, then those of each drive of the set, first the
coordinator's own drives; then those of the drives that a GET reads shards from. These are the first that are present in
the order of the object's shards, wherever they are: `preferReaders` in cmd/erasure-decode.go would prefer the
coordinator's own, but recognises none that is given by a URL, as the log of the drives confirms.

If nothing fails, rows of all coordinators are below one another, and the row gives the stations before the run; all
attempts of a request go to one coordinator. Otherwise the blocks of coordinators and epochs are side by side, an
attempt is bound to one of those present when it arrives, and a further attempt to another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from models.minio.cluster.epochs import Epoch, Hang, depends_on_time, epochs_of, hangs_of
from models.minio.cluster.stations import Pool, Stations
from models.minio.spec.layout import Table, read_quorum, write_quorum
from models.minio.spec.spec import MinioSpec
from models.network.discipline import Discipline
from models.network.scenario import Action, Kind
from models.network.station import Bound, Choice, Group, Member, Station
from models.shared.work import WORKERS
from traces.random_streams import stream_id, uniforms

_HEAD = ("name", "cpu", "in", "out", "slots", "connect", "entry", "response", "reads", "writes", "heal wait", "healer")
_HANG = ("lock", "read", "call", "back", "call end")
_DRIVE = ("drive", "journal", "caller", "cpu", "way", "in", "out", "sender", "receiver")
_READER = ("drive", "own drive", "other drive", "caller", "cpu", "way", "out", "receiver", "sender", "in")
_CALL = ("caller", "cpu", "way", "sender", "in", "out", "receiver")
_HEAL = ("reads", "writes")

_AT_ONCE = 1e12
"""Speed of a timeout that is not in force."""

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
        self.coordinators = [0] if spec.distribution == "single" else list(range(stations.nodes))
        self.bound = depends_on_time(spec)
        self.scenario: list[Action] = []
        self._waits = [self._waits_of(number, hang) for number, hang in enumerate(self.hangs)]
        self._refuses = self._down("refused") if self.bound else stations.nowhere
        self._connecting = self._infinite("connect timeout") if self.connect_s else stations.nowhere
        self._responses = self._responding()
        counts = [self._locals(pool) for pool in stations.pools]
        one = self.epochs == (Epoch(),)
        self.mixed = [not one or low != high for low, high in counts]
        self.local = [0 if mixed else low for mixed, (low, _) in zip(self.mixed, counts, strict=True)]
        self.tables: tuple[Table, ...] = ()
        self.groups: tuple[Group, ...] = ()
        self._heal_wait = self._infinite("heal wait") if self.loses_drives else stations.nowhere
        self._healers = [stations.nowhere] * stations.nodes
        if self.loses_drives:
            self._healers = [self._add(f"node {n} heals", WORKERS, Discipline.FIFO, n) for n in range(stations.nodes)]
        self._build()

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
        return self._place(pool, _HEAD.index(part), part)

    def hang(self, pool: int, number: int, part: str) -> Member | Bound:
        """Return what a request meets that waits for a part that hangs: a timeout, or the gate that ends it."""
        return self._place(pool, len(_HEAD) + number * len(_HANG) + _HANG.index(part), "hang", number, part)

    @property
    def connect_s(self) -> float:
        """Connect timeout of clients, 0 if no host refuses connections by silence."""
        return max((hang.connect_s or 0.0 for hang in self.hangs), default=0.0)

    def drive(self, pool: int, position: int, part: str) -> Member | Bound:
        """Return a part of the drive at a position of the set, or of a call to it."""
        column = self._first_drive + position * len(_DRIVE) + _DRIVE.index(part)
        return self._place(pool, column, "drive", position, part)

    def locker(self, pool: int, number: int, part: str) -> Member | Bound:
        """Return a part of the call to a lock server of the set; the coordinator's own is the first, if it has one."""
        size = self.stations.pools[pool].layout.size
        first = self._first_drive + size * len(_DRIVE)
        return self._place(pool, first + number * len(_CALL) + _CALL.index(part), "locker", number, part)

    def other(self, pool: int, position: int, part: str) -> Member | Bound:
        """Return a part of the call to a drive of the sets with the same key in the other pools."""
        layout = self.stations.pools[pool].layout
        first = self._first_drive + layout.size * len(_DRIVE) + layout.lockers * len(_CALL)
        return self._place(pool, first + position * len(_CALL) + _CALL.index(part), "other", position, part)

    def reader(self, pool: int, position: int, part: str) -> Member | Bound:
        """Return a part of a drive that a GET reads a shard from, or of the call to it."""
        if self.stations.nodes == 1:
            return self.drive(pool, position, "drive" if part == "own drive" else part)
        layout = self.stations.pools[pool].layout
        first = self._first_drive + layout.size * len(_DRIVE) + layout.lockers * len(_CALL)
        first += self.others(pool) * len(_CALL)
        return self._place(pool, first + position * len(_READER) + _READER.index(part), "reader", position, part)

    @property
    def refills(self) -> bool:
        """Whether a drive that replaces another one does not have all objects at any time."""
        return any(epoch.fresh for epoch in self.epochs)

    def heal(self, pool: int, position: int, part: str) -> Bound | Member:
        """Return a part of an attempt to heal at a drive of the set: a read if others are lost, a write if it is."""
        column = self._first_heal(pool) + position * len(_HEAL) + _HEAL.index(part)
        return self._place(pool, column, "heal", position, part)

    def refill(self, pool: int, position: int | None = None) -> Bound | Member:
        """Return the read, at a drive of the set, of an attempt to heal an object that a new drive does not have.

        Without a position, return what makes these attempts one after the other.
        """
        size = self.stations.pools[pool].layout.size
        first = self._first_heal(pool) + size * len(_HEAL)
        number = size if position is None else position
        return self._place(pool, first + number, "refill", number)

    def _first_heal(self, pool: int) -> int:
        layout = self.stations.pools[pool].layout
        first = self._first_drive + layout.size * len(_DRIVE) + layout.lockers * len(_CALL)
        return first + self.others(pool) * len(_CALL) + layout.data * len(_READER)

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
        if self.spec.distribution == "dns":
            turn = (uniforms(0, stream_id("dns"), 0, int(rows.max(initial=0)) + 1)[rows] * count).astype(np.uint64)
        else:
            turn = (rows % count).astype(np.uint64)
        per_node = np.uint64(len(self.tables[pool]) // count)
        return np.asarray(turn * per_node + key_hash % per_node, np.uint64)

    def _place(self, pool: int, column: int, *part: int | str) -> Member | Bound:
        return Bound(pool, column, part) if self.bound else Member(pool, column, part)

    @property
    def _first_drive(self) -> int:
        return len(_HEAD) + len(self.hangs) * len(_HANG)

    def _locals(self, pool: Pool) -> tuple[int, int]:
        """Return the least and greatest number of drives of a set that are the coordinator's own."""
        nodes = self.stations.nodes_of(pool, pool.layout.sets)
        counts = [(nodes == c).sum(axis=1) for c in self.coordinators]
        return int(np.min(counts)), int(np.max(counts))

    def _build(self) -> None:
        pools = self.stations.pools
        if not self.bound:
            self.tables = tuple(
                np.vstack([self.block(number, c, Epoch(), 0) for c in self.coordinators]).astype(np.int32)
                for number in range(len(pools))
            )
            return
        names = [
            [self._add(f"node {c} in epoch {e}", "epoch", Discipline.GATE, c, e) for c in self.coordinators]
            for e in range(len(self.epochs))
        ]
        choice = _CHOICES[self.spec.distribution]
        for number in range(len(pools)):
            blocks = [
                self.block(number, c, epoch, name)
                for epoch, of_epoch in zip(self.epochs, names, strict=True)
                for c, name in zip(self.coordinators, of_epoch, strict=True)
            ]
            columns = np.arange(len(blocks) * blocks[0].shape[1], dtype=np.int32).reshape(len(blocks), -1)
            self.tables += (np.hstack(blocks).astype(np.int32),)
            self.groups += (Group(choice, columns, number, "coordinators", (number,)),)
            self.scenario += self._changes(number, names)

    def _changes(self, group: int, names: Sequence[Sequence[int]]) -> Iterator[Action]:
        """Yield the actions by which nodes take part in an epoch, from its beginning to that of the next."""
        absent = [
            {
                name
                for c, name in zip(self.coordinators, of_epoch, strict=True)
                if self.spec.distribution == "proxy"
                and int(self.stations.host_of_node[c]) in epoch.hosts - epoch.unnoticed
            }
            for epoch, of_epoch in zip(self.epochs, names, strict=True)
        ]
        yield from (Action(Kind.LEAVE, group, member=name) for name in names[0] if name in absent[0])
        for of_epoch in names[1:]:
            yield from (Action(Kind.LEAVE, group, member=name) for name in of_epoch)
        for number in range(1, len(names)):
            at_s = self.epochs[number].at_s
            gone = [name for name in names[number - 1] if name not in absent[number - 1]]
            yield from (Action(Kind.LEAVE, group, at_s, member=name) for name in gone)
            yield from (Action(Kind.JOIN, group, at_s, member=n) for n in names[number] if n not in absent[number])

    def block(self, number: int, coordinator: int, epoch: Epoch, name: int) -> Table:
        """Return the columns of a coordinator in an epoch: its parts, those of the drives, and of the lock servers."""
        stations, pool = self.stations, self.stations.pools[number]
        layout, nowhere = pool.layout, self.stations.nowhere
        host = int(stations.host_of_node[coordinator])
        drives = layout.rotations + pool.first_drive
        own = drives - pool.first_drive
        nodes, hosts = stations.nodes_of(pool, own), layout.host_of(own) + pool.first_host
        lost = np.isin(drives, list(epoch.drives)) | np.isin(hosts, list(epoch.hosts))
        back = np.isin(drives, list(epoch.returning_drives)) | np.isin(hosts, list(epoch.returning_hosts))
        for hang in self.hangs:  # an attempt waits until the part is back
            back |= (drives == hang.drive) if hang.drive is not None else (hosts == hang.host)
        back &= lost
        order = np.argsort(2 * lost + (nodes != coordinator), axis=1, kind="stable")
        empty = lost | np.isin(drives, list(epoch.fresh))
        readers = self._readers(coordinator, host, drives, nodes, hosts, empty, layout.data)
        drives, nodes, hosts = (np.take_along_axis(each, order, axis=1) for each in (drives, nodes, hosts))
        lost, back = (np.take_along_axis(each, order, axis=1) for each in (lost, back))
        rows = len(drives)

        def where(stations_of: Table, used: NDArray[np.bool_]) -> Table:
            return np.where(used & ~lost, stations_of, nowhere)

        everywhere, remote, far = np.ones_like(lost), nodes != coordinator, hosts != host
        latency = np.full_like(drives, stations.latency)
        parts = [
            where(stations.drive[drives], everywhere),
            where(stations.journal[drives], everywhere),
            where(np.full_like(drives, stations.cpu[host]), remote),
            where(stations.cpu[hosts], remote),
            where(latency, remote),
            where(stations.ins[hosts], far),
            where(stations.outs[hosts], far),
            where(np.full_like(drives, stations.outs[host]), far),
            where(np.full_like(drives, stations.ins[host]), far),
        ]
        offline = lost.sum(axis=1)
        needed = np.array([write_quorum(layout.size, layout.parity, n) for n in range(layout.size + 1)])
        alive = layout.size - offline
        refused = alive < read_quorum(layout.size, layout.parity), alive < needed[offline]
        head = [
            np.full(rows, station)
            for station in (
                name, stations.cpu[host], stations.ins[host], stations.outs[host], stations.slots[coordinator],
                self._connect(host, epoch), self._entry(host, epoch), self._responses[host],
            )
        ]  # fmt: skip
        head += [np.where(no, self._refuses, nowhere) for no in refused]
        missed = lost.any(axis=1)
        is_tried = missed | np.isin(drives, list(epoch.fresh)).any(axis=1)
        head.append(np.where(is_tried, self._heal_wait, nowhere))
        head.append(np.where(missed, self._healers[coordinator], nowhere))
        for hang, waits in zip(self.hangs, self._waits, strict=True):
            needs = ((drives == hang.drive) if hang.drive is not None else (hosts == hang.host)).any(axis=1)
            head += [np.where(needs, station, nowhere) for station in waits]
        lockers = self._lockers(pool, coordinator, nodes, epoch)
        others = self._others(number, coordinator, rows)
        drive_columns = np.stack(parts, axis=2).reshape(rows, -1)
        heals = []
        if self.loses_drives:
            tries = np.repeat(offline > 0, layout.size).reshape(lost.shape)
            stations_of = stations.drive[drives]
            of_heal = [
                np.where(tries & ~lost, stations_of, nowhere),
                np.where(back, stations_of, nowhere),
            ]
            heals = [np.stack(of_heal, axis=2).reshape(rows, -1)]
        if self.refills:
            fresh = np.isin(drives, list(epoch.fresh))
            missed = fresh.any(axis=1) & (offline == 0)  # with a drive offline, nothing is tried
            heals += [
                np.where(missed[:, np.newaxis] & ~fresh, stations.drive[drives], nowhere),
                np.where(missed, self._healers[coordinator], nowhere)[:, np.newaxis],
            ]
        return np.column_stack([*head, drive_columns, *lockers, *others, readers, *heals]).astype(np.int32)

    def _readers(
        self,
        coordinator: int,
        host: int,
        drives: Table,
        nodes: Table,
        hosts: Table,
        lost: NDArray[np.bool_],
        data: int,
    ) -> Table:
        """Return the columns of the drives that a GET reads from: the first ones present, in the order of shards."""
        stations, nowhere = self.stations, self.stations.nowhere
        order = np.argsort(lost, axis=1, kind="stable")[:, :data]
        drives, nodes, hosts = (np.take_along_axis(each, order, axis=1) for each in (drives, nodes, hosts))
        present = ~np.take_along_axis(lost, order, axis=1)
        remote, far = present & (nodes != coordinator), present & (hosts != host)
        parts = [
            np.where(present, stations.drive[drives], nowhere),
            np.where(present & ~remote, stations.drive[drives], nowhere),
            np.where(remote, stations.drive[drives], nowhere),
            np.where(remote, stations.cpu[host], nowhere),
            np.where(remote, stations.cpu[hosts], nowhere),
            np.where(remote, stations.latency, nowhere),
            np.where(far, stations.outs[hosts], nowhere),
            np.where(far, stations.ins[host], nowhere),
            np.where(far, stations.outs[host], nowhere),
            np.where(far, stations.ins[hosts], nowhere),
        ]
        return np.stack(parts, axis=2).reshape(len(drives), -1).astype(np.int32)

    def _entry(self, host: int, epoch: Epoch) -> int:
        """Return what a request meets on its way to a host: nothing, a refusal, or silence until the host is back."""
        if host not in epoch.hosts:
            return self.stations.nowhere
        for hang, waits in zip(self.hangs, self._waits, strict=True):
            if host in epoch.silent and hang.host == host and hang.connect_s is None and hang.back_s < math.inf:
                return waits[_HANG.index("back")]
        return self._refuses

    def _connect(self, host: int, epoch: Epoch) -> int:
        """Return where a client waits that connects to a host: for a timeout if the host is silent."""
        waits = host in epoch.silent and any(hang.host == host and hang.connect_s for hang in self.hangs)
        return self._connecting if waits else self.stations.nowhere

    def _waits_of(self, number: int, hang: Hang) -> list[int]:
        """Return the stations of a hang, in the order of `_HANG`."""
        lock = self._timeout(number, "lock", hang.at_s, hang.gone_s) if hang.lock_s else self.stations.nowhere
        read = self._timeout(number, "read", hang.at_s, hang.reads_until_s)
        call = self._timeout(number, "call", hang.at_s, hang.gone_s)
        back = self._gate(number, "is back", hang.at_s, hang.back_s)
        same = hang.calls_end_s == hang.back_s
        return [lock, read, call, back, back if same else self._gate(number, "is found", hang.at_s, hang.calls_end_s)]

    def _timeout(self, outage: int, of: str, from_s: float, until_s: float) -> int:
        """Add a station at which visits last as long as they ask for only within a period."""
        station = self._add(f"outage {outage} {of}", "timeout", Discipline.INFINITE_SERVER, outage, of)
        self.scenario.append(Action(Kind.SPEED, station, value=_AT_ONCE))
        self.scenario.append(Action(Kind.SPEED, station, from_s, value=1.0))
        if until_s < math.inf:
            self.scenario.append(Action(Kind.SPEED, station, until_s, value=_AT_ONCE))
        return station

    def _lockers(self, pool: Pool, coordinator: int, nodes: Table, epoch: Epoch) -> list[Table]:
        """Return the columns of calls to the lock servers of each set, the coordinator's own first."""
        stations = self.stations
        distinct = np.stack([np.array(list(dict.fromkeys(row))) for row in nodes.tolist()])
        order = np.argsort(distinct != coordinator, axis=1, kind="stable")
        distinct = np.take_along_axis(distinct, order, axis=1)
        used = (distinct != coordinator) & ~np.isin(stations.host_of_node[distinct], list(epoch.hosts))
        return [self._calls(coordinator, distinct, used)]

    def _calls(self, coordinator: int, nodes: Table, used: NDArray[np.bool_]) -> Table:
        """Return the columns of calls to nodes."""
        stations, nowhere = self.stations, self.stations.nowhere
        host, hosts = stations.host_of_node[coordinator], stations.host_of_node[nodes]
        far = used & (hosts != host)
        parts = [
            np.where(used, stations.cpu[host], nowhere),
            np.where(used, stations.cpu[hosts], nowhere),
            np.where(used, stations.latency, nowhere),
            np.where(far, stations.outs[host], nowhere),
            np.where(far, stations.ins[hosts], nowhere),
            np.where(far, stations.outs[hosts], nowhere),
            np.where(far, stations.ins[host], nowhere),
        ]
        return np.stack(parts, axis=2).reshape(len(nodes), -1)

    def _others(self, number: int, coordinator: int, rows: int) -> list[Table]:
        """Return the columns of calls to other pools, whose sets may have the object, each set for as many rows."""
        stations, found = self.stations, []
        for other, pool in enumerate(stations.pools):
            if other == number:
                continue
            sets = pool.layout.sets[np.arange(rows) % len(pool.layout.sets)]
            nodes = stations.nodes_of(pool, sets)
            found.append(self._calls(coordinator, nodes, nodes != coordinator))
        return found

    def _responding(self) -> list[int]:
        """Return where the responses of each host are sent: it fails with the host, and with it what is in progress."""
        responses = [self.stations.nowhere] * len(self.stations.cpu)
        for before, epoch in zip((Epoch(), *self.epochs), self.epochs, strict=False):
            for host in epoch.hosts - epoch.silent - before.hosts:
                if responses[host] == self.stations.nowhere:
                    name = f"host {host} response"
                    responses[host] = self._add(name, "response", Discipline.INFINITE_SERVER, host)
                self.scenario.append(Action(Kind.DOWN, responses[host], epoch.at_s))
            for host in before.hosts - before.silent - epoch.hosts:
                self.scenario.append(Action(Kind.UP, responses[host], epoch.at_s))
        return responses

    def _gate(self, outage: int, opens: str, shut_s: float, open_s: float) -> int:
        gate = self._add(f"outage {outage} {opens}", "part that hangs", Discipline.GATE, outage, opens)
        self.scenario.append(Action(Kind.SHUT, gate, shut_s))
        if open_s < math.inf:
            self.scenario.append(Action(Kind.OPEN, gate, open_s))
        return gate

    def _down(self, name: str) -> int:
        station = self._infinite(name)
        self.scenario.append(Action(Kind.DOWN, station))
        return station

    def _infinite(self, name: str) -> int:
        return self._add(name, name, Discipline.INFINITE_SERVER)

    def _add(self, name: str, role: str, discipline: Discipline, *indices: int | str) -> int:
        return self.stations.add(Station(name, role, discipline, indices=indices))

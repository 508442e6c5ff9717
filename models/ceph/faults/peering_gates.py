"""Peering gates before placement groups during outages: a second placement table with the rows of the first.

An operation waits before it goes to its placement group: from the failure of an OSD that it needs until the others have
peered, or only during peering if it needs none of the failed ones; again while they rejoin; and while fewer than
min_size are up. Index writes of a bucket that is being resharded first wait at its reshard gate. An operation that has
passed the gate when an OSD fails is not affected, and neither is a LIST.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.placement_rows import PlacementRows, Pool
from models.ceph.faults.fault_timeline import FaultTimeline
from models.ceph.faults.osd_map import Outage, min_size
from models.ceph.faults.reshard_gates import Gates
from models.ceph.mechanisms.redundancy import Protection
from models.ceph.spec.spec import CephSpec
from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Group, Member, Station
from models.shared.steps import Step, check, joined
from traces.errors import InputError

_MAX_WRITERS = 128
"""Number of reshard gates at most; if more requests are blocked, several pass a gate together."""

Span = tuple[float, float]


class PeeringGates:
    """Adds the gates to the stations.

    Attributes:
        table: placement table of the gates, shape (rows, columns).
        groups: the group that binds index writes to reshard gates; empty without reshards.
        scenario: the actions that shut and open gates.
    """

    def __init__(
        self,
        spec: CephSpec,
        pools: Mapping[Pool, PlacementRows],
        timeline: FaultTimeline,
        add: Callable[[Station], int],
        table: int,
        group: int,
    ):
        """Add the gates.

        Args:
            pools: the rows of each data pool, first those that have the index, too; all have as many.
            add: adds a station to the network and returns its index.
            table, group: indices of the placement table of the gates, and of the reshard group.
        """
        rows = next(iter(pools.values()))
        self.spec, self.rows, self.timeline, self._add, self._table = spec, rows, timeline, add, table
        self.groups: tuple[Group, ...] = ()
        self.scenario: list[Action] = []
        self._columns: list[NDArray[np.int32]] = []
        self._passages: dict[tuple[Pool, bool], Step] = {}
        self._reshard: Step = ()
        self._open_gate = add(Station("passage", "gate", Discipline.GATE))
        self._inactive: dict[int, int] = {}
        if timeline.reshards:
            self._add_reshards(group)
        dead = [self._outage_gates(number, outage) for number, outage in enumerate(timeline.outages)]
        if dead:
            for pool, of_pool in pools.items():
                members = [of_pool.objects(epoch) for epoch in timeline.epochs]
                self._add_pool(pool, members, of_pool.spec.pools.data, dead)
            replicas = Protection(replicas=spec.index_replicas)
            self._add_pool("index", [rows.index(epoch) for epoch in timeline.epochs], replicas, dead)
        self.table = np.stack(self._columns, axis=1)

    def passages(self, pool: Pool, writes: bool) -> Step:
        """Return the gates before an operation on a placement group of a pool."""
        reshard = self._reshard if pool == "index" and writes else ()
        return reshard + self._passages.get((pool, writes), ())

    def _add_reshards(self, group: int) -> None:
        settings, workload = self.spec.buckets.resharding, self.spec.workload
        writers = min(workload.clients if workload.rate is None else _MAX_WRITERS, _MAX_WRITERS)
        first = self._open_gate + 1
        for bucket in sorted({event.bucket for event in self.timeline.reshards}):
            gates = Gates.of(
                settings, self.spec.release, group=group, first=first, writers=writers, columns=(self._table, 0)
            )  # fmt: skip
            stations = [self._add(station) for station in gates.stations(bucket)]
            first = stations[-1] + 1
            if not self._columns:
                self._columns = [self._column() for _ in stations]
            for column, station in zip(self._columns, stations, strict=True):
                column[self.rows.of_bucket(bucket)] = station
            self.scenario += gates.scenario(event for event in self.timeline.reshards if event.bucket == bucket)
            self.groups, self._reshard = (gates.choice(),), gates.passage()

    def _outage_gates(self, number: int, outage: Outage) -> tuple[int, int]:
        """Add the gates of operations that need a failed OSD, and of those that only wait for peering."""
        rejoin = (outage.back_s, outage.whole_s)
        return (
            self._gate("outage", number, "dead", [(outage.at_s, outage.degraded_s), rejoin]),
            self._gate("outage", number, "peering", [(outage.seen_s, outage.degraded_s), rejoin]),
        )

    def _add_pool(
        self, pool: Pool, members: Sequence[NDArray[np.int32]], protection: Protection, gates: list[tuple[int, int]]
    ) -> None:
        """Add the gates of a pool whose rows have these OSDs in each epoch."""
        maps = self.timeline.epochs
        inactive = joined(self._passage([gate]) for gate in self._inactive_rows(pool, members, min_size(protection)))
        for writes in (False, True):
            needed = protection.width if writes else protection.data_shards
            passage = inactive
            for outage, (dead_gate, peering_gate) in zip(self.timeline.outages, gates, strict=True):
                before = members[max(sum(epoch.at_s < outage.at_s for epoch in maps) - 1, 0)]
                dead = np.isin(before, list(outage.osds))
                rows = (np.flatnonzero(dead[:, :wide].any(axis=1)) for wide in (protection.width, needed))
                passage += self._passage(zip(rows, (peering_gate, dead_gate), strict=True))
            self._passages[pool, writes] = passage

    def _inactive_rows(
        self, pool: Pool, members: Sequence[NDArray[np.int32]], least: int
    ) -> Iterable[tuple[NDArray[np.int64], int]]:
        """Yield rows whose placement groups are inactive in an epoch, and their gate.

        Raises:
            InputError: some are inactive until the end, so their requests would wait forever.
        """
        maps = self.timeline.epochs
        for number, (table, epoch) in enumerate(zip(members, maps, strict=True)):
            rows = np.flatnonzero((table >= 0).sum(axis=1) < least)
            if not len(rows):
                continue
            if number + 1 == len(maps):
                raise InputError(
                    f"faults: from {epoch.at_s:g} s on placement groups have fewer than {least} OSDs up (min_size of "
                    f"the {pool} pool), so their requests would wait forever; give "
                    "back_at, or fewer failures"
                )
            if number not in self._inactive:
                self._inactive[number] = self._gate("inactive", number, "", [(epoch.at_s, maps[number + 1].at_s)])
            yield rows, self._inactive[number]

    def _gate(self, kind: str, number: int, detail: str, spans: Iterable[Span]) -> int:
        """Add a gate that is shut during `spans`, and return its index."""
        name = f"{kind} {number} {detail}".strip()
        gate = self._add(Station(name, "gate", Discipline.GATE, indices=(kind, number, detail)))
        for start_s, end_s in spans:
            if start_s < end_s:
                self.scenario.append(Action(ActionKind.SHUT, gate, start_s))
                if end_s < math.inf:
                    self.scenario.append(Action(ActionKind.OPEN, gate, end_s))
        return gate

    def _passage(self, gates: Iterable[tuple[NDArray[np.int64], int]]) -> Step:
        """Return the check of a new column, which has gates in some rows; a later gate replaces an earlier one."""
        column = self._column()
        for rows, gate in gates:
            column[rows] = gate
        self._columns.append(column)
        return check(Member(self._table, len(self._columns) - 1))

    def _column(self) -> NDArray[np.int32]:
        return np.full(self.rows.count, self._open_gate, np.int32)

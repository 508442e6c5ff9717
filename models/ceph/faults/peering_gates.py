"""The gates that operations of a Ceph run with events pass: a second placement table, with the rows of the first.

An operation waits before it goes to its placement group: from the death of an OSD that it needs until the others have
peered, in the peering alone where it needs none of the dead, again while they rejoin, and for as long as too few are
left. Index writes of a bucket that is resharded wait before that. An operation that is past the gate when an OSD dies
still ends as if nothing had happened, and a LIST is not held up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from models.ceph.faults.fault_timeline import FaultTimeline
from models.ceph.faults.osd_map import Outage, min_size
from models.ceph.faults.reshard_gates import Gates
from models.ceph.mechanisms.redundancy import Protection
from models.ceph.placement_rows import PARALLEL_STREAMS, Pool, Rows
from models.ceph.spec import CephSpec
from models.network.discipline import Discipline
from models.network.route import Visit
from models.network.scenario import Action, Kind
from models.network.service_demand import ServiceDemand
from models.network.station import Group, Member, Station
from traces.errors import InputError

TABLE = 1
"""Which placement table is that of the gates."""
_MAX_WRITERS = 128
"""Blocked requests that are told apart; of more, several come through a gate together."""

Span = tuple[float, float]


class PeeringGates:
    """Adds the gates to the stations.

    Attributes:
        table: of the gates, shape (rows, columns).
        groups: what binds index writes to the gates of reshards; none without reshards.
        scenario: when the gates are shut and opened.
    """

    def __init__(
        self, spec: CephSpec, rows: Rows, happens: FaultTimeline, add: Callable[[Station], int], group: int
    ):  # fmt: skip
        """`add` takes a station into the network and says its index; `group` is that of the group of reshards."""
        self.spec, self.rows, self.happens, self._add = spec, rows, happens, add
        self.groups: tuple[Group, ...] = ()
        self.scenario: list[Action] = []
        self._columns: list[NDArray[np.int32]] = []
        self._visits: dict[tuple[Pool, bool], tuple[Visit, ...]] = {}
        self._reshard: tuple[Visit, ...] = ()
        self._passage = add(Station("passage", "gate", Discipline.GATE))
        self._inactive: dict[int, int] = {}
        if happens.reshards:
            self._add_reshards(group)
        dead = [self._outage_gates(number, outage) for number, outage in enumerate(happens.outages)]
        if dead:
            for lane in range(PARALLEL_STREAMS):
                members = [rows.lane(lane, epoch) for epoch in happens.epochs]
                self._add_pool(lane, members, spec.pools.data, dead)
            replicas = Protection(replicas=spec.index_replicas)
            self._add_pool("index", [rows.index(epoch) for epoch in happens.epochs], replicas, dead)
        self.table = np.stack(self._columns, axis=1)

    def visits(self, pool: Pool, writes: bool) -> tuple[Visit, ...]:
        """The gates before an operation on a placement group of a pool."""
        reshard = self._reshard if pool == "index" and writes else ()
        return reshard + self._visits.get((pool, writes), ())

    def _add_reshards(self, group: int) -> None:
        settings, workload = self.spec.buckets.resharding, self.spec.workload
        writers = min(workload.clients if workload.rate is None else _MAX_WRITERS, _MAX_WRITERS)
        first = self._passage + 1
        for bucket in sorted({event.bucket for event in self.happens.reshards}):
            gates = Gates.of(
                settings, self.spec.release, group=group, first=first, writers=writers, columns=(TABLE, 0)
            )  # fmt: skip
            stations = [self._add(station) for station in gates.stations(f"bucket {bucket}")]
            first = stations[-1] + 1
            if not self._columns:
                self._columns = [self._column() for _ in stations]
            for column, station in zip(self._columns, stations, strict=True):
                column[self.rows.of_bucket(bucket)] = station
            self.scenario += gates.scenario(event for event in self.happens.reshards if event.bucket == bucket)
            self.groups, self._reshard = (gates.choice(),), (gates.visit(),)

    def _outage_gates(self, number: int, outage: Outage) -> tuple[int, int]:
        """The gates of who needs the dead, and of who only waits for the peering."""
        rejoin = (outage.back_s, outage.whole_s)
        return (
            self._gate(f"outage {number} dead", [(outage.at_s, outage.degraded_s), rejoin]),
            self._gate(f"outage {number} peering", [(outage.seen_s, outage.degraded_s), rejoin]),
        )

    def _add_pool(
        self, pool: Pool, members: Sequence[NDArray[np.int32]], protection: Protection, gates: list[tuple[int, int]]
    ) -> None:
        """The gates of a pool whose rows have these OSDs in each epoch."""
        maps = self.happens.epochs
        inactive = [self._visit([mine]) for mine in self._inactive_rows(pool, members, min_size(protection))]
        for writes in (False, True):
            needed = protection.width if writes else protection.data_shards
            visits = list(inactive)
            for outage, (dead_gate, peering_gate) in zip(self.happens.outages, gates, strict=True):
                before = members[max(sum(epoch.at_s < outage.at_s for epoch in maps) - 1, 0)]
                dead = np.isin(before, list(outage.osds))
                rows = (np.flatnonzero(dead[:, :wide].any(axis=1)) for wide in (protection.width, needed))
                visits.append(self._visit(zip(rows, (peering_gate, dead_gate), strict=True)))
            self._visits[pool, writes] = tuple(visits)

    def _inactive_rows(
        self, pool: Pool, members: Sequence[NDArray[np.int32]], least: int
    ) -> Iterable[tuple[NDArray[np.int64], int]]:
        """In which epochs placement groups serve nobody: the rows, and the gate.

        Raises:
            InputError: some do so to the end, so that requests would wait for ever.
        """
        maps = self.happens.epochs
        for number, (table, epoch) in enumerate(zip(members, maps, strict=True)):
            rows = np.flatnonzero((table >= 0).sum(axis=1) < least)
            if not len(rows):
                continue
            if number + 1 == len(maps):
                raise InputError(
                    f"faults: from {epoch.at_s:g} s on placement groups have fewer than {least} OSDs left (min_size of "
                    f"the {'index' if pool == 'index' else 'data'} pool), so their requests wait for ever; give "
                    "back_at, or let fewer fail"
                )
            if number not in self._inactive:
                self._inactive[number] = self._gate(f"inactive {number}", [(epoch.at_s, maps[number + 1].at_s)])
            yield rows, self._inactive[number]

    def _gate(self, name: str, spans: Iterable[Span]) -> int:
        """A gate that is shut during `spans`; its index."""
        gate = self._add(Station(name, "gate", Discipline.GATE))
        for start_s, end_s in spans:
            if start_s < end_s:
                self.scenario.append(Action(Kind.SHUT, gate, start_s))
                if end_s < math.inf:
                    self.scenario.append(Action(Kind.OPEN, gate, end_s))
        return gate

    def _visit(self, gates: Iterable[tuple[NDArray[np.int64], int]]) -> Visit:
        """A visit to a new column, which has gates in some rows; a later one takes the place of an earlier."""
        column = self._column()
        for rows, gate in gates:
            column[rows] = gate
        self._columns.append(column)
        return Visit(Member(TABLE, len(self._columns) - 1), ServiceDemand())

    def _column(self) -> NDArray[np.int32]:
        return np.full(self.rows.count, self._passage, np.int32)

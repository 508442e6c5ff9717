"""Erasure sets of MinIO with failed drives: which drives serve requests instead, and when there is no quorum.

Requests are bound to the drives of the current *epoch*, the time between two changes, when the host has processed them.
Simplifications: accesses in progress when a drive fails still complete; objects were written before the run, so a read
needs its data shards; writes with increased parity move no more bytes; decoding costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models.minio.faults import DriveDown
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit
from models.network.scenario import Action, Kind
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station

_GATES, _QUORUMS = 1, 3  # the table of gates; columns of an epoch before its drives: its name, and both quorums
_WRITES = ("PUT", "DELETE")

Table = NDArray[np.int32]


def read_quorum(size: int, parity: int) -> int:
    """Return the drives that a read needs: one per data shard (objectQuorumFromMeta, cmd/erasure-metadata.go)."""
    return size - parity


def write_quorum(size: int, parity: int, offline: int) -> int:
    """Return the drives that a write needs in a set with `offline` drives down; size + 1 if it is refused.

    Parity increases by one for each drive offline, up to half of the set, so that writes are possible as long as a
    majority is left (availability-optimised, the default: putObject, cmd/erasure-object.go).
    """
    if offline >= (size + 1) // 2:
        return size + 1
    raised = min(parity + offline, size // 2)
    data = size - raised
    return data + (data == raised)


def without_lost_drives(network: Network, outages: Sequence[DriveDown], parity: int) -> Network:
    """Return the network of a host with drive outages; the first placement table has its sets, the second journals."""
    return _Degraded(network, outages, parity).network if outages else network


class _Degraded:
    """Rewrites the network of a host without failures.

    Attributes:
        network: the result, with the placement tables of all epochs side by side and, if drives hang, one of gates.
    """

    def __init__(self, network: Network, outages: Sequence[DriveDown], parity: int):
        sets, journals = network.placements
        self._size, self._parity, self._group = sets.shape[1], parity, len(network.groups)
        self._stations = list(network.stations)
        # An always open gate replaces the lost drives of a set: visits there take no time.
        self._open = self._add("nobody", "drive that is down")
        self._refuses = self._add("no quorum", "quorum", Discipline.INFINITE_SERVER)
        self._scenario = [Action(Kind.DOWN, self._refuses)]
        first = int(sets.min())
        times = sorted({0.0, *(t for o in outages for t in (o.gone_s, o.back_s) if t < math.inf)})
        names = [self._add(f"drives present {number}", "drives present") for number in range(len(times))]
        epochs = [
            self._epoch(name, sets, journals, [first + o.drive for o in outages if o.gone_s <= t < o.back_s])
            for name, t in zip(names, times, strict=True)
        ]
        self._scenario += [Action(Kind.LEAVE, self._group, member=name) for name in names[1:]]
        for before, name, t in zip(names, names[1:], times[1:], strict=False):
            self._scenario.append(Action(Kind.LEAVE, self._group, t, member=before))
            self._scenario.append(Action(Kind.JOIN, self._group, t, member=name))
        hangs = [self._hanging(i, o, sets == first + o.drive) for i, o in enumerate(outages) if o.gone_s > o.at]
        self._hangs = len(hangs)
        columns = np.arange(len(epochs) * epochs[0].shape[1], dtype=np.int32)
        self.network = replace(
            network,
            stations=tuple(self._stations),
            routes=tuple(map(self._route, network.routes)),
            placements=(np.hstack(epochs), *([np.hstack(hangs)] if hangs else [])),
            groups=(*network.groups, Group(Choice.HASH, columns.reshape(len(epochs), -1), table=0)),
            scenario=(*network.scenario, *self._scenario),
        )

    def _add(self, name: str, role: str, discipline: Discipline = Discipline.GATE) -> int:
        self._stations.append(Station(name, role, discipline))
        return len(self._stations) - 1

    def _epoch(self, name: int, sets: Table, journals: Table, lost: Sequence[int]) -> Table:
        """Return the columns of an epoch: its name, the quorums of reads and writes, and the drives left, in order."""
        gone = np.isin(sets, lost)
        order = np.argsort(gone, axis=1, kind="stable")
        offline = gone.sum(axis=1)
        alive = self._size - offline
        needed = np.array([write_quorum(self._size, self._parity, n) for n in range(self._size + 1)])
        refused = alive < read_quorum(self._size, self._parity), alive < needed[offline]
        quorums = [np.where(no, self._refuses, self._open) for no in refused]
        left = [np.take_along_axis(np.where(gone, self._open, parts), order, axis=1) for parts in (sets, journals)]
        return np.column_stack([np.full(len(sets), name), *quorums, *left]).astype(np.int32)

    def _hanging(self, number: int, outage: DriveDown, needs: NDArray[np.bool_]) -> Table:
        """Return the gates before reads and writes that need a drive that hangs."""
        gate = self._add(f"outage {number} hangs", "drive that hangs")
        self._scenario += [Action(Kind.SHUT, gate, outage.at), Action(Kind.OPEN, gate, outage.gone_s)]
        reads = needs[:, : read_quorum(self._size, self._parity)].any(axis=1)
        return np.column_stack([np.where(rows, gate, self._open) for rows in (reads, needs.any(axis=1))])

    def _route(self, route: Route) -> Route:
        """Return the route on the drives that are left, which are bound after the host's first work."""
        requested, *others = (
            replace(stage, branches=tuple(map(self._branch, stage.branches))) for stage in route.stages
        )
        writes = route.name.startswith(_WRITES)
        passes = [Visit(Member(_GATES, 2 * i + writes), ServiceDemand()) for i in range(self._hangs)]
        passes.append(Visit(Bound(self._group, 1 + writes), ServiceDemand()))
        (visits,) = requested.branches
        return replace(route, stages=(replace(requested, branches=((*visits, *passes),)), *others))

    def _branch(self, visits: tuple[Visit, ...]) -> tuple[Visit, ...]:
        return tuple(
            replace(visit, station=self._present(visit.station)) if isinstance(visit.station, Member) else visit
            for visit in visits
        )

    def _present(self, member: Member) -> Bound:
        """Return the drive or journal at a position of a set, among those that are left."""
        return Bound(self._group, _QUORUMS + member.table * self._size + member.position)

"""The routes of native RADOS and RBD access, without gateways: RADOS, RBD volumes, databases on volumes.

They visit neither a gateway nor a bucket index; reads and writes of RADOS objects are those of `osd_routes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from models.ceph.cluster.placement_rows import PARALLEL_STREAMS
from models.ceph.demands.cost_functions import of_size
from models.ceph.requests.osd_routes import Branch, Kind
from models.ceph.requests.rgw_routes import Routes
from models.ceph.spec.access import Mysql
from models.network.route import Chance, Stage, Visit, single
from models.network.service_demand import NOTHING, ServiceDemand


class DirectRoutes(Routes):
    """Builds the routes of clients that access the primaries of RADOS objects directly."""

    def _get(self, kind: Kind) -> list[Stage]:
        arrive = self.net.client("down") or (Visit(self.at.latency, NOTHING),)
        return [*self._begin(kind), *self._read(kind), single(*arrive, delivers=True)]

    def _put(self, kind: Kind) -> list[Stage]:
        later = [*self._deferred_writes(kind), *self._compactions()]
        stages = [*self._sent(kind), *self._afterwards(later)]
        if kind.merged > 1:
            stages = [self._one_of(kind.merged, stage) for stage in stages]
        return [*self._begin(kind), *stages]

    def _one_of(self, writes: float, stage: Stage) -> Stage:
        """The part that one of several merged writes has in a stage: its bytes, and a fraction of the constant times.

        All of them wait as long as the merged write does in queues and for latencies, but for less of its service. The
        merged write is one transaction, so only one of them waits for the commit.
        """
        commits = {self.at.osd(stream, member).kv for stream in range(PARALLEL_STREAMS) for member in range(self.width)}
        chance = Chance(1 / writes)

        def part(visit: Visit) -> Visit:
            if visit.station == self.at.latency:
                return visit
            return replace(visit, chance=chance) if visit.station in commits else _one_of(writes, visit)

        return replace(stage, branches=tuple(tuple(part(visit) for visit in branch) for branch in stage.branches))

    def _read_token(self, releases: bool = False) -> Branch:
        return ()

    def _head(self, kind: Kind) -> list[Stage]:
        return [*self._begin(kind), self._stat()]

    def _delete(self, kind: Kind) -> list[Stage]:
        return [*self._begin(kind), *self._remove()]

    def _begin(self, kind: Kind) -> list[Stage]:
        """The client's CPU time, if any."""
        client_time = self._client_time(kind.op)
        return [single(*client_time)] if client_time else []

    def _sent(self, kind: Kind) -> list[Stage]:
        """The client sends bytes, and they are committed."""
        send = self.net.client("up")
        return [*((single(*send),) if send else ()), *self._write(kind)]

    def _afterwards(self, branches: list[Branch]) -> list[Stage]:
        return [self._not_waited_for(*branches)] if branches else []


class MysqlRoutes(DirectRoutes):
    """A transaction reads pages in series, then waits for its log writes; changed pages are written back later.

    Servers are not distinguished: the log writers of all servers form one pool. Log writes of transactions that commit
    together are not merged, so with group commit their load is overstated.
    """

    def _put(self, kind: Kind) -> list[Stage]:
        database = self.spec.access
        assert isinstance(database, Mysql)
        log_bytes = database.log_write
        log = replace(kind, deferred=self.costs.is_deferred(log_bytes), chunk_bytes=log_bytes)
        sized = partial(of_size, size_bytes=log_bytes)
        later = list(_repeated(database.write_backs, lambda stream: self._written_back(replace(kind, stream=stream))))
        stages = [*self._begin(kind)]
        for pages in _repeated(database.reads(kind.chunk_bytes), lambda stream: [self._page(kind, stream)]):
            stages += [single(*page) for page in pages]
        if database.log_writers:
            stages.append(single(Visit(self.at.logs, NOTHING)))
        for number in range(database.log_writes):
            turn = replace(log, stream=number % PARALLEL_STREAMS)
            stages += [_changed(stage, sized) for stage in self._sent(turn)]
            later.append(self._deferred_writes(turn))
        if database.log_writers:
            stages.append(single(Visit(self.at.logs, NOTHING, releases=True)))
        return [*stages, *self._afterwards([*(branch for some in later for branch in some), *self._compactions()])]

    def _page(self, kind: Kind, stream: int) -> Branch:
        """Read a page from its volume."""
        return (*self._read_replica(kind, stream), *self.net.client("down"))

    def _written_back(self, kind: Kind) -> list[Branch]:
        """Write a page back to its volume, without any request waiting for it."""
        return [*(branch for stage in self._sent(kind) for branch in stage.branches), *self._deferred_writes(kind)]


def _repeated(times: float, branches: Callable[[int], list[Branch]]) -> Iterable[list[Branch]]:
    """Yield branches that are executed `times` times on average, on alternating streams.

    If `times` is not a whole number, only a fraction of the requests execute the last ones.
    """
    for number in range(math.ceil(times)):
        made = branches(number % PARALLEL_STREAMS)
        fraction = times - number
        yield made if fraction >= 1 else _sometimes(made, Chance(fraction))


def _sometimes(branches: list[Branch], chance: Chance) -> list[Branch]:
    """Return the branches with visits that are made or passed by together."""
    inner = {visit.chance: Chance(visit.chance.probability, chance) for b in branches for visit in b if visit.chance}
    return [tuple(replace(v, chance=inner[v.chance] if v.chance else chance) for v in branch) for branch in branches]


def _one_of(writes: float, visit: Visit) -> Visit:
    constant = visit.demand.constant / writes
    return replace(visit, demand=visit.demand.model_copy(update={"constant": constant}))


def _changed(stage: Stage, change: Callable[[ServiceDemand], ServiceDemand]) -> Stage:
    branches = (tuple(replace(visit, demand=change(visit.demand)) for visit in branch) for branch in stage.branches)
    return replace(stage, branches=tuple(branches))

"""The routes of native RADOS and RBD access, without gateways: RADOS, RBD volumes, databases on volumes.

They visit neither a gateway nor a bucket index; reads and writes of RADOS objects are those of `osd_routes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from models.ceph.cluster.placement_rows import PARALLEL_STREAMS
from models.ceph.demands.cost_functions import of_size
from models.ceph.requests.osd_routes import Kind
from models.ceph.requests.rgw_routes import Routes
from models.ceph.spec.access import Mysql
from models.network.route import Chance, Visit
from models.shared.steps import (
    Stages,
    Step,
    acquire,
    detached,
    in_series,
    instant,
    joined,
    release,
    revised,
    sometimes,
    with_demands,
)


class DirectRoutes(Routes):
    """Builds the routes of clients that access the primaries of RADOS objects directly."""

    def _get(self, kind: Kind) -> Stages:
        arrive = self.net.client("down") or instant(self.at.latency)
        return self._begin(kind) + self._read(kind) + in_series(arrive, delivers=True)

    def _put(self, kind: Kind) -> Stages:
        later = [*self._deferred_writes(kind), *self._compactions()]
        stages = self._sent(kind) + detached(self.at.latency, later)
        return self._begin(kind) + (self._one_of(kind.merged, stages) if kind.merged > 1 else stages)

    def _one_of(self, writes: float, stages: Stages) -> Stages:
        """The part that one of several merged writes has in stages: its bytes, and a fraction of the constant times.

        All of them wait as long as the merged write does in queues and for latencies, but for less of its service. The
        merged write is one transaction, so only one of them waits for the commit.
        """
        commits = {self.at.osd(stream, member).kv for stream in range(PARALLEL_STREAMS) for member in range(self.width)}

        def part(chance: Chance, visit: Visit) -> Visit:
            if visit.station == self.at.latency:
                return visit
            return replace(visit, chance=chance) if visit.station in commits else _one_of(writes, visit)

        return sum((revised([stage], partial(part, Chance(1 / writes))) for stage in stages), ())

    def _with_token(self, *read: Step) -> Step:
        return joined(read)

    def _read_tokens(self) -> tuple[Step, Step]:
        return (), ()

    def _head(self, kind: Kind) -> Stages:
        return self._begin(kind) + self._stat()

    def _delete(self, kind: Kind) -> Stages:
        return self._begin(kind) + self._remove()

    def _begin(self, kind: Kind) -> Stages:
        """The client's CPU time, if any."""
        return in_series(self._client_time(kind.op))

    def _sent(self, kind: Kind) -> Stages:
        """The client sends bytes, and they are committed."""
        return in_series(self.net.client("up")) + self._write(kind)


class MysqlRoutes(DirectRoutes):
    """A transaction reads pages in series, then waits for its log writes; changed pages are written back later.

    Servers are not distinguished: the log writers of all servers form one pool. Log writes of transactions that commit
    together are not merged, so with group commit their load is overstated.
    """

    def _put(self, kind: Kind) -> Stages:
        database = self.spec.access
        assert isinstance(database, Mysql)
        log_bytes = database.log_write
        log = replace(kind, deferred=self.costs.is_deferred(log_bytes), chunk_bytes=log_bytes)
        later = list(_repeated(database.write_backs, lambda stream: self._written_back(replace(kind, stream=stream))))
        pages = _repeated(database.reads(kind.chunk_bytes), lambda stream: [self._page(kind, stream)])
        read = sum((in_series(page) for of_turn in pages for page in of_turn), self._begin(kind))
        logged: Stages = ()
        for number in range(database.log_writes):
            turn = replace(log, stream=number % PARALLEL_STREAMS)
            logged += self._sent(turn)
            later.append(self._deferred_writes(turn))
        logged = with_demands(logged, partial(of_size, size_bytes=log_bytes))
        if database.log_writers:
            logged = in_series(acquire(self.at.logs)) + logged + in_series(release(self.at.logs))
        branches = [*(branch for some in later for branch in some), *self._compactions()]
        return read + logged + detached(self.at.latency, branches)

    def _page(self, kind: Kind, stream: int) -> Step:
        """Read a page from its volume."""
        return self._read_replica(kind, stream) + self.net.client("down")

    def _written_back(self, kind: Kind) -> list[Step]:
        """Write a page back to its volume, without any request waiting for it."""
        return [*(branch for stage in self._sent(kind) for branch in stage.branches), *self._deferred_writes(kind)]


def _repeated(times: float, branches: Callable[[int], list[Step]]) -> Iterable[Sequence[Step]]:
    """Yield branches that are executed `times` times on average, on alternating streams.

    If `times` is not a whole number, only a fraction of the requests execute the last ones.
    """
    for number in range(math.ceil(times)):
        made = branches(number % PARALLEL_STREAMS)
        fraction = times - number
        yield made if fraction >= 1 else sometimes(made, Chance(fraction))


def _one_of(writes: float, visit: Visit) -> Visit:
    constant = visit.demand.constant / writes
    return replace(visit, demand=visit.demand.model_copy(update={"constant": constant}))

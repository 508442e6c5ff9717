"""The routes of native RADOS and RBD access, without gateways: RADOS, RBD volumes, databases on volumes.

They visit neither a gateway nor a bucket index; reads and writes of RADOS objects are those of `osd_routes`. Blocks of
RBD volumes that are larger than a RADOS object are divided into sub-requests, which librbd begins at once (ImageRequest
in src/librbd/io/ImageRequest.cc); the pages of a transaction are sub-requests, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.requests.osd_routes import Kind
from models.ceph.requests.rgw_routes import Routes
from models.ceph.requests.stripes import of_stripe
from models.ceph.spec.access import Mysql
from models.network.route import Chance, Visit
from models.network.sub_requests import SubRequests
from models.shared.steps import (
    Stages,
    Step,
    acquire,
    chunked,
    detached,
    in_series,
    instant,
    joined,
    release,
    revised,
    sometimes,
    starts,
)


class DirectRoutes(Routes):
    """Builds the routes of clients that access the primaries of RADOS objects directly."""

    def _get(self, kind: Kind) -> Stages:
        if kind.cut:
            return self._begin(kind) + self._cut(kind, self._received(kind))
        return self._begin(kind) + self._received(kind)

    def _put(self, kind: Kind) -> Stages:
        if kind.cut:
            written = self._cut(kind, self._written(kind))
            return self._begin(kind) + written + detached(self.at.latency, self._compactions())
        later = [*self._deferred_writes(kind), *self._compactions()]
        stages = self._sent(kind) + detached(self.at.latency, later)
        return self._begin(kind) + (self._one_of(kind.merged, stages) if kind.merged > 1 else stages)

    def _cut(self, kind: Kind, stages: Stages) -> Stages:
        """The RADOS objects of a block are accessed at the same time, each by these stages."""
        of_object = self._sub_route(kind.op, of_stripe(kind), stages)
        objects = chunked(self.at.latency, RGW_OBJECT_BYTES, of_object)
        return in_series(objects, delivers=kind.op == "GET")

    def _received(self, kind: Kind) -> Stages:
        """Bytes are read, and the client receives them."""
        return self._read(kind) + in_series(self.net.client("down") or instant(self.at.latency), delivers=True)

    def _one_of(self, writes: float, stages: Stages) -> Stages:
        """The part that one of several merged writes has in stages: its bytes, and a fraction of the constant times.

        All of them wait as long as the merged write does in queues and for latencies, but for less of its service. The
        merged write is one transaction, so only one of them waits for the commit.
        """
        commits = {self.at.osd(member).kv for member in range(self.width)}

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

    def _written(self, kind: Kind) -> Stages:
        """Bytes are sent and committed, and written to their place later if they are deferred."""
        return self._sent(kind) + detached(self.at.latency, self._deferred_writes(kind))


class MysqlRoutes(DirectRoutes):
    """A transaction reads pages in series, then waits for its log writes; changed pages are written back later.

    Servers are not distinguished: the log writers of all servers form one pool. Log writes of transactions that commit
    together are not merged, so with group commit their load is overstated.
    """

    def _put(self, kind: Kind) -> Stages:
        database = self.spec.access
        assert isinstance(database, Mysql)
        log_bytes = database.log_write
        deferred = tuple(costs.is_deferred(log_bytes) for costs in self.costs.of_groups)
        log = replace(kind, deferred=deferred, chunk_bytes=log_bytes)
        page = self._sub_route("PUT", "read of a page", in_series(self._read_replica(kind) + self.net.client("down")))
        written = self._sub_route("PUT", "write of a page", self._written(kind))
        logged = self._sub_route("PUT", "write of a log", self._written(log))
        logs = in_series(*self._repeated(logged, database.log_writes, log_bytes, parallel=1))
        if database.log_writers:
            logs = in_series(acquire(self.at.logs)) + logs + in_series(release(self.at.logs))
        read = in_series(*self._repeated(page, database.reads(kind.chunk_bytes), parallel=1))
        later = [*self._repeated(written, database.write_backs), *self._compactions()]
        return self._begin(kind) + read + logs + detached(self.at.latency, later)

    def _repeated(
        self, route: int, times: float, size_bytes: int | None = None, parallel: int | None = None
    ) -> Iterator[Step]:
        """Yield steps that start `times` sub-requests on average, which go to objects of their own.

        If `times` is not a whole number, only a fraction of the requests start the last one.
        """
        whole, fraction = divmod(times, 1)
        each = SubRequests(route, size_bytes=size_bytes, parallel=parallel)
        if whole:
            yield starts(self.at.latency, replace(each, count=int(whole)))
        if fraction:
            yield from sometimes([starts(self.at.latency, replace(each, first=int(whole)))], Chance(fraction))


def _one_of(writes: float, visit: Visit) -> Visit:
    constant = visit.demand.constant / writes
    return replace(visit, demand=visit.demand.model_copy(update={"constant": constant}))

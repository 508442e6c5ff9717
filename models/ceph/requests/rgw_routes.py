"""The routes of requests through a Ceph cluster.

A PUT prepares its entry in the bucket index shard, writes the RADOS objects, and sends the response; the entry is
completed afterwards (ceph doc/dev/radosgw/bucket_index.rst). A GET does not use the index. Of an
object's stripes, a gateway transfers 16 MiB in parallel (rgw_put_obj_min_window_size, src/common/options/rgw.yaml.in).
"""

from __future__ import annotations

from models.ceph.mechanisms.bucket_index import LIST_MAX_AIO
from models.ceph.requests.osd_routes import Branch, Kind, OsdRoutes
from models.network.route import Route, Stage, Visit, single
from models.network.service_demand import NOTHING, ServiceDemand
from traces.operations import Op

AFTER_DATA = 0.3
"""Fraction of a gateway's CPU time for a PUT or DELETE that follows the commit of its data (assumed)."""


class Routes(OsdRoutes):
    """Builds the routes of requests through gateways."""

    def route(self, kind: Kind) -> Route:
        """Return the route of one kind of request."""
        stages = {
            "GET": self._get, "PUT": self._put, "HEAD": self._head, "DELETE": self._delete, "LIST": self._list
        }[kind.op](kind)  # fmt: skip
        return Route(kind.op, tuple(stages), policy=self.spec.client.policy(kind.op), variant=kind.variant)

    def _get(self, kind: Kind) -> list[Stage]:
        out = (*self.net.dma_of_gateway(), self.net.gateway("up"), *self._through_proxy(), *self.net.client("down"))
        read = [] if kind.at_gateway else self._read(kind)
        return [self._accept("GET"), *read, single(*out, self.hop, self._slot(releases=True), delivers=True)]

    def _put(self, kind: Kind) -> list[Stage]:
        demand = self.costs.gateway_cpu("PUT")
        accept = self._accept("PUT", *self._arrive(), demand=demand.scaled(1 - AFTER_DATA))
        return [accept, *self._index(), *self._write(kind), *self._end_of_write(demand, self._deferred_writes(kind))]

    def _arrive(self) -> Branch:
        """The bytes of a request arrive at the gateway."""
        return (self.net.gateway("down"), *self.net.dma_of_gateway())

    def _index(self) -> list[Stage]:
        """An operation on the bucket index shard: one at a time on its primary, committed by all its replicas.

        Where operations are pipelined, a worker waits for its turn, and the next one may begin with the commit.
        """
        osd, over = self.at.index_osd(0), self._turn(over=True)
        replicas = [self._index_commit(member, looks_up=True) for member in range(1, self.spec.index_replicas)]
        work: Branch = (*self._index_work(0), self._turn())
        commit, end = self._index_commit(0, looks_up=True), single(over, self.hop)
        if self.spec.pipelines_index:
            lookups = self._accesses(osd, self.index_costs.entry_accesses)
            work = self._index_work(0, self._turn(), *lookups)
            commit, end = (*self._log(osd), over), single(self.hop)
        return [single(*self._go("index", writes=True), *work), Stage((commit, *replicas), 1 + len(replicas)), end]

    def _index_of_primary(self, *lookups: Visit) -> Branch:
        """The primary of the index shard executes an operation, and keeps the shard for its own commit at most."""
        osd = self.at.index_osd(0)
        work = self._index_work(0, self._turn(), *lookups)
        if not self.spec.pipelines_index:
            work = (*self._index_work(0), self._turn(), *self._by_worker(osd, 0, *lookups))
        return (*work, *self._log(osd), self._turn(over=True))

    def _turn(self, over: bool = False) -> Visit:
        """An operation takes its turn at the index shard, or gives it to the next one."""
        return Visit(self.at.shard, NOTHING, releases=over, early=over and self.spec.pipelines_index)

    def _index_commit(self, member: int, looks_up: bool) -> Branch:
        """One OSD of the index shard commits; the lookup of a new entry precedes."""
        osd = self.at.index_osd(member)
        lookups = self._accesses(osd, self.index_costs.entry_accesses) if looks_up else ()
        if not member:
            return (*self._by_worker(osd, 0, *lookups), *self._log(osd))
        return (self.hop, *self._index_work(member, *lookups), *self._log(osd), self.hop)

    def _index_work(self, member: int, *lookups: Visit) -> Branch:
        """An OSD of the index shard prepares a transaction; the primary has messages with the client and all others."""
        osd, requests = self.at.index_osd(member), 1 if member else self.spec.index_replicas
        return self._by_worker(osd, requests, Visit(osd.cpu, self.spec.osd.write.without_bytes), *lookups)

    def _end_of_write(self, demand: ServiceDemand, later: list[Branch]) -> list[Stage]:
        """The gateway's last work and the response; the request does not wait for the index entry or `later`."""
        replicas = [self._index_commit(member, looks_up=False) for member in range(1, self.spec.index_replicas)]
        return [
            single(*self.at.alive(), Visit(self.at.gateway("cpu"), demand.scaled(AFTER_DATA))),
            self._not_waited_for(
                (self.hop, *self._index_of_primary()),
                *replicas,
                *later,
                *self._compactions(),
                *self._index_compactions(),
            ),
            self._respond(),
        ]

    def _index_compactions(self) -> list[Branch]:
        """Compaction I/O on the drives of the index caused by an entry; with the data, it is part of theirs."""
        if self.spec.index is None:
            return []
        accesses = self.index_costs.compaction_accesses
        return [self._accesses(self.at.index_osd(m), accesses) for m in range(self.spec.index_replicas) if accesses]

    def _not_waited_for(self, *branches: Branch) -> Stage:
        """Fork branches that the request does not wait for: a further branch takes no time and completes the stage."""
        return Stage(((Visit(self.at.latency, NOTHING),), *branches), 1)

    def _delete(self, kind: Kind) -> list[Stage]:
        """The head and its index entry are removed; garbage collection removes the tail later."""
        demand = self.costs.gateway_cpu("DELETE")
        accept = self._accept("DELETE", demand=demand.scaled(1 - AFTER_DATA))
        streams = [stream for window in kind.windows for stream in window]
        garbage = [branch for stream in streams[1:] for branch in self._removals(stream)]
        return [accept, *self._index(), *self._remove(), *self._end_of_write(demand, garbage)]

    def _head(self, kind: Kind) -> list[Stage]:
        return [self._accept("HEAD"), self._stat(), self._respond()]

    def _list(self, kind: Kind) -> list[Stage]:
        """All index shards of the bucket are queried, each for its part of the keys.

        `LIST_MAX_AIO` queries are in progress until all are sent: a response is followed by the next query.
        """
        hosts, query = self.at.host_cpus, self.costs.listed
        chains = [
            tuple(
                visit
                for shard in range(first, self.spec.buckets.shards, LIST_MAX_AIO)
                for visit in (self.hop, Visit(hosts[shard % len(hosts)], query), self.hop)
            )
            for first in range(min(LIST_MAX_AIO, self.spec.buckets.shards))
        ]
        return [self._accept("LIST"), Stage(tuple(chains), len(chains)), self._respond()]

    def _accept(self, op: Op, *arrive: Visit, demand: ServiceDemand | None = None) -> Stage:
        """A request arrives at a gateway and is processed there."""
        visits = self._client_time(op)
        demand = self.costs.gateway_cpu(op) if demand is None else demand
        key = self._key_request() if op in ("GET", "PUT") else ()
        sent = (self.hop, *(self.net.client("up") if op == "PUT" else ()))
        if self.at.proxy:
            sent = (*sent, *self.at.proxy.request(with_body=op == "PUT"), self.hop)
        work = (*self.at.alive(), Visit(self.at.gateway("cpu"), demand, ties=True))
        return single(*visits, self._slot(), *sent, *arrive, *work, *key)

    def _respond(self) -> Stage:
        """A response without a body reaches the client."""
        hops = (self.hop, self.hop) if self.at.proxy else (self.hop,)
        return single(*hops, self._slot(releases=True))

    def _through_proxy(self) -> Branch:
        """The body of a response passes the proxy, if there is one, and goes on from there."""
        return (self.hop, *self.at.proxy.response(with_body=True)) if self.at.proxy else ()

    def _key_request(self) -> Branch:
        """The gateway waits for the key with which it encrypts or decrypts an object."""
        gateways = self.spec.gateways
        wait = ServiceDemand(constant=gateways.key_request)
        return (Visit(self.at.latency, wait),) if gateways.sse and wait.takes_time else ()

    def _client_time(self, op: Op) -> Branch:
        """The client's CPU time."""
        return tuple(visit for visit in self.at.clients.work(op) if visit.demand.takes_time)

    def _slot(self, releases: bool = False) -> Visit:
        return Visit(self.at.gateway("slots"), NOTHING, releases)

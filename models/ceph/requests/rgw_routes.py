"""The routes of requests through a Ceph cluster.

A PUT prepares its entry in the bucket index shard, writes the RADOS object, and sends the response; the entry is
completed afterwards (ceph doc/dev/radosgw/bucket_index.rst). A DELETE does the same without bytes; the tail is garbage,
removed after the response. A GET does not use the index, and a HEAD only the primary of the head. A LIST asks all index
shards of the bucket for their parts of a page. The stripes of larger objects are sub-requests (`stripes`).
"""

from __future__ import annotations

from models.ceph.cluster.stations import Stations
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.mechanisms.bucket_index import LIST_MAX_AIO
from models.ceph.requests.osd_routes import Kind, OsdRoutes
from models.ceph.spec.spec import CephSpec
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Route
from models.network.service_demand import ServiceDemand
from models.shared.multipart import SubRoutes
from models.shared.steps import (
    Stages,
    Step,
    acquire,
    delay,
    detached,
    fan_out,
    in_series,
    joined,
    release,
    round_trip,
    use,
    visit,
)
from traces.operations import Op

AFTER_DATA = 0.3
"""Fraction of a gateway's CPU time for a PUT or DELETE that follows the commit of its data (assumed)."""


class Routes(OsdRoutes):
    """Builds the routes of requests through gateways, each with its objects in one RADOS object.

    Attributes:
        started: the routes of sub-requests, which follow those of requests.
    """

    def __init__(self, spec: CephSpec, costs: CostFunctions, stations: Stations, started: SubRoutes):
        super().__init__(spec, costs, stations)
        self.started = started

    def route(self, kind: Kind) -> Route:
        """Return the route of one kind of request."""
        stages = {
            "GET": self._get, "PUT": self._put, "HEAD": self._head, "DELETE": self._delete, "LIST": self._list,
            "COPY": self._copy,
        }[kind.op](kind)  # fmt: skip
        return Route(kind.op, stages, policy=self._policy(kind), variant=kind.variant)

    def _policy(self, kind: Kind) -> Policy:
        return self.spec.client.policy(kind.op)

    def _sub_route(self, op: Op, variant: str, stages: Stages, policy: Policy = NO_POLICY) -> int:
        """Add a route of sub-requests, and return its index."""
        return self.started.add(Route(op, stages, policy=policy, variant=variant))

    def _get(self, kind: Kind) -> Stages:
        read = () if kind.at_gateway else self._read(kind)
        slot = release(self.at.gateway("slots"))
        sent = self._leave() + (slot + self._acknowledged() + self.hop if kind.held else self.hop + slot)
        return self._accept("GET") + read + in_series(sent, delivers=True)

    def _acknowledged(self) -> Step:
        """The headers reach the client, which acknowledges them late; the gateway has written the body by then."""
        return round_trip(self.hop, delay(self.at.latency, self.spec.network.delayed_ack))

    def _put(self, kind: Kind) -> Stages:
        demand = self.costs.gateway_cpu("PUT")
        accept = self._accept("PUT", self._arrive(), demand=demand.scaled(1 - AFTER_DATA))
        return accept + self._index() + self._write(kind) + self._end_of_write(demand, self._deferred_writes(kind))

    def _arrive(self) -> Step:
        """The bytes of a request arrive at the gateway."""
        return self.net.ingress() + self.net.gateway("down") + self.net.dma_of_gateway()

    def _leave(self) -> Step:
        """The bytes of a response reach the client."""
        return self.net.dma_of_gateway() + self.net.gateway("up") + self._through_proxy() + self.net.client("down")

    def _index(self) -> Stages:
        """An operation on the bucket index shard: one at a time on its primary, committed by all its replicas.

        Where operations are pipelined, a worker waits for its turn, and the next one may begin with the commit.
        """
        osd, turn = self.at.index_osd(0), acquire(self.at.shard)
        replicas = [self._index_commit(member, looks_up=True) for member in range(1, self.spec.index_replicas)]
        if self.spec.pipelines_index:
            work = self._index_work(0, turn, self._accesses(osd, lambda costs: costs.entry_accesses))
            commit, end = self._log(osd) + self._turn_over(), self.hop
        else:
            work = self._index_work(0) + turn
            commit, end = self._index_commit(0, looks_up=True), self._turn_over() + self.hop
        return in_series(self._go("index", writes=True), work) + fan_out([commit, *replicas]) + in_series(end)

    def _index_of_primary(self) -> Step:
        """The primary of the index shard executes an operation, and keeps the shard for its own commit at most."""
        osd, turn = self.at.index_osd(0), acquire(self.at.shard)
        work = self._index_work(0, turn) if self.spec.pipelines_index else self._index_work(0) + turn
        return work + self._log(osd) + self._turn_over()

    def _turn_over(self) -> Step:
        """An operation gives its turn at the index shard to the next one."""
        return release(self.at.shard, early=self.spec.pipelines_index)

    def _index_commit(self, member: int, looks_up: bool) -> Step:
        """One OSD of the index shard commits; the lookup of a new entry precedes."""
        osd = self.at.index_osd(member)
        lookups = self._accesses(osd, lambda costs: costs.entry_accesses) if looks_up else ()
        if not member:
            return self._by_worker(osd, 0, lookups) + self._log(osd)
        return round_trip(self.hop, self._index_work(member, lookups), self._log(osd))

    def _index_work(self, member: int, *lookups: Step) -> Step:
        """An OSD of the index shard prepares a transaction; the primary has messages with the client and all others."""
        osd, requests = self.at.index_osd(member), 1 if member else self.spec.index_replicas
        work = self._work(osd, lambda costs: costs.spec.osd.write.without_bytes)
        return self._by_worker(osd, requests, work, *lookups)

    def _end_of_write(self, demand: ServiceDemand, later: list[Step]) -> Stages:
        """The gateway's last work and the response; the request does not wait for the index entry or `later`."""
        replicas = [self._index_commit(member, looks_up=False) for member in range(1, self.spec.index_replicas)]
        entry = [self.hop + self._index_of_primary(), *replicas]
        compactions = [*self._compactions(), *self._index_compactions()]
        last = visit(self.at.gateway("cpu"), demand.scaled(AFTER_DATA))
        done = in_series(self.at.alive(), last) + detached(self.at.latency, [*entry, *later, *compactions])
        return done + self._respond()

    def _index_compactions(self) -> list[Step]:
        """Compaction I/O on the drives of the index caused by an entry; with the data, it is part of theirs."""
        if self.spec.index is None and not self.spec.has_index_hosts:
            return []
        osds = [self.at.index_osd(member) for member in range(self.spec.index_replicas)]
        return [
            self._accesses(osd, lambda costs: costs.compaction_accesses if costs.is_of_index else ()) for osd in osds
        ]

    def _delete(self, kind: Kind) -> Stages:
        """A RADOS object and its index entry are removed."""
        return self._deleted([])

    def _deleted(self, later: list[Step]) -> Stages:
        """The head and its index entry are removed, and `later` is done after the response."""
        demand = self.costs.gateway_cpu("DELETE")
        accept = self._accept("DELETE", demand=demand.scaled(1 - AFTER_DATA))
        return accept + self._index() + self._remove() + self._end_of_write(demand, later)

    def _copy(self, kind: Kind) -> Stages:
        """The gateway looks up the source, reads it and writes what it has read; no bytes pass the client."""
        demand = self.costs.gateway_cpu("COPY")
        accept = self._accept("COPY", demand=demand.scaled(1 - AFTER_DATA)) + self._stat() + self._read(kind)
        return accept + self._index() + self._write(kind) + self._end_of_write(demand, self._deferred_writes(kind))

    def _head(self, kind: Kind) -> Stages:
        return self._accept("HEAD") + self._stat() + self._respond()

    def _list(self, kind: Kind) -> Stages:
        """All index shards of the bucket are queried, each for its part of the keys.

        `LIST_MAX_AIO` queries are in progress until all are sent: a response is followed by the next query.
        """
        cpus, shards, groups = self.at.host_cpus, self.spec.buckets.shards, self.at.layout.group_of_host.tolist()
        listed, weights = [costs.listed for costs in self.costs.of_groups], self.at.layout.index_weights
        all_hosts = range(len(cpus))
        hosts = [h for h in all_hosts if weights is None or self.spec.index or weights[groups[h]]]
        asked = [hosts[n % len(hosts)] for n in range(shards)]
        queries = [round_trip(self.hop, visit(cpus[h], listed[groups[h]])) for h in asked]
        chains = (joined(queries[first::LIST_MAX_AIO]) for first in range(min(LIST_MAX_AIO, shards)))
        return self._accept("LIST") + fan_out(chains) + self._respond()

    def _accept(
        self, op: Op, arrive: Step = (), demand: ServiceDemand | None = None, with_body: bool | None = None
    ) -> Stages:
        """A request arrives at a gateway, which keeps one of its slots until the response, and is processed there.

        `with_body`: whether its bytes come with it; None: those of a PUT do.
        """
        demand = self.costs.gateway_cpu(op) if demand is None else demand
        with_body = op == "PUT" if with_body is None else with_body
        begun = self._client_time(op) + acquire(self.at.gateway("slots"))
        sent = self.hop + (self.net.client("up") if with_body else ())
        if self.at.proxy:
            sent += self.at.proxy.request(with_body=with_body) + self.hop
        work = self.at.alive() + visit(self.at.gateway("cpu"), demand, ties=True)
        return in_series(begun, sent, arrive, work, self._key_request() if op in ("GET", "PUT", "COPY") else ())

    def _respond(self) -> Stages:
        """A response without a body reaches the client."""
        return in_series(self.hop * (2 if self.at.proxy else 1), release(self.at.gateway("slots")))

    def _through_proxy(self) -> Step:
        """The body of a response passes the proxy, if there is one, and goes on from there."""
        return self.net.ingress() + self.hop + self.at.proxy.response(with_body=True) if self.at.proxy else ()

    def _key_request(self) -> Step:
        """The gateway waits for the key with which it encrypts or decrypts an object."""
        gateways = self.spec.gateways
        return delay(self.at.latency, gateways.key_request) if gateways.sse else ()

    def _client_time(self, op: Op) -> Step:
        """The client's CPU time."""
        return joined(use(each.station, each.demand) for each in self.at.clients.work(op))

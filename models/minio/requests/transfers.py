"""The visits by which a request's calls and bytes move between the client, the coordinator and other nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from models.minio.requests.parts import MESSAGE_BYTES, PartDemand
from models.minio.requests.request import Branches, Request, Stages
from models.network.route import Stage, Visit
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Bound, Member

_TO, _FROM = ("sender", "in"), ("receiver", "out")
"""The coordinator's link and the drive's, for shards to drives and from them."""


class Transfers(Request):
    """Calls between nodes, and the bytes of a request on links and in the CPUs that process them."""

    # Calls between nodes.

    @property
    def _way_s(self) -> float:
        """Latency of a call to another node and back."""
        return 2 * self.hosts.internode.latency

    def _at(self, position: int, visits: Iterable[Visit], carries: bool = False) -> tuple[Visit, ...]:
        """Return visits to a drive of the set, by a call if it is another node's; it may carry the bytes of a shard."""
        if not self.calls_nodes or position < self.own:
            return tuple(visits)
        call = self.call.per_shard(self.layout.data) if carries else self.call.without_bytes
        return (*self._call(call, partial(self.places.drive, self.kind.pool, position), carries), *visits)

    def _call(
        self, demand: ServiceDemand, place: Callable[[str], Member | Bound], carries: bool = False
    ) -> tuple[Visit, ...]:
        """Return a call: CPU on both sides, the latency of both ways, and messages where no shard is moved."""
        way = (Visit(place("way"), ServiceDemand(constant=self._way_s)),) if self._way_s else ()
        shard = (_TO if self.op == "PUT" else _FROM) if carries else ()
        there, back = ([Visit(place(p), self._message) for p in parts if p not in shard and self.nic and self.queued]
                       for parts in (("sender", "in"), ("out", "receiver")))  # fmt: skip
        if not demand.takes_time:
            return (*there, *way, *back)
        return (Visit(place("caller"), demand), *there, *way, Visit(place("cpu"), demand), *back)

    def _reader(self, position: int, part: str) -> Member | Bound:
        return self.places.reader(self.kind.pool, position, part)

    def _at_reader(self, position: int, visits: tuple[Visit, ...]) -> tuple[Visit, ...]:
        """Return visits to a drive that a GET reads from, by a call if it is another node's."""
        if not self.calls_nodes:
            return visits
        call = self.call.per_shard(self.layout.data)
        return (*self._call(call, partial(self.places.reader, self.kind.pool, position), carries=True), *visits)

    @property
    def _message(self) -> ServiceDemand:
        """A message on the link of a host."""
        return _message(self._wire)

    def _messages(self, rounds: int) -> int:
        """Bytes of a request's calls to a drive, in as many rounds."""
        return MESSAGE_BYTES * rounds

    # Bytes on links between nodes.

    @property
    def _wire(self) -> ServiceDemand:
        return ServiceDemand(per_byte=1 / self.nic) if self.nic else NOTHING

    def _far(self) -> range:
        return range(self.own, self.layout.size)

    def _moves_to(self, blocks: str, more: int = 0) -> list[Visit]:
        """Shards on their way to the drives of other hosts, on the coordinator's link and on theirs."""
        return self._moves(self._far(), blocks, more, _TO)

    def _moves(
        self, positions: Sequence[int], blocks: str, more: int, parts: tuple[str, str], visits: int = 1
    ) -> list[Visit]:
        """Return shards on links, each of which is a transfer of its own that gets an equal part of a full link."""
        if not self.nic or not self.calls_nodes:
            return []
        moved = PartDemand.of(self._wire, data_shards=self.layout.data, blocks=blocks, more_bytes=more, visits=visits)
        return [Visit(self.places.drive(self.kind.pool, p, part), moved) for part in parts for p in positions]

    def _to_drives(self, blocks: str, more: int) -> Stages:
        return self._parallel(self._moves_to(blocks, more))

    def _from_drives(self, count: int, blocks: str, more: int) -> Stages:
        """Shards of the first drives in order on their way to the coordinator."""
        return self._parallel(self._moves(range(self.own, count), blocks, more, _FROM))

    def _from_readers(self, blocks: str, more: int) -> Stages:
        return self._parallel(self._shards_of_readers(blocks, more))

    def _shards_of_readers(self, blocks: str, more: int) -> list[Visit]:
        """Shards that a GET reads on their way to the coordinator, on its link and on those of the drives' hosts."""
        if not self.nic or not self.calls_nodes:
            return []
        shard = PartDemand.of(self._wire, data_shards=self.layout.data, blocks=blocks, more_bytes=more)
        positions = range(self.layout.data)
        return [Visit(self._reader(p, part), shard) for part in ("receiver", "out") for p in positions]

    @staticmethod
    def _parallel(visits: Sequence[Visit], further: Branches = ()) -> Stages:
        branches = (*((visit,) for visit in visits), *further)
        return (Stage(branches, len(branches)),) if branches else ()

    # Between client and coordinator.

    def _latency(self) -> list[Visit]:
        latency_s = 0.0 if self.spec.distribution == "local" else self.spec.network.latency
        return [Visit(self.stations.latency, ServiceDemand(constant=latency_s))] if latency_s else []

    def _client_links(self, blocks: str, up: bool, visits: int = 1) -> list[Visit]:
        """The bytes of an object between client and coordinator, or of one of as many parts."""
        return self._on_client_links(lambda wire: _of(wire, blocks, visits), up)

    def _message_links(self, up: bool) -> list[Visit]:
        """A message between client and coordinator, if it may wait in queues."""
        return self._on_client_links(_message, up) if self.queued else []

    def _acknowledged(self, up: bool) -> Branches:
        """The acknowledgements that a transfer of the kind waits for: they come by the links of the other direction."""
        chain = tuple(self._message_links(not up)[-1:]) * self.kind.rounds
        return (chain,) if chain else ()

    def _on_client_links(self, moved: Callable[[ServiceDemand], ServiceDemand], up: bool) -> list[Visit]:
        bandwidth, stations = self.spec.network.bandwidth, self.stations
        nic = self.nic if self.client.on_storage_hosts else self.client.nic
        own = moved(ServiceDemand(per_byte=1 / nic)) if nic else NOTHING
        found = [*stations.clients.transfer("up" if up else "down", own, self._remote)]
        if bandwidth and self.spec.distribution != "local":
            found.append(Visit(stations.up if up else stations.down, moved(ServiceDemand(per_byte=1 / bandwidth))))
        if self.spec.distribution == "proxy" and self.spec.proxy.nic:
            wire = moved(ServiceDemand(per_byte=1 / self.spec.proxy.nic))
            found += [Visit(stations.proxy_in, wire), Visit(stations.proxy_out, wire)]
        if self.nic and self._remote:
            demand = moved(self._wire)
            if self._remote < 1:
                demand = demand.scaled(self._remote)
            found.append(Visit(self.places.head(self.kind.pool, "in" if up else "out"), demand))
        return found

    @property
    def _remote(self) -> float:
        """Fraction of the transfers between clients and coordinators that leave a host."""
        if self.spec.distribution == "local":
            return 0.0
        some_local = self.client.on_storage_hosts and self.spec.distribution != "proxy"
        return 1 - 1 / self.spec.total_hosts if some_local else 1.0

    def _arrival(self, blocks: str) -> list[Visit]:
        return self._client_links(blocks, up=True)

    def _cpu_bytes(self, blocks: str, visits: int = 1) -> list[Visit]:
        """The work on an object's bytes of host and client."""
        host = Visit(self.places.head(self.kind.pool, "cpu"), self.hosts.cpu_demand(self.op, False))
        return [
            Visit(side.station, _of(side.demand.of_bytes, blocks, visits))
            for side in (host, *self._of_client())
            if not self.limited or side.demand.of_bytes.takes_time
        ]

    def _of_client(self) -> tuple[Visit, ...]:
        """The client's CPU time."""
        visits = self.stations.clients.work(self.op)
        if not self.client.on_storage_hosts:
            return visits
        return tuple(replace(visit, demand=self.hosts.at_speed(visit.demand)) for visit in visits)


def _message(wire: ServiceDemand) -> ServiceDemand:
    """Return the demand of a message, given that of bytes."""
    return PartDemand.of(wire, times=0, more_bytes=MESSAGE_BYTES)


def _of(demand: ServiceDemand, blocks: str, visits: int = 1) -> ServiceDemand:
    """Return the demand of all blocks, of the first, or of the others; or of one of several visits."""
    return demand if blocks == "all" and visits == 1 else PartDemand.of(demand, blocks=blocks, visits=visits)

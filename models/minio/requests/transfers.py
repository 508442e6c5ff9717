"""The visits by which a request's calls and bytes move between the client, the coordinator and other nodes.

A GET of an object inside xl.meta moves the shards of all drives on other hosts: on three hosts with four drives each,
EC 8+4, 24 PUTs and 60 GETs of 1 MiB moved 96.7 MB between hosts. Such shards are 88.1 MB, with data alone 67.1 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from models.minio.requests.parts import MESSAGE_BYTES, PartDemand
from models.minio.requests.request import Branches, Request
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Bound, Member
from models.shared.steps import (
    Server,
    Stages,
    Step,
    call,
    changed,
    delay,
    fan_out,
    joined,
    pipelined,
    send,
    visit,
)

_TO, _FROM = ("sender", "in"), ("receiver", "out")
"""The coordinator's link and the drive's, for shards to drives and from them."""


class Transfers(Request):
    """Calls between nodes, and the bytes of a request on links and in the CPUs that process them."""

    # Calls between nodes.

    @property
    def _way_s(self) -> float:
        """Latency of a call to another node and back."""
        return 2 * self.hosts.internode.latency

    def _at(self, position: int, step: Step, carries: bool = False) -> Step:
        """Return a step at a drive of the set, by a call if it is another node's; it may carry the bytes of a shard."""
        if not self.calls_nodes or position < self.own:
            return step
        demand = self.call.per_shard(self.layout.data) if carries else self.call.without_bytes
        return self._call(demand, partial(self.places.drive, self.kind.pool, position), carries) + step

    def _call(self, demand: ServiceDemand, at: Server, carries: bool = False) -> Step:
        """Return a call: CPU on both sides, the latency of both ways, and messages where no shard is moved."""
        shard = (_TO if self.op == "PUT" else _FROM) if carries else ()
        there, back = (
            send(self._message, *(at(part) for part in parts if part not in shard)) if self.queued else ()
            for parts in (("sender", "in"), ("out", "receiver"))
        )
        way = there + delay(at("way"), self._way_s)
        return (call(at("caller"), at("cpu"), demand, way) if demand.takes_time else way) + back

    @property
    def _readers(self) -> int:
        """Number of drives that a GET reads from."""
        return self.layout.data

    def _reader(self, position: int, part: str) -> Member | Bound:
        return self.places.reader(self.kind.pool, position, part)

    def _at_reader(self, position: int, step: Step) -> Step:
        """Return a step at a drive that a GET reads from, by a call if it is another node's."""
        if not self.calls_nodes:
            return step
        return self._call(self.call.per_shard(self.layout.data), partial(self._reader, position), carries=True) + step

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
        return self.spec.network.wire(self.nic)

    def _far(self) -> range:
        return range(self.own, self.layout.size)

    def _moves_to(self, blocks: str, more: int = 0) -> Step:
        """Shards on their way to the drives of other hosts, on the coordinator's link and on theirs."""
        return self._moves(self._far(), blocks, more, _TO)

    def _moves(self, positions: Sequence[int], blocks: str, more: int, parts: tuple[str, str]) -> Step:
        """Return shards on links, each of which is a transfer of its own that gets an equal part of a full link."""
        if not self.calls_nodes:
            return ()
        moved = PartDemand.of(self._wire, data_shards=self.layout.data, blocks=blocks, more_bytes=more)
        return send(moved, *(self.places.drive(self.kind.pool, p, part) for part in parts for p in positions))

    def _to_drives(self, blocks: str, more: int) -> Stages:
        return fan_out(pipelined(self._moves_to(blocks, more)))

    def _from_drives(self, count: int, blocks: str, more: int) -> Stages:
        """Shards of the first drives in order on their way to the coordinator."""
        return fan_out(pipelined(self._moves(range(self.own, count), blocks, more, _FROM)))

    def _from_readers(self, blocks: str, more: int, last_of: int = 0) -> Stages:
        return fan_out(pipelined(self._shards_of_readers(blocks, more, last_of)))

    def _shards_of_readers(self, blocks: str, more: int, last_of: int = 0) -> Step:
        """Shards that a GET reads on their way to the coordinator, on its link and on those of the drives' hosts."""
        if not self.calls_nodes:
            return ()
        shard = PartDemand.of(
            self._wire, data_shards=self.layout.data, blocks=blocks, more_bytes=more, last_of=last_of,
            more_blocks=self.kind.more_blocks,
        )  # fmt: skip
        positions = range(self._readers)
        return send(shard, *(self._reader(p, part) for part in ("receiver", "out") for p in positions))

    # Between client and coordinator.

    @property
    def _way(self) -> Step:
        """The latency of one way between client and coordinator."""
        return delay(self.stations.latency, 0.0 if self.spec.balance == "local" else self.spec.network.latency)

    def _client_links(self, blocks: str, up: bool, visits: int = 1) -> Step:
        """The bytes of an object between client and coordinator, or of one of as many parts."""
        return self._on_client_links(lambda wire: of_blocks(wire, blocks, visits), up)

    def _message_links(self, up: bool) -> Step:
        """A message between client and coordinator, if it may wait in queues."""
        return self._on_client_links(_message, up) if self.queued else ()

    def _acknowledged(self, up: bool) -> Branches:
        """The acknowledgements that a transfer of the kind waits for: they come by the links of the other direction."""
        chain = self._message_links(not up)[-1:] * self.kind.rounds
        return (chain,) if chain else ()

    def _on_client_links(self, moved: Callable[[ServiceDemand], ServiceDemand], up: bool) -> Step:
        stations, balance, remote = self.stations, self.spec.balance, self._remote
        wire = self.spec.network.wire
        nic = self.nic if self.client.on_storage_hosts else self.client.nic
        found = stations.clients.transfer("up" if up else "down", moved(wire(nic)) if nic else NOTHING, remote)
        if balance != "local":
            found += send(moved(wire(self.spec.network.bandwidth)), stations.up if up else stations.down)
        if balance == "proxy":
            found += send(moved(wire(self.spec.proxy.nic)), stations.proxy_in, stations.proxy_out)
        if self.nic and remote:
            own, demand = self.places.head(self.kind.pool, "in" if up else "out"), moved(self._wire)
            found += visit(own, demand.scaled(remote) if remote < 1 else demand)
        return found

    @property
    def _remote(self) -> float:
        """Fraction of the transfers between clients and coordinators that leave a host."""
        if self.spec.balance == "local":
            return 0.0
        some_local = self.client.on_storage_hosts and self.spec.balance != "proxy"
        return 1 - 1 / self.spec.total_hosts if some_local else 1.0

    def _cpu_bytes(self, blocks: str, visits: int = 1) -> Step:
        """The work on an object's bytes of host and client."""
        host = visit(self.places.head(self.kind.pool, "cpu"), self.hosts.cpu_demand(self.op, False))
        return joined(
            visit(side.station, of_blocks(side.demand.of_bytes, blocks, visits))
            for side in host + self._of_client()
            if not self.limited or side.demand.of_bytes.takes_time
        )

    def _of_client(self) -> Step:
        """The client's CPU time."""
        work = self.stations.clients.work(self.op)
        return changed(work, self.hosts.at_speed) if self.client.on_storage_hosts else work


def _message(wire: ServiceDemand) -> ServiceDemand:
    """Return the demand of a message, given that of bytes."""
    return PartDemand.of(wire, times=0, more_bytes=MESSAGE_BYTES)


def of_blocks(demand: ServiceDemand, blocks: str, visits: int = 1) -> ServiceDemand:
    """Return the demand of all blocks, of the first, or of the others; or of one of several visits."""
    return demand if blocks == "all" and visits == 1 else PartDemand.of(demand, blocks=blocks, visits=visits)

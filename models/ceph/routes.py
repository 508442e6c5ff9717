"""The routes of requests through a Ceph cluster.

A PUT prepares its entry in the bucket index shard, writes the RADOS objects, and is answered; the entry is completed
afterwards (ceph doc/dev/radosgw/bucket_index.rst). A GET asks no index. Objects are cut into a head and stripes of 4
MiB, of which a gateway has 16 MiB under way together (rgw_put_obj_min_window_size, src/common/options/rgw.yaml.in). A
replicated or erasure-coded write waits for all members of the placement group, an erasure-coded read for as many shards
as hold data.

A transfer is charged to one network interface: the receiver's on the way in, the sender's on the way out, which is the
busier one of the two for each operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from models.ceph.laws import NOTHING, Access, Laws
from models.ceph.stations import LANES, Osd, Stations
from models.demand import ServiceDemand
from models.network import Bound, Member, Route, Stage, Visit, single
from traces.workload import Op

if TYPE_CHECKING:
    from models.ceph.spec import CephSpec

_LISTS_IN_FLIGHT = 128
"""rgw_bucket_index_max_aio."""
_AFTER_DATA = 0.3
"""Share of a gateway's CPU time for a PUT or DELETE that follows the commit of its data (assumed)."""

Branch = tuple[Visit, ...]


@dataclass(frozen=True)
class Kind:
    """What requests of one route have in common.

    Attributes:
        objects: RADOS objects of the S3 object: its head and stripes.
        deferred: its shards are small enough to be written after the commit.
        chunk_bytes: a shard of one of them, for what does not go by the request's own size.
    """

    op: Op
    objects: int = 1
    deferred: bool = False
    chunk_bytes: int = 0

    @property
    def name(self) -> str:
        """Of the route."""
        stripes = f" of {self.objects} RADOS objects" if self.objects > 1 else ""
        return self.op + stripes + (" deferred" if self.deferred else "")


class Routes:
    """Writes the routes down."""

    def __init__(self, spec: CephSpec, laws: Laws, stations: Stations):
        self.spec, self.laws, self.at = spec, laws, stations
        data = spec.pools.data
        self.width, self.data_shards, self.is_ec = data.width, data.data_shards, data.is_ec
        self.hop = Visit(stations.latency, ServiceDemand(constant=spec.network.latency))

    def route(self, kind: Kind) -> Route:
        """The route of one kind of request."""
        stages = {
            "GET": self._get, "PUT": self._put, "HEAD": self._head, "DELETE": self._delete, "LIST": self._list
        }[kind.op](kind)  # fmt: skip
        return Route(kind.name, tuple(stages), policy=self.spec.client.policy(kind.op))

    def _get(self, kind: Kind) -> list[Stage]:
        stages = [self._accept("GET")]
        for lanes in _windows(kind.objects):
            if self.is_ec:
                stages += self._read_shards(kind, lanes)
            else:
                read = self.spec.osd.read.per_shard(kind.objects)
                branches = tuple(
                    (self.hop, Visit(osd.cpu, read), *self._fetch(osd, kind.objects), self._to_gateway(osd, kind))
                    for osd in (self.at.osd(lane, 0) for lane in lanes)
                )
                stages.append(Stage(branches, len(branches)))
        out = (self._nic(self.at.gateway("up")), self._client_nic(self.at.client_down), self.hop)
        return [*stages, single(*out, self._slot(releases=True), delivers=True)]

    def _read_shards(self, kind: Kind, lanes: range) -> list[Stage]:
        """The primary asks for the shards, and sends what they make to the gateway."""
        asked = self.width if self.spec.pools.fast_read else self.data_shards
        parts = kind.objects * self.data_shards
        read = self.spec.osd.read.per_shard(parts)
        ask = tuple((self.hop, Visit(self.at.osd(lane, 0).cpu, read.without_bytes)) for lane in lanes)
        fetch = []
        for osd, member in ((self.at.osd(lane, member), member) for lane in lanes for member in range(asked)):
            if member:
                fetch.append((self.hop, Visit(osd.cpu, read), *self._fetch(osd, parts), self._nic(osd.up, parts)))
            else:
                fetch.append((Visit(osd.cpu, read.of_bytes), *self._fetch(osd, parts)))
        send = tuple((self.hop, self._to_gateway(self.at.osd(lane, 0), kind)) for lane in lanes)
        need = len(lanes) * self.data_shards
        return [Stage(ask, len(ask)), Stage(tuple(fetch), need), Stage(send, len(send))]

    def _fetch(self, osd: Osd, parts: int) -> Branch:
        """Reading a shard from its drive, with the database's accesses before it."""
        return self._accesses(osd, self.laws.read_accesses, parts)

    def _accesses(self, osd: Osd, accesses: tuple[Access, ...], parts: int = 1) -> Branch:
        visits = []
        for access in accesses:
            if access.beside.takes_time:
                visits.append(Visit(self.at.latency, access.beside.per_shard(parts)))
            visits.append(Visit(osd.drive, access.alone.per_shard(parts)))
        return tuple(visits)

    def _put(self, kind: Kind) -> list[Stage]:
        law = self.laws.gateway_cpu("PUT")
        arrive = (self._client_nic(self.at.client_up), self._nic(self.at.gateway("down")))
        accept = self._accept("PUT", *arrive, law=law.scaled(1 - _AFTER_DATA))
        stages = [accept, *self._index()]
        for lanes in _windows(kind.objects):
            stages += self._write_shards(kind, lanes)
        written = self.laws.deferred_write(kind.chunk_bytes)
        later: list[Branch] = [
            (Visit(osd.drive, written), Visit(osd.throttle, NOTHING, releases=True))
            for lanes in _windows(kind.objects) if kind.deferred
            for osd in (self.at.osd(lane, member) for lane in lanes for member in range(self.width))
        ]  # fmt: skip
        return [*stages, *self._end_of_write(law, later)]

    def _write_shards(self, kind: Kind, lanes: range) -> list[Stage]:
        """The primaries get the objects, and the shards or replicas are committed."""
        spec = self.spec
        parts = kind.objects * self.data_shards
        whole, write = spec.osd.write.per_shard(kind.objects), spec.osd.write.per_shard(parts)
        encode = spec.pools.data.encode(spec.release).per_byte / kind.objects
        first = whole.model_copy(update={"per_byte": whole.per_byte + encode})
        send, commit = [], []
        for lane in lanes:
            primary = self.at.osd(lane, 0)
            send.append((self.hop, self._nic(primary.down, kind.objects, local=True), Visit(primary.cpu, first)))
            for member in range(self.width):
                osd = self.at.osd(lane, member)
                arrive = (self.hop, self._nic(osd.down, parts), Visit(osd.cpu, write)) if member else ()
                commit.append((*arrive, *self._commit(osd, parts, kind), *((self.hop,) if member else ())))
        return [Stage(tuple(send), len(send)), Stage(tuple(commit), len(commit)), single(self.hop)]

    def _commit(self, osd: Osd, parts: int, kind: Kind) -> Branch:
        """A shard is made durable: in the log if it is deferred, else on the drive, then in the log."""
        looked = self._accesses(osd, self.laws.absent_accesses)
        if kind.deferred:
            log = Visit(osd.kv, self.laws.commit(kind.chunk_bytes)[0])
            return (*looked, Visit(osd.throttle, NOTHING), log)
        written = self._accesses(osd, (self.laws.write_access,), parts)
        return (*looked, *written, Visit(osd.kv, self.laws.commit(0)[0]))

    def _index(self) -> list[Stage]:
        """An operation on the bucket index shard: one at a time on its primary, committed by all its replicas."""
        primary, write = self.at.index_osd(0), self.spec.osd.write.without_bytes
        start = single(self.hop, Visit(primary.cpu, write), Visit(self.at.shard, NOTHING))
        end = single(Visit(self.at.shard, NOTHING, releases=True), self.hop)
        branches = self._index_commits()
        return [start, Stage(branches, len(branches)), end]

    def _index_commits(self) -> tuple[Branch, ...]:
        write, kv = self.spec.osd.write.without_bytes, self.laws.commit(0)[0]
        branches: list[Branch] = []
        for member in range(self.spec.pools.index_replicas):
            osd = self.at.index_osd(member)
            arrive = (self.hop, Visit(osd.cpu, write)) if member else ()
            branches.append(
                (
                    *arrive,
                    *self._accesses(osd, self.laws.absent_accesses),
                    Visit(osd.kv, kv),
                    *((self.hop,) if member else ()),
                )
            )
        return tuple(branches)

    def _end_of_write(self, law: ServiceDemand, later: list[Branch]) -> list[Stage]:
        """The gateway's last work and the answer. Nobody waits for the index entry's completion and `later`."""
        osd, write = self.at.index_osd(0), self.spec.osd.write.without_bytes
        complete: Branch = (
            self.hop, Visit(osd.cpu, write), Visit(self.at.shard, NOTHING), Visit(osd.kv, self.laws.commit(0)[0]),
            Visit(self.at.shard, NOTHING, releases=True),
        )  # fmt: skip
        replicas = [branch for member, branch in enumerate(self._index_commits()) if member]
        compactions = [
            branch for m in range(self.width)
            if (branch := self._accesses(self.at.osd(0, m), self.laws.compaction_accesses))
        ]  # fmt: skip
        # The branch that takes no time is done first, and the stage needs no other.
        answered: Branch = (Visit(self.at.latency, NOTHING),)
        return [
            single(Visit(self.at.gateway("cpu"), law.scaled(_AFTER_DATA))),
            Stage((answered, complete, *replicas, *later, *compactions), 1),
            single(self.hop, self._slot(releases=True)),
        ]

    def _delete(self, kind: Kind) -> list[Stage]:
        law, write = self.laws.gateway_cpu("DELETE"), self.spec.osd.write.without_bytes
        accept = self._accept("DELETE", law=law.scaled(1 - _AFTER_DATA))
        remove = []
        for member in range(self.width):
            osd = self.at.osd(0, member)
            hops = (self.hop,) if member else ()
            remove.append((*hops, Visit(osd.cpu, write), Visit(osd.kv, self.laws.commit(0)[0]), *hops))
        stages = [accept, *self._index(), single(self.hop), Stage(tuple(remove), len(remove)), single(self.hop)]
        return [*stages, *self._end_of_write(law, [])]

    def _head(self, kind: Kind) -> list[Stage]:
        osd = self.at.osd(0, 0)
        metadata = self._accesses(osd, self.laws.metadata_accesses)
        read = single(self.hop, Visit(osd.cpu, self.spec.osd.read.without_bytes), *metadata, self.hop)
        return [self._accept("HEAD"), read, single(self.hop, self._slot(releases=True))]

    def _list(self, kind: Kind) -> list[Stage]:
        """All shards of the bucket are asked, so many at a time; each for its share of the keys."""
        shards = self.spec.buckets.shards
        entries = self.laws.listed
        work = self.spec.osd.read.without_bytes
        hosts = self.at.host_cpus
        stages = [self._accept("LIST")]
        for first in range(0, shards, _LISTS_IN_FLIGHT):
            branches = tuple(
                (self.hop, Visit(hosts[s % len(hosts)], work), Visit(hosts[s % len(hosts)], entries), self.hop)
                for s in range(first, min(first + _LISTS_IN_FLIGHT, shards))
            )
            stages.append(Stage(branches, len(branches)))
        return [*stages, single(self.hop, self._slot(releases=True))]

    def _accept(self, op: Op, *arrive: Visit, law: ServiceDemand | None = None) -> Stage:
        """A request comes to a gateway and is worked on there."""
        asks = self.spec.client.cpu.get(op, NOTHING)
        visits = [Visit(self.at.latency, asks)] if asks.takes_time else []
        law = self.laws.gateway_cpu(op) if law is None else law
        return single(*visits, self._slot(), self.hop, *arrive, Visit(self.at.gateway("cpu"), law))

    def _slot(self, releases: bool = False) -> Visit:
        return Visit(self.at.gateway("slots"), NOTHING, releases)

    def _to_gateway(self, osd: Osd, kind: Kind) -> Visit:
        return self._nic(osd.up, kind.objects, local=True)

    def _nic(self, station: Member | Bound, parts: int = 1, local: bool = False) -> Visit:
        """A part of the bytes on a network interface; between gateway and OSD perhaps on one machine."""
        law = self.laws.nic(self.spec.gateway_nic if isinstance(station, Bound) else self.spec.hosts.nic)
        remote = 1 - 1 / self.spec.hosts.count if local and self.spec.gateways.collocated else 1.0
        return Visit(station, law.scaled(remote).per_shard(parts))

    def _client_nic(self, station: int) -> Visit:
        return Visit(station, self.laws.nic(self.spec.client.nic))


def _windows(objects: int) -> list[range]:
    """The lanes of each window in turn."""
    return [range(min(LANES, objects - first)) for first in range(0, objects, LANES)]

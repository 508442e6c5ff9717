"""The stations of a Ceph cluster, and the placement table that says which of them an object's parts live on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from models.ceph.crush import place
from models.network import Bound, Choice, Discipline, Group, Member, Station
from traces.streams import stream_id, uniforms

if TYPE_CHECKING:
    from models.ceph.laws import Laws
    from models.ceph.spec import CephSpec

LANES = 4
"""RADOS objects of one S3 object that a gateway has under way together: windows of 16 MiB in stripes of 4 MiB."""

_MAX_SHARD_STATIONS = 8192  # of more index shards than this, several share a station: with so many none is busy
_CHOICES = {
    "round robin": Choice.ROUND_ROBIN,
    "random": Choice.RANDOM,
    "least outstanding": Choice.LEAST_OUTSTANDING,
    "power of two": Choice.POWER_OF_TWO,
}
_OSD_PARTS = ("cpu", "up", "down", "drive", "kv", "throttle")
_GATEWAY_PARTS = ("cpu", "up", "down", "slots")

Table = NDArray[np.int32]


@dataclass(frozen=True)
class Osd:
    """Where an OSD's parts are: columns of the placement table."""

    first: int

    def __getattr__(self, part: str) -> Member:
        return Member(0, self.first + _OSD_PARTS.index(part))


class Stations:
    """Numbers the stations of a spec, and lays the placement table out.

    A row of the table is an object's place: for each lane (a RADOS object of it) the OSDs of its placement group, then
    the token of its bucket index shard and the OSDs of that. Rows are spread evenly over placement groups and shards.
    """

    def __init__(self, spec: CephSpec, laws: Laws):
        self.spec = spec
        self._depth = laws.drive.queue_depth
        self._member_s = laws.commit(0)[1]
        self._deferred = laws.deferred_limit
        self.all: list[Station] = []
        hosts, gateways = spec.hosts, spec.gateways
        self.latency = self._add("network latency", "network latency", Discipline.DELAY)
        self.client_up = self._add("clients up", "client network", Discipline.PROCESSOR_SHARING, spec.client.nodes)
        self.client_down = self._add("clients down", "client network", Discipline.PROCESSOR_SHARING, spec.client.nodes)
        cores = spec.osd_cores
        self.host_cpus: list[int] = []
        self._osds = np.empty((hosts.count * hosts.drives, len(_OSD_PARTS)), np.int32)
        for h in range(hosts.count):
            cpu = self._add(f"host {h} cpu", "osd host cpu", Discipline.RANDOM_ORDER, cores)
            self.host_cpus.append(cpu)
            up, down = self._nic(f"host {h}")
            for osd in range(h * hosts.drives, (h + 1) * hosts.drives):
                self._osds[osd] = (cpu, up, down, *self._osd(osd))
        members = [self._gateway(g) for g in range(gateways.count)]
        self.groups = (Group(_CHOICES[gateways.balance], np.array(members, np.int32)),)
        self.table = self._table()

    @property
    def width(self) -> int:
        """OSDs of a placement group of the data pool."""
        return self.spec.pools.data.width

    def osd(self, lane: int, member: int) -> Osd:
        """The OSD that has shard or replica `member` of the RADOS object in a lane; member 0 is the primary."""
        return Osd((lane * self.width + member) * len(_OSD_PARTS))

    @property
    def shard(self) -> Member:
        """The token of an object's bucket index shard."""
        return Member(0, LANES * self.width * len(_OSD_PARTS))

    def index_osd(self, member: int) -> Osd:
        """The OSDs of an object's bucket index shard; member 0 is the primary."""
        return Osd(LANES * self.width * len(_OSD_PARTS) + 1 + member * len(_OSD_PARTS))

    @staticmethod
    def gateway(part: str) -> Bound:
        """A part of the gateway that a request came to."""
        return Bound(0, _GATEWAY_PARTS.index(part))

    def _add(self, name: str, role: str, discipline: Discipline, servers: int = 1, **more: float) -> int:
        self.all.append(Station(name, role, discipline, servers, **more))  # type: ignore[arg-type]
        return len(self.all) - 1

    def _nic(self, owner: str) -> tuple[int, int]:
        up = self._add(f"{owner} up", "network", Discipline.PROCESSOR_SHARING)
        return up, self._add(f"{owner} down", "network", Discipline.PROCESSOR_SHARING)

    def _osd(self, osd: int) -> tuple[int, int, int]:
        drive = self._add(f"osd {osd} drive", "drive", Discipline.FIFO, self._depth)
        kv = self._add(f"osd {osd} kv", "kv sync", Discipline.GROUP_COMMIT, batch_item_s=self._member_s)
        throttle = self._add(f"osd {osd} deferred", "deferred writes", Discipline.POOL, self._deferred)
        return drive, kv, throttle

    def _gateway(self, g: int) -> tuple[int, ...]:
        gateways = self.spec.gateways
        cpu = self._add(f"rgw {g} cpu", "rgw cpu", Discipline.RANDOM_ORDER, gateways.cores)
        if gateways.collocated:
            up, down = (int(i) for i in self._osds[g % self.spec.hosts.count * self.spec.hosts.drives][1:3])
        else:
            up, down = self._nic(f"rgw {g}")
        slots = gateways.threads if gateways.frontend == "civetweb" else gateways.max_requests
        limit = gateways.queue
        return cpu, up, down, self._add(f"rgw {g} slots", "rgw slots", Discipline.POOL, slots, queue_limit=limit)

    def _table(self) -> Table:
        spec = self.spec
        pools, hosts = spec.pools, spec.hosts
        shards = min(spec.buckets.shards * spec.workload.buckets, _MAX_SHARD_STATIONS)
        first = len(self.all)
        for shard in range(shards):
            self._add(f"index shard {shard}", "index shard", Discipline.POOL)
        rows = -(-max(pools.pg_num, 1024) // shards) * shards
        groups = place(pools.pg_num, self.width, hosts.count, hosts.drives, pools.failure_domain)
        index = place(shards, pools.index_replicas, hosts.count, hosts.drives, pools.failure_domain, seed=1)
        row = np.arange(rows)
        lanes = [self._osds[groups[_shuffled(rows, lane) % pools.pg_num]].reshape(rows, -1) for lane in range(LANES)]
        tokens = (first + row % shards)[:, None]
        table: Table = np.hstack([*lanes, tokens, self._osds[index[row % shards]].reshape(rows, -1)]).astype(np.int32)
        return table


def _shuffled(rows: int, lane: int) -> NDArray[np.int64]:
    order: NDArray[np.int64] = np.argsort(uniforms(lane, stream_id("ceph/rows"), 0, rows), kind="stable")
    return order

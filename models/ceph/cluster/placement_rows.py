"""The rows of the placement tables: the OSDs of a RADOS object, and of the bucket index shard of an S3 object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.ceph.faults.osd_map import Epoch, acting
from models.ceph.mechanisms.balancer import balanced, while_out
from models.ceph.mechanisms.crush import NO_OSD, FailureDomain, place
from models.ceph.mechanisms.resharding import Reshard
from models.ceph.spec.spec import CephSpec
from traces.random_streams import stream_id, uniforms

_MAX_SHARD_STATIONS = 8192  # with more index shards than this, none is busy, and several share a station

Osds = NDArray[np.int32]
Pool = Literal["data", "index"]


class PlacementRows:
    """The rows, each of which is the place of an object; they are spread evenly over placement groups and index shards.

    Attributes:
        shards: number of stations for the index shards of all buckets.
        count: number of rows.
    """

    def __init__(self, spec: CephSpec, reshards: Sequence[Reshard] = ()):
        self.spec, self.reshards, self.layout = spec, reshards, spec.layout
        buckets = spec.workload.total_buckets
        self.shards = min(spec.buckets.shards * buckets, _MAX_SHARD_STATIONS) if spec.access.via_gateways else 1
        most = min(max((r.new_shards for r in reshards), default=0) * buckets, _MAX_SHARD_STATIONS)
        self.count = -(-max(spec.pools.pg_num, 1024, most) // self.shards) * self.shards
        self._placed = cache(self._place)

    def data(self, out: frozenset[int] = frozenset()) -> Osds:
        """Return the OSDs of the data pool's placement groups while some are out, shape (pg_num, width)."""
        with_data = frozenset(osd for osd in out if osd < self.layout.data_osds)
        pools = self.spec.pools
        return self._placed(pools.pg_num, pools.data.width, with_data, 0, self.spec.upmap_max_deviation)

    def objects(self, epoch: Epoch) -> Osds:
        """Return the OSDs that serve each row's RADOS object, then `NO_OSD`, shape (rows, width)."""
        return acting(self.data(epoch.out), epoch.down)[self.groups]

    def missing(self, epoch: Epoch) -> NDArray[np.int64]:
        """Return the number of missing data chunks of an erasure code in each row, shape (rows,)."""
        chunks = self.data(epoch.out)[:, : self.spec.pools.data.data_shards]
        gone = np.isin(chunks, list(epoch.down)) | (chunks == NO_OSD)
        missing: NDArray[np.int64] = gone.sum(axis=1)[self.groups]
        return missing

    def index(self, epoch: Epoch) -> Osds:
        """Return the OSDs that serve each row's index shard, shape (rows, index_replicas)."""
        row = np.arange(self.count)
        osds = self._placed_index(self.shards, epoch.out, 1)[row % self.shards]
        for number in sorted(epoch.resharded):
            rows = self.of_bucket(self.reshards[number].bucket)
            shards = self.new_shards(number)
            osds[rows] = self._placed_index(shards, epoch.out, 2 + number)[np.arange(len(rows)) % shards]
        return acting(osds, epoch.down)

    def tokens(self, epoch: Epoch) -> NDArray[np.int64]:
        """Return the index shard of each row; initial shards are numbered first, then those of each reshard."""
        tokens = np.arange(self.count) % self.shards
        first = self.shards
        for number in range(len(self.reshards)):
            if number in epoch.resharded:
                rows = self.of_bucket(self.reshards[number].bucket)
                tokens[rows] = first + np.arange(len(rows)) % self.new_shards(number)
            first += self.new_shards(number)
        return tokens

    def new_shards(self, number: int) -> int:
        """Return the number of stations for the shards of a reshard."""
        event = self.reshards[number]
        return min(event.new_shards, len(self.of_bucket(event.bucket)))

    def of_bucket(self, bucket: int) -> NDArray[np.int64]:
        """Return the rows of a bucket, in order, with those of other buckets on the same shard stations."""
        buckets = self.spec.workload.total_buckets
        first, end = bucket * self.shards // buckets, -(-(bucket + 1) * self.shards // buckets)
        shard = np.arange(self.count) % self.shards
        return np.flatnonzero((shard >= first) & (shard < end))

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The placement group of each row's RADOS object."""
        order: NDArray[np.int64] = np.argsort(uniforms(0, stream_id("ceph/rows"), 0, self.count), kind="stable")
        return order % self.spec.pools.pg_num

    def _placed_index(self, shards: int, out: frozenset[int], seed: int) -> Osds:
        """Return the OSDs of index shards; those that have only indexes are numbered after the others."""
        spec, replicas = self.spec, self.spec.index_replicas
        if spec.index is None:
            return self._placed(shards, replicas, out, seed)
        first, each = self.layout.data_osds, np.diff(self.layout.first_index_osd)
        own_out = frozenset(osd - first for osd in out if osd >= first)
        own = _placed_on(shards, replicas, tuple(each.tolist()), None, spec.pools.failure_domain, own_out, seed)
        return np.where(own == NO_OSD, NO_OSD, own + np.int32(first))

    def _place(self, groups: int, width: int, out: frozenset[int], seed: int, max_deviation: int | None = None) -> Osds:
        layout, domain = self.layout, self.spec.pools.failure_domain
        each = tuple(np.diff(layout.first_osd).tolist())
        weights = None if layout.weights is None else tuple(layout.weights[g] for g in layout.group_of_host.tolist())
        return _placed_on(groups, width, each, weights, domain, out, seed, max_deviation)


def _placed_on(
    groups: int,
    width: int,
    osds: tuple[int, ...],
    weights: tuple[float, ...] | None,
    domain: FailureDomain,
    out: frozenset[int],
    seed: int,
    max_deviation: int | None = None,
) -> Osds:
    """Return the OSDs of placement groups on hosts with these numbers of OSDs, and weights of each of them.

    Hosts with fewer OSDs than others are filled up with some of weight 0, which CRUSH never chooses.
    """
    most = max(osds)
    if weights is None and min(osds) == most:
        return _placed(groups, width, len(osds), most, domain, out, seed, max_deviation)
    is_there = np.arange(most) < np.array(osds)[:, None]
    weight = np.where(is_there, 1.0 if weights is None else np.array(weights)[:, None], 0.0).ravel()
    places = np.flatnonzero(is_there)  # of each OSD, host by host
    down = frozenset(places[list(out)].tolist())
    found = _placed(groups, width, len(osds), most, domain, down, seed, max_deviation, tuple(weight.tolist()))
    osd_at = np.cumsum(is_there.ravel(), dtype=np.int32) - 1
    return np.where(found == NO_OSD, NO_OSD, osd_at[found]).astype(np.int32)


@lru_cache(maxsize=64)
def _placed(
    groups: int,
    width: int,
    hosts: int,
    drives: int,
    domain: FailureDomain,
    out: frozenset[int],
    seed: int,
    max_deviation: int | None = None,
    weights: tuple[float, ...] | None = None,
) -> Osds:
    """Return the OSDs of placement groups; cached, because runs of the same cluster have the same.

    Args:
        max_deviation: of the balancer; None: there is none.
    """
    if max_deviation is None:
        weight = None if weights is None else np.array(weights)
        osds = place(groups, width, hosts, drives, domain, weights=weight, down=out, seed=seed)
    else:
        by_crush = _placed(groups, width, hosts, drives, domain, frozenset(), seed, None, weights)
        domains = np.arange(hosts * drives) // (drives if domain == "host" else 1)
        if out:
            healthy = _placed(groups, width, hosts, drives, domain, frozenset(), seed, max_deviation, weights)
            remapped = _placed(groups, width, hosts, drives, domain, out, seed, None, weights)
            osds = while_out(healthy, by_crush, remapped, domains, sorted(out))
        else:
            weight = np.ones(hosts * drives) if weights is None else np.array(weights)
            osds = balanced(by_crush, weight, domains, max_deviation)
    osds.flags.writeable = False
    return osds

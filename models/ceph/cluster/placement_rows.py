"""The rows of the placement tables: the OSDs of a RADOS object, and of the bucket index shard of an S3 object."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.ceph.faults.osd_map import Epoch, acting
from models.ceph.mechanisms import given_placement
from models.ceph.mechanisms.balancer import balanced
from models.ceph.mechanisms.crush import NO_OSD, FailureDomain, place
from models.ceph.mechanisms.resharding import Reshard
from models.ceph.spec.spec import CephSpec
from traces.random_streams import stream_id, uniforms

_MAX_SHARD_STATIONS = 8192  # with more index shards than this, none is busy, and several share a station

Osds = NDArray[np.int32]
Pool = Literal["data", "second", "index"]


class PlacementRows:
    """The rows, each of which is the place of an object; they are spread evenly over placement groups and index shards.

    Attributes:
        shards: number of stations for the index shards of all buckets.
        count: number of rows.
    """

    def __init__(self, spec: CephSpec, reshards: Sequence[Reshard] = (), least: int = 1024):
        """`least`: number of rows at least; tables of one network have as many."""
        self.spec, self.reshards, self.layout = spec, reshards, spec.layout
        buckets = spec.workload.total_buckets
        self.shards = min(spec.buckets.shards * buckets, _MAX_SHARD_STATIONS) if spec.access.via_gateways else 1
        most = min(max((r.new_shards for r in reshards), default=0) * buckets, _MAX_SHARD_STATIONS)
        self.count = -(-max(spec.pools.pg_num, least, most) // self.shards) * self.shards
        self._placed, self._as_given = cache(self._place), cache(self._given)

    def data(self, out: frozenset[int] = frozenset()) -> Osds:
        """Return the OSDs of the data pool's placement groups while some are out, shape (pg_num, width)."""
        if self.spec.pools.osd_pgs or self.spec.pools.osd_primaries:
            return self._as_given(self._with_data(out))
        pools, most = self.spec.pools, self.spec.upmap_max_deviation
        return self._placed(pools.pg_num, pools.data.width, self._with_data(out), 0, "data", most)

    def _given(self, out: frozenset[int]) -> Osds:
        """Return `data` with the numbers of placement groups and primaries of each OSD that the spec has."""
        pools, layout = self.spec.pools, self.layout
        each = tuple(np.diff(layout.first_osd).tolist())
        args = pools.pg_num, pools.data.width, each, self._weights("data"), pools.failure_domain
        return _placed_as_given(*args, pools.osd_pgs, pools.osd_primaries, out)

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
            return self._placed(shards, replicas, self._with_data(out), seed, "index")
        first, each = self.layout.data_osds, np.diff(self.layout.first_index_osd)
        own_out = frozenset(osd - first for osd in out if osd >= first)
        own = _placed_on(shards, replicas, tuple(each.tolist()), None, spec.pools.failure_domain, own_out, seed)
        return np.where(own == NO_OSD, NO_OSD, own + np.int32(first))

    def _with_data(self, osds: frozenset[int]) -> frozenset[int]:
        """Return those OSDs that have data; others have only indexes."""
        return frozenset(osd for osd in osds if osd < self.layout.data_osds)

    def _place(
        self, groups: int, width: int, out: frozenset[int], seed: int, pool: Pool, max_deviation: int | None = None
    ) -> Osds:
        each, domain = tuple(np.diff(self.layout.first_osd).tolist()), self.spec.pools.failure_domain
        return _placed_on(groups, width, each, self._weights(pool), domain, out, seed, max_deviation)

    def _weights(self, pool: Pool) -> tuple[float, ...] | None:
        """Return the weight of each OSD with data in a pool; None: all are equal."""
        layout = self.layout
        of_groups = layout.index_weights if pool == "index" else layout.weights
        if of_groups is None:
            return None
        return tuple(of_groups[g] for g in layout.group_of_osd[: layout.data_osds].tolist())


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
    """Return the OSDs of placement groups on hosts with these numbers of OSDs, and weights of the OSDs.

    Hosts with fewer OSDs than others are filled up with some of weight 0, which CRUSH never chooses.
    """
    most = max(osds)
    if weights is None and min(osds) == most:
        return _placed(groups, width, len(osds), most, domain, out, seed, max_deviation)
    is_there = np.arange(most) < np.array(osds)[:, None]
    places = np.flatnonzero(is_there)  # of each OSD, host by host
    weight = np.zeros(is_there.size)
    weight[places] = 1.0 if weights is None else weights
    down = frozenset(places[list(out)].tolist())
    found = _placed(groups, width, len(osds), most, domain, down, seed, max_deviation, tuple(weight.tolist()))
    osd_at = np.cumsum(is_there.ravel(), dtype=np.int32) - 1
    return np.where(found == NO_OSD, NO_OSD, osd_at[found]).astype(np.int32)


@lru_cache(maxsize=64)
def _placed_as_given(
    groups: int,
    width: int,
    osds: tuple[int, ...],
    weights: tuple[float, ...] | None,
    domain: FailureDomain,
    osd_pgs: tuple[float, ...],
    osd_primaries: tuple[float, ...],
    out: frozenset[int],
) -> Osds:
    """Return the OSDs of placement groups with these numbers on each OSD; those that are not given follow from weights.

    Placement groups with OSDs that are out keep their others, and their primary if it is one of these.
    """
    count, moved = sum(osds), list[given_placement.Move]()
    domains = np.arange(count) if domain == "osd" else np.repeat(np.arange(len(osds)), osds)
    if osd_pgs:
        wanted = given_placement.targets(osd_pgs, groups * width)

        def place_by(by: NDArray[np.float64]) -> Osds:
            return _placed_on(groups, width, osds, tuple(by.tolist()), domain, frozenset(), 0)

        first = np.ones(count) if weights is None else np.array(weights)
        weights = tuple(given_placement.fitted_weights(place_by, first, wanted).tolist())
        moved = given_placement.moves(place_by(np.array(weights)), wanted, domains)
    whole = given_placement.moved(_placed_on(groups, width, osds, weights, domain, frozenset(), 0), moved)
    table = whole
    if out:
        again = _placed_on(groups, width, osds, weights, domain, out, 0)
        weight = np.ones(count) if weights is None else np.array(weights)
        table = given_placement.without(whole, again, domains, weight, out)
    if osd_primaries:
        chosen = given_placement.primaries(whole, given_placement.targets(osd_primaries, groups))
        at = np.arange(groups)
        table = given_placement.in_front(table, chosen, table[at, chosen] != whole[at, chosen])
    table.flags.writeable = False
    return table


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
        domains = np.arange(hosts * drives) // (drives if domain == "host" else 1)
        weight = np.ones(hosts * drives) if weights is None else np.array(weights)
        if out:
            whole = _placed(groups, width, hosts, drives, domain, frozenset(), seed, max_deviation, weights)
            again = _placed(groups, width, hosts, drives, domain, out, seed, None, weights)
            osds = given_placement.without(whole, again, domains, weight, out)
        else:
            by_crush = _placed(groups, width, hosts, drives, domain, frozenset(), seed, None, weights)
            osds = balanced(by_crush, weight, domains, max_deviation)
    osds.flags.writeable = False
    return osds

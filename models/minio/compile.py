"""MinIO as stations and routes: hosts with their drives in erasure sets, and the clients.

`routes.py` has the order of visits, `places.py` the stations of an object and a coordinator, `layout.py` the erasure
sets, `epochs.py` and `faults.py` what fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.below.absent import absent_rows
from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.hosts.speed_groups import slowest_fraction
from models.minio.background.maintenance import healed_s, works_of
from models.minio.background.movement import moved_pools
from models.minio.cluster.cached import cached
from models.minio.cluster.places import Places
from models.minio.cluster.stations import Stations
from models.minio.requests.copies import Copied
from models.minio.requests.multipart import Download, Upload
from models.minio.requests.parts import BLOCK_BYTES
from models.minio.requests.request import BASIC, Kind
from models.minio.requests.routes import Builder
from models.minio.requests.shard_accesses import blocks_beyond, reads, visits_of, writes
from models.minio.spec.faults import MinioHostDown, RackDown, slowdowns
from models.minio.spec.spec import MinioSpec
from models.network.demand_sheet import Cycle, Requests
from models.network.distinct_rows import distinct_rows
from models.network.network import Network
from models.network.route import Route
from models.network.scenario import Action
from models.shared.background import with_background
from models.shared.faults import SlowParts, outage_actions
from models.shared.links import acknowledged_rounds
from models.shared.multipart import SubRoutes, in_parts
from models.shared.recent import Recent
from models.shared.work import with_works
from traces.operations import LIST, OPS, PUT, rows_that
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace


@dataclass(frozen=True)
class Builders:
    """The classes that build routes: of single requests, copies, and uploads and downloads in parts.

    A store with MinIO's layout and other requests has classes of its own.
    """

    single: type[Builder] = Builder
    copied: type[Copied] = Copied
    upload: type[Upload] = Upload
    download: type[Download] = Download


_SHAPELESS = ("workload", "background", "prices", "assumed")
"""Sections of a spec without effect on the cluster."""
_MOST_CLUSTERS, _MOST_NETWORKS = 4, 8
"""Numbers of clusters, and of networks of each, that are kept."""


class Cluster:
    """What a cluster is whatever its requests: stations, placement, its own work, and the routes of kinds of requests.

    Attributes:
        spec: without a workload.
        stations, places: those of the spec.
    """

    def __init__(self, spec: MinioSpec, buckets: int, builders: Builders):
        """`buckets`: number of those of the workload, which the scanner visits."""
        self.spec, self._builders = spec, builders
        self.stations = Stations(spec)
        self.places = Places(spec, self.stations, healed_s(spec))
        self._own = tuple(self.stations.all)
        self._works = works_of(spec, self.stations, self.places, buckets)
        self._all = tuple(self.stations.all)
        self._networks = Recent[tuple[Kind, ...], Network](_MOST_NETWORKS)

    def network(self, kinds: Sequence[Kind]) -> Network:
        """Return the network with the routes of kinds of requests, without the cluster's own work."""
        return self._networks.of(tuple(kinds), lambda: self._network(kinds))

    def _network(self, kinds: Sequence[Kind]) -> Network:
        spec, stations, places = self.spec, self.stations, self.places
        scenario = (*places.scenario, *_changes(spec, stations))
        groups = (*places.groups, *stations.clients.groups)
        routes = _routes(spec, stations, places, kinds, self._builders)
        return Network(self._own, routes, places.tables, groups, scenario)

    def with_works(self, network: Network, requests: Requests) -> tuple[Network, Requests]:
        """Return network and requests with the cluster's own work added.

        Raises:
            InputError: there is such work in a closed loop without a duration.
        """
        return with_works(self._works, self._all, network, requests)


_CLUSTERS = Recent[tuple[MinioSpec, int], Cluster](_MOST_CLUSTERS)


def compile(
    spec: MinioSpec, trace: Trace, waiting: float | None = None, builders: Builders = Builders()
) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    Args:
        spec: of the cluster.
        trace: its requests.
        waiting: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
        builders: what builds routes, which follow from the class of the spec.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace, builders=builders))
    spec, buckets = _at_depth(spec, waiting), spec.workload.total_buckets
    # Without what shapes no cluster, so that variants of a workload share theirs.
    shape = spec.model_copy(update=dict.fromkeys(_SHAPELESS)), buckets
    cluster = _CLUSTERS.of(shape, lambda: Cluster(*shape, builders))
    kinds, kind_of = _kinds(spec, cluster.stations, trace)
    network = cluster.network(kinds)
    requests = _requests(spec, cluster.places, network, trace, kinds, kind_of)
    network, requests = cluster.with_works(network, requests)
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: MinioSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks.

    A request waits for the drives of a set, a LIST for all drives. Reads that caches answer are counted. If drives
    differ in speed, requests wait for the slowest ones.
    """
    per_host = [(drives.count, speed) for hosts, drives, _ in spec.layouts for speed in hosts.of_hosts("drive_speed")]
    slow = slowest_fraction([speed for count, speed in per_host for _ in range(count)])
    accesses = np.where(trace.op == LIST, spec.total_drives, spec.layout.size).astype(np.float64)
    pools = [drives for _, drives, _ in spec.layouts]
    return hdd_queue(pools, trace, accesses * slow, round(spec.total_drives * slow))


def _at_depth(spec: MinioSpec, waiting: float) -> MinioSpec:
    """Return the spec with the times of hard disks at which `waiting` accesses wait on average, at least 1."""
    pools = tuple(pool.model_copy(update={"drives": pool.drives.at_depth(waiting)}) for pool in spec.pools)
    return spec.model_copy(update={"drives": spec.drives.at_depth(waiting), "pools": pools})


def _routes(
    spec: MinioSpec, stations: Stations, places: Places, kinds: Sequence[Kind], builders: Builders
) -> tuple[Route, ...]:
    """Return the routes of kinds of requests, of sub-requests, and of requests that begin a garbage collection."""
    found, started = [], SubRoutes(len(kinds))
    for kind in kinds:
        of = spec, stations, places, kind
        if kind.in_parts:
            found.append({"PUT": builders.upload, "GET": builders.download}[kind.op](*of, started).route())
        else:
            found.append((builders.copied if kind.op == "COPY" else builders.single)(*of).route())
    collector = spec.hosts.garbage_collector
    collecting = collector.collecting(found, places.head(0, "cpu"), spec.hosts.cores.count, stations.latency)
    return (*found, *started.all, *collecting)


def _changes(spec: MinioSpec, stations: Stations) -> list[Action]:
    """Return the effects of faults on stations, except for failed parts, which requests avoid (`places`)."""
    actions: list[Action] = []
    links = (stations.up, stations.down)
    if spec.total_hosts == 1:  # nothing takes over its work
        outages = [(fault.at, fault.back_s) for fault in spec.faults if isinstance(fault, MinioHostDown | RackDown)]
        own = [*stations.cpu, *links, *stations.drive, *stations.journal, *stations.ins, *stations.outs]
        actions = outage_actions(outages, [k for k in dict.fromkeys(map(int, own)) if k != stations.nowhere])
    return [
        *actions,
        *slowdowns(
            spec.faults, cpu=stations.cpu.tolist(), links=links, ins=stations.ins.tolist(),
            outs=stations.outs.tolist(), drives=stations.drive.tolist(), journals=stations.journal.tolist(),
            per_host=spec.drives.count,
            always=SlowParts(drives=stations.drives, cores=stations.cores, links=stations.links),
        ),
        *stations.changes,
    ]  # fmt: skip


def _kinds(spec: MinioSpec, stations: Stations, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; those of `BASIC` come first."""
    kinds, index = list(BASIC), {kind: number for number, kind in enumerate(BASIC)}
    size, count = trace.size_bytes, len(trace)
    pool = _pools(spec, stations, trace)
    data = np.array([p.layout.data for p in stations.pools])[pool]
    copies, moves = rows_that(trace.op, "copies"), rows_that(trace.op, "moves_bytes")
    parts = in_parts(spec.client.multipart, np.where(moves, trace.transfer_bytes, 0))
    inline = (-(-size // data) <= spec.inline_bytes) & ~parts
    read_bytes, more_blocks = trace.transfer_bytes, np.where(parts, -1, blocks_beyond(trace))
    if spec.client.multipart is not None:
        size, read_bytes = (np.where(parts, spec.client.multipart.part_size, each) for each in (size, read_bytes))
    large = (size > BLOCK_BYTES) if any(p.hosts.nic for p in stations.pools) else np.zeros(count, bool)
    replaced = np.zeros(count, bool)
    if spec.overwrites:
        replaced = uniforms(0, stream_id("overwrites"), 0, count) < spec.overwrites
    whole_bytes = (-(-read_bytes // BLOCK_BYTES) + more_blocks) * BLOCK_BYTES
    read_bytes = np.where(more_blocks < 0, read_bytes, whole_bytes)
    accesses, source = np.ones(count, np.int64), np.ones(count, np.int64)
    for number, each in enumerate(stations.pools):
        get, put = ((pool == number) & (trace.op == OPS.index(op)) for op in ("GET", "PUT"))
        accesses[get & ~inline] = reads(each, read_bytes[get & ~inline])
        put |= (pool == number) & copies
        accesses[put] = writes(each, size[put], inline[put])
        copy = put & copies & ~inline
        source[copy] = reads(each, size[copy])
    has_metadata, has_data = cached(spec, trace, pool, inline, replaced)
    visits_each = np.where(has_data, 1, visits_of(np.maximum(accesses, 1)))
    replacing = (trace.op == PUT) & replaced
    rounds = np.zeros(count, np.int64)
    if spec.network.queue:
        sizes, of_size = np.unique(np.minimum(trace.transfer_bytes, BLOCK_BYTES), return_inverse=True)
        of_sizes = np.array([acknowledged_rounds(size) for size in sizes.tolist()], np.int64)
        rounds = np.where(moves, of_sizes[of_size], 0)
    sources, stores = visits_of(source), moves | copies
    inlined, too_large = stores & inline, stores & ~inline & large
    parts &= ~has_data
    forms, which = distinct_rows(
        [trace.op, pool, inlined, too_large, visits_each, replacing, has_metadata, has_data, parts, rounds, sources,
         np.where(has_data, -1, more_blocks), absent_rows(trace)]
    )  # fmt: skip
    numbers = []
    for op, number, is_inline, is_large, visits, replaces, *others in forms.tolist():
        *caches, has_parts, rounds_of, read, more, is_absent = others
        name = OPS[op]
        shape, (metadata, data_too) = (bool(is_inline), bool(is_large), visits, bool(replaces)), map(bool, caches)
        of_range = None if more < 0 else more
        kind = Kind(
            name, number, *shape, metadata, data_too, bool(has_parts), rounds_of, read, of_range, bool(is_absent)
        )
        if kind not in index:
            index[kind] = len(kinds)
            kinds.append(kind)
        numbers.append(index[kind])
    return kinds, np.array(numbers, np.int32)[which] if numbers else np.zeros(0, np.int32)


def _pools(spec: MinioSpec, stations: Stations, trace: Trace) -> NDArray[np.int64]:
    """Return the pool of each request's object: a random one, by free space."""
    if not spec.pools:
        return np.zeros(len(trace), np.int64)
    from models.network.placement import key_hashes

    weights = np.cumsum([1.0, *(pool.weight for pool in spec.pools)])
    place = (key_hashes(trace) >> np.uint64(32)).astype(np.float64) / 2.0**32 * weights[-1]
    pool = np.asarray(np.searchsorted(weights, place, side="right").clip(0, len(weights) - 1), np.int64)
    return moved_pools(spec, trace, pool)


def _requests(
    spec: MinioSpec, places: Places, network: Network, trace: Trace, kinds: list[Kind], kind_of: NDArray[np.int32]
) -> Requests:
    route, cycle = kind_of, None
    issued = slice(trace.issued)
    garbage_collector = spec.hosts.garbage_collector
    if garbage_collector.mark_work:
        inline = np.array([kind.inline for kind in kinds])[kind_of]
        inline |= ~np.isin(trace.op, [OPS.index("GET"), OPS.index("PUT")]) & (
            -(-trace.size_bytes // spec.data_shards) <= spec.inline_bytes
        )
        each = garbage_collector.cycles(trace.op[issued], trace.transfer_bytes[issued], inline[issued])
        # Routes with a collection come after all others, in their order.
        cycle = Cycle("garbage collection", each, kind_of[issued], len(network.routes) - len(kinds))
        route = kind_of.copy()
        route[issued] = cycle.route()
    requests = replace(Requests.of(trace, route), cycle=cycle)
    if places.bound or len(places.coordinators) == 1:
        return requests
    key_hash, rows = requests.key_hash.copy(), np.arange(len(requests))
    of_pool = np.array([kind.pool for kind in kinds])[kind_of[issued]]
    for pool in range(len(places.tables)):
        mine = np.flatnonzero(of_pool == pool)
        key_hash[mine] = places.row_hashes(pool, key_hash[mine], rows[mine])
    return replace(requests, key_hash=key_hash)

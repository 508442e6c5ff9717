"""MinIO as stations and routes: hosts with their drives in erasure sets, and the clients.

`routes.py` has the order of visits, `places.py` the stations of an object and a coordinator, `layout.py` the erasure
sets, `epochs.py` and `faults.py` what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.minio.background.maintenance import healed_s, with_maintenance
from models.minio.background.movement import moved_pools
from models.minio.cluster.cached import cached
from models.minio.cluster.places import Places
from models.minio.cluster.stations import Stations
from models.minio.requests.multipart import Download, Upload
from models.minio.requests.parts import BLOCK_BYTES
from models.minio.requests.request import BASIC, Kind
from models.minio.requests.routes import Builder
from models.minio.requests.shard_accesses import reads, visits_of, writes
from models.minio.spec.faults import MinioHostDown, RackDown, slowdowns
from models.minio.spec.spec import MinioSpec
from models.network.demand_sheet import Cycle, Requests
from models.network.network import Network
from models.network.route import Route
from models.network.scenario import Action
from models.shared.background import with_background
from models.shared.faults import outage_actions
from models.shared.links import acknowledged_rounds
from models.shared.multipart import SubRoutes, in_parts
from traces.distinct_rows import distinct_rows
from traces.operations import LIST, OPS, PUT, rows_that
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace


def compile(spec: MinioSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = _at_depth(spec, waiting)
    stations = Stations(spec)
    places = Places(spec, stations, healed_s(spec))
    kinds, kind_of = _kinds(spec, stations, trace)
    found = _routes(spec, stations, places, kinds)
    scenario = (*places.scenario, *_changes(spec, stations))
    groups = (*places.groups, *stations.clients.groups)
    network = Network(tuple(stations.all), found, places.tables, groups, scenario)
    requests = _requests(spec, places, network, trace, kinds, kind_of)
    network, requests = with_maintenance(spec, stations, places, network, requests)
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: MinioSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks.

    A request waits for the drives of a set, a LIST for all drives. Reads that caches answer are counted.
    """
    accesses = np.where(trace.op == LIST, spec.total_drives, spec.layout.size).astype(np.float64)
    return hdd_queue([drives for _, drives, _ in spec.layouts], trace, accesses, spec.total_drives)


def _at_depth(spec: MinioSpec, waiting: float) -> MinioSpec:
    """Return the spec with the times of hard disks at which `waiting` accesses wait on average, at least 1."""
    pools = tuple(pool.model_copy(update={"drives": pool.drives.at_depth(waiting)}) for pool in spec.pools)
    return spec.model_copy(update={"drives": spec.drives.at_depth(waiting), "pools": pools})


def _routes(spec: MinioSpec, stations: Stations, places: Places, kinds: list[Kind]) -> tuple[Route, ...]:
    """Return the routes of kinds of requests, of sub-requests, and of requests that begin a garbage collection."""
    found, started = [], SubRoutes(len(kinds))
    for kind in kinds:
        of = spec, stations, places, kind
        builder = {"PUT": Upload, "GET": Download}[kind.op](*of, started) if kind.in_parts else Builder(*of)
        found.append(builder.route())
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
        ),
    ]  # fmt: skip


def _kinds(spec: MinioSpec, stations: Stations, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; those of `BASIC` come first."""
    kinds, index = list(BASIC), {kind: number for number, kind in enumerate(BASIC)}
    size, count = trace.size_bytes, len(trace)
    pool = _pools(spec, stations, trace)
    data = np.array([p.layout.data for p in stations.pools])[pool]
    moves = rows_that(trace.op, "moves_bytes")
    parts = in_parts(spec.client.multipart, np.where(moves, trace.transfer_bytes, 0))
    inline = (-(-size // data) <= spec.inline_bytes) & ~parts
    read_bytes = trace.transfer_bytes
    if spec.client.multipart is not None:
        size, read_bytes = (np.where(parts, spec.client.multipart.part_size, each) for each in (size, read_bytes))
    large = (size > BLOCK_BYTES) if any(p.hosts.nic for p in stations.pools) else np.zeros(count, bool)
    replaced = np.zeros(count, bool)
    if spec.overwrites:
        replaced = uniforms(0, stream_id("overwrites"), 0, count) < spec.overwrites
    accesses = np.ones(count, np.int64)
    for number, each in enumerate(stations.pools):
        get, put = ((pool == number) & (trace.op == OPS.index(op)) for op in ("GET", "PUT"))
        accesses[get & ~inline] = reads(each, read_bytes[get & ~inline])
        accesses[put] = writes(each, size[put], inline[put])
    has_metadata, has_data = cached(spec, trace, pool, inline, replaced)
    visits_each = np.where(has_data, 1, visits_of(np.maximum(accesses, 1)))
    replacing = (trace.op == PUT) & replaced
    rounds = np.zeros(count, np.int64)
    if spec.network.queue:
        sizes, of_size = np.unique(np.minimum(trace.transfer_bytes, BLOCK_BYTES), return_inverse=True)
        of_sizes = np.array([acknowledged_rounds(size) for size in sizes.tolist()], np.int64)
        rounds = np.where(moves, of_sizes[of_size], 0)
    inlined, too_large = moves & inline, moves & ~inline & large
    parts &= ~has_data
    forms, which = distinct_rows(
        [trace.op, pool, inlined, too_large, visits_each, replacing, has_metadata, has_data, parts, rounds]
    )
    numbers = []
    for op, number, is_inline, is_large, visits, replaces, *caches, has_parts, rounds_of in forms.tolist():
        name = OPS[op]
        shape, (metadata, data_too) = (bool(is_inline), bool(is_large), visits, bool(replaces)), map(bool, caches)
        kind = Kind(name, number, *shape, metadata, data_too, bool(has_parts), rounds_of)
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

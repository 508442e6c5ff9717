"""A Ceph cluster as a Network: its stations, and a route for each kind of request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.stations import Stations
from models.ceph.cpu import at_speed
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.disk_load import DiskLoad, disk_load, disk_queue
from models.ceph.demands.index_osds import of_index
from models.ceph.demands.pool_of_requests import pool_of_requests
from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.requests.multipart import S3Routes
from models.ceph.requests.osd_routes import CUTS, Cut, Kind
from models.ceph.requests.rados_routes import DirectRoutes, MysqlRoutes
from models.ceph.requests.rgw_routes import Routes
from models.ceph.spec.access import Rbd
from models.ceph.spec.object_size import object_bytes
from models.ceph.spec.spec import CephSpec
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.shared.background import with_background
from models.shared.caches import object_hits
from models.shared.links import held_bytes
from models.shared.multipart import SubRoutes, in_parts
from models.shared.recent import Recent
from traces.errors import InputError
from traces.operations import DELETE, GET, OPS, PUT, rows_that
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

_ROUTES: dict[str, type[Routes]] = {"s3": S3Routes, "rados": DirectRoutes, "rbd": DirectRoutes, "mysql": MysqlRoutes}
_SHAPELESS = ("background", "prices", "assumed")
"""Sections of a spec without effect on the cluster."""
_COSTS = Recent[tuple[CephSpec, float, DiskLoad], CostFunctions](8)
_STATIONS = Recent[tuple[CephSpec, tuple[object, ...]], Stations](2)
_NETWORKS = Recent[tuple[CostFunctions, Stations, tuple[Kind, ...]], Network](8)


def compile(spec: CephSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.

    Raises:
        InputError: the stored objects do not fit on the OSDs, or the access path does not have an operation.
    """
    if waiting is None:
        return disk_queue(spec, trace).compiled(trace, partial(compile, spec, trace))
    # Without what shapes no cluster.
    shape = at_speed(spec).model_copy(update=dict.fromkeys(_SHAPELESS))
    of_trace = object_bytes(spec, trace), disk_load(spec, trace, waiting)
    costs = _COSTS.of((shape, *of_trace), lambda: CostFunctions(shape, *of_trace))
    if costs.state.fill_fraction > 1:
        whose = f" of group {costs.fullest.group}" if costs.fullest.group else ""
        raise InputError(
            f"stored.objects: {spec.stored.objects:g} objects would fill the OSDs{whose} to "
            f"{costs.state.fill_fraction:.0%}; at most about {spec.stored.objects / costs.state.fill_fraction:.2g} fit"
        )
    index_fill = max(of_index(each).state.fill_fraction for each in (costs, *costs.of_groups))
    if index_fill > 1:
        raise InputError(
            f"stored.objects: the index entries of {spec.stored.objects:g} objects would fill the drives of the index "
            f"to {index_fill:.0%}; at most about {spec.stored.objects / index_fill:.2g} fit"
        )
    stations = _STATIONS.of((shape, Stations.costs_of(shape, costs)), lambda: Stations(shape, costs))
    kinds, route = _kinds(shape, trace, costs)
    network = _NETWORKS.of((costs, stations, tuple(kinds)), lambda: _network(shape, costs, stations, kinds))
    requests = Requests.of(trace, route)
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "osd host cpu"})


def _network(spec: CephSpec, costs: CostFunctions, stations: Stations, kinds: Sequence[Kind]) -> Network:
    started, of_access = SubRoutes(len(kinds)), _ROUTES[spec.access.kind]
    pools = [of_access(pool, costs, stations.of_pool(number), started) for number, pool in enumerate(spec.data_pools)]
    of_requests = [pools[kind.pool].route(kind) for kind in kinds]
    return Network(
        tuple(stations.all), (*of_requests, *started.all), stations.placements, stations.groups,
        tuple(stations.scenario),
    )  # fmt: skip


def _kinds(spec: CephSpec, trace: Trace, costs: CostFunctions) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests in a Trace, and the index of each request's kind."""
    refused = next((OPS[op] for op in np.unique(trace.op).tolist() if OPS[op] not in spec.access.ops), None)
    if refused:
        raise InputError(f"workload: has {refused}; access {spec.access.kind} allows {', '.join(spec.access.ops)}")
    merged, is_put, moved = _merged_writes(spec, trace), trace.op == PUT, trace.handled_bytes
    size = np.where(is_put, np.maximum(moved, np.minimum(moved * merged, RGW_OBJECT_BYTES)), moved * 1.0)
    cut = _cut(spec, trace)
    tail = np.where((trace.op == DELETE) & (cut > 0), -(-trace.size_bytes // RGW_OBJECT_BYTES) - 1, 0)
    cut[trace.op == DELETE] = 0
    at_gateway = _gateway_hits(spec, trace)
    cached = object_hits(spec.osd.cache, trace, spec.osds, has_writes=False, reaches=~at_gateway)
    deferred = np.zeros(len(trace), np.int64)
    copies = rows_that(trace.op, "copies")
    # A whole object keeps the tail of its source; a part of an upload is read and written.
    shares = copies & (cut > 0) & ~trace.table.column("range_bytes").is_valid().to_numpy()
    held = np.zeros(len(trace), bool)
    if spec.holds_small_bodies:
        held = (trace.op == GET) & (cut == 0) & (moved > 0) & (moved <= held_bytes(spec.network.mtu))
    pool = pool_of_requests(spec, trace)
    for p, of_pool in enumerate(costs.of_pools):
        whole = (is_put | copies) & (cut == 0) & (pool == p)
        deferred[whole] = _deferred(size[whole], of_pool)
    forms = (trace.op.astype(np.int64), tail, cut, at_gateway, cached, deferred, shares, held, pool)
    numbers = np.ravel_multi_index(forms, tuple(int(form.max(initial=0)) + 1 for form in forms))
    _, firsts, route = np.unique(numbers, return_index=True, return_inverse=True)
    kinds: list[Kind] = []
    for number, row in enumerate(firsts.tolist()):
        op, how = OPS[trace.op[row]], CUTS[cut[row]]
        mean = _object_bytes(spec, size[route == number], how)
        of_pool = costs.of_pools[pool[row]]
        chunk = of_pool.spec.pools.data.chunk_bytes(round(mean))
        number_of_late = _deferring(chunk, of_pool) if how and op in ("PUT", "COPY") else int(deferred[row])
        late = tuple(bool(number_of_late >> group & 1) for group in range(len(costs.of_groups)))
        kinds.append(
            Kind(
                op, late, chunk, mean / chunk if chunk else 1.0, bool(cached[row]), bool(at_gateway[row]),
                merged if op == "PUT" else 1.0, how, int(tail[row]), bool(shares[row]), bool(held[row]),
                int(pool[row]),
            )
        )  # fmt: skip
    return kinds, route.astype(np.int32)


def _cut(spec: CephSpec, trace: Trace) -> NDArray[np.int64]:
    """Return how the bytes of each request are divided into RADOS objects, as an index into `CUTS`, shape (n,).

    Raises:
        InputError: an object has more parts than S3 allows.
    """
    if not spec.access.cuts:
        return np.zeros(len(trace), np.int64)
    of_object = np.where(trace.op == DELETE, trace.size_bytes, trace.handled_bytes)
    cut = np.where(of_object > RGW_OBJECT_BYTES, CUTS.index("in stripes"), 0)
    parted = in_parts(spec.client.multipart, np.where(trace.op == PUT, trace.size_bytes, 0))
    return np.where(parted, CUTS.index("in parts"), cut)


def _object_bytes(spec: CephSpec, size_bytes: NDArray[np.float64], cut: Cut) -> float:
    """Return the mean bytes of the RADOS objects of requests that are divided in the same way."""
    if not cut:
        return float(size_bytes.mean())
    whole, rest = np.zeros(len(size_bytes)), size_bytes
    if cut == "in parts" and spec.client.multipart is not None:
        part_bytes = spec.client.multipart.part_size
        parts, rest = np.divmod(size_bytes, part_bytes)
        whole = parts * -(-part_bytes // RGW_OBJECT_BYTES)
    return float(size_bytes.sum() / max((whole + np.ceil(rest / RGW_OBJECT_BYTES)).sum(), 1))


def _merged_writes(spec: CephSpec, trace: Trace) -> float:
    """Return the mean number of writes that librbd merges into one; an open loop merges none."""
    writes = trace.transfer_bytes[trace.op == PUT]
    if not isinstance(spec.access, Rbd) or not len(writes) or trace.pacing.loop != "closed":
        return 1.0
    return spec.access.merged_writes(float(writes.mean()), trace.pacing.clients / spec.workload.total_buckets)


def _gateway_hits(spec: CephSpec, trace: Trace) -> NDArray[np.bool_]:
    """Return which GETs the cache of their gateway serves; requests use gateways in turn, or random ones."""
    gateways, count = spec.gateways, len(trace)
    if not gateways.cache.present or not spec.access.via_gateways:
        return np.zeros(count, bool)
    where = np.arange(count) % gateways.count
    if gateways.balance != "round_robin":
        where = (uniforms(0, stream_id("ceph/gateways"), 0, count) * gateways.count).astype(np.int64)
    found = np.zeros(count, bool)
    for number in range(gateways.count):
        found |= object_hits(gateways.cache, trace, has_writes=False, reaches=where == number)
    return found


def _deferred(object_bytes: NDArray[np.float64], costs: CostFunctions) -> NDArray[np.int64]:
    """Return `_deferring` for the chunks of RADOS objects of these sizes, same shape."""
    sizes, index = np.unique(object_bytes, return_inverse=True)
    chunks = [costs.spec.pools.data.chunk_bytes(round(size)) for size in sizes.tolist()]
    result: NDArray[np.int64] = np.array([_deferring(chunk, costs) for chunk in chunks], np.int64)[index]
    return result


def _deferring(chunk_bytes: int, costs: CostFunctions) -> int:
    """Return on the OSDs of which groups of hosts a chunk is written after its commit: 1 for the first, 2, 4, ….

    `costs`: of the data pool.
    """
    has_data = [math.isfinite(each.osds) for each in costs.of_groups]
    late = [each.is_deferred(chunk_bytes) and has for each, has in zip(costs.of_groups, has_data, strict=True)]
    return sum(is_late << number for number, is_late in enumerate(late))

"""A Ceph cluster as a Network: its stations, and a route for each kind of request."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.stations import Stations
from models.ceph.cpu import at_speed
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.disk_load import DiskLoad, disk_load, disk_queue
from models.ceph.demands.index_osds import of_index
from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.requests.multipart import S3Routes
from models.ceph.requests.osd_routes import Kind
from models.ceph.requests.rados_routes import DirectRoutes, MysqlRoutes
from models.ceph.requests.rgw_routes import Routes
from models.ceph.spec.access import Rbd
from models.ceph.spec.object_size import object_bytes
from models.ceph.spec.spec import CephSpec
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.shared.background import with_background
from models.shared.caches import object_hits
from models.shared.multipart import simulated_parts
from models.spec.recent import Recent
from traces.errors import InputError
from traces.operations import DELETE, OPS, PUT
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

_ROUTES: dict[str, type[Routes]] = {"s3": S3Routes, "rados": DirectRoutes, "rbd": DirectRoutes, "mysql": MysqlRoutes}
_SHAPELESS = ("background", "prices", "assumed")
"""Sections of a spec without effect on the cluster."""
_COSTS = Recent[tuple[CephSpec, float, DiskLoad], CostFunctions](8)
_STATIONS = Recent[tuple[CephSpec, tuple[object, ...]], Stations](2)
_NETWORKS = Recent[tuple[CostFunctions, Stations, tuple[Kind, ...]], Network](8)
_MAX_OBJECTS = 64  # RADOS objects of an S3 object; larger S3 objects are modelled with larger RADOS objects


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
        raise InputError(
            f"stored.objects: {spec.stored.objects:g} objects would fill the OSDs to {costs.state.fill_fraction:.0%}; "
            f"at most about {spec.stored.objects / costs.state.fill_fraction:.2g} fit"
        )
    index_fill = of_index(costs).state.fill_fraction
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
    routes = _ROUTES[spec.access.kind](spec, costs, stations)
    return Network(
        tuple(stations.all), tuple(routes.route(kind) for kind in kinds), stations.placements,
        stations.groups, tuple(stations.scenario),
    )  # fmt: skip


def _kinds(spec: CephSpec, trace: Trace, costs: CostFunctions) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests in a Trace, and the index of each request's kind."""
    merged = _merged_writes(spec, trace)
    size = trace.transfer_bytes * np.where(trace.op == PUT, merged, 1.0)
    uploaded = simulated_parts(spec.client.multipart, np.where(trace.op == PUT, trace.size_bytes, 0))
    if spec.client.multipart is not None:
        size = np.where(uploaded > 0, spec.client.multipart.part_size, size)
    whole = np.where(trace.op == DELETE, trace.size_bytes, size)
    objects = np.clip(-(-whole // RGW_OBJECT_BYTES), 1, _MAX_OBJECTS if spec.access.cuts else 1)
    at_gateway = _gateway_hits(spec, trace)
    cached = object_hits(spec.osd.cache, trace, spec.osds, has_writes=False, reaches=~at_gateway)
    kinds: list[Kind] = []
    route = np.zeros(len(trace), np.int32)
    for number in np.unique(trace.op).tolist():
        op = OPS[number]
        if op not in spec.access.ops:
            raise InputError(f"workload: has {op}; access {spec.access.kind} allows {', '.join(spec.access.ops)}")
        for count in np.unique(objects[trace.op == number]):
            rows = np.flatnonzero((trace.op == number) & (objects == count))
            deferred = _deferred(spec, size[rows] / count, costs) if op == "PUT" else np.zeros(len(rows), bool)
            forms = 8 * uploaded[rows] + 4 * at_gateway[rows].astype(np.int8) + 2 * cached[rows] + deferred
            for form in np.unique(forms).tolist():
                of_kind = rows[forms == form]
                mean = float(size[of_kind].mean())
                chunk = spec.pools.data.chunk_bytes(round(mean / count))
                route[of_kind] = len(kinds)
                parts = mean / chunk if chunk else 1.0
                kinds.append(
                    Kind(
                        op, int(count), bool(form & 1), chunk, parts, 0, bool(form & 2), bool(form & 4),
                        merged if op == "PUT" else 1.0, form >> 3,
                    )
                )  # fmt: skip
    return kinds, route


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


def _deferred(spec: CephSpec, object_bytes: NDArray[np.float64], costs: CostFunctions) -> NDArray[np.bool_]:
    """Return whether the chunks of RADOS objects of these sizes are written after their commit, same shape."""
    sizes, index = np.unique(object_bytes, return_inverse=True)
    of_size = np.array([costs.is_deferred(spec.pools.data.chunk_bytes(round(size))) for size in sizes.tolist()])
    result: NDArray[np.bool_] = of_size[index]
    return result

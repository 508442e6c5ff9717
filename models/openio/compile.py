"""OpenIO as stations and routes: gateways, hosts with their drives and the directory, and the clients.

`routes.py` has the order of visits, `places.py` the drives of an object and the bases of a container, and what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.file_system import dirty_pieces
from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.network.placement import containers_of
from models.openio.faults import epochs_of
from models.openio.places import Places
from models.openio.routes import Kind, Routes
from models.openio.spec import OpenioSpec
from models.openio.stations import Stations
from models.shared.background import with_background
from models.shared.epochs import all_well
from traces.operations import GET, OPS, PUT, S3
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace


def compile(spec: OpenioSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
    container, containers = containers_of(trace, spec.directory.containers_per_bucket)
    groups = 2 * (not all_well(epochs_of(spec.faults, spec.drives.count))) + (spec.gateway_count > 1)
    stations = Stations(spec, containers, _dirty_chunks(spec, trace), groups)
    places = Places(spec, stations)
    kinds, kind_of = _kinds(spec, trace)
    routes = Routes(spec, stations, places).routes(kinds)
    network_groups = (*places.groups, *stations.clients.groups)
    network = Network(tuple(stations.all), routes, places.tables, network_groups, tuple(places.scenario))
    requests = Requests.of(trace, kind_of)
    key_hash = places.row_hashes(requests.key_hash, container[slice(trace.issued)])
    requests = replace(requests, key_hash=key_hash, size_bytes=_moved_bytes(kinds, trace, requests))
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: OpenioSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks: clients wait for reads only."""
    read = spec.protection.data * (1 - spec.hosts.page_cache.hit_ratio)
    return hdd_queue([spec.drives], trace, np.where(trace.op == GET, read, 0.0), spec.total_drives)


def _dirty_chunks(spec: OpenioSpec, trace: Trace) -> int:
    """Return the number of chunks of mean size that a host's page cache takes; 0: there is no limit."""
    if not spec.drives.dirty_limit:
        return 0
    put = trace.op == PUT
    sizes = np.minimum(trace.size_bytes[put], spec.metachunk_bytes)
    mean_bytes = float(sizes.mean()) / spec.protection.data if put.any() else 0.0
    # A metachunk that has all of its chunks on one host needs as many at the same time.
    return dirty_pieces(spec.drives.dirty_limit, mean_bytes, spec.protection.width)


def _kinds(spec: OpenioSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; the usual one of each operation is first."""
    op, reads = trace.op, trace.op == GET
    bytes_of = np.where(reads, trace.transfer_bytes, trace.size_bytes)
    several = (bytes_of > spec.metachunk_bytes) & np.isin(op, [OPS.index(each) for each in ("GET", "PUT", "DELETE")])
    cached = reads & (uniforms(0, stream_id("openio/cached"), 0, len(op)) < spec.hosts.page_cache.hit_ratio)
    return kinds_of_rows([op, several, cached], lambda code, *flags: Kind(OPS[code], *map(bool, flags)), map(Kind, S3))


def _moved_bytes(kinds: list[Kind], trace: Trace, requests: Requests) -> NDArray[np.int64]:
    """Return the sizes of requests, shape (n,): that of the object where a DELETE is for several metachunks."""
    issued, removes = slice(trace.issued), np.array([k.several and k.op == "DELETE" for k in kinds])[requests.route]
    return np.where(removes, trace.size_bytes[issued], requests.size_bytes)

"""Bob as stations and routes: nodes on hosts, their drives behind the page cache, and the clients.

`routes.py` has the order of visits, `places.py` the stations of a coordinator and a virtual disk, and what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.bob.faults import epochs_of
from models.bob.places import Places
from models.bob.routes import Kind, Routes
from models.bob.spec import BobSpec
from models.bob.stations import Stations, slowdowns
from models.devices.file_system import dirty_pieces
from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.shared.background import with_background
from models.shared.epochs import all_well
from traces.operations import GET, OPS, Op
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

_HEADER_BYTES = 64  # of a record, and its key (estimate)

OPERATIONS: tuple[Op, ...] = ("GET", "PUT", "HEAD", "DELETE")
"""The operations that Bob serves: it has no listing."""


def compile(spec: BobSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
    put = trace.op == OPS.index("PUT")
    mean_bytes = float(trace.size_bytes[put].mean()) if put.any() else 0.0
    limit = spec.drives.dirty_limit
    dirty_objects = dirty_pieces(limit, mean_bytes, spec.vdisks.replicas) if limit else 0
    stations = Stations(spec, dirty_objects, int(not all_well(epochs_of(spec.faults))))
    places = Places(spec, stations)
    requests = Requests.of(trace, np.zeros(len(trace), np.int32))
    key_hash = places.row_hashes(requests.key_hash)
    kinds, route = _kinds(spec, places, trace, key_hash)
    builder = Routes(spec, stations, places)
    network = Network(
        tuple(stations.all),
        tuple(builder.route(kind) for kind in kinds),
        (places.table,),
        (*places.groups, *stations.clients.groups),
        (*places.scenario, *slowdowns(spec, stations)),
    )
    requests = replace(requests, key_hash=key_hash, route=route)
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: BobSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks: clients wait for reads only."""
    accesses = np.where(trace.op == GET, 1 - spec.hosts.page_cache.hit_ratio, 0.0)
    return hdd_queue([spec.drives], trace, accesses, spec.total_drives)


def _kinds(
    spec: BobSpec, places: Places, trace: Trace, key_hash: NDArray[np.uint64]
) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; the usual one of each operation is first."""
    op = trace.op[slice(trace.issued)]
    count = len(op)
    local = places.local.ravel()[key_hash.astype(np.int64)]
    finds, reads = np.isin(op, [OPS.index("GET"), OPS.index("HEAD")]), op == OPS.index("GET")
    closed = finds & (uniforms(0, stream_id("bob/closed"), 0, count) < closed_fraction(spec, trace))
    cached = reads & (uniforms(0, stream_id("bob/cached"), 0, count) < spec.hosts.page_cache.hit_ratio)
    columns = [op, local, closed, cached]
    return kinds_of_rows(columns, lambda code, *flags: Kind(OPS[code], *map(bool, flags)), map(Kind, OPERATIONS))


def closed_fraction(spec: BobSpec, trace: Trace) -> float:
    """Return the fraction of objects that are in closed blobs, if each is as likely to be read."""
    if spec.stored.closed is not None:
        return spec.stored.closed
    held = spec.stored.objects / spec.vdisks.count
    if not held:
        return 0.0
    mean_bytes = float(trace.size_bytes.mean()) if len(trace) else 0.0
    limit = min(spec.blobs.max_records, max(1, int(spec.blobs.max_size / (mean_bytes + _HEADER_BYTES))))
    return held // limit * limit / held

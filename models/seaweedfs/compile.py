"""SeaweedFS as stations and routes: master, gateways with filers, hosts with volume servers, and the clients.

`routes.py` has the order of visits, `places.py` the volumes of chunks, and what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.network.background import Background
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.network.placement import containers_of
from models.seaweedfs.faults import epochs_of
from models.seaweedfs.places import Places, Stations
from models.seaweedfs.routes import Kind, Routes
from models.seaweedfs.spec import SeaweedSpec
from models.shared.background import with_background
from traces.operations import DELETE, GET, OPS, S3
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

_PIECE_BYTES = 1 << 20  # of a volume that is copied, in one visit (assumed)


def compile(spec: SeaweedSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
    _, buckets = containers_of(trace, 1)
    stations = Stations(spec, int(len(epochs_of(spec.faults)) > 1))
    places = Places(spec, stations, buckets)
    kinds, kind_of = _kinds(spec, trace)
    builder = Routes(spec, stations, places)
    routes = builder.routes(kinds)
    requests = Requests.of(trace, kind_of)
    moved = _moved_bytes(kinds, trace, requests)
    requests = replace(requests, key_hash=places.row_hashes(requests.key_hash), size_bytes=moved)
    vacuum = vacuum_of(spec, trace, len(routes))
    if vacuum is not None:
        routes, requests = (*routes, builder.vacuum()), replace(requests, background=(vacuum,))
    network = Network(
        tuple(stations.all), routes, (places.table,), (*places.groups, *stations.clients.groups),
        (*places.scenario, *stations.slowdowns(spec.faults)),
    )  # fmt: skip
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: SeaweedSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks: clients wait for reads, unless writes are synced."""
    reads = np.where(trace.op == GET, 1 - spec.hosts.page_cache.hit_ratio, 0.0)
    return hdd_queue([spec.drives], trace, reads, spec.total_drives)


def vacuum_of(spec: SeaweedSpec, trace: Trace, route: int) -> Background | None:
    """Return the vacuum that follows from the DELETEs of an open loop; None: there are none.

    A volume with a fraction g of garbage is copied without it, so each deleted byte of a copy has (1 - g) / g bytes
    that are read and written.
    """
    issued = slice(trace.issued)
    if trace.pacing.loop != "open" or not trace.issued:
        return None
    end_s = float(trace.arrival_s[issued].max(initial=0.0))
    deleted = float(trace.size_bytes[issued][trace.op[issued] == DELETE].sum()) * spec.volumes.copies
    copied = deleted * (1 - spec.volumes.garbage) / spec.volumes.garbage
    if not copied or not end_s:
        return None
    return Background("vacuum", route, copied / _PIECE_BYTES / end_s, 0.0, end_s, _PIECE_BYTES)


def _kinds(spec: SeaweedSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; the usual one of each operation is first."""
    op, reads = trace.op, trace.op == GET
    moved = np.where(reads, trace.transfer_bytes, trace.size_bytes)
    has_chunks = np.isin(op, [OPS.index(each) for each in ("GET", "PUT", "DELETE")])
    several = has_chunks & (moved > spec.volumes.chunk_size)
    coded = reads & (uniforms(0, stream_id("seaweedfs/coded"), 0, len(op)) < spec.volumes.erasure.fraction)
    cached = reads & ~coded & (uniforms(0, stream_id("seaweedfs/cached"), 0, len(op)) < spec.hosts.page_cache.hit_ratio)
    return kinds_of_rows(
        [op, several, cached, coded], lambda code, *flags: Kind(OPS[code], *map(bool, flags)), map(Kind, S3)
    )


def _moved_bytes(kinds: list[Kind], trace: Trace, requests: Requests) -> NDArray[np.int64]:
    """Return the sizes of requests, shape (n,): that of the object where a DELETE is for several chunks."""
    removes = np.array([kind.several and kind.op == "DELETE" for kind in kinds])[requests.route]
    return np.where(removes, trace.size_bytes[slice(trace.issued)], requests.size_bytes)

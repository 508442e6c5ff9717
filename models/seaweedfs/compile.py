"""SeaweedFS as stations and routes: master, gateways with filers, hosts with volume servers, and the clients.

`routes.py` has the order of visits, `places.py` the volumes of chunks, and what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.network.placement import containers_of
from models.seaweedfs.faults import epochs_of
from models.seaweedfs.places import Places, Stations
from models.seaweedfs.routes import MOST_SYNCED, MOST_SYNCED_BYTES, READ_AT_ONCE_BYTES, Kind, Routes
from models.seaweedfs.spec import SeaweedSpec
from models.shared.background import with_background
from models.shared.epochs import all_well
from traces.operations import DELETE, GET, OPS, PUT, S3
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace


def compile(spec: SeaweedSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
    _, buckets = containers_of(trace, 1)
    stations = Stations(spec, int(not all_well(epochs_of(spec.faults))))
    places = Places(spec, stations, buckets)
    kinds, kind_of = _kinds(spec, trace)
    routes = Routes(spec, stations, places, _batch(spec, trace, buckets)).routes(kinds)
    requests = Requests.of(trace, kind_of)
    moved = np.where(trace.op == DELETE, trace.size_bytes, 0)[slice(trace.issued)]
    moved = np.where(moved > 0, moved, requests.size_bytes)
    requests = replace(requests, key_hash=places.row_hashes(requests.key_hash), size_bytes=moved)
    network = Network(
        tuple(stations.all), routes, (places.table,), (*places.groups, *stations.clients.groups),
        (*places.scenario, *stations.slowdowns(spec.faults)),
    )  # fmt: skip
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: SeaweedSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks: clients wait for reads, unless writes are synced."""
    reads = np.where(trace.op == GET, 1 - spec.hosts.page_cache.hit_ratio, 0.0)
    if spec.drives.direct:
        reads += (trace.op == PUT) * spec.volumes.copies
    return hdd_queue([spec.drives], trace, reads, spec.total_drives)


def _batch(spec: SeaweedSpec, trace: Trace, buckets: int) -> float:
    """Return the mean number of chunks that a sync of a volume is for; 1 in an open loop, whose number is not known.

    Of the PUTs at a volume, half are in the batch that is written, and half wait for the next one.
    """
    if trace.pacing.loop != "closed" or not len(trace.op):
        return 1.0
    puts = trace.op == PUT
    at_volume = trace.pacing.clients * float(puts.mean()) / (spec.volumes.per_bucket * buckets)
    mean_bytes = float(trace.size_bytes[puts].mean()) if puts.any() else 0.0
    return min(max(1.0, at_volume / 2), MOST_SYNCED, max(1.0, MOST_SYNCED_BYTES / max(mean_bytes, 1.0)))


def _kinds(spec: SeaweedSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; the usual one of each operation is first."""
    op, reads = trace.op, trace.op == GET
    moved = np.where(reads, trace.transfer_bytes, trace.size_bytes)
    has_chunks = np.isin(op, [OPS.index(each) for each in ("GET", "PUT", "DELETE")])
    several = has_chunks & (moved > spec.volumes.chunk_size)
    coded = reads & (uniforms(0, stream_id("seaweedfs/coded"), 0, len(op)) < spec.volumes.erasure.fraction)
    cached = reads & ~coded & (uniforms(0, stream_id("seaweedfs/cached"), 0, len(op)) < spec.hosts.page_cache.hit_ratio)
    paged = reads & ~cached & ~coded & spec.drives.direct & (moved > READ_AT_ONCE_BYTES)
    return kinds_of_rows(
        [op, several, cached, coded, paged], lambda code, *flags: Kind(OPS[code], *map(bool, flags)), map(Kind, S3)
    )

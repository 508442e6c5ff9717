"""Garage as stations and routes: hosts with a node each, their drives behind the page cache, and the clients.

`routes.py` has the order of visits, `places.py` the nodes of a bucket and of a block, and what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.garage.faults import epochs_of
from models.garage.places import Places
from models.garage.routes import FIRST_READ_BYTES, FRAME_BYTES, INLINE_BYTES, Kind, Routes
from models.garage.spec import GarageSpec
from models.hosts.stations import HostStations
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.network.placement import containers_of
from models.shared.background import with_background
from models.shared.epochs import all_well
from models.shared.links import held_bytes
from traces.operations import GET, OPS, S3
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace


def compile(spec: GarageSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
    bucket, buckets = containers_of(trace, 1)
    group = int(not all_well(epochs_of(spec.faults)))
    stations = HostStations(spec.client, spec.hosts, spec.drives, network=spec.network, client_group=group)
    places = Places(spec, stations, buckets)
    kinds, kind_of = _kinds(spec, trace)
    routes = Routes(spec, stations, places).routes(kinds)
    network = Network(
        tuple(stations.all), routes, (places.table,), (*places.groups, *stations.clients.groups),
        (*places.scenario, *stations.slowdowns(spec.faults)),
    )  # fmt: skip
    requests = Requests.of(trace, kind_of)
    requests = replace(requests, key_hash=places.row_hashes(requests.key_hash, bucket[slice(trace.issued)]))
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: GarageSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks: clients wait for reads, unless writes are synced."""
    reads = np.where(trace.op == GET, 1 - spec.hosts.page_cache.hit_ratio, 0.0)
    return hdd_queue([spec.drives], trace, reads, spec.total_drives)


def _kinds(spec: GarageSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; the usual one of each operation is first."""
    op, reads = trace.op, trace.op == GET
    moved = np.where(reads, trace.transfer_bytes, trace.size_bytes)
    has_blocks = np.isin(op, [OPS.index(each) for each in ("GET", "PUT", "DELETE")])
    blocks = np.where(trace.size_bytes < INLINE_BYTES, 0, 1 + (moved > spec.block_size))
    blocks = np.where(has_blocks, np.where(op == OPS.index("DELETE"), np.minimum(blocks, 1), blocks), 1)
    cached = (
        reads & (blocks > 0) & (uniforms(0, stream_id("garage/cached"), 0, len(op)) < spec.hosts.page_cache.hit_ratio)
    )
    held = reads & (blocks > 0) & (moved <= held_bytes(spec.network.mtu)) & (spec.network.delayed_ack > 0)
    stored = spec.compressed * np.minimum(trace.size_bytes, spec.block_size) + FRAME_BYTES
    calls = 1 + np.ceil(np.log2(np.maximum(stored, FIRST_READ_BYTES) / FIRST_READ_BYTES)).astype(np.int64)
    calls = np.where(reads & (blocks > 0) & ~cached, calls, 0) if spec.drives.direct else np.zeros(len(op), np.int64)
    return kinds_of_rows(
        [op, blocks, cached, held, calls],
        lambda code, n, hit, late, count: Kind(OPS[code], n, bool(hit), bool(late), int(count)), map(Kind, S3),
    )  # fmt: skip

"""versitygw as stations and routes: hosts with a gateway each, a file system with drives, and the clients."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.shared.background import with_background
from models.shared.multipart import in_parts
from models.versitygw.routes import (
    READ_ONCE_BYTES,
    READ_TWICE_BYTES,
    WRITE_ONCE_BYTES,
    WRITE_THRICE_BYTES,
    WRITE_TWICE_BYTES,
    Kind,
    Routes,
)
from models.versitygw.spec import VersitygwSpec
from models.versitygw.stations import Stations
from traces.operations import GET, OPS, PUT, S3
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace


def compile(spec: VersitygwSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of gateways on a file system, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = spec.model_copy(update={"drives": spec.drives.at_depth(waiting)})
    stations = Stations(spec)
    kinds, kind_of = _kinds(spec, trace)
    network = Network(
        tuple(stations.all), Routes(spec, stations, _writers(spec, trace)).routes(kinds), (stations.table,),
        stations.clients.groups,
        (*stations.scenario, *stations.slowdowns(spec.faults)),
    )  # fmt: skip
    requests = Requests.of(trace, kind_of)
    requests = replace(requests, key_hash=stations.row_hashes(requests.key_hash))
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: VersitygwSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks: clients wait for reads, and for writes that a close waits for."""
    waits = np.where(trace.op == GET, 1 - spec.hosts.page_cache.hit_ratio, 0.0)
    if spec.drives.direct or (spec.is_remote and spec.file_system.synced):
        waits += trace.op == PUT
    return hdd_queue([spec.drives], trace, waits, spec.total_drives)


def _kinds(spec: VersitygwSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; the usual one of each operation is first."""
    op = trace.op
    parts = in_parts(spec.client.multipart, np.where(op == PUT, trace.size_bytes, 0))
    cached = (op == GET) & (uniforms(0, stream_id("versitygw/cached"), 0, len(op)) < spec.hosts.page_cache.hit_ratio)
    accesses = np.where(cached | parts, 0, _accesses(spec, trace)) if spec.drives.direct else np.zeros(len(op), int)
    return kinds_of_rows(
        [op, cached, parts, accesses],
        lambda code, hit, in_parts, count: Kind(OPS[code], bool(hit), bool(in_parts), int(count)),
        map(Kind, S3),
    )


def _accesses(spec: VersitygwSpec, trace: Trace) -> NDArray[np.int64]:
    """Return the calls that read or write an object that few of them do; 0 for others, shape (requests,)."""
    once = np.where(trace.op == GET, READ_ONCE_BYTES, WRITE_ONCE_BYTES)
    twice = np.where(trace.op == GET, READ_TWICE_BYTES, WRITE_TWICE_BYTES)
    found = np.where(trace.size_bytes <= once, 1, np.where(trace.size_bytes <= twice, 2, 0))
    if not spec.hosts.keep_alive:
        thrice = (trace.op == PUT) & (trace.size_bytes <= WRITE_THRICE_BYTES)
        found = np.where((found == 0) & thrice, 3, found)
    return np.where((trace.op == GET) | (trace.op == PUT), found, 0)


def _writers(spec: VersitygwSpec, trace: Trace) -> float:
    """Return the mean number of PUTs that take turns at a drive; 1 in an open loop, whose number is not known."""
    if trace.pacing.loop != "closed" or not len(trace.op):
        return 1.0
    return max(1.0, trace.pacing.clients * float((trace.op == PUT).mean()) / spec.drives.count)

"""Swift as stations and routes: proxies, and storage hosts with their drives in rings.

`routes.py` has the order of visits, `places.py` the servers of an object and a container, `ring.py` the placement,
`epochs.py` and `faults.py` what fails.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.devices.hdd_scheduling import HddQueue, hdd_queue
from models.hosts.speed_groups import slowest_fraction
from models.network.demand_sheet import Requests
from models.network.distinct_rows import kinds_of_rows
from models.network.network import Network
from models.network.placement import containers_of
from models.shared.background import with_background
from models.shared.epochs import all_well
from models.shared.multipart import in_parts
from models.swift.cluster.epochs import epochs_of
from models.swift.cluster.file_systems import with_lookup
from models.swift.cluster.places import Places
from models.swift.cluster.stations import Stations, slowdowns
from models.swift.maintenance import with_maintenance
from models.swift.requests.large_objects import LargeObjects
from models.swift.requests.routes import MOST_SINGLE_ACCESSES, Kind
from models.swift.spec.spec import SwiftSpec
from traces.operations import COPY, DELETE, GET, LIST, OPS, PUT, rows_that
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace

_SUFFIXES = 4096  # directories of a partition, by the last digits of the hash of an object's name
_MOST_VISITS = 32  # for the accesses to a piece

BASIC = (Kind("GET"), Kind("PUT", directories=3), Kind("HEAD"), Kind("DELETE"), Kind("LIST"))
"""The kinds that every network has."""


def compile(spec: SwiftSpec, trace: Trace, waiting: float | None = None) -> tuple[Network, Requests]:
    """Return the Network of a cluster, and the requests of a Trace on it.

    `waiting`: mean number of accesses at a hard disk that is busy, at least 1; None: by the load of the Trace.
    """
    if waiting is None:
        return hdd_queue_of(spec, trace).compiled(trace, partial(compile, spec, trace))
    spec = with_lookup(spec.model_copy(update={"drives": spec.drives.at_depth(waiting)}))
    container, containers = containers_of(trace, spec.containers.shards)
    groups = 2 * (not all_well(epochs_of(spec))) + (spec.proxies.count > 1)
    stations = Stations(spec, containers, groups)
    places = Places(spec, stations, containers)
    kinds, kind_of = _kinds(spec, trace)
    builder = LargeObjects(spec, stations, places)
    routes = builder.routes(kinds)
    scenario = (*places.scenario, *slowdowns(spec, stations))
    network_groups = (*places.groups, *stations.clients.groups)
    network = Network(tuple(stations.all), routes, places.tables, network_groups, scenario)
    requests = Requests.of(trace, kind_of)
    key_hash = places.row_hashes(requests.key_hash, container[slice(trace.issued)])
    requests = replace(requests, key_hash=key_hash, size_bytes=_moved_bytes(kinds, trace, requests))
    network, requests = with_maintenance(spec, stations, places, trace, network, requests)
    return with_background(spec.background, network, requests, {"drives": "drive", "cpu": "host cpu"})


def hdd_queue_of(spec: SwiftSpec, trace: Trace) -> HddQueue:
    """Return the queues of the hard disks.

    A PUT or DELETE waits for the drives of all pieces, a GET for those that it reads, a HEAD for one. Background work
    is left out. If drives differ in speed, requests wait for the slowest ones.
    """
    slow = slowest_fraction(spec.hosts.of_hosts("drive_speed"))
    accesses = np.where(rows_that(trace.op, "changes"), spec.pieces, np.where(trace.op == GET, spec.data_pieces, 1.0))
    accesses[trace.op == LIST] = 0
    return hdd_queue([spec.drives], trace, accesses * slow, round(spec.total_drives * slow))


def _kinds(spec: SwiftSpec, trace: Trace) -> tuple[list[Kind], NDArray[np.int32]]:
    """Return the kinds of requests, and the index of each request's kind; those of `BASIC` come first."""
    drives, data = spec.drives, spec.data_pieces
    get, copy = trace.op == GET, trace.op == COPY
    put = (trace.op == PUT) | copy
    accesses, directories, source = (np.ones(len(trace), np.int64) for _ in range(3))
    read_bytes, written_bytes, multipart = trace.transfer_bytes, trace.size_bytes, spec.client.multipart
    parts = in_parts(multipart, np.where(np.isin(trace.op, (GET, PUT, DELETE)), trace.size_bytes, 0))
    if multipart is not None:
        read_bytes, written_bytes = (
            np.where(parts, np.minimum(each, multipart.part_size), each) for each in (read_bytes, written_bytes)
        )
    accesses[get] = _accesses(read_bytes[get], data, drives.read_size)
    source[copy] = _accesses(written_bytes[copy], data, drives.read_size)
    if drives.write_size:
        accesses[put] = _accesses(written_bytes[put], data, drives.write_size)
    directories[put] = _directories(spec, int(put.sum()))
    return kinds_of_rows(
        [trace.op, accesses, directories, parts, source],
        lambda op, visits, synced, segments, reads: Kind(OPS[op], visits, synced, bool(segments), reads),
        BASIC,
    )


def _moved_bytes(kinds: list[Kind], trace: Trace, requests: Requests) -> NDArray[np.int64]:
    """Return the sizes of requests, shape (n,): that of the object where a DELETE is for all of its segments."""
    issued, has_segments = slice(trace.issued), np.array([kind.in_parts for kind in kinds])[requests.route]
    return np.where(has_segments & (trace.op[issued] == DELETE), trace.size_bytes[issued], requests.size_bytes)


def _accesses(size_bytes: NDArray[np.int64], pieces: int, access_bytes: int) -> NDArray[np.int64]:
    """Return the visits that stand for the accesses to a piece; of many a power of two, for fewer kinds."""
    accesses = np.maximum(-(-size_bytes // (pieces * access_bytes)), 1)
    power = 2 ** np.ceil(np.log2(accesses)).astype(np.int64)
    return np.minimum(np.where(accesses <= MOST_SINGLE_ACCESSES, accesses, power), _MOST_VISITS)


def _directories(spec: SwiftSpec, count: int) -> NDArray[np.int64]:
    """Return the directories that each PUT syncs: that of the object, of a new name its parent, and once more that of a
    new suffix. The partition exists."""
    u = uniforms(0, stream_id("swift/names"), 0, count)
    per_partition = spec.stored.objects / 2.0**spec.ring.part_power
    new_suffix = (1 - spec.overwrites) * (1 - 1 / _SUFFIXES) ** per_partition
    return np.where(u < new_suffix, 3, np.where(u < 1 - spec.overwrites, 2, 1)).astype(np.int64)

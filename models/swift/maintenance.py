"""Swift's own background load (`models/shared/work.py`): the object auditor, and the replicator or reconstructor.

As in Swift's source (swift/obj/auditor.py, replicator.py, reconstructor.py, `__get_hashes` in diskfile.py), for objects
that are all where they belong:

- A process of the auditor goes through one drive after the other, and a run falls into the time of one. It opens each
  object and reads it, up to a limit of objects and one of bytes in a second. Another process only opens objects.
- A worker of the replicator takes one partition after the other of all drives of a host, reads the hashes of its
  suffixes, and requests those of each other replica in turn, whose object server reads them likewise. Hashes are
  written anew, and synced with their directory, twice if objects of the partition were written since: with the suffixes
  that are invalid, and after these have been listed. Every tenth pass lists the partition and writes them, too. Before,
  the list of invalid suffixes or the hashes are read once more. The reconstructor lists in each pass, and compares with
  three partners.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Chance, Route, Visit
from models.network.service_demand import NOTHING
from models.network.station import Member, Station
from models.shared.steps import Step, access, acquire, delay, hold, in_series, sometimes, use
from models.shared.work import BEST_EFFORT, WORKERS, ObjectWork, with_works
from models.swift.cluster.places import Places
from models.swift.cluster.ring import Table
from models.swift.cluster.stations import Stations
from models.swift.requests.routes import several
from models.swift.spec.spec import SwiftSpec
from traces.operations import rows_that
from traces.random_streams import stream_id, uniforms
from traces.statistics.arrivals import arrival_span_s
from traces.trace import Trace

_MOST_READS = 256  # of an audited object; further ones are simulated in visits of several accesses
_LISTED = 0.1  # fraction of the passes of a replicator that list a partition (`_do_listdir`)
_ROUNDS = 30  # in which the length of a pass and the writes that it finds are made to agree
_MOST_WAITING = 32  # of what a worker should have begun; the rest is dropped, as it would begin later
_CALL_WAYS = 4  # one-way latencies of a request on a new connection


def with_maintenance(
    spec: SwiftSpec, stations: Stations, places: Places, trace: Trace, network: Network, requests: Requests
) -> tuple[Network, Requests]:
    """Return network and requests with the cluster's own work added.

    Raises:
        InputError: there is such work in a closed loop without a duration.
    """
    works = list(_works(spec, stations, places, trace, len(network.placements)))
    return with_works(works, stations.all, network, requests)


def _works(spec: SwiftSpec, stations: Stations, places: Places, trace: Trace, table: int) -> Iterator[ObjectWork]:
    if spec.auditor is not None:
        yield _audit(spec, stations, places, table)
        table += 1
        if spec.auditor.zero_byte_files_per_second and spec.drives.lookup.takes_time:
            yield _opened(spec, stations, places, table)
            table += 1
    if spec.replicator is not None:
        yield _replication(spec, stations, places, trace, table)


# The auditor.


def _audit(spec: SwiftSpec, stations: Stations, places: Places, table: int) -> ObjectWork:
    """Return the reads of all objects by the auditor of each host."""
    assert spec.auditor is not None and spec.stored.object_size is not None
    auditor, drives = spec.auditor, spec.drives
    size = -(-spec.stored.object_size // spec.data_pieces)
    count = min(max(1, -(-size // drives.read_size)), _MOST_READS)
    drive = Member(table, 1, ("drive",))
    read, latency = (
        several(demand or NOTHING, count, 1, drives.read_size) for demand in (drives.read, drives.read_latency)
    )
    each = access(drive, read, use(stations.drive_latency, latency))
    pause = delay(stations.latency, max(0.0, size / count / auditor.bytes_per_second - _mean_s(each, size)))
    visits = use(Member(table, 2, ("cpu",)), spec.hosts.cores.at_speed(auditor.cpu)) + use(drive, drives.lookup)
    visits += each + (pause + each) * (count - 1)
    rows = _audited(spec, stations, places, "auditor", min(auditor.concurrency, drives.count))
    limits = auditor.files_per_second, auditor.bytes_per_second / max(size, 1), _most(_mean_s(visits, size))
    return _endless("auditor", acquire(Member(table, 0)) + visits, rows, size, min(limits) * len(rows))


def _opened(spec: SwiftSpec, stations: Stations, places: Places, table: int) -> ObjectWork:
    """Return the opening of all objects by the further process of each host, which looks for files without bytes."""
    assert spec.auditor is not None
    lookup = access(Member(table, 1, ("drive",)), spec.drives.lookup)
    rows = _audited(spec, stations, places, "zero-byte auditor", 1)
    rate_ops = min(spec.auditor.zero_byte_files_per_second, _most(_mean_s(lookup, 0))) * len(rows)
    return _endless("zero-byte auditor", acquire(Member(table, 0)) + lookup, rows, 0, rate_ops)


def _audited(spec: SwiftSpec, stations: Stations, places: Places, name: str, at_once: int) -> Table:
    """Return process, drive and cores of each process of the auditor; `at_once` drives of each host have one."""
    shape = spec.hosts.count, spec.drives.count
    draws = np.array([uniforms(0, stream_id("swift", name, host), 0, shape[1]) for host in range(shape[0])])
    has_none = ~np.isin(np.arange(draws.size), spec.used_drives).reshape(shape)
    order = np.argsort(np.where(has_none, 2.0, draws), axis=1)
    chosen = (order[:, :at_once] + np.arange(shape[0])[:, None] * shape[1]).ravel()
    chosen = chosen[np.isin(chosen, spec.used_drives)]  # others have nothing to audit
    tokens = [
        stations.add(_worker(f"{name} of host {h} drive {d}", 1, name, h, d))
        for h, d in (divmod(drive, shape[1]) for drive in chosen.tolist())
    ]
    return np.column_stack([tokens, stations.drive[chosen], stations.cpu[places.host[chosen]]]).astype(np.int32)


# The replicator.


def _replication(spec: SwiftSpec, stations: Stations, places: Places, trace: Trace, table: int) -> ObjectWork:
    """Return the passes of the replicators of all hosts; their pauses are spread over the pass."""
    assert spec.replicator is not None
    name = "replicator" if spec.ring.erasure is None else "reconstructor"
    offsets = _partners(spec)
    rows = _compared(spec, stations, places, name, spec.replicator.concurrency, offsets)
    jobs = 2.0**spec.ring.part_power * spec.pieces
    written_ops = _written_ops(trace) / 2.0**spec.ring.part_power
    changes, rate_ops = 0.0, 0.0
    for _ in range(_ROUNDS):
        visits = _pass_of_partition(spec, stations, table, len(offsets), changes)
        workers, servers = spec.hosts.count * spec.replicator.concurrency, spec.total_drives * spec.drives.queue_depth
        drive_s = _mean_s(filter(_is_drive, visits), 0)
        most = min(workers * _most(_mean_s(visits, 0)), servers * _most(drive_s))
        pass_s = jobs / most + spec.replicator.interval
        rate_ops = jobs / pass_s
        changes = written_ops * pass_s / (1 + len(offsets))
    return _endless(name, acquire(Member(table, 0)) + visits, rows, 0, rate_ops)


def _partners(spec: SwiftSpec) -> list[int]:
    """Return which other pieces a piece is compared with, as differences of their positions."""
    pieces = spec.pieces
    if spec.ring.erasure is None:
        return list(range(1, pieces))
    return sorted({offset % pieces for offset in (-1, 1, pieces // 2)} - {0})  # `_get_partners`


def _is_drive(visit: Visit) -> bool:
    """Whether a visit of the replicator is to a drive, by its column of `_compared`."""
    return isinstance(visit.station, Member) and visit.station.position % 3 == 2


def _compared(
    spec: SwiftSpec, stations: Stations, places: Places, name: str, workers: int, offsets: list[int]
) -> Table:
    """Return the worker of a host, cores and drive of a piece, and threads, cores and drive of its partners."""
    tokens = np.array([
        stations.add(_worker(f"{name} of host {h}", workers, name, h))
        for h in range(spec.hosts.count)
    ])  # fmt: skip
    ring = places.ring[:, : spec.pieces]
    own = ring.ravel()
    columns = [tokens[places.host[own]], stations.cpu[places.host[own]], stations.drive[own]]
    for offset in offsets:
        other = np.roll(ring, -offset, axis=1).ravel()
        columns += [stations.threads[other], stations.cpu[places.host[other]], stations.drive[other]]
    return np.column_stack(columns).astype(np.int32)


def _pass_of_partition(spec: SwiftSpec, stations: Stations, table: int, partners: int, changes: float) -> Step:
    """Return what a worker does with a partition: first its own hashes, then those of each partner in turn.

    Args:
        changes: mean number of objects that were written to a partition between two readings of its hashes.
    """
    listed = _LISTED if spec.ring.erasure is None else 1.0
    visits = _hashes(spec, stations, Member(table, 1, ("cpu",)), Member(table, 2, ("drive",)), changes, listed)
    call = delay(stations.latency, _CALL_WAYS * spec.hosts.internode.latency)
    for number in range(partners):
        threads, cpu, drive = (
            Member(table, 3 + 3 * number + k, ("partner", number, part))
            for k, part in enumerate(("threads", "cpu", "drive"))
        )
        visits += call + hold(threads, _hashes(spec, stations, cpu, drive, changes, 0.0))
    return visits


def _hashes(spec: SwiftSpec, stations: Stations, cpu: Member, drive: Member, changes: float, listed: float) -> Step:
    """Return the visits that read the hashes of a partition, and write them if suffixes have changed or are listed."""
    assert spec.replicator is not None
    drives = spec.drives
    changed = -math.expm1(-changes)
    suffixes = changes / changed if changed and changes < math.inf else 1.0
    read, write, sync = (demand or NOTHING for demand in (drives.read, drives.write, drives.sync))
    reads = use(stations.drive_latency, drives.read_latency.without_bytes) + use(drive, read.without_bytes)
    writes = (use(drive, write.without_bytes) if drives.write_size else ()) + use(drive, sync) * 2
    of_either = 1 - (1 - changed) * (1 - listed)
    return (
        use(cpu, spec.hosts.cores.at_speed(spec.replicator.cpu))
        + use(drive, drives.lookup)
        + reads
        + _with_probability(changed, reads + writes + use(drive, drives.lookup.scaled(suffixes)))
        + _with_probability(listed, use(drive, drives.lookup))
        + _with_probability(of_either, reads + writes)
    )


def _with_probability(probability: float, step: Step) -> Step:
    return sometimes([step], Chance(probability))[0] if probability else ()


def _written_ops(trace: Trace) -> float:
    """Return the objects that are written or deleted in a second; infinite for a closed loop, where it is not known."""
    writes = int(rows_that(trace.op, "changes").sum())
    if not writes or trace.pacing.loop != "open":
        return math.inf if writes else 0.0
    last_s = arrival_span_s(trace.arrival_s, trace.pacing.duration_s)
    return writes / last_s if last_s else math.inf


def _worker(name: str, count: int, *indices: int | str) -> Station:
    return Station(name, WORKERS, Discipline.POOL, count, indices, queue_limit=_MOST_WAITING)


def _endless(name: str, step: Step, rows: Table, size_bytes: int, rate_ops: float) -> ObjectWork:
    """Return work without end."""
    return ObjectWork(name, Route(name, in_series(step), BEST_EFFORT), rows, size_bytes, math.inf, 0.0, rate_ops)


def _mean_s(visits: Iterable[Visit], size_bytes: int) -> float:
    return float(sum(visit.mean_s(np.array([size_bytes]))[0] for visit in visits))


def _most(took_s: float) -> float:
    """Return how often a worker does what takes so long."""
    return 1 / took_s if took_s else math.inf

"""MinIO's own work as background load: a replaced drive that is healed, objects that change pools, the scanner.

A number of workers takes one object after the other (`models/shared/work.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from models.minio.background.healing import Healed
from models.minio.background.movement import moves, moving_s
from models.minio.background.work import objects_of_set
from models.minio.cluster.epochs import Epoch
from models.minio.cluster.file_systems import reads_of
from models.minio.cluster.fixed_places import FixedPlaces
from models.minio.cluster.places import Places
from models.minio.cluster.stations import Pool, Stations
from models.minio.requests.accesses import small
from models.minio.requests.shard_accesses import kind_of_size
from models.minio.spec.faults import Decommission, DriveReplaced, Rebalance
from models.minio.spec.maintenance_sections import SCANNER_SPEEDS
from models.minio.spec.spec import MinioSpec
from models.network.discipline import Discipline
from models.network.route import Route
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Member, Station
from models.shared.faults import FaultKind
from models.shared.steps import access, acquire, delay, in_series
from models.shared.work import BEST_EFFORT, RECOVERY, WORKERS, ObjectWork, idle_rate_ops
from traces.operations import Op
from traces.spec.units import duration_text

_FOLDER_S = 1e-3
"""The scanner pauses for each folder, which an object is, as for work of 1 ms (cmd/data-scanner.go)."""
_MOST_WAITING = 2
"""Visits of the scanner that wait for one of its streams in a set; further ones are left out."""
_SHORTEST_PAUSE_S = 1e-4
"""Shorter pauses are left out (newDynamicSleeper, cmd/data-scanner.go)."""


_COPY: tuple[Op, Op] = ("GET", "PUT")


def healed_s(spec: MinioSpec) -> dict[int, float]:
    """Return when each replaced drive has all objects again, at the earliest, in s."""
    faults = [fault for fault in spec.faults if isinstance(fault, DriveReplaced) and fault.back_s < math.inf]
    if not faults:
        return {}
    healthy = spec.model_copy(update={"faults": ()})
    stations = Stations(healthy)
    places = Places(healthy, stations)
    return {fault.drive: _healing(spec, stations, places, fault, 0).until_s for fault in faults}


def works_of(spec: MinioSpec, stations: Stations, places: Places, buckets: int) -> list[ObjectWork]:
    """Return the cluster's own work, and add its stations.

    `buckets`: number of those of the workload, which the scanner visits.
    """
    return list(_works(spec, stations, places, buckets, len(places.tables)))


def _works(spec: MinioSpec, stations: Stations, places: Places, buckets: int, table: int) -> Iterator[ObjectWork]:
    for fault in spec.faults:
        if isinstance(fault, DriveReplaced) and fault.back_s < math.inf:
            yield _healing(spec, stations, places, fault, table)
            table += 1
        elif isinstance(fault, Decommission | Rebalance):
            found = moves(spec, stations, places, fault, table)
            yield from found
            table += len(found)
    if spec.scanner.speed != "off":
        for number, pool in enumerate(stations.pools):
            yield _scan(spec, stations, buckets, number, pool, table)
            table += 1


def _healing(spec: MinioSpec, stations: Stations, places: Places, fault: DriveReplaced, table: int) -> ObjectWork:
    """Return the healing of a drive by its own host (healErasureSet, cmd/global-heal.go)."""
    assert spec.stored is not None
    number = max(n for n, pool in enumerate(stations.pools) if pool.first_drive <= fault.drive)
    pool, name = stations.pools[number], f"healing of drive {fault.drive}"
    own = np.int32(fault.drive - pool.first_drive)
    which = int(np.flatnonzero((pool.layout.sets == own).any(axis=1))[0])
    node = int(stations.nodes_of(pool, np.array([own]))[0])
    start_s = fault.used_s
    now = places.state_at(start_s)
    fixed = FixedPlaces(places, {number: (table, 0)}, Epoch(start_s, now.drives | {fault.drive}, now.hosts))
    size = pool.layout.size
    rows = fixed.rows(number, node)[which * size : (which + 1) * size]
    bytes_of = spec.stored.object_size
    get, put = (kind_of_size(spec, stations, op, number, bytes_of) for op in _COPY)
    # Columns for the listing, which has one token for each drive of the set.
    drives = pool.layout.sets[which] + pool.first_drive
    tokens = {
        stations.drive[n]: stations.add(
            Station(f"drive {n} lists for {fault.drive}", "listing", Discipline.POOL, indices=(fault.drive, n))
        )
        for n in drives.tolist()
    }
    columns = [fixed.drive(number, p, "drive").position for p in range(size)]
    listers = [Member(table, rows.shape[1] + p, ("listing", p)) for p in range(size)]
    rows = np.column_stack([rows, *([tokens.get(d, stations.nowhere) for d in rows[:, c]] for c in columns)])
    stages = Healed(spec, stations, fixed, (get, put), fault.drive, listers).stages()
    workers = spec.healing.workers_of(pool.hosts.cores.count)
    token = stations.add(Station(f"workers of {name}", WORKERS, Discipline.POOL, workers, ("healing", fault.drive)))
    route = Route(name, in_series(acquire(token)) + stages, RECOVERY)
    rate_ops = idle_rate_ops(route, workers, rows, stations.all, bytes_of)
    return ObjectWork(
        name, route, rows, bytes_of, objects_of_set(spec, number, len(pool.layout.sets)), start_s, rate_ops
    )


def _scan(spec: MinioSpec, stations: Stations, buckets: int, number: int, pool: Pool, table: int) -> ObjectWork:
    """Return the scanner's visits in a pool: in each set, one drive at a time for each bucket reads an xl.meta.

    The scanner checks one object of 1,024 on all drives in a cycle, which is left out.
    """
    assert spec.stored is not None
    sets, name, streams = pool.layout.sets, f"scanner of pool {number}", _streams(buckets, pool)
    # On busy drives it is slower than when idle; what it does not come to is left out, not done after the last request.
    tokens = [
        stations.add(
            Station(
                f"{name} in set {s}",
                WORKERS,
                Discipline.POOL,
                streams,
                ("scanner", number, s),
                queue_limit=_MOST_WAITING,
            )
        )
        for s in range(len(sets))
    ]
    drives = stations.drive[sets + pool.first_drive]
    rows = np.column_stack([np.repeat(tokens, sets.shape[1]), drives.ravel()]).astype(np.int32)
    read, pause_s = _visit(spec, number, pool)
    step = acquire(Member(table, 0, ("worker",))) + access(Member(table, 1, ("drive",)), read)
    step += delay(stations.latency, pause_s)
    rate_ops = len(sets) * objects_of_set(spec, number, len(sets)) / visited_s(spec, buckets, number, pool)
    return ObjectWork(name, Route(name, in_series(step), BEST_EFFORT), rows, 0, math.inf, 0.0, rate_ops)


def visited_s(spec: MinioSpec, buckets: int, number: int, pool: Pool) -> float:
    """Return the time in s in which the scanner visits each object of a pool once, on idle drives.

    A cycle visits one object of `Scanner.cycles`, and takes as long as the streams of a set need, at least a minute or
    what else the speed says.
    """
    read, pause_s = _visit(spec, number, pool)
    visits_s = float(read.mean_s(np.array([0]))[0]) + pause_s
    each = objects_of_set(spec, number, len(pool.layout.sets))
    return max(each * visits_s / _streams(buckets, pool), spec.scanner.cycles * SCANNER_SPEEDS[spec.scanner.speed][2])


def _streams(buckets: int, pool: Pool) -> int:
    return min(buckets, pool.layout.size, max(pool.hosts.cores.count, 1))


def _visit(spec: MinioSpec, number: int, pool: Pool) -> tuple[ServiceDemand, float]:
    """Return the reads of a visit, and the pause after it in s."""
    factor, longest_s, _ = SCANNER_SPEEDS[spec.scanner.speed]
    read = small(pool.drives.read or NOTHING).scaled(1 + sum(reads_of(spec, number, pool).files))
    read_s = float(read.mean_s(np.array([0]))[0])
    return read, sum(_pause_s(factor, work_s, longest_s) for work_s in (read_s, _FOLDER_S))


def _pause_s(factor: float, work_s: float, longest_s: float) -> float:
    pause_s = min(factor * work_s, longest_s)
    return pause_s if pause_s > _SHORTEST_PAUSE_S else 0.0


def _note(spec: MinioSpec, fault: DriveReplaced) -> str:
    """Say how long the healing takes at least."""
    took_s = healed_s(spec).get(fault.drive, math.inf) - fault.back_s
    return f"Healing drive {fault.drive} takes {duration_text(took_s)} in an idle cluster" if took_s < math.inf else ""


def _moving_note(spec: MinioSpec, event: Decommission | Rebalance) -> str:
    """Say how long the objects of a pool take to move at least."""
    return f"Moving the objects of pool {event.pool} takes {duration_text(moving_s(spec, event))} in an idle cluster"


MAINTENANCE: Mapping[str, FaultKind] = {
    "replaced-drive": FaultKind(
        "drive_replaced", "outage", "drive", settled={"back_at": 1e-9, "found_after": 0.0}, note=_note
    ),
    "decommission": FaultKind("decommission", "work", "pool", note=_moving_note),
    "rebalance": FaultKind("rebalance", "work", "pool", note=_moving_note),
}
"""What the command `failures` can begin that is followed by work of the cluster."""

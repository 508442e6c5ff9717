"""Objects that move from a pool to others: decommission, and rebalance after a pool was added.

As in MinIO's source at 7aac2a2c (cmd/erasure-server-pool-decom.go, cmd/erasure-server-pool-rebalance.go): the first
host of the pool lists its erasure sets, and workers read one object each without a lock, write it as a PUT does, and
remove it from the old pool. Meanwhile the pool takes no new objects.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from models.minio.background.work import objects_of_set
from models.minio.cluster.fixed_places import FixedPlaces
from models.minio.cluster.places import Places
from models.minio.cluster.stations import Stations
from models.minio.requests.parts import MESSAGE_BYTES, METADATA_BYTES
from models.minio.requests.request import Branches
from models.minio.requests.routes import Builder
from models.minio.requests.shard_accesses import kind_of_size
from models.minio.spec.faults import Decommission, Rebalance
from models.minio.spec.spec import MinioSpec
from models.network.discipline import Discipline
from models.network.placement import key_hashes
from models.network.route import Route
from models.network.station import Station
from models.shared.steps import Stages, acquire, detached, fan_out, in_series, pipelined, use
from models.shared.work import RECOVERY, WORKERS, ObjectWork, idle_rate_ops
from traces.operations import OPS
from traces.trace import Trace

_MOST_ROWS = 4096
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Event = Decommission | Rebalance


def moves(spec: MinioSpec, stations: Stations, places: Places, event: Event, table: int) -> list[ObjectWork]:
    """Return the work of an event: the moves to each other pool.

    Args:
        table: number of the first placement table, one for each.
    """
    assert spec.stored is not None
    source, now = stations.pools[event.pool], places.state_at(event.at)
    name, size = f"{event.kind} of pool {event.pool}", spec.stored.object_size
    sets = len(source.layout.sets)
    workers = spec.movement.workers or sets
    token = stations.add(Station(f"workers of {name}", WORKERS, Discipline.POOL, workers, (event.kind, event.pool)))
    found: list[tuple[Route, NDArray[np.int32], float]] = []
    rates = []
    fractions = _fractions(spec, event.pool)
    for target in fractions:
        first = {event.pool: (table, 0)}
        fixed = FixedPlaces(places, first, now)
        from_rows = fixed.rows(event.pool, source.first_node)
        fixed.add(target, table, from_rows.shape[1])
        rows = _pairs(from_rows, fixed.rows(target, source.first_node))
        get = _Moved(spec, stations, fixed, kind_of_size(spec, stations, "GET", event.pool, size))
        put = _Moved(spec, stations, fixed, kind_of_size(spec, stations, "PUT", target, size))
        route = Route(f"{name} to {target}", in_series(acquire(token)) + get.to(put), RECOVERY)
        rates.append(idle_rate_ops(route, workers, rows, stations.all, size))
        found.append((route, rows, fractions[target]))
        table += 1
    rate_ops = 1 / sum(fraction / rate for (*_, fraction), rate in zip(found, rates, strict=True))
    objects = objects_of_set(spec, event.pool, sets) * sets * event.moved_fraction
    return [
        ObjectWork(route.name, route, rows, size, objects * fraction, event.at, rate_ops * fraction, event.end_s)
        for route, rows, fraction in found
    ]


def moving_s(spec: MinioSpec, event: Event) -> float:
    """Return the time in s that all moves of an event take at least."""
    healthy = spec.model_copy(update={"faults": ()})
    stations = Stations(healthy)
    return max(w.until_s - w.from_s for w in moves(spec, stations, Places(healthy, stations), event, 0))


def moved_pools(spec: MinioSpec, trace: Trace, pool: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pool of each request's object with the moves of the spec, given that without them, same shape.

    Objects move in random order, as fast as in an idle cluster. In a closed loop, whose times are not known
    beforehand, they stay where they are.
    """
    events = [event for event in spec.faults if isinstance(event, Decommission | Rebalance)]
    if not events or trace.pacing.loop != "open":
        return pool
    found, hashes, at_s = pool.copy(), key_hashes(trace), trace.arrival_s
    for number, event in enumerate(events):
        took_s = moving_s(spec, event)
        fractions = _fractions(spec, event.pool)
        limits = np.cumsum(list(fractions.values()))[:-1]
        target = np.array(list(fractions))[np.searchsorted(limits, _uniform(hashes, 2 * number), side="right")]
        progress = (np.minimum(at_s, event.end_s) - event.at).clip(0) / took_s
        moved = _uniform(hashes, 2 * number + 1) < event.moved_fraction * progress.clip(0, 1)
        # A pool whose decommission is cancelled takes no new objects (IsSuspended, cmd/erasure-server-pool-decom.go).
        end_s = math.inf if isinstance(event, Decommission) else min(event.end_s, event.at + took_s)
        new = (trace.op == OPS.index("PUT")) & (at_s >= event.at) & (at_s < end_s)
        goes = (found == event.pool) & (moved | new)
        found[goes] = target[goes]
    return found


def _fractions(spec: MinioSpec, source: int) -> dict[int, float]:
    """Return the fraction of the objects that each other pool takes: by free space."""
    weights = {n: w for n, w in enumerate([1.0, *(pool.weight for pool in spec.pools)]) if n != source}
    return {n: w / sum(weights.values()) for n, w in weights.items()}


def _uniform(hashes: NDArray[np.uint64], salt: int) -> NDArray[np.float64]:
    """Return a number between 0 and 1 for each hash, independent for each salt."""
    mixed = (hashes ^ (hashes >> np.uint64(29))) * _GOLDEN + np.uint64(salt) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53


def _pairs(source: NDArray[np.int32], target: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return rows with the columns of both tables, in which rows of both meet evenly."""
    turns = min(len(target), max(1, math.ceil(_MOST_ROWS / len(source))))
    index = np.arange(len(source) * turns)
    return np.hstack([source[index % len(source)], target[(index // len(source) + index) % len(target)]])


class _Moved(Builder):
    """Builds the stages of an object that is read from one pool and written to another."""

    def to(self, put: _Moved) -> Stages:
        """Return the stages of a move, whose reads are this kind, and whose writes are those of `put`."""
        work = detached(self.stations.latency, self._find(always=True)[0].branches)
        first: Branches = ()
        later: Branches = ()
        links = () if self.kind.inline else self._shards_of_readers("all", MESSAGE_BYTES)
        out = put._moves_to("all", put._messages(4 if put.kind.inline else 5))
        if self.kind.inline:
            whole = self._part(self.read, more=METADATA_BYTES, size=self.drives.read_size)
            reads = self._metadata(whole, self._latency_of(self.drives.read_latency), carries=True)
            work += fan_out(reads) + self._from_drives(self.layout.size, "all", MESSAGE_BYTES)
        else:
            work += self._find(always=True)
            first, later = self._reads()
        streams = put.kind.large and not put.kind.inline
        if first and not streams:
            work += fan_out(first + later) + fan_out(pipelined(links))
        work += self._computed(put) + put._look_up()
        if put.kind.inline:
            work += put._lock() + fan_out(pipelined(out)) + put._inline_writes()
        elif streams:  # one block after the other, so that reads, links and writes overlap
            work += fan_out(first + later + pipelined(links + out) + put._shard_writes()) + put._lock() + put._rename()
        else:
            work += fan_out(pipelined(out)) + fan_out(put._shard_writes()) + put._lock() + put._rename()
        return work + put._unlock() + put._clean_up() + self._calls(self.call.without_bytes)

    def _computed(self, put: _Moved) -> Stages:
        """The CPU time of the host that moves the object."""
        cpu = self.spec.movement.cpu
        demands = [self.hosts.at_speed(cpu)] if cpu is not None else [
            self.hosts.cpu_demand(builder.op, builder.kind.inline) for builder in (self, put)
        ]  # fmt: skip
        return in_series(*(use(self.places.head(self.kind.pool, "cpu"), demand) for demand in demands))

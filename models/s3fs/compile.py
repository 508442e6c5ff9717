"""s3fs as stations and routes: the mounts, over the network of the store below.

A route is a kind of operation with its series of requests (`mount.py`, `series.py`). Each request takes a thread of its
mount, and a new connection if the release has no others. Operations on one file are done one after the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.below.issued import UNROUTED, Issued
from models.layer import Below, compile_below
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, words
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Member, Station
from models.network.sub_requests import SubRequests
from models.network.visit_draws import grouped
from models.s3fs.mount import OPENING, Mount
from models.s3fs.names import Names
from models.s3fs.series import PAYLOAD, Call, Round, Series
from models.s3fs.spec import S3fsSpec
from models.shared.faults import MountDown, outage_actions, speeds
from models.shared.recent import Recent
from models.shared.steps import (
    Place,
    Stages,
    Step,
    acquire,
    check,
    delay,
    detached,
    fan_out,
    in_series,
    instant,
    release,
    starts,
    use,
)
from traces.errors import InputError
from traces.operations import FILE, OPS, S3, Op
from traces.trace import Trace

OPERATIONS: frozenset[Op] = frozenset((*S3, *FILE))
"""The operations that a mount serves."""
_DATA: tuple[Op, ...] = ("GET", "PUT", "COPY")
_MOST_SERIES = 24  # of an operation; of more, some stand for others that move about as much
_REQUEST_BYTES = 1 << 16  # moved bytes that count as much as a request
_MOST_LOCKS = 509  # a prime number, as keys are told apart by their hashes

_CONTENT = ("op", "bucket", "key", "size_bytes", "range_start_bytes", "range_bytes")
"""Columns of a Trace that series follow from."""
_Rows = tuple[list[tuple[Op, Series]], NDArray[np.int32]]
"""Distinct series in order of appearance, and the index of each row's, shape (rows,)."""


@dataclass(frozen=True, eq=False)
class _Issues:
    """What the series of operations follow from; equal to one whose first rows are these.

    Attributes:
        settings: of the spec.
        content: columns of the requests.
    """

    settings: tuple[object, ...]
    content: pa.Table

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Issues) or self.settings != other.settings:
            return False
        rows = min(len(self.content), len(other.content))
        return len(self.content) >= len(other.content) and self.content.slice(0, rows).equals(other.content)


_SERIES = Recent[_Issues, _Rows](3)
"""Series made last: a spec is compiled several times with the same requests, or fewer of them."""

Nth = tuple[Call, int]
"""Equal requests, and how many of the same the series has before them."""


def series_of(spec: S3fsSpec, trace: Trace) -> tuple[list[tuple[Op, Series]], NDArray[np.int32]]:
    """Return the distinct series of operations, and the index of each request's, shape (rows,).

    Raises:
        InputError: a file is larger than an upload can be.
    """
    # Times matter only if names expire, so that a workload at other rates has the same series.
    expires = len(trace) and float(trace.arrival_s.max()) >= spec.stat_cache.expire
    content = trace.table.select([*_CONTENT, "arrival_s"] if expires else _CONTENT)
    settings = (spec.stat_cache, spec.protocol, spec.directory_entries, spec.mounts.count, spec.most_file_bytes)
    ops = frozenset(OPS[op] for op in np.unique(trace.op).tolist())
    has_opens = bool(ops & set(OPENING))
    found, index = _SERIES.of(_Issues((*settings, has_opens), content), lambda: _series_of(spec, trace, has_opens))
    index = index[: len(trace)]
    counts = np.bincount(index)
    kept = _fewer(found[: len(counts)], counts)
    distinct = list(dict.fromkeys(kept))
    place = {each: number for number, each in enumerate(distinct)}
    return distinct, np.array([place[each] for each in kept], np.int32)[index] if len(index) else index


def _series_of(spec: S3fsSpec, trace: Trace, has_opens: bool) -> _Rows:
    if len(trace) and (largest := int(trace.size_bytes.max())) > spec.most_file_bytes:
        raise InputError(
            f"multipart_size: is {spec.multipart_size} B; a file of {largest} B has more than the 10,000 parts that S3 "
            f"allows; at least {-(-largest // 10_001)} B are needed"
        )
    ops, table = [OPS[op] for op in trace.op.tolist()], trace.table
    mounts = [
        Mount(Names(spec.stat_cache.entries, spec.stat_cache.expire), spec.protocol, spec.directory_entries, has_opens)
        for _ in range(spec.mounts.count)
    ]
    names = [
        f"{bucket}/{key}" for bucket, key in zip(*(table.column(c).to_pylist() for c in ("bucket", "key")), strict=True)
    ]
    columns = (table.column(c).to_pylist() for c in ("size_bytes", "range_start_bytes", "range_bytes"))
    found: dict[tuple[Op, Series], int] = {}
    index = [
        found.setdefault((op, mounts[row % len(mounts)].series(op, name, size, first, count or 0, now_s)), len(found))
        for row, (op, name, size, first, count, now_s) in enumerate(
            zip(ops, names, *columns, trace.arrival_s.tolist(), strict=True)
        )
    ]
    return list(found), np.array(index, np.int32)


def _fewer(series: Sequence[tuple[Op, Series]], counts: NDArray[np.int64]) -> list[tuple[Op, Series]]:
    """Return for each series itself or, if an operation has many, one that moves about as many bytes.

    Groups move about as many bytes in total, so those of large files are narrow; each has the one nearest to its mean.
    `counts`: how often each series occurs.
    """
    found, of_op = list(series), defaultdict[Op, list[int]](list)
    for number, (op, _) in enumerate(series):
        of_op[op].append(number)
    for numbers in of_op.values():
        if len(numbers) > _MOST_SERIES:
            numbers.sort(key=lambda number: _weight(series[number][1]))
            weight = np.array([np.dot(_weight(series[number][1]), (1, _REQUEST_BYTES)) for number in numbers])
            count = counts[numbers]
            before = np.cumsum(weight * count) - weight * count / 2
            for some in grouped((before / (weight * count).sum() * _MOST_SERIES).astype(np.int64), _MOST_SERIES):
                if len(some):
                    nearest = some[np.abs(weight[some] - np.average(weight[some], weights=count[some])).argmin()]
                    for k in some.tolist():
                        found[numbers[k]] = series[numbers[nearest]]
    return found


def _weight(series: Series) -> tuple[int, int]:
    """Return the number of bytes that a series moves and copies, and that of its requests."""
    calls = [call for each in series for call in each.calls]
    return sum(call.count * max(call.size_bytes, 0) for call in calls), sum(call.count for call in calls)


def _numbered(series: Series) -> list[list[Nth]]:
    """Return the requests of each round, with how many of the same the series has before them."""
    before, found = Counter[Call](), []
    for each in series:
        found.append([(call, before[call]) for call in each.calls])
        before.update(each.calls)
    return found


def issues(spec: S3fsSpec, trace: Trace) -> list[Issued]:
    """Return the requests of the operations of a Trace to the store below."""
    return [issued for _, issued in _issued(spec, *series_of(spec, trace))]


def _issued(spec: S3fsSpec, series: list[tuple[Op, Series]], index: NDArray[np.int32]) -> list[tuple[Nth, Issued]]:
    of_call = defaultdict[Nth, list[int]](list)
    for number, (_, each) in enumerate(series):
        for key in (key for calls in _numbered(each) for key in calls):
            of_call[key].append(number)
    found = []
    for (call, nth), numbers in of_call.items():
        size = None if call.size_bytes == PAYLOAD else call.size_bytes
        at_once = None if call.count == 1 else spec.threads if call.op in _DATA else _lookups(spec)
        own = call.count > 1 and call.op == "HEAD"  # of entries; others are of the file itself
        sub = SubRequests(UNROUTED, count=call.count, size_bytes=size, parallel=at_once, own_keys=own)
        of = Issued(call.op, np.isin(index, numbers), sub, of_part=call.of_part, absent=call.absent)
        found.append(((call, nth), of))
    return found


def _lookups(spec: S3fsSpec) -> int:
    """Return how many HEADs of a directory a mount has in progress."""
    return spec.behaviour.lookup_threads or spec.threads


@dataclass(frozen=True)
class _Places:
    """Where the visits of an operation take place; `lock`: that of its file, None: operations do not meet."""

    cpu: Place
    disk: Place
    threads: Place
    lookups: Place
    latency: int
    lock: Place | None


class _Mounts:
    """The stations of the mounts, after those of the store below.

    Attributes:
        all: the stations.
        tables, groups: of the network, after those of the store below.
        mounts: the stations of each mount, shape (mounts, 4).
    """

    def __init__(self, spec: S3fsSpec, below: Network, has_locks: bool):
        self._first, self.all, level = len(below.stations), list[Station](), spec.level
        latency = self._add("mount latency", Discipline.INFINITE_SERVER, level)
        own = spec.behaviour.lookup_threads
        mounts = []
        for m in range(spec.mounts.count):
            cpu = self._add("mount cpu", Discipline.SIRO, level, m, servers=spec.mounts.cores.count)
            disk = self._add("temporary drive", Discipline.FIFO, level, m)
            threads = self._add("mount threads", Discipline.POOL, level, m, servers=spec.threads)
            looks = self._add("mount look-ups", Discipline.POOL, level, m, servers=own) if own else threads
            mounts.append([cpu, disk, threads, looks])
        self.mounts = np.array(mounts, np.int32)
        self.groups: tuple[Group, ...] = ()
        places: list[Place] = [*mounts[0]]
        if spec.mounts.count > 1:
            self.groups = (Group(Choice.CLIENT, self.mounts, role="mounts", indices=(level,)),)
            places = [Bound(len(below.groups), position) for position in range(4)]
        self.tables: tuple[NDArray[np.int32], ...] = ()
        lock: Place | None = None
        if has_locks:
            locks = [self._add("file", Discipline.POOL, level, n) for n in range(_MOST_LOCKS)]
            self.tables = (np.array(locks, np.int32)[:, None],)
            lock = Member(len(below.placements), 0, ("file", level))
        cpu_at, disk_at, threads_at, lookups_at = places
        self.at = _Places(cpu_at, disk_at, threads_at, lookups_at, latency, lock)

    def _add(self, role: str, discipline: Discipline, *indices: int, servers: int = 1) -> int:
        name = " ".join(map(str, (role, *indices)))
        self.all.append(Station(name, role, discipline, servers, indices))
        return self._first + len(self.all) - 1


def compile(spec: S3fsSpec, trace: Trace, saturated: bool = False) -> tuple[Network, Requests]:
    """Return the Network of the mounts on the store below, and the operations of a Trace on it."""
    series, index = series_of(spec, trace)
    issued = _issued(spec, series, index)
    below = compile_below(spec, trace, saturated=saturated, issued=[each for _, each in issued])
    concurrent = trace.pacing.loop != "closed" or trace.pacing.clients > 1
    mounts = _Mounts(spec, below.network, concurrent)
    starting = {nth: sub for (nth, _), sub in zip(issued, below.starts, strict=True)}
    routes = [_route(spec, op, each, mounts.at, starting, number) for number, (op, each) in enumerate(series)]
    killed = [each for each in spec.faults if isinstance(each, MountDown)]
    slow = [(f.mount, f.at, f.end_s, f.speed) for f in spec.faults if not isinstance(f, MountDown)]
    scenario = [action for part in (0, 1) for action in speeds(slow, mounts.mounts[:, part].tolist())]
    for each in killed:
        scenario += outage_actions([(each.at, each.back_s)], [int(mounts.mounts[each.mount, 0])])
    sent = dict(_sent(spec, below, [each for _, each in issued], mounts.at))
    return below.with_layer(
        mounts.all, routes, trace, index, scenario, sent=sent, placements=mounts.tables, groups=mounts.groups
    )


def _sent(spec: S3fsSpec, below: Below, issued: Sequence[Issued], at: _Places) -> Iterator[tuple[int, Route]]:
    """Yield the routes of the store below with a thread of the mount, and a connection, for each attempt."""
    for each, sub in zip(issued, below.starts, strict=True):
        place = at.threads if each.op in _DATA else at.lookups
        begun, ended = in_series(acquire(place), delay(at.latency, spec.connection_s)), in_series(release(place))
        for number in sub.routes:
            route = below.network.routes[number]
            yield number, replace(route, stages=begun + route.stages + ended)


def _route(spec: S3fsSpec, op: Op, series: Series, at: _Places, starting: dict[Nth, SubRequests], number: int) -> Route:
    """Return the route of an operation with a series of requests."""
    cpu = spec.mounts.cores.at_speed(spec.mounts.cpu)
    locks = at.lock is not None and op not in ("LIST", "READDIR", "MKDIR")
    begun = (acquire(at.lock) if at.lock is not None and locks else ()) + use(at.cpu, cpu.without_bytes)
    stages = in_series(begun)
    for each, calls in zip(series, _numbered(series), strict=True):
        stages += _round(spec, each, [starting[nth] for nth in calls], at, cpu.of_bytes)
    ended = release(at.lock) if at.lock is not None and locks else instant(at.latency)
    if any(isinstance(each, MountDown) for each in spec.faults):
        ended = check(at.cpu) + ended
    last = in_series(ended, delivers=op in ("GET", "READ"))
    return Route(op, stages + last, policy=spec.client.policy(op), variant=words(f"mount {spec.level}", str(number)))


def _round(spec: S3fsSpec, each: Round, calls: list[SubRequests], at: _Places, of_bytes: ServiceDemand) -> Stages:
    """Return the stages of a round: its requests, the temporary drive and the payload at the same time."""
    moved: list[Step] = [starts(at.latency, sub) for sub in calls]
    moved += [use(at.cpu, _of(of_bytes, each.passed))] if each.passed else []
    drive = [
        use(at.disk, _of(demand, size_bytes))
        for demand, size_bytes in ((spec.temporary.write, each.written), (spec.temporary.read, each.read))
        if size_bytes
    ]
    if each.waits:
        return fan_out([*moved, *drive])
    return detached(at.latency, drive) + fan_out(moved)


def _of(demand: ServiceDemand, size_bytes: int) -> ServiceDemand:
    """Return a demand of these bytes, or of those of the request (`PAYLOAD`)."""
    if size_bytes == PAYLOAD:
        return demand
    mean_s = float(demand.mean_s(np.array([size_bytes]))[0])
    return ServiceDemand(constant=mean_s, distribution=demand.distribution)

"""A store of the tests, written with the shared vocabulary: volumes that are append logs, each on two hosts.

A metadata service, which serves one request at a time, is asked twice by each request: a PUT gets a volume and enters
its record at last, a GET looks up the bucket and then the object. The first host of a volume sends a record on to the
second; both append it. They write it back later, and a compactor copies what is live of old volumes to new ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models.capabilities import Effect, Growth
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route
from models.network.scenario import Action, ActionKind
from models.network.service_demand import NOTHING, Demand
from models.network.station import NOWHERE, Member, Station
from models.shared import epochs, steps
from models.shared.epochs import NO_PARTS, Parts, Span
from models.shared.faults import FaultKind, Outage, SlowDrive, slow_parts, speeds
from models.shared.links import link
from models.shared.placement_table import PlacementTable, epoch_changes, epoch_names, numbered
from models.shared.protection import Protection
from models.shared.steps import Stages
from models.shared.store_spec import StoreSpec
from models.shared.work import BEST_EFFORT, WORKERS, ObjectWork, with_works
from models.store import Store, register
from traces.operations import OPS, Op
from traces.spec.units import Bytes, BytesPerSecond, PerSecond, Seconds
from traces.trace import Trace
from traces.workload.distributions import Strict

SERVED: tuple[Op, ...] = ("GET", "PUT", "DELETE")
COPIES, ROUNDS, FULL = Protection.replicas(2), 2, 0.9
PARTS = ("in", "out", "cpu", "volume", "drive")


class Hosts(Strict):
    """The hosts, each with a drive."""

    count: int = Field(4, ge=2)
    cores: int = Field(4, ge=1)
    nic: BytesPerSecond = 0.0
    latency: Seconds = 0.0
    cpu: Demand = NOTHING
    call: Demand = NOTHING


class Drives(Strict):
    """Their drives, and the volumes on them."""

    capacity: Bytes = 10**12
    read: Demand = NOTHING
    write: Demand = NOTHING
    append: Demand = NOTHING
    volumes: int = Field(16, ge=1)


class Stored(Strict):
    """What the store holds, and how much of it is compacted."""

    objects: float = 0.0
    object_size: Bytes = 4096
    garbage: float = Field(0.2, ge=0, lt=1)
    compaction: PerSecond = 0.0


class HostDown(Outage):
    """A host is killed."""

    kind: Literal["host_down"]
    host: int = Field(0, ge=0)


class AppendLogSpec(StoreSpec):
    """A store of append logs."""

    store: Literal["append-log"]
    metadata: Demand = NOTHING
    hosts: Hosts = Hosts()
    drives: Drives = Drives()
    stored: Stored = Stored()
    faults: tuple[Annotated[HostDown | SlowDrive, Field(discriminator="kind")], ...] = ()


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """Which hosts are down."""

    down: Parts = NO_PARTS


class Cluster:
    """The stations of a spec, and the placement table: a row for each volume."""

    def __init__(self, spec: AppendLogSpec):
        self.spec, self.all, self.scenario = spec, list[Station](), list[Action]()
        hosts, volumes = range(spec.hosts.count), range(spec.drives.volumes)
        self.nowhere, self.latency = self.add(NOWHERE), self._new("latency", Discipline.INFINITE_SERVER)
        self.refused = self._new("refused", Discipline.INFINITE_SERVER)
        self.metadata = self._new("metadata", Discipline.FIFO)
        self.ins = [self.add(link(f"in {h}", "host network", (h, "in"), spec.hosts.nic, 0)) for h in hosts]
        self.outs = [self.add(link(f"out {h}", "host network", (h, "out"), spec.hosts.nic, 0)) for h in hosts]
        self.cpu = [self._new("host cpu", Discipline.SIRO, h, servers=spec.hosts.cores) for h in hosts]
        self.drive = [self._new("drive", Discipline.FIFO, h) for h in hosts]
        self.volume = [[self._new("volume", Discipline.FIFO, v, copy) for copy in (0, 1)] for v in volumes]
        states = epochs.epochs_of(
            Epoch, (Span(f.at, f.back_s, "down", [f.host]) for f in spec.faults if isinstance(f, HostDown))
        )
        names = epoch_names(self.add, len(states)) if len(states) > 1 else []
        columns = [("reads",), ("writes",), *numbered("read", 1, PARTS), *numbered("copy", COPIES.width, PARTS)]
        self.table = PlacementTable(0, columns, [self._block(state.down) for state in states], names)
        self.scenario.append(Action(ActionKind.DOWN, self.refused))
        self.scenario += epoch_changes(0, names, [state.at_s for state in states] if names else [])
        self.scenario += speeds(slow_parts(spec.faults, range(len(hosts) + 1)).drives, self.drive)

    def add(self, station: Station) -> int:
        """Add a station and return its index."""
        self.all.append(station)
        return len(self.all) - 1

    def _new(self, role: str, discipline: Discipline, *indices: int, servers: int = 1) -> int:
        return self.add(Station(" ".join(map(str, (role, *indices))), role, discipline, servers, indices))

    def hosts_of(self, volume: int) -> list[int]:
        """Return the hosts of a volume's copies."""
        return [(volume + copy) % self.spec.hosts.count for copy in range(COPIES.width)]

    def _block(self, down: Parts) -> NDArray[np.int32]:
        """Return the columns of an epoch: reads use a copy that is left, writes a volume with both."""
        volumes, rows = range(self.spec.drives.volumes), []
        lost = [sum(host in down for host in self.hosts_of(volume)) for volume in volumes]
        for volume in volumes:
            left = [copy for copy, host in enumerate(self.hosts_of(volume)) if host not in down]
            order = [(volume + turn) % len(volumes) for turn in volumes]
            open_volume = next((each for each in order if COPIES.can_write(lost[each])), None)
            to = volume if open_volume is None else open_volume
            reads, writes = (self.nowhere if served else self.refused for served in (left, open_volume is not None))
            places = [self._copy(volume, left[0] if left else 0), *(self._copy(to, copy) for copy in (0, 1))]
            rows.append([reads, writes, *(station for place in places for station in place)])
        return np.array(rows, np.int32)

    def _copy(self, volume: int, copy: int) -> list[int]:
        host = self.hosts_of(volume)[copy]
        return [self.ins[host], self.outs[host], self.cpu[host], self.volume[volume][copy], self.drive[host]]


class Routes:
    """The protocol."""

    def __init__(self, spec: AppendLogSpec, at: Cluster):
        self.spec, self.at, self.wire = spec, at, spec.network.wire(spec.hosts.nic)
        self.way = steps.delay(at.latency, spec.network.latency)
        self.asked = steps.in_series(steps.round_trip(self.way, steps.visit(at.metadata, spec.metadata)))
        self.copies = [partial(at.table.at, "copy", copy) for copy in range(COPIES.width)]

    def route(self, op: Op) -> Route:
        """Return the route of an operation."""
        stages = self._get() if op == "GET" else self._changed(tombstone=op == "DELETE")
        return Route(op, stages, policy=self.spec.client.policy(op))

    def _get(self) -> Stages:
        """The bucket and then the object are looked up; one copy is read."""
        at, hosts = partial(self.at.table.at, "read", 0), self.spec.hosts
        work = steps.check(self.at.table.at("reads")) + steps.visit(at("cpu"), hosts.cpu, ties=True)
        read = work + steps.access(at("drive"), self.spec.drives.read) + steps.send(self.wire, at("out"))
        return self.asked * ROUNDS + steps.in_series(steps.round_trip(self.way, read), delivers=True)

    def _changed(self, tombstone: bool) -> Stages:
        """A record, or a tombstone, is appended to both copies of a volume, between two rounds of metadata."""
        first, second = self.copies
        wire = NOTHING if tombstone else self.wire
        work = steps.visit(first("cpu"), self.spec.hosts.cpu, ties=True)
        sent = steps.in_series(self.way, steps.check(self.at.table.at("writes")), steps.send(wire, first("in")), work)
        way = steps.delay(self.at.latency, 2 * self.spec.hosts.latency) + steps.send(wire, first("out"), second("in"))
        called = steps.call(first("cpu"), second("cpu"), self.spec.hosts.call, way)
        appends = [steps.append(at("volume"), self.spec.drives.append, tombstone=tombstone) for at in self.copies]
        appended = steps.fan_out([appends[0], called + appends[1]])
        written = steps.detached(
            self.at.latency, (steps.access(at("drive"), self.spec.drives.write) for at in self.copies)
        )
        return self.asked + sent + appended + written + steps.in_series(self.way) + self.asked


def compacted(spec: AppendLogSpec, at: Cluster) -> Iterator[ObjectWork]:
    """Yield the compaction: of each copy, one live record after the other goes to the end of the next volume."""
    count, stored = spec.drives.volumes, spec.stored
    if not stored.compaction:
        return
    workers = [at.add(Station(f"compactor {h}", WORKERS, Discipline.POOL, 1, (h,))) for h in range(spec.hosts.count)]
    copies = [(volume, copy, at.hosts_of(volume)[copy]) for volume in range(count) for copy in range(COPIES.width)]
    rows = [[workers[host], at.drive[host], at.volume[(v + spec.hosts.count) % count][c]] for v, c, host in copies]
    worker, drive, volume = (Member(1, k, ("compaction", k)) for k in range(3))
    step = steps.acquire(worker) + steps.access(drive, spec.drives.read) + steps.append(volume, spec.drives.append)
    route = Route("compaction", steps.in_series(step, steps.access(drive, spec.drives.write)), BEST_EFFORT)
    rate_ops = stored.compaction * spec.hosts.count
    yield ObjectWork("compaction", route, np.array(rows, np.int32), stored.object_size, np.inf, 0.0, rate_ops)


def compile(spec: AppendLogSpec, trace: Trace) -> tuple[Network, Requests]:
    """Return the Network of a spec, and the requests of a Trace on it."""
    at = Cluster(spec)
    works, routes = list(compacted(spec, at)), [Routes(spec, at).route(op) for op in SERVED]
    network = Network(tuple(at.all), tuple(routes), (at.table.stations,), at.table.groups, tuple(at.scenario))
    number = np.array([SERVED.index(op) if op in SERVED else -1 for op in OPS], np.int32)
    return with_works(works, at.all, network, Requests.of(trace, number[trace.op]))


def with_stored(spec: AppendLogSpec, **stored: Any) -> AppendLogSpec:
    """Return the spec with other values of `stored`."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update=stored)})


def state(spec: AppendLogSpec, trace: Trace) -> dict[str, Any]:
    """Return how full the drives are: of live records, their copies, and garbage."""
    held_bytes = spec.stored.objects * spec.stored.object_size * COPIES.width / (1 - spec.stored.garbage)
    return {"objects": spec.stored.objects, "fill_fraction": held_bytes / spec.drives.capacity / spec.hosts.count}


def effects(spec: AppendLogSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """Return when the drives are full."""
    most = int(FULL / state(with_stored(spec, objects=1.0), trace)["fill_fraction"])
    return (Effect("full", most, "the drives are full"),) if low < most <= high else ()


GROWTH = Growth[AppendLogSpec](
    objects=lambda spec: spec.stored.objects, object_bytes=lambda spec, trace: spec.stored.object_size,
    has_object_size=lambda spec: True, with_object_size=lambda spec, size: with_stored(spec, object_size=size),
    holding=lambda spec, n: with_stored(spec, objects=n), grown=lambda spec, n: with_stored(spec, objects=n),
    state=state, effects=effects, full_fraction=FULL, full_text="the drives are {:.0%} full",
    columns=("objects", "fill_fraction"), evidence=("objects", "fill_fraction"),
)  # fmt: skip
FAULTS = {
    "host": FaultKind("host_down", "outage", "host", refuses=True),
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
}
STORE = Store("append-log", AppendLogSpec, compile, operations=frozenset(SERVED), faults=FAULTS, growth=GROWTH)
register(STORE)

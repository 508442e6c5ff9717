"""A store of the tests: one disk behind HTTP, which serves one request after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from pydantic import Field

from models.capabilities import Effect, Growth, Remedies, SpecChange, more
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import Demand, ServiceDemand
from models.network.station import Station
from models.shared.faults import Degradation, FaultKind, speeds
from models.shared.prices import Price, PriceList
from models.shared.store_spec import StoreSpec
from models.store import Store, register
from traces.operations import OPS, Op
from traces.spec.units import Bytes
from traces.trace import Trace
from traces.workload.distributions import Strict

LATENCY, DISK = 0, 1
SERVED: tuple[Op, ...] = ("GET", "PUT")


class Disk(Strict):
    """The disk."""

    capacity: Bytes = 10**12
    read: Demand = ServiceDemand()
    write: Demand = ServiceDemand()
    actuators: int = Field(1, ge=1, description="accesses that it serves at a time")


class SlowDisk(Degradation):
    """The disk turns slow."""

    kind: Literal["slow_disk"]
    speed: float = Field(gt=0, le=1)


class DiskPrices(PriceList):
    """What the store costs."""

    actuator: Price = 0.0


class Stored(Strict):
    """What the disk holds."""

    objects: float = 0.0
    object_size: Bytes = 4096


class FifoDiskSpec(StoreSpec):
    """A disk behind HTTP."""

    store: Literal["fifo-disk"]
    disk: Disk
    stored: Stored = Stored()
    faults: tuple[SlowDisk, ...] = ()
    prices: DiskPrices | None = None

    @property
    def priced(self) -> dict[str, float]:
        """How much there is of what `prices` names."""
        return {"actuator": self.disk.actuators}


def compile(spec: FifoDiskSpec, trace: Trace) -> tuple[Network, Requests]:
    """A request travels to the disk, is served there, and travels back."""
    way = Visit(LATENCY, ServiceDemand(constant=spec.network.latency))
    demands = {"GET": spec.disk.read, "PUT": spec.disk.write}
    stages = {op: single(way, Visit(DISK, demand), way, delivers=True) for op, demand in demands.items()}
    stations = (
        Station("network", "network", Discipline.INFINITE_SERVER),
        Station("disk", "disk", Discipline.FIFO, spec.disk.actuators),
    )
    network = Network(
        stations,
        tuple(Route(op, (stages[op],), policy=spec.client.policy(op)) for op in SERVED),
        scenario=tuple(speeds(((0, event.at, event.end_s, event.speed) for event in spec.faults), [DISK])),
    )
    return network, Requests.of(trace, (trace.op == OPS.index("PUT")).astype(np.int32))


def changes(spec: FifoDiskSpec, at_end: FifoDiskSpec) -> Iterator[SpecChange]:
    """More actuators."""
    yield from ({"disk.actuators": n} for n in more(spec.disk.actuators))


def holding(spec: FifoDiskSpec, objects: float) -> FifoDiskSpec:
    """Return the spec with this number of objects."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update={"objects": objects})})


def with_object_size(spec: FifoDiskSpec, size: int) -> FifoDiskSpec:
    """Return the spec with objects of this size."""
    return spec.model_copy(update={"stored": spec.stored.model_copy(update={"object_size": size})})


def state(spec: FifoDiskSpec, trace: Trace) -> dict[str, Any]:
    """How full the disk is."""
    held = spec.stored.objects
    return {"objects": held, "fill_fraction": held * spec.stored.object_size / spec.disk.capacity}


def effects(spec: FifoDiskSpec, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
    """When it is full."""
    most = spec.disk.capacity // spec.stored.object_size
    return (Effect("full", most, "the disk is full"),) if low < most <= high else ()


GROWTH = Growth[FifoDiskSpec](
    objects=lambda spec: spec.stored.objects,
    object_bytes=lambda spec, trace: spec.stored.object_size,
    has_object_size=lambda spec: True,
    with_object_size=with_object_size,
    holding=holding,
    grown=holding,
    state=state,
    effects=effects,
    full_fraction=1.0,
    full_text="the disk is {:.0%} full",
    columns=("objects", "fill_fraction"),
    evidence=("objects", "fill_fraction"),
)

STORE = Store(
    "fifo-disk",
    FifoDiskSpec,
    compile,
    operations=frozenset(SERVED),
    faults={"slow-drive": FaultKind("slow_disk", "slow")},
    growth=GROWTH,
    remedies=Remedies(changes),
)
register(STORE)

"""Optional capabilities of a store's model: growth, remedies, CPU times, the server's part of latencies.

Each consists of functions of the store's own spec `S`; a missing one is None (`models.store.Store`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, Literal, TypeVar

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.service_demand import ServiceDemand
from models.shared.store_spec import StoreSpec
from traces.operations import Op
from traces.trace import Trace

_STEPS = 1.25, 1.5, 2.0, 3.0

S = TypeVar("S", bound=StoreSpec)

Side = Literal["client", "server"]
SIDES: tuple[Side, ...] = ("client", "server")

SpecChange = Mapping[str, Any]
"""New values of fields, by their paths, that are set together."""

CpuModel = Callable[[S, Network, Requests], dict[Side, float]]
"""Returns the mean CPU time in s of each side per request that is not retried or hedged."""

Demands = Callable[[S, Collection[Op]], Mapping[str, ServiceDemand | None]]
"""Returns the demands that requests with these operations visit, by path; None: the spec gives none, and must."""


@dataclass(frozen=True)
class Spread:
    """How far a default or a preset may be from the value of a store of which it is not known.

    Attributes:
        low, high: least and greatest value, over the assumed one.
        source: clusters, data sheets or measurements that span the range; or "assumed" with the reason.
    """

    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Doubt:
    """Something in a valid spec that is probably not meant.

    Attributes:
        path: dotted path of the value or section.
        text: what is wrong with it, to follow the path.
    """

    path: str
    text: str


EvidenceGrade = Literal["box", "fork", "rows", "mechanism"]


@dataclass(frozen=True)
class Evidence:
    """What forecasts of a store have been compared with.

    Attributes:
        grade: ``box``: a real store on drives and links of known service time; ``fork``: only the store of which it is
            a fork; ``rows``: published rows of others' clusters; ``mechanism``: nothing but its source code.
        page: page of the documentation with the comparison, in this repository.
    """

    grade: EvidenceGrade
    page: str


@dataclass(frozen=True)
class ObjectLimits:
    """The largest objects that a store accepts, in bytes: of one request, and of an upload in parts; and the source."""

    request_bytes: int
    object_bytes: int
    source: str


@dataclass(frozen=True)
class Effect:
    """The number of objects at which an effect begins."""

    name: str
    objects: int
    text: str


StateFigures = dict[str, Any]
"""Figures of a store's state by name; some may be None: they are not known."""


@dataclass(frozen=True)
class Growth(Generic[S]):
    """How a store's state follows from its number of objects.

    Attributes:
        objects: number of objects in the store.
        object_bytes: mean size of these objects, which may follow from the requests of a trace.
        has_object_size, with_object_size: whether the spec has that size; the spec with that size.
        holding: the spec with another number of objects, otherwise unchanged.
        grown: the spec of the same store with this number of objects, including its own changes during growth.
        state: figures of the state by name, among them `objects` and `fill_fraction`, the fraction of space used (None:
            the capacity is not known).
        effects: effects that begin between two numbers of objects, in order, without those present at the lower.
        full_fraction: fraction of the space from which a store refuses writes.
        full_text: description of a full store, with a place for the fraction.
        columns: figures of the state, and of `on_the_way`, in the table of a timeline.
        evidence: figures of the state that show that a limit is reached.
        is_limit: whether a plan counts an effect as a limit.
        on_the_way: figures of growth from one number of objects to another at a rate of writes (1/s) that the state
            does not include.
        created_each: how many objects of the store a request creates that creates some.
    """

    objects: Callable[[S], float]
    object_bytes: Callable[[S, Trace], float]
    has_object_size: Callable[[S], bool]
    with_object_size: Callable[[S, int], S]
    holding: Callable[[S, float], S]
    grown: Callable[[S, float], S]
    state: Callable[[S, Trace], StateFigures]
    effects: Callable[[S, Trace, float, float], tuple[Effect, ...]]
    full_fraction: float
    full_text: str
    columns: tuple[str, ...]
    evidence: tuple[str, ...]
    is_limit: Callable[[Effect], bool] = lambda effect: True
    on_the_way: Callable[[S, float, float, float], dict[str, float]] = lambda spec, low, high, write_ops: {}
    created_each: Callable[[S], float] = lambda spec: 1.0

    def full(self, fill_fraction: float | None) -> str | None:
        """Return why a store refuses writes at this fill fraction, or None if it accepts them, or is not known."""
        if fill_fraction is None or fill_fraction < self.full_fraction:
            return None
        return self.full_text.format(fill_fraction)


@dataclass(frozen=True)
class Knob:
    """A field whose greater values avoid a limit of a store's state.

    Attributes:
        path: of the field.
        now: its value, in steps.
        unit: text after the number of steps, such as ``GB``.
    """

    path: str
    now: int
    unit: str = ""

    def text(self, steps: int) -> int | str:
        """Return a value as a spec gives it."""
        return f"{steps}{self.unit}" if self.unit else steps


@dataclass(frozen=True)
class Remedies(Generic[S]):
    """Changes of a store after which it may meet its objectives.

    Attributes:
        changes: single changes of a spec, given also the spec at the end of the period; some may not be valid.
        moving_cost: cost of changing from one spec to another, in addition to that of new parts.
        knob: the field that avoids a limit of the state (`Growth.effects`), by its name; None: there is none.
    """

    changes: Callable[[S, S], Iterator[SpecChange]]
    moving_cost: Callable[[S, S], float] = lambda before, after: 0.0
    knob: Callable[[S, str], Knob | None] = lambda spec, limit: None


def more(count: int) -> list[int]:
    """Return larger counts to try."""
    return sorted({math.ceil(count * step) for step in _STEPS if math.ceil(count * step) > count})


def larger(spec: StoreSpec, *paths: str) -> Iterator[SpecChange]:
    """Yield changes of a spec to larger counts, given the paths of these."""
    for path in paths:
        now: Any = reduce(getattr, path.split("."), spec)
        yield from ({path: count} for count in more(now))


_GBIT = 1e9 / 8  # in bytes
LINKS_GBIT = (10, 25, 40, 50, 100, 200, 400)
"""Rates of Ethernet (IEEE 802.3) that servers have."""
_FASTER = 1.01  # a link that is as fast already differs by rounding only


def faster_links(spec: StoreSpec, *paths: str) -> Iterator[SpecChange]:
    """Yield changes of a spec to the next two rates of Ethernet, given the paths of bandwidths; 0 has no limit."""
    for path in paths:
        now: Any = reduce(getattr, path.split("."), spec)
        faster = [rate for rate in LINKS_GBIT if now and rate * _GBIT > _FASTER * now]
        yield from ({path: f"{rate}Gbit/s"} for rate in faster[:2])


@dataclass(frozen=True)
class ServerPart(Generic[S]):
    """The part of a request's latency that the server measures: from its arrival until its handler has finished.

    Attributes:
        stamped: returns the network with the time of each request's first byte set to its arrival at the server.
        way_back_s: returns the time in s of a response after the handler has finished.
    """

    stamped: Callable[[S, Network], Network]
    way_back_s: Callable[[S], float]

"""The capabilities of the store below, as functions of the spec of the layer that stands on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from models.below.issued import Issues, created_bytes, created_each, issued_trace, issued_workload
from models.capabilities import (
    SIDES,
    CpuModel,
    Demands,
    Doubt,
    Effect,
    Growth,
    Knob,
    ObjectLimits,
    Remedies,
    Side,
    Spread,
)
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.service_demand import ServiceDemand
from models.shared.faults import FaultKind
from traces.operations import OPS, Op
from traces.trace import TRACE_SCHEMA, Pacing, Trace
from traces.workload.generate import generate

BELOW = "below"
"""The field of a layer's spec with the spec of the store below."""

_RETRIES = {f"{BELOW}.client.retry.retries": 2}
_SIZES = 16  # requests of each operation, of different sizes, from which the operations below follow
_FEW = 500  # requests of the workload

Value = TypeVar("Value")
Sizes = NDArray[np.int64]
Unused = Callable[[Any, Collection[Op]], Collection[str]]


@dataclass(frozen=True)
class Lifted:
    """The store below a layer.

    Attributes:
        issues: what the layer issues to it; None: the layer's own requests.
        operations: those that it serves.
    """

    issues: Issues | None
    operations: frozenset[Op]

    def spec(self, layer: Any) -> Any:
        """Return the spec of the store below, with the workload that reaches it."""
        workload = layer.workload if self.issues is None else issued_workload(layer, self.issues)
        return layer.below.model_copy(update={"workload": workload})

    def trace(self, layer: Any, trace: Trace) -> Trace:
        """Return the requests that reach the store below, given those of the layer."""
        return trace if self.issues is None else issued_trace(trace, self.issues(layer, trace)).trace

    def ops(self, layer: Any, ops: Collection[Op]) -> list[Op]:
        """Return the operations of the requests to the store below that those with these operations issue."""
        found = set(ops)
        if self.issues is not None and ops:
            places, parts = (np.arange(_SIZES) + 0.5) / _SIZES, layer.workload.parts.values()
            each = np.concatenate([part.object_size.quantile(places) for part in parts]).astype(np.int64)
            found = {issued.op for issued in self.issues(layer, _probe(ops, each)) if issued.by.any()}
        return [op for op in OPS if op in found & self.operations]

    def faults(self, faults: Mapping[str, FaultKind]) -> dict[str, FaultKind]:
        """Return its faults, which are in the section `faults` of its own spec."""
        return {name: self._fault(kind) for name, kind in faults.items()}

    def _fault(self, kind: FaultKind) -> FaultKind:
        helps = tuple(_prefixed(change) for change in kind.helps)
        if self.issues is not None:
            helps = (*helps, _RETRIES)
        within = f"{BELOW}.{kind.within}" if kind.within else BELOW
        return replace(
            kind, within=within, helps=helps, note=lambda layer, event: kind.note(self.spec(layer), event),
            groups=lambda layer: kind.groups(self.spec(layer)),
        )  # fmt: skip

    def growth(self, growth: Growth[Any] | None) -> Growth[Any] | None:
        """Return how its state follows from its number of objects, which are those that the layer creates there."""
        if growth is None:
            return None
        own, of = growth, self.spec

        def effects(layer: Any, trace: Trace, low: float, high: float) -> tuple[Effect, ...]:
            return own.effects(of(layer), self.trace(layer, trace), low, high)

        def on_the_way(layer: Any, low: float, high: float, write_ops: float) -> dict[str, float]:
            return own.on_the_way(of(layer), low, high, write_ops * self.created_each(layer))

        return replace(
            own,
            objects=lambda layer: own.objects(of(layer)),
            object_bytes=self._object_bytes(own),
            has_object_size=lambda layer: own.has_object_size(of(layer)),
            with_object_size=lambda layer, size: self._with(
                layer, own.with_object_size(of(layer), self._bytes_of(layer, size))
            ),
            holding=lambda layer, objects: self._with(layer, own.holding(of(layer), objects)),
            grown=lambda layer, objects: self._with(layer, own.grown(of(layer), objects)),
            state=lambda layer, trace: own.state(of(layer), self.trace(layer, trace)),
            effects=effects,
            on_the_way=on_the_way,
            created_each=self.created_each,
        )

    def created_each(self, layer: Any) -> float:
        """Return how many objects of the store below a request of the layer creates, if it creates some."""
        if self.issues is None:
            return 1.0
        few = generate(layer.workload.limited(_FEW), 0)
        return created_each(few, self.issues(layer, few))

    def _object_bytes(self, growth: Growth[Any]) -> Callable[[Any, Trace], float]:
        """Return the mean size of a layer's objects; of those of the store below, if they are the same."""
        if self.issues is None:
            return lambda layer, trace: growth.object_bytes(self.spec(layer), trace)
        return lambda layer, trace: float(trace.size_bytes.mean())

    def _bytes_of(self, layer: Any, size_bytes: int) -> int:
        """Return the mean size of the objects of the store below of which an object of the layer consists."""
        if self.issues is None:
            return size_bytes
        one = _probe(("PUT",), np.array([size_bytes]))
        return round(created_bytes(one, self.issues(layer, one)))

    def _with(self, layer: Any, below: Any) -> Any:
        """Return the layer's spec with another one of the store below, whose workload is not kept."""
        return layer.model_copy(update={BELOW: below.model_copy(update={"workload": layer.below.workload})})

    def remedies(self, own: Remedies[Any] | None, below: Remedies[Any] | None) -> Remedies[Any] | None:
        """Return the changes of both stores."""
        if below is None:
            return own
        its = below

        def changes(layer: Any, at_end: Any) -> Iterator[Mapping[str, Any]]:
            yield from own.changes(layer, at_end) if own else ()
            yield from map(_prefixed, its.changes(self.spec(layer), self.spec(at_end)))

        def moving_cost(before: Any, after: Any) -> float:
            of_layer = own.moving_cost(before, after) if own else 0.0
            return of_layer + its.moving_cost(self.spec(before), self.spec(after))

        def knob(layer: Any, limit: str) -> Knob | None:
            of_layer = own.knob(layer, limit) if own else None
            found = its.knob(self.spec(layer), limit) if of_layer is None else None
            return of_layer if found is None else replace(found, path=f"{BELOW}.{found.path}")

        return Remedies(changes, moving_cost, knob)

    def demands(self, own: Demands[Any] | None, below: Demands[Any] | None) -> Demands[Any] | None:
        """Return the demands of both stores."""
        if below is None:
            return own

        def demands(layer: Any, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
            of_layer = dict(own(layer, ops)) if own else {}
            return of_layer | _prefixed(below(self.spec(layer), self.ops(layer, ops)))

        return demands

    def unused(self, own: Unused | None, below: Unused | None) -> Unused | None:
        """Return the paths of both specs that have no effect."""
        if below is None:
            return own

        def unused(layer: Any, ops: Collection[Op]) -> list[str]:
            of_layer = list(own(layer, ops)) if own else []
            return of_layer + [f"{BELOW}.{path}" for path in below(self.spec(layer), self.ops(layer, ops))]

        return unused

    def doubts(
        self,
        own: Callable[[Any], Iterable[Doubt]] | None,
        below: Callable[[Any], Iterable[Doubt]] | None,
        limits: Callable[[Any], ObjectLimits | None] | None,
    ) -> Callable[[Any], Iterable[Doubt]]:
        """Return the doubts of both stores, and the requests of the layer that are too large for the one below."""

        def doubts(layer: Any) -> Iterator[Doubt]:
            yield from own(layer) if own else ()
            spec = self.spec(layer)
            yield from (replace(each, path=f"{BELOW}.{each.path}") for each in (below(spec) if below else ()))
            most = limits(spec) if limits and self.issues is not None else None
            largest = max(int(part.object_size.quantile(np.array([0.999]))[0]) for part in spec.workload.parts.values())
            if most is not None and largest > most.request_bytes:
                text = f"has requests of {largest:,} B; its largest one has {most.request_bytes:,} B ({most.source})"
                yield Doubt(BELOW, text)

        return doubts

    def cpu(self, own: CpuModel[Any] | None, below: CpuModel[Any] | None) -> CpuModel[Any] | None:
        """Return the CPU times of both stores for each request of the layer."""
        if below is None:
            return own
        its = below

        def cpu(layer: Any, network: Network, requests: Requests) -> dict[Side, float]:
            found = dict(own(layer, network, requests)) if own else dict.fromkeys(SIDES, 0.0)
            spec = self.spec(layer)
            reaching = [(1.0, requests)] if self.issues is None else list(_started(network, requests))
            for weight, of_store in reaching:
                each_s = its(spec, network, of_store)
                found |= {side: found[side] + weight * each_s[side] for side in SIDES}
            return found

        return cpu

    def limits(
        self, own: Callable[[Any], ObjectLimits | None] | None, below: Callable[[Any], ObjectLimits | None] | None
    ) -> Callable[[Any], ObjectLimits | None] | None:
        """Return the largest objects of the layer: those of the store below only if it has the same objects."""
        return own if self.issues is not None or below is None else own or self.of(below)

    def spreads(self, spreads: Mapping[str, Spread]) -> dict[str, Spread]:
        """Return its ranges of values."""
        return _prefixed(spreads)

    def of(self, function: Callable[[Any], Value]) -> Callable[[Any], Value]:
        """Return a function of its spec as one of the layer's."""
        return lambda layer: function(self.spec(layer))

    def each(self, functions: Mapping[str, Callable[[Any], Value]]) -> dict[str, Callable[[Any], Value]]:
        """Return functions of its spec as some of the layer's."""
        return {name: self.of(function) for name, function in functions.items()}


def _prefixed(values: Mapping[str, Value]) -> dict[str, Value]:
    """Return values by their paths in the layer's spec."""
    return {f"{BELOW}.{path}": value for path, value in values.items()}


def _started(network: Network, requests: Requests) -> Iterator[tuple[float, Requests]]:
    """Yield the requests to the store below that those of the layer start, route by route, each with their number for
    each request; also those that sub-requests of the layer start."""
    for k in np.unique(requests.route).tolist():
        for route, size_bytes, each in _reaching(network, k, requests.size_bytes[requests.route == k]):
            count, nothing = len(size_bytes), np.zeros(len(size_bytes))
            started = Requests(
                np.full(count, route, np.int32), size_bytes, nothing.astype(np.uint64), nothing, nothing,
                nothing.astype(np.int32),
            )  # fmt: skip
            yield each * count / max(len(requests), 1), started


def _reaching(network: Network, k: int, size_bytes: Sizes) -> Iterator[tuple[int, Sizes, float]]:
    """Yield the routes below that requests of a route of the layer start, with their sizes, and the fraction made."""
    for visit, sub in network.routes[k].starts:
        fraction = network.routes[k].visits[visit].fraction
        for route, sizes, chosen in sub.by_route(sub.all_sizes(size_bytes)):
            is_below = network.routes[route].variant.endswith(BELOW)
            found = [(route, sizes, 1.0)] if is_below else _reaching(network, route, sizes)
            for own, of_own, each in found:
                yield own, of_own, fraction * chosen * each


def _probe(ops: Collection[Op], size_bytes: np.ndarray[Any, np.dtype[np.int64]]) -> Trace:
    """Return a request of each operation for an object of each of these sizes."""
    count = len(ops) * len(size_bytes)
    values: Mapping[str, Any] = {
        "arrival_s": np.zeros(count), "think_s": np.zeros(count), "phase": np.zeros(count, np.int32),
        "op": np.repeat(list(ops), len(size_bytes)), "bucket": ["bucket"] * count,
        "key": [str(number) for number in range(count)], "size_bytes": np.tile(size_bytes, len(ops)),
    }  # fmt: skip
    columns = [
        pa.array(values[field.name]).cast(field.type) if field.name in values else pa.nulls(count, field.type)
        for field in TRACE_SCHEMA
    ]
    return Trace(pa.Table.from_arrays(columns, schema=TRACE_SCHEMA), Pacing())

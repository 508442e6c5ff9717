"""The registry of stores with their capabilities, and the way from a YAML file to a store's Network.

A new store is one folder and one entry in the registry::

    models/fifo_disk/spec.py      class FifoDiskSpec(StoreSpec)                the spec
    models/fifo_disk/compile.py   compile(spec, trace) -> (Network, Requests)  the compiler
    models/fifo_disk/store.py     STORE = Store("fifo-disk", FifoDiskSpec, compile)
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny, TypeAdapter

from models.below.issued import Issues
from models.below.lifted import BELOW, Lifted
from models.capabilities import (
    CpuModel,
    Demands,
    Doubt,
    Evidence,
    Growth,
    ObjectLimits,
    Remedies,
    S,
    ServerPart,
    Spread,
)
from models.durability.durability import Durability
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.service_demand import ServiceDemand
from models.sdk.connections import with_connections
from models.shared.caches import has_cache
from models.shared.faults import FaultKind, fault_times
from models.shared.store_spec import StoreSpec
from models.site.metrics import StoreMetrics
from models.site.setup import Setup
from models.spec.field_paths import nested_specs
from models.spec.missing_demands import refuse_missing_demands
from models.unmodelled import nearest
from traces.errors import InputError
from traces.operations import OPS, S3, Op
from traces.spec.spec_file import load_mapping, override, validated
from traces.spec.suggestions import instead
from traces.trace import Trace
from traces.workload.distributions import Strict

Spec = StoreSpec
"""The spec of any store."""

OPERATIONS: frozenset[Op] = frozenset(S3)
"""The operations that a store serves if its model does not say otherwise: those of S3."""

Capability = TypeVar("Capability")


@dataclass(frozen=True)
class Store(Generic[S]):
    """A store's model: its spec, its compiler, and its capabilities.

    Attributes:
        name: value of `store` in its specs.
        Spec: class of its specs.
        compile: returns the Network of a spec, and the requests of a Trace on it.
        compile_saturated: the same, with as many accesses waiting at hard disks as these choose from, as at saturation;
            None: service demands do not depend on the load.
        operations: the operations that it serves.
        faults: its failures, by their names in the command `failures`.
        growth: how its state follows from its number of objects.
        growth_on: of a store that stands on another one: its growth, given that of the store below.
        remedies: changes after which it may meet its objectives.
        demands: service demands that its spec must give, and others that may be 0.
        unused: paths of a spec that have no effect with its other values and these operations.
        cpu: CPU time of its processes and their clients.
        server_part: the part of a latency that its server measures.
        inline_limit_bytes: largest size of objects that are stored inline, at which the latency of PUTs has a step.
        figures: figures of published tables that follow from a spec without simulation, by name.
        doubts: values of a spec that are valid, but probably not meant, by rules of the store.
        conditions: quantities of a spec, by the names that `FittedAt` notes have.
        object_limits: the largest objects that the store of a spec accepts; None: not known.
        spreads: ranges of values that are assumed, by path; of a section, for all its times together.
        durability: how the objects of a spec are kept; None: the model does not say.
        evidence: what forecasts of it have been compared with; None: nothing.
        setup: how a spec of it is written for a site; None: that is left to the user.
        metrics: what its metrics mean; None: they are not read.
        issues: of a store that stands on another one, what its requests issue to that; None: the same requests.
        warms: whether the work of a request depends on those before it, apart from a `Cache`, which is found in the
            spec; None: it does not.
    """

    name: str
    Spec: type[S]
    compile: Callable[[S, Trace], tuple[Network, Requests]]
    compile_saturated: Callable[[S, Trace], tuple[Network, Requests]] | None = None
    operations: frozenset[Op] = OPERATIONS
    faults: Mapping[str, FaultKind] = field(default_factory=dict)
    growth: Growth[S] | None = None
    growth_on: Callable[[Growth[Any]], Growth[Any]] | None = None
    remedies: Remedies[S] | None = None
    demands: Demands[S] | None = None
    unused: Callable[[S, Collection[Op]], Collection[str]] | None = None
    cpu: CpuModel[S] | None = None
    server_part: ServerPart[S] | None = None
    inline_limit_bytes: Callable[[S], int] | None = None
    figures: Mapping[str, Callable[[S], float]] = field(default_factory=dict)
    doubts: Callable[[S], Iterable[Doubt]] | None = None
    conditions: Mapping[str, Callable[[S], float]] = field(default_factory=dict)
    object_limits: Callable[[S], ObjectLimits | None] | None = None
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    durability: Callable[[S], Durability] | None = None
    evidence: Evidence | None = None
    setup: Setup | None = None
    metrics: StoreMetrics | None = None
    issues: Issues | None = None
    warms: Callable[[S], bool] | None = None


MODULES = {
    "minio": ".minio.store",
    "ceph": ".ceph.store",
    "swift": ".swift.store",
    "bob": ".bob.store",
    "openio": ".openio.store",
    "juicefs": ".juicefs.store",
    "s3fs": ".s3fs.store",
    "silo": ".silo.store",
    "rustfs": ".rustfs.store",
    "garage": ".garage.store",
    "versitygw": ".versitygw.store",
    "seaweedfs": ".seaweedfs.store",
}
"""The modules of the stores in tailcast, by name, relative to this package; each has a `STORE`, and is imported when a
spec names it."""

_SPECS = {
    "minio": (".minio.spec.spec", "MinioSpec"),
    "ceph": (".ceph.spec.spec", "CephSpec"),
    "swift": (".swift.spec.spec", "SwiftSpec"),
    "bob": (".bob.spec", "BobSpec"),
    "openio": (".openio.spec", "OpenioSpec"),
    "juicefs": (".juicefs.spec", "JuiceFSSpec"),
    "s3fs": (".s3fs.spec", "S3fsSpec"),
    "silo": (".silo.spec", "SiloSpec"),
    "rustfs": (".rustfs.spec", "RustfsSpec"),
    "garage": (".garage.spec", "GarageSpec"),
    "versitygw": (".versitygw.spec", "VersitygwSpec"),
    "seaweedfs": (".seaweedfs.spec", "SeaweedSpec"),
}
"""Module and class of their specs, for what needs no more: a store's module also imports what compiles."""

_registered: dict[str, Store[Any]] = {}


def register(store: Store[Any]) -> None:
    """Add a store from outside `MODULES`, such as one of a test."""
    _registered[store.name] = store


def names() -> list[str]:
    """Return the names of all stores."""
    return list(dict.fromkeys([*MODULES, *_registered]))


def store_named(name: str) -> Store[Any]:
    """Return a store by its name, one of `names`."""
    if name not in _registered:
        register(importlib.import_module(MODULES[name], __package__).STORE)
    return _registered[name]


def spec_class(name: str) -> type[StoreSpec]:
    """Return the class of a store's specs by the store's name, one of `names`, without importing the whole store."""
    if name in _registered or name not in _SPECS:
        return store_named(name).Spec
    module, attribute = _SPECS[name]
    found: type[StoreSpec] = getattr(importlib.import_module(module, __package__), attribute)
    return found


def store_of(spec: Spec) -> Store[Any]:
    """Return the store of a spec, a layer with the capabilities of the store below it, whose paths begin with `BELOW`.

    Where both have one, it is that of both, if they can be added; otherwise the layer's own.
    """
    own, below = store_named(spec.store), getattr(spec, BELOW, None)
    return own if below is None else _layered(own, store_of(below))


def _layered(own: Store[Any], below: Store[Any]) -> Store[Any]:
    lifted = Lifted(own.issues, below.operations)
    inline = below.inline_limit_bytes and lifted.of(below.inline_limit_bytes)
    growth = lifted.growth(below.growth)
    if growth is not None and own.growth_on is not None:
        growth = own.growth_on(growth)
    faults = {(f"{BELOW}-{n}" if n in own.faults else n): kind for n, kind in lifted.faults(below.faults).items()}
    return replace(
        own,
        faults={**faults, **own.faults},
        growth=own.growth or growth,
        remedies=lifted.remedies(own.remedies, below.remedies),
        demands=lifted.demands(own.demands, below.demands),
        unused=lifted.unused(own.unused, below.unused),
        cpu=lifted.cpu(own.cpu, below.cpu),
        inline_limit_bytes=own.inline_limit_bytes or inline,
        figures={**lifted.each(below.figures), **own.figures},
        doubts=lifted.doubts(own.doubts, below.doubts, below.object_limits),
        conditions={**lifted.each(below.conditions), **own.conditions},
        object_limits=lifted.limits(own.object_limits, below.object_limits),
        spreads={**lifted.spreads(below.spreads), **own.spreads},
    )


def levels(spec: Spec) -> dict[str, Spec]:
    """Return a spec, under the empty path, and those below it, by path."""
    return {"": spec, **dict(nested_specs(spec))}


def faults_of(spec: Spec) -> dict[str, Strict]:
    """Return the faults of a spec, and of those below it, by path such as ``below.faults.0``."""
    return {
        f"{path}.faults.{number}" if path else f"faults.{number}": fault
        for path, each in levels(spec).items()
        for number, fault in enumerate(each.faults)
    }


def warms(spec: Spec) -> bool:
    """Return whether the work of a request depends on those before it, as caches are empty at first."""
    own = (store_named(each.store).warms for each in levels(spec).values())
    return has_cache(spec) or any(depends is not None and depends(spec) for depends in own)


def compile_spec(
    spec: Spec, trace: Trace, end_s: float | None = None, *, saturated: bool = False, first: int = 0
) -> tuple[Network, Requests]:
    """Return the Network of a spec, and the requests of a Trace on it.

    Args:
        spec: of the store.
        trace: its requests.
        end_s: time in s from which faults are left out, so that one that begins after the end of a run is as none;
            None: the arrival of the last request, if that is known.
        saturated: whether hard disks have the service times of deep queues, which are the shortest that any load gives.
        first: row of the first request that is issued; those before it only decide what caches hold.

    Raises:
        InputError: the store does not serve an operation of the trace, the spec lacks a demand of one, or cannot be
            modelled.
    """
    store, spec = store_of(spec), before(spec, last_arrival_s(trace) if end_s is None else end_s)
    present = np.bincount(trace.op, minlength=len(OPS)) > 0
    issued = [op for op, is_issued in zip(OPS, present, strict=True) if is_issued]
    refuse_missing_demands(spec, issued, demands_of(spec, issued))
    network, requests = ((saturated and store.compile_saturated) or store.compile)(spec, trace)
    network = with_connections(network, requests, spec.client, trace)
    return network, requests.after(first) if first else requests


def before(spec: Spec, end_s: float) -> Spec:
    """Return the spec without the faults that begin at `end_s` or later, also of the store below."""
    below = getattr(spec, BELOW, None)
    if below is not None and (other := before(below, end_s)) is not below:
        spec = spec.model_copy(update={BELOW: other})
    kept = tuple(fault for fault, at_s in zip(spec.faults, fault_times(spec.faults), strict=True) if at_s < end_s)
    return spec if len(kept) == len(spec.faults) else spec.model_copy(update={"faults": kept})


def last_arrival_s(trace: Trace) -> float:
    """Return the time in s after which no request of a trace arrives; infinite if a closed loop does not tell."""
    if trace.pacing.loop == "open" and trace.issued:
        return math.nextafter(float(trace.arrival_s[trace.issued - 1]), math.inf)
    return trace.pacing.last_start_s


def demands_of(spec: Spec, ops: Collection[Op]) -> dict[str, ServiceDemand | None]:
    """Return the demands that requests with these operations visit, by path, with those of the store below.

    None: the spec does not give a demand that it must give.

    Raises:
        InputError: the store does not serve one of the operations.
    """
    store = store_of(spec)
    refused = [op for op in ops if op not in store.operations]
    if refused:
        serves = ", ".join(op for op in OPS if op in store.operations)
        raise InputError(f"workload: has {', '.join(refused)}; store {store.name} serves {serves}")
    return {} if store.demands is None else dict(store.demands(spec, ops))


def required(capability: Capability | None, spec: Spec, what: str, where: str = "") -> Capability:
    """Return a required capability of the spec's store.

    Args:
        capability: the store's capability, or None.
        spec: a spec of the store.
        what: name of the capability, for the message.
        where: option or field that requires it.

    Raises:
        InputError: the store does not have it.
    """
    if capability is None:
        names = " on ".join(each.store for each in levels(spec).values())
        raise InputError(f"{where and where + ': '}store {names}: its model has no {what}")
    return capability


def load_spec(path: Path, assignments: Sequence[str] = ()) -> Spec:
    """Load the spec of a YAML file, with ``path.to.value=VALUE`` overrides applied in order.

    Raises:
        InputError: the file is missing or not valid YAML, or a field is wrong; the message names line or field.
    """
    return spec_of(override(load_mapping(path), assignments), str(path))


def spec_of(data: Mapping[str, Any], source: str) -> Spec:
    """Return the spec of a mapping.

    Raises:
        InputError: fields are wrong; each message names `source` and a field.
    """
    return validated(_spec_type(data, f"{source}: "), data, source, named=f"a {data['store']} spec")


def _spec_type(data: Mapping[str, Any], before: str = "") -> type[StoreSpec]:
    name = data.get("store")
    if not isinstance(name, str) or name not in names():
        if name is None:
            raise InputError(f"{before}store is missing; allowed are {', '.join(names())}")
        near = nearest(str(name))
        if near is not None:
            raise InputError(f"{before}store is {name!r}, which has no model; the nearest is {near[0]}, but {near[1]}")
        raise InputError(f"{before}store is {name!r}; {instead(str(name), names())}")
    return spec_class(name)


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of spec files of the stores in `MODULES`."""
    specs: Any = reduce(or_, (spec_class(name) for name in MODULES))
    return TypeAdapter(Annotated[specs, Field(discriminator="store")]).json_schema()


def _as_spec(value: Any) -> Any:
    """Read a mapping as a spec of its store."""
    if not isinstance(value, Mapping):
        return value
    try:
        return validated(_spec_type(value), value, "")
    except InputError as error:
        raise ValueError(str(error)) from error


AnySpec = Annotated[SerializeAsAny[StoreSpec], BeforeValidator(_as_spec)]
"""A field with the spec of an underlying store."""

"""Stores: what each of them is able to do, the registry of them, and the way from a YAML file to a store's Network.

A new store is one folder and one entry in the registry::

    models/fifo_disk/spec.py      class FifoDiskSpec(StoreSpec)                a form
    models/fifo_disk/compile.py   compile(spec, trace) -> (Network, Requests)  what stands above it
    models/fifo_disk/store.py     STORE = Store("fifo-disk", FifoDiskSpec, compile)
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar, get_args

import numpy as np
from pydantic import BeforeValidator, Field, SerializeAsAny, TypeAdapter

from models.capabilities import CpuModel, Growth, Remedies, S, ServerPart
from models.faults import FaultKind
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store_spec import StoreSpec
from traces.errors import InputError
from traces.spec_file import load_mapping, override, validated
from traces.tables import OPS
from traces.trace import Trace
from traces.workload.workload import Op

Spec = StoreSpec
"""The spec of any store."""

OPERATIONS: frozenset[Op] = frozenset(get_args(Op))
"""All that a workload may ask for."""

Capability = TypeVar("Capability")


@dataclass(frozen=True)
class Store(Generic[S]):
    """A store's model: its form, its compiler, and what else it is able to say.

    Attributes:
        name: what a spec has as its `store`.
        Spec: the form.
        compile: the Network of a spec, and the requests of a Trace on it.
        operations: what it serves.
        faults: what can fail, by the name that the command `failures` has for it.
        growth: how its state follows from the objects in it.
        remedies: changes that may help it.
        cpu: what its processes and their clients take.
        server_part: the part of a latency that its server sees.
        inline_limit_bytes: objects up to this size are stored in another way than larger ones, so that the latency of
            a PUT leaps between them.
        figures: figures of published tables that follow from a spec alone, by name.
    """

    name: str
    Spec: type[S]
    compile: Callable[[S, Trace], tuple[Network, Requests]]
    operations: frozenset[Op] = OPERATIONS
    faults: Mapping[str, FaultKind] = field(default_factory=dict)
    growth: Growth[S] | None = None
    remedies: Remedies[S] | None = None
    cpu: CpuModel[S] | None = None
    server_part: ServerPart[S] | None = None
    inline_limit_bytes: Callable[[S], int] | None = None
    figures: Mapping[str, Callable[[S], float]] = field(default_factory=dict)


MODULES = {
    "minio": "models.minio.store",
    "ceph": "models.ceph.store",
}
"""The stores that come with tailcast, and the module of each, whose `STORE` it is: imported when a spec names it."""

_registered: dict[str, Store[Any]] = {}


def register(store: Store[Any]) -> None:
    """Add a store of another package, or one of a test."""
    _registered[store.name] = store


def names() -> list[str]:
    """Of all stores."""
    return list(dict.fromkeys([*MODULES, *_registered]))


def store_named(name: str) -> Store[Any]:
    """The store of that name, one of `names`."""
    if name not in _registered:
        register(importlib.import_module(MODULES[name]).STORE)
    return _registered[name]


def store_of(spec: Spec) -> Store[Any]:
    """The store that a spec is of."""
    return store_named(spec.store)


def compile_spec(spec: Spec, trace: Trace) -> tuple[Network, Requests]:
    """The Network of a spec, and the requests of a Trace on it.

    Raises:
        InputError: the store does not serve an operation of the trace, or cannot do what the spec says.
    """
    store = store_of(spec)
    refused = [OPS[op] for op in np.flatnonzero(np.bincount(trace.op)) if OPS[op] not in store.operations]
    if refused:
        serves = ", ".join(op for op in OPS if op in store.operations)
        raise InputError(f"workload: has {', '.join(refused)}; store {store.name} serves {serves}")
    return store.compile(spec, trace)


def required(capability: Capability | None, spec: Spec, what: str, where: str = "") -> Capability:
    """A capability of the spec's store that cannot be done without.

    Args:
        what: the capability's name, for the message.
        where: what needs it: an option or a field.

    Raises:
        InputError: the store does not have it.
    """
    if capability is None:
        raise InputError(f"{where and where + ': '}store {spec.store}: its model has no {what}")
    return capability


def load_spec(path: Path, assignments: Sequence[str] = ()) -> Spec:
    """The spec of a YAML file, with ``path.to.value=VALUE`` overrides applied in order.

    Raises:
        InputError: the file is missing, is broken YAML, or a field is wrong; line or field are named.
    """
    return spec_of(override(load_mapping(path), assignments), str(path))


def spec_of(data: Mapping[str, Any], source: str) -> Spec:
    """The spec that a mapping describes.

    Raises:
        InputError: a field is wrong; `source` and the field are named.
    """
    return validated(_form(data, f"{source}: "), data, source)


def _form(data: Mapping[str, Any], before: str = "") -> type[StoreSpec]:
    name = data.get("store")
    if not isinstance(name, str) or name not in names():
        raise InputError(f"{before}store is {name!r}; allowed are {', '.join(names())}")
    return store_named(name).Spec


def json_schema() -> dict[str, Any]:
    """The JSON schema of a spec file, of the stores that come with tailcast."""
    forms: Any = reduce(or_, (store_named(name).Spec for name in MODULES))
    return TypeAdapter(Annotated[forms, Field(discriminator="store")]).json_schema()


def _held(value: Any) -> Any:
    """A mapping as the spec that it describes."""
    if not isinstance(value, Mapping):
        return value
    try:
        return validated(_form(value), value, "")
    except InputError as error:
        raise ValueError(str(error)) from error


AnySpec = Annotated[SerializeAsAny[StoreSpec], BeforeValidator(_held)]
"""A field that holds the spec of another store, on which this one stands."""

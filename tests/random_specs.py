"""Random specs of all stores: examples with changed and added values, clients' policies, faults and loads.

Each is a function of its seed. Values that an example gives are multiplied; fields that it leaves out get values of
their type, in the range of real stores (`Basis`) or of a fit (`Fit`) if it is known. What a
store refuses is drawn again.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types as limits
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from models.network.descendants import mean_descendants
from models.store import Spec, compile_spec, spec_of, store_named
from tests.paths import EXAMPLES, SPECS
from traces.errors import InputError
from traces.known_names import known_names
from traces.spec.field_notes import Basis, Unit, note_of
from traces.spec.fit_bounds import Fit
from traces.spec.spec_file import load_mapping
from traces.spec.units import Bytes
from traces.workload.generate import generate

Mapping = dict[str, Any]
Path = tuple[str, ...]

PACING = ("rate", "clients", "think_time", "stagger", "duration", "operations", "arrivals")
"""Fields of a workload that the tests set themselves."""
_SLOW = ("nvme-quincy", "32x8", "nvme32", "bob/cluster", "210-filestore", "112-hdd", "rocksdb", "mysql", "hdd-4x4",
         "swift/cluster", "nvme-8x8", "hdd-quincy", "nvme-squid", "openio/cluster",
         "openio/2019-servers", "seaweedfs/erasure")  # fmt: skip
_HUGE = ("reference/posix", "s3fs/posix", "s3fs/ranges")  # hundreds of requests for each operation: never taken
_MOST_STARTED = 30.0  # mean number of sub-requests of a request
_FIRST = ("bob", "ceph", "minio", "swift")
_LATER = {
    "silo": 1 / 60, "rustfs": 1 / 12, "garage": 1 / 12, "versitygw": 1 / 20, "seaweedfs": 1 / 12,
    "openio": 1 / 5, "juicefs": 1 / 20, "s3fs": 1 / 60,
}  # fmt: skip
"""Stores that are drawn equally often, and the fractions of the others: layers take longer to compile."""
_LARGEST_OF_LAYERS = 8 << 20  # bytes, of a component of object sizes
_RARELY = 0.05  # how often an example is taken that takes long to compile
_KEPT = {"store", "kind", "faults", "prices", "assumed", "groups", "preset", "release", "access"}
_KEPT |= {"timeout", "retry", "hedge"}
_MOST = {"count": 16, "machines": 4, "processes": 4, "osds_per_drive": 4, "pg_num": 4096, "reorder_depth": 128}
_GREATEST = {"cv": 5.0}  # of object sizes, which nothing else limits; as of service times that can be fitted
_FACTORS = (0.25, 0.5, 0.8, 1.25, 2.0, 4.0)
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(.*)")
_BY_UNIT = {"s": (1e-5, 2e-2), "B": (4096, 4 << 20), "B/s": (1e8, 5e9), "1/s": (1.0, 300.0), "s/B": (1e-11, 1e-8)}
_TRIES, _DEEPEST = 60, 5
_BYTES = TypeAdapter[int](Bytes)


@dataclass(frozen=True)
class RandomSpec:
    """A random store, the policies of its clients and its faults.

    Attributes:
        name: of the example that it is derived from.
        data: its mapping, whose workload has no pacing unless it has groups of clients.
        changes: what was changed, for messages.
        policies: values of `client` for timeouts, retries and hedges; empty for none.
        faults: whose times are fractions of the run; empty for none.
        load: rate of an open loop, as a fraction of that at saturation; None: the loop is closed.
        clients: of a closed loop.
    """

    seed: int
    name: str
    data: Mapping
    changes: tuple[str, ...]
    policies: Mapping
    faults: tuple[Mapping, ...]
    load: float | None
    clients: int

    def __str__(self) -> str:
        more = [f"client {self.policies}"] * bool(self.policies) + [f"faults {self.faults}"] * bool(self.faults)
        return f"seed {self.seed}: {self.name}, {'; '.join([*self.changes, *more])}"

    @property
    def has_groups(self) -> bool:
        """Whether its workload is that of groups of clients, with a pacing of their own."""
        return bool(self.data["workload"].get("groups"))

    def spec(self, workload: Mapping, *, policies: bool = False, faults: tuple[Mapping, ...] = ()) -> Spec:
        """Return the spec with a pacing, and with the clients' policies and these faults, or without them."""
        data = {**self.data, "workload": {**self.data["workload"], **workload}, "faults": [*faults]}
        if policies:
            data["client"] = _merged(data.get("client") or {}, self.policies)
        return spec_of(data, str(self))

    def faults_in(self, span_s: float, offset: float = 0.0) -> tuple[Mapping, ...]:
        """Return the faults of a run of `span_s` seconds, `offset` times its length later."""
        return tuple(
            {k: (v + offset) * span_s if k in ("at", "back_at", "until") else v for k, v in fault.items()}
            for fault in self.faults
        )


@cache
def examples() -> tuple[tuple[str, Mapping], ...]:
    """Return the names and mappings of all examples that are specs of stores."""
    found = []
    for path in SPECS:
        data = load_mapping(path)
        if {"store", "workload"} <= data.keys() and not any(part in str(path) for part in _HUGE):
            found.append((str(path.relative_to(EXAMPLES)), data))
    return tuple(found)


@cache
def random_spec(seed: int) -> RandomSpec:
    """Return the random spec of a seed."""
    rng = Random(seed)
    store = _store_of(seed, rng)
    mine = [each for each in examples() if each[1]["store"] == store]
    weights = [_RARELY if any(part in name for part in _SLOW) else 1.0 for name, _ in mine]
    for _ in range(_TRIES):
        name, data = rng.choices(mine, weights)[0]
        try:
            return _derived(seed, rng, name, copy.deepcopy(data))
        except InputError:
            continue
    raise AssertionError(f"seed {seed}: {_TRIES} specs of {store} in a row were refused")


def _store_of(seed: int, rng: Random) -> str:
    """Draw a store; a later one leaves the specs of all other seeds as they were."""
    store = rng.choice(_FIRST)
    for each, fraction in _LATER.items():
        if Random(f"{seed} {each}").random() < fraction:
            store = each
    return store


def _derived(seed: int, rng: Random, name: str, data: Mapping) -> RandomSpec:
    """Return a random spec that is derived from an example; raises InputError if the store refuses it."""
    root = type(spec_of(data, name))
    data["faults"] = []
    workload = data["workload"]
    for part in [workload, *workload.get("groups", {}).values()]:
        if not workload.get("groups"):
            for field in PACING:
                part.pop(field, None)
        if isinstance(part.get("keys"), dict) and part["keys"].get("kind") == "write_once_read_once":
            part["keys"] = {"kind": "uniform", "count": 100_000}
        is_mixture = "below" in data and isinstance(part["object_size"], dict)
        for component in part["object_size"].get("components", ()) if is_mixture else ():
            if isinstance(component["size"], str):
                component["size"] = min(_BYTES.validate_python(component["size"]), _LARGEST_OF_LAYERS)
    client = data.get("client") or {}
    for field in ("timeout", "retry", "hedge"):
        client.pop(field, None)
    changes = tuple(filter(None, (_change(data, root, rng) for _ in range(rng.choice((1, 2, 3, 5))))))
    policies, faults = _policies(rng), tuple(_faults(root, rng))
    load = rng.uniform(0.2, 1.4) if rng.random() < 0.5 else None
    clients = rng.choice((1, 3, 10, 40))
    made = RandomSpec(seed, name, data, changes, policies, (), load, clients)
    _compile(made)
    usable: list[Mapping] = []
    for fault in faults:
        try:
            _compile(replace(made, faults=(*usable, fault)))
        except InputError:  # such as a host that it does not have, or the same part twice
            continue
        usable.append(fault)
    return replace(made, faults=tuple(usable))


def _compile(made: RandomSpec) -> None:
    """Raise InputError if the store of a spec refuses it, in an open loop or in its own loop."""
    pacings: list[Mapping] = [{"duration": 0.05}] if made.has_groups else [{"rate": 100.0, "operations": 20}]
    if not made.has_groups and made.load is None:
        pacings.append({"clients": made.clients, "operations": 20, "duration": 0.2})
    for pacing in pacings:
        spec = made.spec(pacing, policies=True, faults=made.faults_in(0.1))
        network, requests = compile_spec(spec, generate(spec.workload, 0))
        if network.has_sub_requests and mean_descendants(network, requests.route, requests.size_bytes) > _MOST_STARTED:
            raise InputError("too many sub-requests for thousands of simulations")


def _merged(below: Mapping, above: Mapping) -> Mapping:
    return {**below, **above}


def _policies(rng: Random) -> Mapping:
    """Draw a timeout, retries and hedges: half of the specs have none."""
    if rng.random() < 0.5:
        return {}
    found: Mapping = {}
    if rng.random() < 0.7:
        found["timeout"] = 10 ** rng.uniform(-2.0, 1.5)
    if rng.random() < 0.6:
        budget = rng.choice((None, 0.1, 0.2))
        backoff = 10 ** rng.uniform(-4, -1)
        found["retry"] = {"retries": rng.choice((1, 2, 5)), "backoff": backoff, "budget": budget}
    if rng.random() < 0.6:
        after = rng.choice(("p50", "p95", "p99", 10 ** rng.uniform(-3, -1)))
        found["hedge"] = {"after": after, "cancel": rng.random() < 0.5, "budget": rng.choice((0.05, 0.1, 0.5))}
        if rng.random() < 0.5:
            found["hedge"]["operations"] = ["GET", "PUT"]
    return found


def _faults(root: type[BaseModel], rng: Random) -> Iterator[Mapping]:
    """Draw up to two faults, with times that are fractions of the run: half of the specs have none."""
    if rng.random() < 0.5:
        return
    kinds = _members(get_args(root.model_fields["faults"].annotation)[0])
    for _ in range(rng.choice((1, 1, 2))):
        kind = rng.choice(kinds)
        fault = {"kind": get_args(kind.model_fields["kind"].annotation)[0], "at": rng.uniform(0.1, 0.6)}
        for field in ("drive", "osd", "host", "gateway", "proxy", "rack", "pool", "bucket"):
            if field in kind.model_fields:
                fault[field] = rng.randrange(3) if field in ("drive", "osd", "host") else 0
        end = next((field for field in ("back_at", "until") if field in kind.model_fields), None)
        if end and rng.random() < 0.6:
            fault[end] = fault["at"] + rng.uniform(0.1, 0.5)
        for field in ("speed", "fraction"):
            if field in kind.model_fields:
                fault[field] = rng.choice((0.1, 0.3, 0.7))
        if "detected_by" in kind.model_fields:
            fault["detected_by"] = rng.choice(("refused", "heartbeat"))
        yield fault


def _members(annotation: Any) -> list[Any]:
    """Return the alternatives of a type, without annotations."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [each for member in get_args(annotation) for each in _members(member)]
    return [annotation]


def _change(data: Mapping, root: type[BaseModel], rng: Random) -> str:
    """Change a random value of a mapping, or add one that it leaves out; return what, or nothing."""
    place, model, path = data, root, ()
    while True:
        names = [name for name in model.model_fields if name not in _KEPT and (path or name != "workload")]
        if path == ("below",):
            names.remove("workload")
        if path in ((), ("workload",)):
            names = [name for name in [*names, *(["workload"] if not path else [])] if name not in PACING]
        present = [name for name in names if place.get(name) is not None]
        if not names:
            return ""
        name = rng.choice(present) if present and rng.random() < 0.6 else rng.choice(names)
        field, path = model.model_fields[name], (*path, name)
        value = place.get(name)
        inner = [each for each in _members(field.annotation) if _is_model(each)]
        if name == "below":
            place, model = value, store_named(value["store"]).Spec
            continue
        if isinstance(value, dict) and inner and name not in ("object_size", "keys"):
            inner = [each for each in inner if _kind_of(each) in (None, value.get("kind"))] or inner
            place, model = value, inner[0]
            continue
        new = _multiplied(value, name, rng) if value is not None else value_of(model, name, field, rng)
        if new is None or new == value:
            return ""
        place[name] = new
        return f"{'.'.join(path)}: {value!r} -> {new!r}"


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _kind_of(model: type[BaseModel]) -> str | None:
    kind = model.model_fields.get("kind")
    return None if kind is None else get_args(kind.annotation)[0]


def _multiplied(value: Any, name: str, rng: Random) -> Any:
    """Return a number, a quantity, or all those of a mapping, times a factor; None for anything else."""
    factor = rng.choice(_FACTORS)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return min(max(1, round(value * factor)), max(value, _MOST.get(name, 1 << 40)))
    if isinstance(value, float):
        return value * factor
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value)) and not match[2].strip()[:1].isdigit():
        number = float(match[1]) * factor
        whole = "." not in match[1] or match[2].strip().endswith("B")
        return f"{max(1, round(number)) if whole and number >= 1 else number:g}{match[2]}"
    if isinstance(value, dict):
        key = rng.choice(list(value)) if value else None
        new = None if key in (None, "kind", "operations") else _multiplied(value[key], str(key), rng)
        return None if new is None else {**value, key: new}
    return None


def value_of(model: type[BaseModel], name: str, field: FieldInfo, rng: Random, depth: int = 0) -> Any:
    """Draw a value of a field from its type and what is known of its range; None: none is drawn."""
    ranges = [note_of(model, name, Basis), note_of(model, name, Fit)]
    known = next(((each.low, each.high) for each in ranges if each and None not in (each.low, each.high)), None)
    unit = note_of(model, name, Unit)
    bounds = [each for each in field.metadata if isinstance(each, limits.Ge | limits.Gt | limits.Le | limits.Lt)]
    low, high = known or _BY_UNIT.get(unit.symbol if unit else "", (None, None))
    options = [each for each in _members(field.annotation) if each is not type(None)]
    plain = [each for each in options if each is not str] or options
    return _drawn(rng.choice(plain), name, (low, high), bounds, field.default, rng, depth)


def _drawn(
    kind: Any, name: str, known: tuple[Any, Any], bounds: list[Any], default: Any, rng: Random, depth: int
) -> Any:
    if kind is bool:
        return not default if isinstance(default, bool) else rng.random() < 0.5
    if names := known_names(kind):
        return rng.choice(names)
    if get_origin(kind) is Literal:
        return rng.choice(get_args(kind))
    if kind in (int, float):
        return _number(kind, name, known, bounds, default, rng)
    if _is_model(kind) and depth < _DEEPEST:
        return _section(kind, rng, depth)
    if get_origin(kind) is dict and known_names(get_args(kind)[0]):
        key, value = get_args(kind)
        inner = FieldInfo(annotation=value, default=None)
        drawn = {each: value_of(BaseModel, name, inner, rng, depth + 1) for each in known_names(key)}
        return {each: one for each, one in drawn.items() if one is not None} or None
    return None


def _number(kind: type, name: str, known: tuple[Any, Any], bounds: list[Any], default: Any, rng: Random) -> Any:
    """Draw a number: log-uniform in a known range, a factor of the default, or one of few."""
    low, high = known
    least = max((each.ge if isinstance(each, limits.Ge) else each.gt for each in bounds
                 if isinstance(each, limits.Ge | limits.Gt)), default=None)  # fmt: skip
    most = min((each.le if isinstance(each, limits.Le) else each.lt for each in bounds
                if isinstance(each, limits.Le | limits.Lt)), default=None)  # fmt: skip
    if low is not None and high is not None and high > 0:
        drawn = (max(low, high / 1e6)) * (high / max(low, high / 1e6)) ** rng.random()
    elif isinstance(default, int | float) and not isinstance(default, bool) and default:
        drawn = default * rng.choice(_FACTORS)
    elif kind is float and most is not None:
        drawn = min(most, _GREATEST.get(name, most)) * rng.random()
    elif kind is int:
        drawn = rng.choice((1, 2, 3, 4, 6, 8))
    else:
        return None
    drawn = max(drawn, least) if least is not None else drawn
    drawn = min(drawn, most) if most is not None else drawn
    return min(max(1, round(drawn)), _MOST.get(name, 1 << 40)) if kind is int else drawn


def _section(model: type[BaseModel], rng: Random, depth: int) -> Any:
    """Draw a section: what it must have, and some of what it may have."""
    section: Mapping = {}
    for name, field in model.model_fields.items():
        if name == "kind":
            section[name] = get_args(field.annotation)[0]
        elif field.is_required() or (name not in _KEPT and rng.random() < 0.25):
            value = value_of(model, name, field, rng, depth + 1)
            if value is not None:
                section[name] = value
            elif field.is_required():
                return None
    return section or None


def doubled(random: RandomSpec, section: str, field: str) -> RandomSpec | None:
    """Return the spec with twice as much of a part that its file names; None: it names none."""
    data = copy.deepcopy(random.data)
    place = data.get(section)
    if not isinstance(place, dict):
        return None
    value = place.get(field)
    if isinstance(value, dict) and isinstance(value.get("count"), int):
        place, field, value = value, "count", value["count"]
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value)):
        place[field] = f"{2 * float(match[1]):g}{match[2]}"
    elif isinstance(value, int | float) and not isinstance(value, bool) and value:
        place[field] = 2 * value
    else:
        return None
    return replace(random, data=data)

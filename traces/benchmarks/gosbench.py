"""Convert definitions of gosbench.

Source of fields and behaviour: mulbc/gosbench, ``common/configFile.go`` and ``worker/main.go``. Each object in the
queue of a test has one operation, assigned by weight, and the queue is processed repeatedly; so operations have objects
of their own, which they use in turn. Sizes are 1024-based.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traces.benchmarks.converted import Converted, chosen, go_seconds, others, uniform_size, whole
from traces.errors import InputError

_WEIGHTS = {
    "read_weight": "GET",
    "existing_read_weight": "GET",
    "write_weight": "PUT",
    "list_weight": "LIST",
    "delete_weight": "DELETE",
}
_UNITS = {"B": 0, "K": 1, "KB": 1, "M": 2, "MB": 2, "G": 3, "GB": 3, "T": 4, "TB": 4}
_DISTRIBUTIONS = ("constant", "random", "sequential")


def convert(data: Mapping[str, Any], source: str, part: str | None = None) -> Converted:
    """Convert one test of a definition.

    Raises:
        InputError: the test does not exist, or one of its fields is missing or invalid.
    """
    tests = data["tests"]
    if not isinstance(tests, list) or not all(isinstance(test, Mapping) for test in tests):
        raise InputError(f"{source}: tests: is {tests!r:.60}; a list of tests is needed")
    names = [str(test.get("name") or f"test {i + 1}") for i, test in enumerate(tests)]
    taken = chosen(names, part, source)
    test, where = tests[taken], f"{source}: tests.{taken}"
    workers = whole(test.get("workers", 1), f"{where}.workers")
    mix = _mix(test, where)
    sizes, amount = _sizes(test, where), _amount(test, workers, where)
    fields: dict[str, Any] = {
        "clients": workers * whole(test.get("parallel_clients", 1), f"{where}.parallel_clients"),
        **_end(test, workers, where),
        "object_size": sizes,
        "mix": mix,
        "keys": {"kind": "sequential", "count": _objects_of(amount, mix, "GET") or amount},
    }
    if "PUT" in mix and len(mix) > 1:
        fields["own_objects"] = {
            "PUT": {"object_size": sizes, "keys": {"kind": "sequential", "count": _objects_of(amount, mix, "PUT")}}
        }
    elif "PUT" in mix:
        fields["keys"]["count"] = amount
    buckets = _count(test, "buckets", where) * (1 if test.get("workers_share_buckets", True) else workers)
    if buckets > 1:
        fields["buckets"] = buckets
    return Converted("gosbench", names[taken], tuple(names), fields, (*_notes(test), *others(names, taken)))


def _mix(test: Mapping[str, Any], where: str) -> dict[str, float]:
    mix: dict[str, float] = {}
    for field, op in _WEIGHTS.items():
        weight = whole(test.get(field) or 0, f"{where}.{field}", least=0)
        if weight:
            mix[op] = mix.get(op, 0.0) + weight
    if not mix:
        raise InputError(f"{where}: all weights are 0; at least one of {', '.join(_WEIGHTS)} is needed")
    return mix


def _end(test: Mapping[str, Any], workers: int, where: str) -> dict[str, Any]:
    runtime, ops = test.get("stop_with_runtime"), test.get("stop_with_ops")
    if runtime and go_seconds(runtime, f"{where}.stop_with_runtime"):
        return {"duration": go_seconds(runtime, f"{where}.stop_with_runtime")}
    if ops:
        return {"operations": whole(ops, f"{where}.stop_with_ops") * workers}
    raise InputError(f"{where}: stop_with_runtime and stop_with_ops are both missing; give one of them")


def _sizes(test: Mapping[str, Any], where: str) -> dict[str, Any] | int:
    objects = _section(test, "objects", where)
    unit = str(objects.get("unit", "")).upper()
    if unit not in _UNITS:
        raise InputError(f"{where}.objects.unit: is {objects.get('unit')!r}; allowed are {', '.join(_UNITS)}")
    low, high = (whole(objects.get(f"size_{end}"), f"{where}.objects.size_{end}") for end in ("min", "max"))
    scale = int(1024 ** _UNITS[unit])
    if _distribution(objects, "size_distribution", f"{where}.objects") == "constant":
        return low * scale
    return uniform_size(low * scale, high * scale)


def _amount(test: Mapping[str, Any], workers: int, where: str) -> int:
    """Return the number of objects of all workers."""
    return _count(test, "objects", where) * _count(test, "buckets", where) * workers


def _count(test: Mapping[str, Any], section: str, where: str) -> int:
    """Return the mean number of objects or buckets per worker, at least 1 (constant: the minimum)."""
    given, at = _section(test, section, where), f"{where}.{section}"
    low = whole(given.get("number_min"), f"{at}.number_min")
    high = whole(given.get("number_max", low), f"{at}.number_max", least=0)
    if _distribution(given, "number_distribution", at) == "constant":
        return low
    return max((low + max(high, low)) // 2, 1)


def _objects_of(amount: int, mix: Mapping[str, float], op: str) -> int:
    return max(round(amount * mix[op] / sum(mix.values())), 1) if op in mix else 0


def _section(test: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    section = test.get(name)
    if not isinstance(section, Mapping):
        raise InputError(f"{where}.{name}: is {section!r}; a mapping of fields is needed")
    return section


def _distribution(section: Mapping[str, Any], name: str, where: str) -> str:
    value = section.get(name)
    if value not in _DISTRIBUTIONS:
        raise InputError(f"{where}.{name}: is {value!r}; allowed are {', '.join(_DISTRIBUTIONS)}")
    return str(value)


def _notes(test: Mapping[str, Any]) -> list[str]:
    notes = []
    objects = test.get("objects", {})
    if objects.get("part_size"):
        notes.append("the size of parts of multipart uploads")
    if test.get("existing_read_weight"):
        notes.append("reads of existing objects: their sizes are assumed to be those given here")
    if any(test.get(s, {}).get("number_distribution") != "constant" for s in ("objects", "buckets")):
        notes.append("the number of objects or buckets is drawn for each worker and bucket; the workload uses its mean")
    if objects.get("size_distribution") == "sequential":
        notes.append("sizes increase from object to object; the workload draws them between minimum and maximum")
    return notes

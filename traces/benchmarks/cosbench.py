"""Convert definitions of COSBench (workload XML).

Source of elements, selectors and defaults: intel-cloud/cosbench, ``cosbench-config`` (``Work.java``, ``Stage.java``,
``KVConfigParser.java``) and ``cosbench-driver`` (``generator/*.java``: ``c()``, ``u()``, ``r()``, ``s()``, ``h()``;
size units are 1000-based, ``DefaultSizeGenerator.java``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from traces.benchmarks.converted import Converted, chosen, others, whole
from traces.benchmarks.cosbench_selectors import Span, covered, mean_bytes, sizes_of
from traces.errors import InputError

_OPS = {
    "read": "GET",
    "write": "PUT",
    "filewrite": "PUT",
    "mwrite": "PUT",
    "mfilewrite": "PUT",
    "list": "LIST",
    "head": "HEAD",
    "delete": "DELETE",
}
_AUXILIARY = ("init", "prepare", "mprepare", "cleanup", "dispose", "delay")
_UNKNOWN_SIZE = 1_000_000
_MOST_OPERATIONS, _MOST_BUCKETS = 200_000_000, 1_000_000


@dataclass(frozen=True)
class _Operation:
    """One operation of a work: type, weight and objects."""

    op: str
    weight: float
    containers: Span
    objects: Span
    sizes: str | None
    is_file: bool

    @property
    def place(self) -> tuple[int, int, int, int]:
        """The set of objects: the ends of both spans."""
        return (self.containers.low, self.containers.high, self.objects.low, self.objects.high)

    def meets(self, other: _Operation) -> bool:
        """Whether the operations have an object in common."""
        return self.containers.meets(other.containers) and self.objects.meets(other.objects)


def convert(root: Element, source: str, part: str | None = None) -> Converted:
    """Convert one workstage.

    Raises:
        InputError: no workstage has requests for objects, or a field is missing or invalid.
    """
    stages = [stage for stage in root.iter("workstage") if _works(stage)]
    names = [stage.get("name") or f"workstage {i + 1}" for i, stage in enumerate(stages)]
    taken = chosen(names, part, source)
    stage, where = stages[taken], f"{source}: workstage {names[taken]!r}"
    works = _works(stage)
    inherited = _settings(root.get("config")) | _settings(stage.get("config"))
    operations = [one for work in works for one in _operations(work, inherited, where)]
    if not operations:
        raise InputError(f"{where}: has no operation; allowed are {', '.join(_OPS)}")
    notes: list[str] = []
    written = _prepared(root, source) + [one for one in operations if one.op == "PUT"]
    fields = {"clients": sum(whole(work.get("workers"), f"{where}: workers") for work in works)}
    fields |= _objects(operations, written, where, notes)
    fields |= _end(works, fields["object_size"], where, notes)
    fields |= _ranges(root, stage, works, where)
    notes += _notes(works, operations)
    return Converted("COSBench", names[taken], tuple(names), fields, (*notes, *others(names, taken)))


def _works(stage: Element) -> list[Element]:
    """Return the works of a stage, without those that prepare and remove objects."""
    return [work for work in stage.findall("work") if work.get("type", "normal") not in _AUXILIARY]


def _settings(config: str | None) -> dict[str, str]:
    """Parse ``a=1;b=2`` into a mapping."""
    pairs = (entry.partition("=") for entry in (config or "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}


def _operations(work: Element, inherited: dict[str, str], where: str) -> list[_Operation]:
    found = []
    for operation in work.findall("operation"):
        kind = operation.get("type", "")
        if kind not in _OPS:
            raise InputError(f"{where}: operation type is {kind!r}; allowed are {', '.join(_OPS)}")
        ratio = whole(operation.get("ratio", "100"), f"{where}: ratio", least=0)
        if ratio:
            settings = inherited | _settings(work.get("config")) | _settings(operation.get("config"))
            weight = ratio * whole(work.get("workers"), f"{where}: workers")
            found.append(_one(_OPS[kind], float(weight), settings, where, kind.endswith("filewrite")))
    return found


def _one(op: str, weight: float, settings: dict[str, str], where: str, is_file: bool = False) -> _Operation:
    containers = Span.parse(settings.get("containers", "c(1)"), f"{where}: containers")
    objects = Span.parse(settings.get("objects", "c(1)"), f"{where}: objects")
    return _Operation(op, weight, containers, objects, settings.get("sizes"), is_file)


def _prepared(root: Element, source: str) -> list[_Operation]:
    """Return the writes of the preparing stages."""
    return [
        _one("PUT", 0.0, _settings(work.get("config")), f"{source}: work of type prepare")
        for work in root.iter("work")
        if work.get("type") in ("prepare", "mprepare")
    ]


def _objects(
    operations: Sequence[_Operation], written: Sequence[_Operation], where: str, notes: list[str]
) -> dict[str, Any]:
    """Return mix, keys, sizes and buckets; operations on other objects than the first get objects of their own."""
    total = sum(one.weight for one in operations)
    mix: dict[str, float] = {}
    for one in operations:
        mix[one.op] = mix.get(one.op, 0.0) + round(one.weight / total, 6)
    first = next(one for op in ("GET", "PUT", "HEAD", "LIST", "DELETE") for one in operations if one.op == op)
    fields: dict[str, Any] = {"mix": mix, **_group(first, written, where, notes)}
    own = {}
    for op in ("PUT", "HEAD"):
        others_of_op = [one for one in operations if one.op == op and one.place != first.place]
        if op in mix and op != first.op and others_of_op:
            own[op] = _group(others_of_op[0], written, where, notes)
            if others_of_op[0].meets(first):
                notes.append(f"some objects of {op}s are also named by {first.op}s; the workload separates them")
    if own:
        fields["own_objects"] = own
    several = [op for op in mix if len({one.place for one in operations if one.op == op}) > 1]
    notes += [f"{op}s name several sets of objects; the workload uses the first" for op in several]
    buckets = min(covered([one.containers for one in operations]), _MOST_BUCKETS)
    return fields | ({"buckets": buckets} if buckets > 1 else {})


def _group(one: _Operation, written: Sequence[_Operation], where: str, notes: list[str]) -> dict[str, Any]:
    sizes = one.sizes or next((made.sizes for made in written if made.sizes and one.meets(made)), None)
    count = one.containers.count * one.objects.count
    kind = "sequential" if one.objects.in_turn else "uniform"
    group = {"keys": {"kind": kind, "count": min(count, 10_000_000_000)}}
    if sizes is None:
        what = "files" if one.is_file else "existing objects"
        notes.append(f"the sizes of {what} are not given by any stage: {_UNKNOWN_SIZE} bytes are assumed")
        return {"object_size": _UNKNOWN_SIZE, **group}
    return {"object_size": sizes_of(sizes, f"{where}: sizes"), **group}


def _end(works: Sequence[Element], object_size: Any, where: str, notes: list[str]) -> dict[str, Any]:
    """Return the limits of the stage: the longest, if works end at different times."""
    runtimes, operations, size = (
        [whole(work.get(name, "0"), f"{where}: {name}", least=0) for work in works]
        for name in ("runtime", "totalOps", "totalBytes")
    )
    end: dict[str, Any] = {}
    if any(runtimes):
        end["duration"] = float(max(runtimes))
    if any(operations):
        end["operations"] = sum(operations)
    if any(size) and not end:
        end["operations"] = min(max(round(sum(size) / mean_bytes(object_size)), 1), _MOST_OPERATIONS)
        notes.append("the end after a number of bytes; the workload ends after operations that transfer about as many")
    if not end:
        raise InputError(f"{where}: runtime, totalOps and totalBytes are all missing; give one of them")
    return end


def _ranges(root: Element, stage: Element, works: Sequence[Element], where: str) -> dict[str, Any]:
    """Return ranged reads if the innermost storage has them: ``is_range_request`` and ``chunk_length`` of S3."""
    holders = (works[0], stage, root)
    storage = next((found for found in (holder.find("storage") for holder in holders) if found is not None), None)
    settings = _settings(None if storage is None else storage.get("config"))
    if settings.get("is_range_request", "").lower() != "true" or "chunk_length" not in settings:
        return {}
    return {"ranges": {"fraction": 1.0, "size": whole(settings["chunk_length"], f"{where}: chunk_length")}}


def _notes(works: Sequence[Element], operations: Sequence[_Operation]) -> list[str]:
    notes = []
    if len(works) > 1:
        notes.append("works run in parallel; in the workload every client issues the operations of all works")
    if any(whole(work.get(name, "0"), name, least=0) for work in works for name in ("rampup", "rampdown")):
        notes.append("rampup and rampdown")
    if any(one.op == "DELETE" for one in operations):
        notes.append("which objects are deleted; in the workload each DELETE names an object of its own")
    return notes

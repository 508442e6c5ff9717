"""Definitions of COSBench (workload XML) as workloads.

Elements, selectors and defaults: intel-cloud/cosbench, ``cosbench-config`` (``Work.java``, ``Stage.java``,
``KVConfigParser.java``) and ``cosbench-driver`` (``generator/*.java``: ``c()``, ``u()``, ``r()``, ``s()``, ``h()``;
units of sizes are 1000-based, ``DefaultSizeGenerator.java``).
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
_AROUND = ("init", "prepare", "mprepare", "cleanup", "dispose", "delay")
_UNKNOWN_SIZE = 1_000_000
_MOST_OPERATIONS, _MOST_BUCKETS = 200_000_000, 1_000_000


@dataclass(frozen=True)
class _Asked:
    """One operation of a work: what it is, how often, of which objects."""

    op: str
    weight: float
    containers: Span
    objects: Span
    sizes: str | None
    is_file: bool

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Which objects: the ends of both spans."""
        return (self.containers.low, self.containers.high, self.objects.low, self.objects.high)

    def meets(self, other: _Asked) -> bool:
        """Whether some object is of both."""
        return self.containers.meets(other.containers) and self.objects.meets(other.objects)


def convert(root: Element, source: str, part: str | None = None) -> Converted:
    """The workload of one workstage.

    Raises:
        InputError: no workstage asks for objects, or a field is missing or wrong.
    """
    stages = [stage for stage in root.iter("workstage") if _works(stage)]
    names = [stage.get("name") or f"workstage {i + 1}" for i, stage in enumerate(stages)]
    taken = chosen(names, part, source)
    stage, where = stages[taken], f"{source}: workstage {names[taken]!r}"
    works = _works(stage)
    inherited = _settings(root.get("config")) | _settings(stage.get("config"))
    asked = [one for work in works for one in _asked(work, inherited, where)]
    if not asked:
        raise InputError(f"{where}: has no operation; allowed are {', '.join(_OPS)}")
    notes: list[str] = []
    written = _prepared(root, source) + [one for one in asked if one.op == "PUT"]
    fields = {"clients": sum(whole(work.get("workers"), f"{where}: workers") for work in works)}
    fields |= _objects(asked, written, where, notes)
    fields |= _end(works, fields["object_size"], where, notes)
    fields |= _ranges(root, stage, works, where)
    notes += _notes(works, asked)
    return Converted("COSBench", names[taken], tuple(names), fields, (*notes, *others(names, taken)))


def _works(stage: Element) -> list[Element]:
    """The works of a stage that ask for objects: not what makes and removes them."""
    return [work for work in stage.findall("work") if work.get("type", "normal") not in _AROUND]


def _settings(config: str | None) -> dict[str, str]:
    """``a=1;b=2`` as a mapping."""
    pairs = (entry.partition("=") for entry in (config or "").split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}


def _asked(work: Element, inherited: dict[str, str], where: str) -> list[_Asked]:
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


def _one(op: str, weight: float, settings: dict[str, str], where: str, is_file: bool = False) -> _Asked:
    containers = Span.parse(settings.get("containers", "c(1)"), f"{where}: containers")
    objects = Span.parse(settings.get("objects", "c(1)"), f"{where}: objects")
    return _Asked(op, weight, containers, objects, settings.get("sizes"), is_file)


def _prepared(root: Element, source: str) -> list[_Asked]:
    """What the stages before make."""
    return [
        _one("PUT", 0.0, _settings(work.get("config")), f"{source}: work of type prepare")
        for work in root.iter("work")
        if work.get("type") in ("prepare", "mprepare")
    ]


def _objects(asked: Sequence[_Asked], written: Sequence[_Asked], where: str, notes: list[str]) -> dict[str, Any]:
    """Mix, keys, sizes, buckets: operations on the objects of the first share them, others have their own."""
    total = sum(one.weight for one in asked)
    mix: dict[str, float] = {}
    for one in asked:
        mix[one.op] = mix.get(one.op, 0.0) + round(one.weight / total, 6)
    first = next(one for op in ("GET", "PUT", "HEAD", "LIST", "DELETE") for one in asked if one.op == op)
    fields: dict[str, Any] = {"mix": mix, **_group(first, written, where, notes)}
    own = {}
    for op in ("PUT", "HEAD"):
        apart = [one for one in asked if one.op == op and one.place != first.place]
        if op in mix and op != first.op and apart:
            own[op] = _group(apart[0], written, where, notes)
            if apart[0].meets(first):
                notes.append(f"that some objects of {op}s are also those of {first.op}s; here they are apart")
    if own:
        fields["own_objects"] = own
    several = [op for op in mix if len({one.place for one in asked if one.op == op}) > 1]
    notes += [f"that {op}s name several sets of objects; the first is taken" for op in several]
    buckets = min(covered([one.containers for one in asked]), _MOST_BUCKETS)
    return fields | ({"buckets": buckets} if buckets > 1 else {})


def _group(one: _Asked, written: Sequence[_Asked], where: str, notes: list[str]) -> dict[str, Any]:
    sizes = one.sizes or next((made.sizes for made in written if made.sizes and one.meets(made)), None)
    count = one.containers.count * one.objects.count
    kind = "sequential" if one.objects.in_turn else "uniform"
    group = {"keys": {"kind": kind, "count": min(count, 10_000_000_000)}}
    if sizes is None:
        what = "files" if one.is_file else "objects that are there already"
        notes.append(f"the sizes of {what}, which no stage names: {_UNKNOWN_SIZE} bytes are assumed")
        return {"object_size": _UNKNOWN_SIZE, **group}
    return {"object_size": sizes_of(sizes, f"{where}: sizes"), **group}


def _end(works: Sequence[Element], object_size: Any, where: str, notes: list[str]) -> dict[str, Any]:
    """When the stage ends; where works end differently, with the longest."""
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
        notes.append("the end after a number of bytes; so many operations move about as many")
    if not end:
        raise InputError(f"{where}: runtime, totalOps and totalBytes are all missing; give one of them")
    return end


def _ranges(root: Element, stage: Element, works: Sequence[Element], where: str) -> dict[str, Any]:
    """Reads of parts, where the innermost storage asks for them: S3's ``is_range_request`` and ``chunk_length``."""
    holders = (works[0], stage, root)
    storage = next((held for held in (holder.find("storage") for holder in holders) if held is not None), None)
    settings = _settings(None if storage is None else storage.get("config"))
    if settings.get("is_range_request", "").lower() != "true" or "chunk_length" not in settings:
        return {}
    return {"ranges": {"share": 1.0, "size": whole(settings["chunk_length"], f"{where}: chunk_length")}}


def _notes(works: Sequence[Element], asked: Sequence[_Asked]) -> list[str]:
    notes = []
    if len(works) > 1:
        notes.append("that works run side by side; here every client does the operations of all, by their workers")
    if any(whole(work.get(name, "0"), name, least=0) for work in works for name in ("rampup", "rampdown")):
        notes.append("rampup and rampdown")
    if any(one.op == "DELETE" for one in asked):
        notes.append("which objects are deleted; here each DELETE names one of its own")
    return notes

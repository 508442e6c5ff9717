"""Convert definitions of MinIO's benchmark warp (``warp run FILE.yml``).

Source of fields, defaults and behaviour: minio/warp, ``cli/run.go``, ``cli/flags.go``, ``cli/generator.go``, the files
of the benchmarks in ``cli/``, ``pkg/generator/generator.go`` and ``pkg/bench/get.go``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from traces.benchmarks.converted import ALWAYS_NEW, Converted, chosen, go_bytes, go_seconds, log_uniform_bins, whole
from traces.errors import InputError

_CONCURRENT, _DURATION = 20, "5m"
_DEFAULTS = {  # objects, obj.size
    "get": (2500, "10MiB"),
    "put": (0, "10MiB"),
    "mixed": (2500, "10MiB"),
    "versioned": (250, "10MiB"),
    "stat": (10_000, "1KB"),
    "list": (10_000, "1KB"),
    "delete": (25_000, "1KB"),
}
_MIXES = {"get": "GET", "put": "PUT", "stat": "HEAD", "list": "LIST", "delete": "DELETE"}
_DEFAULT_MIX = {"get": ("GET", 45.0), "stat": ("HEAD", 30.0), "put": ("PUT", 15.0), "delete": ("DELETE", 10.0)}
_NOT_CONVERTED = {
    "rps-limit": "the limit of requests per second of each warp client",
    "autoterm.enabled": "the end when throughput is steady",
    "obj.part-size": "the size of parts of multipart uploads",
    "list-existing": "existing objects: their number and sizes are assumed to be those given here",
    "sse-s3-encrypt": "encryption by the server",
    "sse-c-encrypt": "encryption with the client's keys",
    "http2": "HTTP/2",
    "disable-http-keepalive": "a connection for each request",
    "metadata": "LISTs with metadata",
}  # fmt: skip
_STRUCTURE = ("io", "remote", "params", "advanced")
_PREFIXED = ("analyze", "obj", "autoterm", "distribution")
_ELLIPSIS = re.compile(r"\{(\d+)\.\.\.(\d+)\}")
_OCTAVE_STEPS = 2  # bins per octave of sizes


def convert(data: Mapping[str, Any], source: str, part: str | None = None) -> Converted:
    """Convert a definition.

    Raises:
        InputError: the definition is not that of a benchmark that reads, writes, lists or deletes objects.
    """
    warp = data["warp"]
    if not isinstance(warp, Mapping):
        raise InputError(f"{source}: warp: is {warp!r}; a mapping of fields is needed")
    flags = _flags(warp, source)
    benchmark = str(flags.get("benchmark", ""))
    if benchmark not in _DEFAULTS:
        raise InputError(f"{source}: warp.benchmark: is {benchmark!r}; allowed are {', '.join(_DEFAULTS)}")
    chosen([benchmark], part, source)
    objects, size = _DEFAULTS[benchmark]
    sizes = _sizes(
        str(flags.get("obj.size", size)), bool(flags.get("obj.rand-size")), f"{source}: warp.params.obj.size"
    )
    mix = _mix(flags, source) if benchmark in ("mixed", "versioned") else {_MIXES[benchmark]: 1.0}
    count = whole(flags.get("objects", objects or 1), f"{source}: warp.params.objects", least=0)
    fields: dict[str, Any] = {
        "clients": _concurrency(flags, source),
        "duration": go_seconds(flags.get("duration", _DURATION), f"{source}: warp.params.duration"),
        "object_size": sizes,
        "mix": mix,
        "keys": {"kind": "uniform", "count": max(count, 1)},
    }
    if benchmark == "put":
        fields["keys"] = ALWAYS_NEW
    elif mix.get("PUT") and benchmark == "mixed":
        fields["own_objects"] = {"PUT": {"object_size": sizes, "keys": ALWAYS_NEW}}
    if benchmark == "get" and (flags.get("range") or flags.get("range-size")):
        fields["ranges"] = {"fraction": 1.0, "size": _range(flags, sizes, source)}
    return Converted("warp", benchmark, (benchmark,), fields, tuple(_notes(flags, benchmark)))


def _flags(section: Mapping[str, Any], source: str, prefix: str = "") -> dict[str, Any]:
    """Return the fields by the names of warp's flags, without empty ones."""
    flags: dict[str, Any] = {}
    for name, value in section.items():
        if name in _STRUCTURE or name in _PREFIXED:
            if value is None:
                continue
            if not isinstance(value, Mapping):
                raise InputError(f"{source}: {name}: is {value!r}; a mapping of fields is needed")
            flags |= _flags(value, source, f"{name}." if name in _PREFIXED else "")
        elif value is not None:
            flags[prefix + name] = value
    return flags


def _concurrency(flags: Mapping[str, Any], source: str) -> int:
    """Return the number of concurrent requests of all warp clients."""
    each = whole(flags.get("concurrent", _CONCURRENT), f"{source}: warp.params.concurrent")
    named = flags.get("warp-client", [])
    hosts = named if isinstance(named, list) else str(named).split(",")
    spans = (math.prod(int(b) - int(a) + 1 for a, b in _ELLIPSIS.findall(str(host))) for host in hosts if host)
    return each * max(sum(spans), 1)


def _mix(flags: Mapping[str, Any], source: str) -> dict[str, float]:
    mix = {}
    for name, (op, default) in _DEFAULT_MIX.items():
        value = flags.get(f"distribution.{name}", default)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise InputError(
                f"{source}: warp.params.distribution.{name}: is {value!r}; a number of at least 0 is needed"
            )
        if value:
            mix[op] = float(value)
    return mix


def _sizes(text: str, is_random: bool, where: str) -> dict[str, Any] | int:
    """Return the sizes that warp draws: log-uniform if random, but uniform in the lowest octave."""
    least, _, most = text.rpartition(",")
    high = go_bytes(most, where)
    if not is_random or high < 256:
        return high
    low = go_bytes(least, where) if least else 0
    top = math.log2(high - 1)
    bottom = math.log2(low - 1) if low > 1 else max(7.0, top - 8)
    if top - bottom <= 1:
        return high
    # 1 in (top - bottom) draws is uniform, from the minimum up to the first octave's fraction of 2^octaves.
    first = 1 / (top - bottom)
    lowest = [1 + low, 1 + low + int(first * 2 ** (bottom + 1))]
    edges = log_uniform_bins(2 ** (bottom + 1), 2**top + 1, round((top - bottom - 1) * _OCTAVE_STEPS))
    weights = [math.log(b / a) for a, b in pairwise(edges)]
    upper = {"kind": "histogram", "edges": edges, "weights": [round(w / sum(weights), 6) for w in weights]}
    lower = {"kind": "histogram", "edges": lowest, "weights": [1.0]}
    return {
        "kind": "mixture",
        "components": [{"weight": round(first, 6), "size": lower}, {"weight": round(1 - first, 6), "size": upper}],
    }


def _range(flags: Mapping[str, Any], sizes: dict[str, Any] | int, source: str) -> dict[str, Any] | int:
    """Return the lengths of ranges: as given, or between two random positions."""
    if flags.get("range-size"):
        return go_bytes(flags["range-size"], f"{source}: warp.params.range-size")
    if not isinstance(sizes, int):
        raise InputError(f"{source}: warp.params.range: not supported for objects of random size; give range-size")
    steps = 16
    edges = [sizes * i // steps for i in range(steps + 1)]
    return {"kind": "histogram", "edges": edges, "weights": [float(2 * (steps - i) - 1) for i in range(steps)]}


def _notes(flags: Mapping[str, Any], benchmark: str) -> list[str]:
    notes = [what for name, what in _NOT_CONVERTED.items() if flags.get(name)]
    if flags.get("obj.versions", 1) != 1:
        notes.append("versions of objects")
    if benchmark == "delete":
        notes.append(f"deletes of {flags.get('batch', 100)} objects per request; the workload deletes them one by one")
    if benchmark == "versioned":
        notes.append("versions of objects: writes create versions of keys that others read")
    if benchmark == "mixed":
        notes.append("reads and deletes of objects that were written before")
    return notes

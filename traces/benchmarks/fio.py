"""Convert job files of fio to workloads of a file system.

Source of options, defaults and units: axboe/fio, ``HOWTO.rst``. Jobs that run at the same time are one part, each a
group of clients; a stonewall begins the next part. Files are those that fio lays out before, each job its own. By
default, prefixes of sizes are powers of 1024, and those with an ``i`` of 1000 (``kb_base``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from traces.benchmarks.converted import Converted, chosen, others, uniform_size, whole
from traces.errors import InputError

_PATTERNS = {  # whether READs, WRITEs, and at random places
    "read": (True, False, False), "write": (False, True, False), "rw": (True, True, False),
    "readwrite": (True, True, False), "randread": (True, False, True), "randwrite": (False, True, True),
    "randrw": (True, True, True),
}  # fmt: skip
_ASYNCHRONOUS = ("libaio", "io_uring", "posixaio", "windowsaio", "solarisaio")
_SYNCHRONOUS = ("psync", "sync", "vsync", "pvsync", "pvsync2", "mmap")
_WITHOUT_EFFECT = {
    "description", "directory", "group_reporting", "name", "new_group", "ioengine", "invalidate", "randrepeat",
    "randseed", "norandommap", "refill_buffers", "scramble_buffers", "thread", "time_based", "write_bw_log",
    "write_iops_log", "write_lat_log", "log_avg_msec", "per_job_logs", "filename_format", "fallocate", "overwrite",
    "unlink", "create_serialize", "direct", "unified_rw_reporting", "disk_util", "gtod_reduce", "allow_mounted_write",
    "rw", "readwrite", "stonewall", "wait_for_previous", "kb_base", "unit_base", "clocksource", "stats", "eta",
}  # fmt: skip
_CONVERTED = {
    "bs", "blocksize", "bsrange", "blocksize_range", "size", "io_size", "io_limit", "filesize", "nrfiles", "numjobs",
    "iodepth", "rwmixread", "rwmixwrite", "thinktime", "runtime", "timeout", "fsync", "fdatasync", "rate",
    "rate_iops", "rate_process", "loops", "filename", "file_service_type", "thinktime_blocks", "end_fsync",
    "fsync_on_close",
}  # fmt: skip
_SECTION = re.compile(r"\[([^\]]+)\]")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgtp])(i?)b?|b)?", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(us|usec|ms|msec|s|m|h|d)?", re.IGNORECASE)
_SECONDS = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

Options = Mapping[str, str]


def is_job_file(text: str) -> bool:
    """Return whether a text begins with a section, after comments."""
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#;"), "")
    return _SECTION.fullmatch(first) is not None


def convert(text: str, source: str, part: str | None = None) -> Converted:
    """Convert the jobs of a file that run at the same time.

    Raises:
        InputError: there is no such part, or an option is missing or invalid.
    """
    parts = _parts(text, source)
    names = [", ".join(jobs) for jobs in parts]
    taken = chosen(names, part, source)
    jobs, notes = parts[taken], list[str]()
    groups = {name: _job(options, f"{source}: [{name}]", notes) for name, options in jobs.items()}
    if len(groups) == 1:
        fields = next(iter(groups.values()))
    else:
        fields = {"groups": {_group(name, i): group for i, (name, group) in enumerate(groups.items())}}
    return Converted("fio", names[taken], tuple(names), fields, (*dict.fromkeys(notes), *others(names, taken)))


def _parts(text: str, source: str) -> list[dict[str, dict[str, str]]]:
    """Return the options of the jobs by name, for each set of jobs that runs at the same time."""
    parts: list[dict[str, dict[str, str]]] = []
    for name, options in _jobs(text, source):
        waits = any(options.get(option, "0") != "0" for option in ("stonewall", "wait_for_previous"))
        if waits or not parts:
            parts.append({})
        same = sum(known.partition(" #")[0] == name for known in parts[-1])
        parts[-1][f"{name} #{same + 1}" if same else name] = options
    return parts


def _jobs(text: str, source: str) -> list[tuple[str, dict[str, str]]]:
    """Return name and options of each job, with those of [global] sections before it."""
    shared: dict[str, str] = {}
    jobs: list[tuple[str, dict[str, str]]] = []
    options: dict[str, str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if section := _SECTION.fullmatch(line):
            name = section[1].strip()
            options = shared if name == "global" else dict(shared)
            if options is not shared:
                jobs.append((name, options))
            continue
        if options is None:
            raise InputError(f"{source}: line {number}: {line!r:.40} is in no section; allowed are [global] and [JOB]")
        if line.split()[0] == "include":
            raise InputError(f"{source}: line {number}: {line!r:.60} is not read; write the options of that file here")
        name, _, value = (piece.strip() for piece in line.partition("="))
        options[name] = value
    return jobs


def _group(name: str, number: int) -> str:
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:30]
    return plain if plain[:1].isalpha() else f"job-{number + 1}{'-' if plain else ''}{plain}"


def _job(options: Options, where: str, notes: list[str]) -> dict[str, Any]:
    """Return the workload of a job."""
    pattern = options.get("rw", options.get("readwrite", "read")).partition(":")[0].lower()
    if pattern not in _PATTERNS:
        raise InputError(f"{where}: rw: is {pattern!r}; allowed are {', '.join(_PATTERNS)}")
    reads, writes, is_random = _PATTERNS[pattern]
    jobs = whole(options.get("numjobs", 1), f"{where}: numjobs")
    named = [name for name in options.get("filename", "").split(":") if name]
    files = len(named) or whole(options.get("nrfiles", 1), f"{where}: nrfiles")
    mix = _mix(options, reads, writes, where)
    blocks = _blocks(options, where, notes, [op for op in ("READ", "WRITE") if op in mix])
    total, each = _sizes(options, files, where)
    fields: dict[str, Any] = {
        "object_size": each,
        "mix": mix,
        "keys": {
            "kind": "uniform" if options.get("file_service_type", "").startswith("random") else "sequential",
            "count": files * (1 if named else jobs),
        },
        "ranges": {"size": blocks, "order": "random" if is_random else "sequential"},
    }
    mean = blocks if isinstance(blocks, int) else sum(blocks["edges"]) / 2
    _note(options, named, notes)
    loop = _loop(options, jobs, mix, mean, where, notes)
    return loop | _end(options, total, jobs, mean, mix, where) | fields


def _note(options: Options, named: list[str], notes: list[str]) -> None:
    """Note what is not converted."""
    notes += [f"the option {name}" for name in options if name not in _CONVERTED | _WITHOUT_EFFECT]
    if options.get("direct", "0") not in ("0", ""):
        notes.append("direct, which passes by the page cache of the client")
    if any(options.get(name, "0") != "0" for name in ("end_fsync", "fsync_on_close")):
        notes.append("the FSYNC of each file at its end")
    if named:
        notes.append("the names of files; jobs that name the same one share it")


def _mix(options: Options, reads: bool, writes: bool, where: str) -> dict[str, float]:
    read = 100.0 if not writes else 0.0 if not reads else _percent(options, where)
    mix = {op: weight for op, weight in (("READ", read), ("WRITE", 100 - read)) if weight}
    for name in ("fsync", "fdatasync"):
        every = whole(options.get(name, 0) or 0, f"{where}: {name}", least=0)
        if every and "WRITE" in mix:
            mix["FSYNC"] = mix.get("FSYNC", 0.0) + mix["WRITE"] / every
    return mix


def _percent(options: Options, where: str) -> float:
    for name, turned in (("rwmixread", False), ("rwmixwrite", True)):
        if name in options:
            value = whole(options[name], f"{where}: {name}", least=0)
            if value > 100:
                raise InputError(f"{where}: {name}: is {value}; a percentage from 0 to 100 is needed")
            return float(100 - value if turned else value)
    return 50.0


def _blocks(options: Options, where: str, notes: list[str], ops: list[str]) -> int | dict[str, Any]:
    """Return the size of blocks: one, or a range."""
    for name in ("bsrange", "blocksize_range"):
        if name in options:
            low, _, high = options[name].partition(",")[0].partition("-")
            return uniform_size(*(_bytes(end, f"{where}: {name}", options) for end in (low, high)))
    given = options.get("bs", options.get("blocksize", "4k")).split(",")
    sizes = [_bytes(text or given[0], f"{where}: bs", options) for text in given[:2]]
    of = {"READ": sizes[0], "WRITE": sizes[-1]}
    if len({of[op] for op in ops}) > 1:
        notes.append(f"blocks of WRITEs of {of['WRITE']:,} bytes; those of READs have {of['READ']:,}, and all do here")
    return of[ops[0]]


def _sizes(options: Options, files: int, where: str) -> tuple[int, Any]:
    """Return the bytes that a job moves, and the size of a file."""
    size = options.get("size")
    if size is not None and size.endswith("%"):
        raise InputError(f"{where}: size: is {size!r}; a size in bytes is needed, as files are not known")
    total = None if size is None else _bytes(size, f"{where}: size", options)
    if "filesize" in options:
        low, _, high = options["filesize"].partition("-")
        ends = [_bytes(end, f"{where}: filesize", options) for end in (low, high) if end]
        each: Any = uniform_size(ends[0], ends[-1])
        total = total or files * sum(ends) // len(ends)
    elif total is None:
        raise InputError(f"{where}: size and filesize are both missing; give one of them")
    else:
        each = max(total // files, 1)
    moved = options.get("io_size", options.get("io_limit"))
    loops = whole(options.get("loops", 1), f"{where}: loops")
    return (total if moved is None else _bytes(moved, f"{where}: io_size", options)) * loops, each


def _loop(
    options: Options, jobs: int, mix: Mapping[str, float], block: float, where: str, notes: list[str]
) -> dict[str, Any]:
    """Return the fields of a closed loop, or of an open one if there is a rate."""
    for name in ("rate_iops", "rate"):
        if name in options:
            first = next(text for text in options[name].split(",") if text or name)
            value = _bytes(first, f"{where}: {name}", options) / (block if name == "rate" else 1)
            if not value:
                raise InputError(f"{where}: {name}: is {first!r}; a number above 0 is needed")
            notes.append(f"{name} is an upper limit in fio; the workload has that rate, whatever the store does")
            process = "poisson" if options.get("rate_process") == "poisson" else "constant"
            both = len([op for op in mix if op != "FSYNC"])
            return {"rate": value * both * jobs, "arrivals": {"kind": process}}
    engine, depth = options.get("ioengine", "psync"), whole(options.get("iodepth", 1), f"{where}: iodepth")
    if engine not in _ASYNCHRONOUS + _SYNCHRONOUS:
        allowed = ", ".join(_ASYNCHRONOUS + _SYNCHRONOUS)
        raise InputError(f"{where}: ioengine: {engine!r} is not one of files; allowed are {allowed}")
    if depth > 1 and engine in _SYNCHRONOUS:
        notes.append(f"iodepth, as {engine} has one operation at a time")
        depth = 1
    fields: dict[str, Any] = {"clients": jobs * depth}
    if "thinktime" in options and (pause := _seconds(options["thinktime"], f"{where}: thinktime", 1e-6)):
        every = whole(options.get("thinktime_blocks", 1), f"{where}: thinktime_blocks")
        fields["think_time"] = round(pause / every, 9)
        if every > 1:
            notes.append(f"thinktime_blocks: the pause is divided among {every} operations")
        if depth > 1:
            notes.append("thinktime: each of a job's operations in progress pauses, not the job")
    return fields


def _end(options: Options, total: int, jobs: int, block: float, mix: Mapping[str, float], where: str) -> dict[str, Any]:
    """Return the end of the workload."""
    fields: dict[str, Any] = {}
    runtime = options.get("runtime", options.get("timeout"))
    if runtime is not None and (duration := _seconds(runtime, f"{where}: runtime", 1.0)):
        fields["duration"] = duration
    is_timed = "time_based" in options and options["time_based"] != "0"
    if is_timed and not fields:
        raise InputError(f"{where}: time_based needs runtime")
    if not is_timed:
        moving = mix.get("READ", 0.0) + mix.get("WRITE", 0.0)
        fields["operations"] = math.ceil(math.ceil(total / max(block, 1)) * sum(mix.values()) / moving) * jobs
    return fields


def _bytes(text: str, where: str, options: Options) -> int:
    """Parse a size of fio."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{where}: {text!r} is not a size; write it like 4k or 1g")
    binary = bool(found[3]) == (options.get("kb_base") == "1000")
    return int(float(found[1]) * (1024 if binary else 1000) ** " kmgtp".index((found[2] or " ").lower()))


def _seconds(text: str, where: str, unit_s: float) -> float:
    """Parse a duration of fio, whose bare numbers are in a unit."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{where}: {text!r} is not a duration; write it like 30s or 10m")
    return float(found[1]) * (_SECONDS[found[2].lower()] if found[2] else unit_s)

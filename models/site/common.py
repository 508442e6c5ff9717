"""Questions, and sections of specs, that stores have in common: workload, client machines, drives."""

from __future__ import annotations

from models.devices.presets import Preset
from models.site.kinds import BANDWIDTH, COUNT, DRIVE, FRACTION, MANY, MIX, NUMBER, RATE, SIZE, TIME
from models.site.known import Known, Tree, assumed, derived
from models.site.setup import Question, Site
from traces.spec.units import parse_rate

_REQUESTS = 20_000  # of a run: p99 of an operation with a hundredth of them still has ten beyond it at 5 %
_SHORTEST_S, _LONGEST_S = 5, 600

MIX_QUESTION = Question(
    "mix", "Operations and their weights, such as GET=70,PUT=30", MIX, {"GET": 70, "PUT": 30}, "mostly reads"
)
WORKLOAD = (
    MIX_QUESTION,
    Question("size", "Size of an object, such as 1MiB", SIZE),
    Question("rate", "Requests that arrive each second, such as 2000/s (an open loop)", RATE, unless=("clients",)),
    Question(
        "clients",
        "Clients that wait for each response (a closed loop), instead of a rate (default: a rate)",
        COUNT,
        optional=True,
    ),
    Question("keys", "Objects that requests name", MANY, 100_000, "all are requested equally often"),
    Question("duration", "Time that a run simulates", TIME, optional=True),
)
CLIENTS = (
    Question("client-machines", "Machines that clients run on", COUNT, optional=True),
    Question("latency", "Latency between two machines, one way", TIME, "50us", "one switch", "20us", "500us"),
)
HOSTS = Question("hosts", "Storage hosts", COUNT)
DRIVES = Question("drives", "Data drives of each host", COUNT)
DRIVE_QUESTION = Question("drive", "Kind of the data drives: a preset such as nvme, sata-ssd or hdd-7k2", DRIVE)
NIC = Question("nic", "Bandwidth of a host's network interface, such as 25Gbit/s", BANDWIDTH)
CORES = Question("cores", "Cores of each storage host", COUNT, 16, "a small server", 8, 64)
SPEED = Question(
    "core-speed", "Speed of a core, as a multiple of those on which the CPU times were measured", NUMBER, optional=True
)
MACHINES = HOSTS, DRIVES, DRIVE_QUESTION, NIC, CORES, SPEED
CACHED = Question(
    "cached", "Fraction of reads that the page caches serve", FRACTION, "50%", "of a hot half", "0.1", "0.9"
)
OBJECTS = Question("objects", "Objects in the store, such as 200M", MANY)
STORED_SIZE = Question("stored-size", "Mean size of stored objects (default: that of requests)", SIZE, optional=True)


def workload(site: Site, **further: Known) -> Tree:
    """Return the section `workload`."""
    load: dict[str, Known] = {}
    clients = site.get("clients")
    if clients is None:
        rate = site["rate"]
        seconds = round(min(max(_REQUESTS / parse_rate(rate.value), _SHORTEST_S), _LONGEST_S))
        load = {"rate": rate, "duration": site.derived("duration", f"{seconds}s", f"about {_REQUESTS:,} requests")}
    elif (duration := site.get("duration")) is not None:
        load = {"clients": clients, "duration": duration}
    else:
        load = {"clients": clients, "operations": derived(_REQUESTS, "enough for a p99")}
    keys = site["keys"]
    named = Known({"kind": "uniform", "count": keys.value}, keys.origin)
    return {**load, "mix": site["mix"], "object_size": site["size"], "keys": named, **further}


def clients(site: Site, hosts: int, **further: Known) -> Tree:
    """Return the section `client`: as many machines as hosts, with their NICs, so that they limit nothing."""
    machines = site.derived("client-machines", hosts, "as many as hosts, so that clients are no bottleneck")
    return {"machines": machines, "nic": derived(site["nic"].value, "that of the hosts"), **further}


def cores(site: Site, count: str = "cores") -> Known | Tree:
    """Return the cores of a machine, with their speed if it is known."""
    speed = site.get("core-speed")
    return site[count] if speed is None else {"count": site[count], "speed": speed}


def hosts(site: Site, preset: Preset) -> Tree:
    """Return the section `hosts` of a store whose hosts have a page cache and call each other."""
    return {
        "preset": assumed(preset.name, f"CPU times of the preset, measured on {preset.measured_on}"),
        "count": site["hosts"],
        "cores": cores(site),
        "nic": site["nic"],
        "internode": {"latency": site["latency"].noted("as between client and store")},
        "page_cache": {"hit_ratio": site["cached"]},
    }

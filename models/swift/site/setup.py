"""The spec of a new Swift cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

import math

from models.site import common, drive_times
from models.site.kinds import COUNT, PROTECTION, shards
from models.site.known import Known, Tree, assumed, derived
from models.site.setup import Question, Setup, Site
from models.swift.durability import options
from models.swift.site import options as server_options
from models.swift.site import readers, recon, rings
from models.swift.spec.presets import hosts as host_presets
from models.swift.spec.presets import proxies as proxy_presets

_PARTITIONS_PER_DRIVE = 100  # docs.openstack.org/swift, deployment guide: preparing the ring

_QUESTIONS = (
    *common.MACHINES,
    Question("zones", "Zones that replicas are spread over", COUNT, 1, "one zone"),
    Question("proxies", "Proxy servers", COUNT),
    Question("proxy-cores", "Cores of each proxy", COUNT, 16, "a small server", 8, 64),
    Question("protection", "Protection of objects: 'replica 3' or 'ec 8+4'", PROTECTION, "replica 3", "Swift's usual"),
    Question("part-power", "Binary logarithm of the partitions (default: 100 on a drive)", COUNT, optional=True),
    Question("buckets", "Containers that objects are in", COUNT, 20, "a few applications"),
    common.OBJECTS,
    common.STORED_SIZE,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    count, drives = site["hosts"].value, site["drives"].value
    data, parity = shards(site["protection"].value)
    origin = site["protection"].origin
    is_code = site["protection"].value.startswith("ec")
    protection = {"erasure": {"data": Known(data, origin), "parity": Known(parity, origin)}}
    power = max(1, math.ceil(math.log2(count * drives * _PARTITIONS_PER_DRIVE / (data + parity))))
    (host,), (proxy,) = host_presets().values(), proxy_presets().values()
    why = f"CPU times of the preset, measured on {host.measured_on}"
    rotational = drive_times.is_rotational(site["drive"].value)
    look_up = assumed("6ms", "two inodes of three are not cached", "2ms", "12ms")
    lookup = {"lookup": {"constant": look_up}} if rotational else {}
    servers = site.get("servers-per-port") or assumed(1, "an object server for each drive, as Swift advises")
    threads = derived(1, "Swift's default with servers_per_port") if servers.value else derived(20, "Swift's default")
    return {
        "workload": common.workload(site, buckets=site["buckets"]),
        "client": common.clients(site, count, timeout=assumed("60s", "that of common clients")),
        "network": {"latency": site["latency"]},
        "proxies": {
            "preset": assumed(proxy.name, why),
            "count": site["proxies"],
            "cores": site["proxy-cores"],
            "nic": derived(site["nic"].value, "that of the hosts"),
            **site.optional(concurrent_gets="concurrent-gets", concurrency_timeout="concurrency-timeout",
                            node_timeout="node-timeout", conn_timeout="conn-timeout"),
        },
        "hosts": {
            "preset": assumed(host.name, why),
            "count": site["hosts"],
            "zones": site["zones"],
            "cores": common.cores(site),
            "nic": site["nic"],
            "servers_per_port": servers,
            "threads": threads,
            "internode": {"latency": site["latency"].noted("as between client and store")},
        },
        "drives": {"count": site["drives"], **drive_times.drives(site, "sync"), **drive_times.array(site), **lookup},
        "ring": {
            "part_power": site.derived("part-power", power, f"{_PARTITIONS_PER_DRIVE} partitions on a drive"),
            **(protection if is_code else {"replicas": Known(data + parity, origin)}),
            **_weights(site),
        },
        "containers": {
            "update": {"constant": assumed("0.1ms", "the lock of a database", "0.02ms", "1ms")},
            "list": {"constant": assumed("5ms", "a page of a listing", "1ms", "50ms")},
        },
        "stored": {
            "objects": site["objects"],
            "object_size": site.derived("stored-size", site["size"].value, "that of the requests"),
        },
        "auditor": Known({}, "assumed: it runs as by default"),
        "replicator": Known({}, "assumed: it runs as by default"),
    }  # fmt: skip


def _weights(site: Site) -> Tree:
    """Return the weights of drives in the ring; empty: they are equal, or hosts and drives are others."""
    found = site.get("ring-weights")
    if found is None or any(site[name].origin == "given" for name in ("hosts", "drives")):
        return {}
    return {"weights": Known([each["weight"] for each in found.value], found.origin)}


SETUP = Setup(
    _QUESTIONS, draft, (*readers.READERS, *rings.READERS, *server_options.READERS, *recon.READERS), options=options
)
"""Questions and sections of a Swift spec."""

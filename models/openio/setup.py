"""The spec of a new OpenIO cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.openio.durability import options
from models.openio.presets import DIRECTORY, HOST, gateways
from models.site import common, drive_times
from models.site.kinds import COUNT, PROTECTION, shards
from models.site.known import Known, Tree, assumed, derived
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    common.HOSTS,
    common.DRIVES,
    common.DRIVE_QUESTION,
    common.NIC,
    common.CORES,
    Question("gateways", "S3 gateways", COUNT),
    Question("gateway-cores", "Cores of each gateway", COUNT, 16, "a small server", 8, 64),
    Question("protection", "Protection of objects: 'replica 3' or 'ec 6+3'", PROTECTION, "replica 3", "common"),
    Question("buckets", "Buckets that objects are in", COUNT, 10, "a few applications"),
    Question("containers", "Containers of each bucket", COUNT, 40, "sharded buckets"),
    common.OBJECTS,
    common.STORED_SIZE,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    count = site["hosts"].value
    data, parity = shards(site["protection"].value)
    origin = site["protection"].origin
    erasure: Tree = {"erasure": {"data": Known(data, origin), "parity": Known(parity, origin)}}
    replicas: Tree = {"replicas": Known(data + parity, origin)}
    (gateway,) = gateways()
    return {
        "workload": common.workload(site, buckets=site["buckets"]),
        "client": common.clients(site, count, timeout=assumed("90s", "that of common clients")),
        "network": {"latency": site["latency"]},
        "gateways": {
            "preset": assumed(gateway, "CPU times of the preset"),
            "count": site["gateways"],
            "cores": site["gateway-cores"],
            "nic": derived(site["nic"].value, "that of the hosts"),
        },
        "hosts": {
            "preset": assumed(HOST.name, "CPU times of the preset"),
            "count": site["hosts"],
            "cores": common.cores(site),
            "nic": site["nic"],
            "internode": {"latency": site["latency"].noted("as between client and store")},
        },
        "drives": {"count": site["drives"], **drive_times.drives(site, "")},
        "chunks": erasure if site["protection"].value.startswith("ec") else replicas,
        "directory": {
            "preset": assumed(DIRECTORY.name, "CPU times of the preset"),
            "containers_per_bucket": site["containers"],
        },
        "stored": {
            "objects": site["objects"],
            "object_size": site.derived("stored-size", site["size"].value, "that of the requests"),
        },
    }


SETUP = Setup(_QUESTIONS, draft, options=options)
"""Questions and sections of an OpenIO spec."""

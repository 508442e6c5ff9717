"""The spec of a new Bob cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.bob.durability import options
from models.bob.presets import HOST
from models.site import common, drive_times
from models.site.kinds import COUNT
from models.site.known import Known, Tree, assumed
from models.site.setup import Question, Setup, Site

_VDISKS_PER_DRIVE = 10

_QUESTIONS = (
    *common.MACHINES,
    Question("replicas", "Copies of an object", COUNT, 3, "common"),
    Question("quorum", "Copies that a PUT waits for", COUNT, 2, "a majority of three"),
    Question("vdisks", "Virtual disks (default: ten for each drive)", COUNT, optional=True),
    common.CACHED,
    common.OBJECTS,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    count, drives = site["hosts"].value, site["drives"].value
    return {
        "workload": common.workload(site),
        "client": common.clients(site, count, timeout=assumed("30s", "that of common clients")),
        "network": {"latency": site["latency"]},
        "hosts": common.hosts(site, HOST),
        "drives": {
            "count": site["drives"],
            **drive_times.drives(site, "", has_capacity=False),
            "append": Known({"constant": "5us", "per_byte": "0.2ns"}, "assumed: a copy into the page cache"),
            "dirty_limit": assumed("10GB", "a tenth of the memory", "1GB", "40GB"),
        },
        "vdisks": {
            "count": site.derived("vdisks", count * drives * _VDISKS_PER_DRIVE, f"{_VDISKS_PER_DRIVE} for each drive"),
            "replicas": site["replicas"],
        },
        "quorum": site["quorum"],
        "stored": {"objects": site["objects"]},
    }


SETUP = Setup(_QUESTIONS, draft, options=options)
"""Questions and sections of a Bob spec."""

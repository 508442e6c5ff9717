"""The spec of new gateways on a file system: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.site import common, drive_times
from models.site.kinds import COUNT
from models.site.known import Tree, assumed
from models.site.setup import Question, Setup, Site
from models.versitygw.durability import options
from models.versitygw.presets import HOST

_QUESTIONS = (
    Question(
        "hosts", "Hosts with a gateway each; several share a remote file system", COUNT, 1, "one, on its own drives"
    ),
    Question("drives", "Drives of the file system", COUNT),
    common.DRIVE_QUESTION,
    common.NIC,
    common.CORES,
    common.SPEED,
    common.CACHED,
    common.OBJECTS,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    several = site["hosts"].value > 1
    remote: Tree = {
        "kind": assumed("remote", "several hosts share it"),
        "latency": site["latency"].noted("as to clients"),
    }
    return {
        "workload": common.workload(site),
        "client": common.clients(site, site["hosts"].value),
        "network": {"latency": site["latency"]},
        "hosts": {
            "preset": assumed(HOST.name, "CPU times of the preset, which are assumed"),
            "count": site["hosts"],
            "cores": common.cores(site),
            "nic": site["nic"],
            "page_cache": {"hit_ratio": site["cached"]},
        },
        **({"file_system": remote} if several else {}),
        "drives": {"count": site["drives"], **drive_times.drives(site, "sync"), **drive_times.array(site)},
        "stored": {"objects": site["objects"]},
    }


SETUP = Setup(_QUESTIONS, draft, options=options)
"""Questions and sections of a versitygw spec."""

"""The spec of a new SeaweedFS cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.seaweedfs.durability import options
from models.seaweedfs.presets import FILER, GATEWAY, HOST
from models.seaweedfs.readers import READERS
from models.site import common, drive_times
from models.site.kinds import COUNT
from models.site.known import Tree, assumed
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    *common.MACHINES,
    Question("replicas", "Copies of a volume (replication)", COUNT, 2, "one lost host", "1", "3"),
    common.CACHED,
    common.OBJECTS,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    text = f"CPU times of the preset, measured on {HOST.measured_on}"
    return {
        "workload": common.workload(site),
        "client": common.clients(site, site["hosts"].value),
        "network": {"latency": site["latency"]},
        "gateways": {"preset": assumed(GATEWAY.name, text)},
        "filer": {"preset": assumed(FILER.name, text)},
        "hosts": common.hosts(site, HOST),
        "drives": {"count": site["drives"], **drive_times.drives(site, "sync")},
        "volumes": {"copies": site["replicas"], **site.optional(chunk_size="chunk-size")},
        "stored": {"objects": site["objects"]},
    }


SETUP = Setup(_QUESTIONS, draft, READERS, options=options)
"""Questions and sections of a SeaweedFS spec."""

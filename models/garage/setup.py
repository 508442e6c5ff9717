"""The spec of a new Garage cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.garage.durability import options
from models.garage.presets import hosts as host_presets
from models.site import common, drive_times
from models.site.kinds import COUNT, FRACTION
from models.site.known import Tree, assumed
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    common.HOSTS,
    common.DRIVES,
    common.DRIVE_QUESTION,
    common.NIC,
    common.CORES,
    common.SPEED,
    Question("replicas", "Copies of an object (replication_factor)", COUNT, 3, "Garage's recommendation"),
    Question("cached", "Fraction of reads that the page caches serve", FRACTION, "50%", "of a hot half", "0.1", "0.9"),
    common.OBJECTS,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    (preset,) = host_presets().values()
    return {
        "workload": common.workload(site),
        "client": common.clients(site, site["hosts"].value),
        "network": {"latency": site["latency"]},
        "hosts": {
            "preset": assumed(preset.name, f"CPU times of the preset, measured on {preset.measured_on}"),
            "count": site["hosts"],
            "cores": common.cores(site),
            "nic": site["nic"],
            "internode": {"latency": site["latency"].noted("as between client and store")},
            "page_cache": {"hit_ratio": site["cached"]},
        },
        "drives": {"count": site["drives"], **drive_times.drives(site, "sync")},
        "replication": site["replicas"],
        "stored": {"objects": site["objects"]},
    }


SETUP = Setup(_QUESTIONS, draft, options=options)
"""Questions and sections of a Garage spec."""

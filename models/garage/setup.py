"""The spec of a new Garage cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.garage.durability import options
from models.garage.presets import HOST
from models.garage.readers import READERS
from models.site import common, drive_times
from models.site.kinds import COUNT
from models.site.known import Tree, derived
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    *common.MACHINES,
    Question("replicas", "Copies of an object (replication_factor)", COUNT, 3, "Garage's recommendation"),
    common.CACHED,
    common.OBJECTS,
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    return {
        "workload": common.workload(site),
        "client": common.clients(site, site["hosts"].value),
        "network": {"latency": site["latency"]},
        "hosts": common.hosts(site, HOST),
        "drives": {"count": site["drives"], **_capacity(site), **drive_times.drives(site, "sync")},
        "replication": site["replicas"],
        **site.optional(block_size="block-size", data_fsync="data-fsync"),
        **({"metadata": synced} if (synced := site.optional(fsync="metadata-fsync")) else {}),
        "stored": {"objects": site["objects"]},
    }


def _capacity(site: Site) -> Tree:
    """Return the capacity of a drive that follows from that of a node; empty: it is not known."""
    of_node = site.get("host-capacity")
    if of_node is None:
        return {}
    return {
        "capacity": derived(f"{round(of_node.value / site['drives'].value / 1e9)}GB", "that of a node by its drives")
    }


SETUP = Setup(_QUESTIONS, draft, READERS, options=options)
"""Questions and sections of a Garage spec."""

"""The spec of a new MinIO cluster: what has to be known, and the sections that follow."""

from __future__ import annotations

from models.minio.durability import options
from models.minio.site.readers import READERS
from models.minio.spec.layout import default_parity, set_size
from models.minio.spec.presets import hosts as host_presets
from models.site import common, drive_times
from models.site.kinds import COUNT, choice
from models.site.known import Known, Tree, assumed, plain
from models.site.setup import Question, Setup, Site

_QUESTIONS = (
    *common.MACHINES,
    Question("set-size", "Drives of an erasure set (default: MinIO's choice)", COUNT, optional=True),
    Question("parity", "Parity shards of an object (default: MinIO's for the set size)", COUNT, optional=True),
    Question(
        "balance",
        "How requests reach hosts: in turn, by DNS, or by a proxy that leaves out those down (default: in turn)",
        choice("round_robin", "dns", "proxy"),
        optional=True,
    ),
    *common.WORKLOAD,
    *common.CLIENTS,
)


def draft(site: Site) -> Tree:
    """Return the sections of the spec."""
    count, drives = site["hosts"].value, site["drives"].value
    size = site.get("set-size") or (found := set_size(count * drives, count))
    protection: dict[str, Known] = site.optional(set_size="set-size", parity="parity")
    if "set_size" not in protection and found is not None:
        protection["set_size"] = site.derived("set-size", found, f"MinIO's choice for {count * drives} drives")
    if "parity" not in protection and size is not None:
        of_set = size.value if isinstance(size, Known) else size
        protection["parity"] = site.derived("parity", default_parity(of_set), f"MinIO's default for {of_set} drives")
    (preset,) = host_presets().values()
    several = {"internode": {"latency": site["latency"].noted("as between client and store")}} if count > 1 else {}
    hosts: Tree = {
        "preset": assumed(preset.name, f"CPU times of the preset, measured on {preset.measured_on}"),
        "count": site["hosts"],
        "cores": common.cores(site),
        "nic": site["nic"],
        **several,
    }
    tree: Tree = {
        "workload": common.workload(site),
        "client": common.clients(site, count),
        "network": {"latency": site["latency"]},
        "hosts": hosts,
        "drives": {"count": site["drives"], **drive_times.drives(site, "commit"), **drive_times.array(site)},
        "erasure": protection,
    }
    return {**site.optional(release="release", balance="balance"), **tree, **_further_pools(site)}


def _further_pools(site: Site) -> Tree:
    """Return the further pools, with the drives and the cores of the first."""
    pools = site.get("pools")
    if pools is None:
        return {}
    like = {"cores": site["cores"].value, "nic": site["nic"].value}
    drive = plain(drive_times.drives(site, "commit"))
    sections = [
        {"hosts": {"count": pool["hosts"], **like}, "drives": {"count": pool["drives"], **drive}}
        for pool in pools.value
    ]
    return {"pools": Known(sections, f"{pools.origin}; cores, network and drives: as the first pool's")}


SETUP = Setup(_QUESTIONS, draft, READERS, options=options)
"""Questions and sections of a MinIO spec."""

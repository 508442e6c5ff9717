"""The spec of a MinIO of which all hosts and the clients are processes of one machine, as in the lab on loopback."""

from __future__ import annotations

from models.minio.site.setup import draft
from models.site.known import Known, Tree, assumed, derived, given
from models.site.one_machine import MEASURED, client, commit, latency
from models.site.setup import Site


def one_machine(site: Site) -> Tree:
    """Return the sections of the spec: hosts and clients share the cores, drives are folders of one file system.

    Links are memory, so they have no rate. Objects are read from the page cache and written to it; what the drive takes
    is in the commits.
    """
    tree = draft(site)
    hosts, count, drives = tree["hosts"], site["hosts"].value, site["drives"].value
    assert not isinstance(hosts, Known)
    cores: Tree = {"count": site["cores"]}
    if count > 1:
        cores = {**cores, "shared": given(True)}
    durable = site.get("drive.durable")
    memory = derived("0s", "from the page cache, or to it")
    section: Tree = {
        "count": site["drives"],
        "read": memory,
        "write": memory,
        "commit": commit() if durable is None else durable,
        "commit_member": assumed("0.05ms", MEASURED),
        **({"shared_journal": given(True)} if drives > 1 else {}),
    }
    return {
        **{name: part for name, part in tree.items() if name != "client"},
        "client": client(),
        "network": {"latency": latency()},
        "hosts": {**{name: part for name, part in hosts.items() if name != "nic"}, "cores": cores},
        "drives": section,
    }

"""The spec of a MinIO of which all hosts and the clients are processes of one machine, as in the lab on loopback."""

from __future__ import annotations

from models.minio.site.setup import draft
from models.site.known import Known, Tree, assumed, derived, given
from models.site.setup import Site

_MEASURED = "measured on a virtual machine with two cores (examples/minio.yaml, examples/minio-erasure-set.yaml)"
_CLIENT_CPU = {
    "GET": {"constant": "0.2ms", "per_byte": "0.7ns", "later_byte_factor": 0.6},
    "PUT": {"constant": "0.24ms", "per_byte": "1ns", "later_byte_factor": 0.8},
    "HEAD": "0.2ms",
    "DELETE": "0.2ms",
    "LIST": "0.4ms",
}
_COMMIT = {"constant": "0.4ms", "distribution": {"kind": "slow_mode", "probability": 0.01, "factor": 10}}


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
        "commit": assumed(_COMMIT, _MEASURED) if durable is None else durable,
        "commit_member": assumed("0.05ms", _MEASURED),
        **({"shared_journal": given(True)} if drives > 1 else {}),
    }
    return {
        **{name: part for name, part in tree.items() if name != "client"},
        "client": {"placement": given("storage_hosts"), "cpu": assumed(_CLIENT_CPU, _MEASURED)},
        "network": {"latency": assumed("0.15ms", f"system calls and wake-ups, {_MEASURED}", "0.05ms", "0.5ms")},
        "hosts": {**{name: part for name, part in hosts.items() if name != "nic"}, "cores": cores},
        "drives": section,
    }

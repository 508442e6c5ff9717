"""The spec of a Ceph of which all daemons and the clients are processes of one machine, as in the lab on loopback."""

from __future__ import annotations

from models.ceph.site.setup import draft
from models.site.known import Known, Tree, assumed, derived, given
from models.site.one_machine import COMMIT_S, MEASURED, client, latency
from models.site.setup import Site


def one_machine(site: Site) -> Tree:
    """Return the sections of the spec: daemons and clients share the cores, drives are files of one file system.

    Links are memory: they have the rate of the fact `nic`, which is to be more than the cores can fill.
    """
    tree = draft(site)
    hosts, device = tree["hosts"], tree["device"]
    assert not isinstance(hosts, Known)
    flush = site.get("drive.durable") or assumed(COMMIT_S, MEASURED)
    sheet: Tree = {"preset": device} if isinstance(device, Known) else device
    cores: Tree = {"count": site["cores"], "shared": given(True)}
    return {
        **tree,
        "client": client(),
        "network": {"latency": latency(), "mtu": derived(65536, "that of a loopback interface")},
        "gateways": {
            "count": site["gateways"],
            "collocated": given(True),
            "cores": given("shared"),
            **site.optional(tcp_nodelay="tcp-nodelay"),
        },
        "hosts": {**hosts, "cores": cores},
        "device": {**sheet, "flush": flush},
    }

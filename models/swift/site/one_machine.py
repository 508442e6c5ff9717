"""The spec of a Swift of which all servers and the clients are processes of one machine, as in the lab on loopback."""

from __future__ import annotations

from models.site.known import Known, Tree, derived, given
from models.site.one_machine import client, commit, latency
from models.site.setup import Site
from models.swift.site.setup import draft


def one_machine(site: Site) -> Tree:
    """Return the sections of the spec: servers and clients share the cores, drives are folders of one file system.

    Links are memory, so they have no rate. Objects are read from the page cache and written to it. Auditors,
    replicators and updaters do not run, as in the lab.
    """
    tree = draft(site)
    proxies, hosts = tree["proxies"], tree["hosts"]
    assert not isinstance(proxies, Known)
    assert not isinstance(hosts, Known)
    durable = site.get("drive.durable")
    memory = derived("0s", "from the page cache, or to it")
    cores: Tree = {"count": site["cores"], "shared": given(True)}
    return {
        **{name: part for name, part in tree.items() if name not in ("auditor", "replicator")},
        "client": {**client(), "timeout": derived("60s", "that of the replay")},
        "network": {"latency": latency()},
        "proxies": {name: part for name, part in proxies.items() if name not in ("nic", "cores")},
        "hosts": {
            **{name: part for name, part in hosts.items() if name != "nic"},
            "cores": cores,
            "internode": {"latency": latency()},
        },
        "drives": {
            "count": site["drives"],
            "read": memory,
            "write": memory,
            "sync": commit() if durable is None else durable,
        },
    }

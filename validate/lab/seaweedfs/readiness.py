"""When a SeaweedFS can be used."""

from __future__ import annotations

import json
import urllib.request

from validate.lab.readiness import RESPONDS_WITHIN_S, takes_requests
from validate.lab.seaweedfs.cluster import master, place
from validate.lab.store import Node, Store


def unready(store: Store) -> Node | None:
    """Return a host that cannot be used yet; None if all volume servers are known to the master, and gateways work."""
    known = _known(store)
    for host in range(store.form.hosts):
        own = place(store, host)
        if f"{own.ip}:{own.http}" not in known:
            return store.nodes[host]
    return next((node for node in store.entrances if not takes_requests(store, node)), None)


def _known(store: Store) -> set[str]:
    """Return the addresses of the volume servers that the master knows."""
    at = master(store)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy of the environment
    try:
        with opener.open(f"http://{at.ip}:{at.http}/dir/status", timeout=RESPONDS_WITHIN_S) as response:
            topology = json.load(response)["Topology"]
    except (OSError, ValueError, KeyError):
        return set()
    racks = [rack for center in topology.get("DataCenters") or () for rack in center.get("Racks") or ()]
    return {str(node["Url"]) for rack in racks for node in rack.get("DataNodes") or ()}

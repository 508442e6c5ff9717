"""When a SeaweedFS can be used."""

from __future__ import annotations

import json
import urllib.request

from validate.lab.readiness import RESPONDS_WITHIN_S, takes_requests
from validate.lab.seaweedfs.cluster import master, place
from validate.lab.seaweedfs.options import is_synced
from validate.lab.store import Node, Store

_RULES = "/etc/seaweedfs/filer.conf"
_SYNCED = '{"version":0,"locations":[{"locationPrefix":"/buckets/","fsync":true}]}'
_BETWEEN = "tailcast"


def unready(store: Store) -> Node | None:
    """Return a host that cannot be used yet; None if all volume servers are known to the master, and gateways work."""
    known = _known(store)
    for host in range(store.form.hosts):
        own = place(store, host)
        if f"{own.ip}:{own.http}" not in known:
            return store.nodes[host]
    if is_synced(store.options):
        for host in store.form.gateway_hosts:
            if not has_syncs(store, host):
                return store.nodes[host]
    return next((node for node in store.entrances if not takes_requests(store, node)), None)


def has_syncs(store: Store, host: int) -> bool:
    """Return whether a filer has the rule that chunks are synced; one without it is given it."""
    own = place(store, host)
    url = f"http://{own.ip}:{own.http}{_RULES}"
    head = f"--{_BETWEEN}\r\nContent-Disposition: form-data; name=file; filename=filer.conf\r\n\r\n"
    body = f"{head}{_SYNCED}\r\n--{_BETWEEN}--\r\n"
    headers = {"Content-Type": f"multipart/form-data; boundary={_BETWEEN}"}
    for request in (urllib.request.Request(url), urllib.request.Request(url, body.encode(), headers)):
        try:
            _fetched(request)
        except OSError:  # also: there is no such rule yet
            continue
        return True
    return False


def _known(store: Store) -> set[str]:
    """Return the addresses of the volume servers that the master knows."""
    at = master(store)
    try:
        topology = json.loads(_fetched(urllib.request.Request(f"http://{at.ip}:{at.http}/dir/status")))["Topology"]
    except (OSError, ValueError, KeyError):
        return set()
    racks = [rack for center in topology.get("DataCenters") or () for rack in center.get("Racks") or ()]
    return {str(node["Url"]) for rack in racks for node in rack.get("DataNodes") or ()}


def _fetched(request: urllib.request.Request) -> bytes:
    """Return the body of a response, past any proxy of the environment."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=RESPONDS_WITHIN_S) as response:
        return bytes(response.read())

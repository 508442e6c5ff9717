"""The administration of a Garage by its API (v2): nodes that know each other, their layout, and the key of the lab."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from validate.lab.garage.cluster import DRIVE_BYTES, place
from validate.lab.readiness import RESPONDS_WITHIN_S
from validate.lab.store import Store

_ZONE = "lab"
_NOT_FOUND = 404


def node_id(store: Store, host: int) -> str:
    """Return the public key by which other nodes know a node.

    Raises:
        OSError: it does not respond.
    """
    (own,) = _called(store, host, "GetNodeInfo?node=self")["success"].values()
    return str(own["nodeId"])


def lay_out(store: Store, ids: list[str]) -> None:
    """Connect the first node with the others, and divide the partitions among all, unless that is done.

    Args:
        ids: of the nodes, by host.

    Raises:
        OSError: a node does not respond, or refuses.
    """
    if _called(store, 0, "GetClusterLayout")["version"]:
        return
    others = [(own, place(store, host)) for host, own in enumerate(ids) if host]
    _called(store, 0, "ConnectClusterNodes", [f"{own}@{at.ip}:{at.rpc}" for own, at in others])
    capacity = DRIVE_BYTES * store.form.drives
    roles = [{"id": own, "zone": _ZONE, "capacity": capacity, "tags": []} for own in ids]
    _called(store, 0, "UpdateClusterLayout", {"roles": roles})
    _called(store, 0, "ApplyClusterLayout", {"version": 1})


def import_key(store: Store) -> None:
    """Import the key of the lab, which may create buckets, unless it is there.

    Raises:
        OSError: a node does not respond, or refuses.
    """
    access_key, secret_key = store.credentials
    of_key = f"?id={urllib.parse.quote(access_key)}"
    try:
        if _called(store, 0, f"GetKeyInfo{of_key}")["permissions"]["createBucket"]:
            return
    except urllib.error.HTTPError as error:
        if error.code != _NOT_FOUND:
            raise
        _called(store, 0, "ImportKey", {"accessKeyId": access_key, "secretAccessKey": secret_key, "name": "lab"})
    _called(store, 0, f"UpdateKey{of_key}", {"allow": {"createBucket": True}})


def is_healthy(store: Store, host: int) -> bool:
    """Return whether a node is connected with all nodes of the layout.

    Raises:
        OSError: it does not respond.
    """
    health = _called(store, host, "GetClusterHealth")
    return bool(health["status"] == "healthy" and health["storageNodes"] == store.form.hosts)


def _called(store: Store, host: int, call: str, body: object = None) -> Any:
    """Return the response to a call of a node's API, past any proxy of the environment; with a body: POST."""
    at = place(store, host)
    headers = {"Authorization": f"Bearer {store.credentials.secret_key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{at.ip}:{at.admin}/v2/{call}", data, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=RESPONDS_WITHIN_S) as response:
        return json.loads(response.read())

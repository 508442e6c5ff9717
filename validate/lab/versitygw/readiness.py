"""When a versitygw can be used."""

from __future__ import annotations

import urllib.request

from validate.lab.readiness import RESPONDS_WITHIN_S, takes_requests
from validate.lab.store import Node, Store
from validate.lab.versitygw.program import HEALTH


def unready(store: Store) -> Node | None:
    """Return the host if it cannot be used yet; None if it can."""
    node = store.nodes[0]
    return None if _is_healthy(node) and takes_requests(store, node) else node


def _is_healthy(node: Node) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy of the environment
    try:
        with opener.open(f"{node.endpoint_url}{HEALTH}", timeout=RESPONDS_WITHIN_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False

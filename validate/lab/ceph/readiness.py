"""When a Ceph can be used: its placement groups are clean, and its gateways take requests and have settled."""

from __future__ import annotations

import contextlib
import time

import psutil

from validate.lab.ceph import configuration
from validate.lab.ceph.cluster import is_clean
from validate.lab.readiness import RESPONDS_WITHIN_S, takes_requests
from validate.lab.store import Node, Store

_SETTLES_S = 6.0
"""A gateway writes some 90 small objects in its first seconds."""


def unready(store: Store) -> Node | None:
    """Return a host that cannot be used yet; None if the store can be used."""
    for node in store.nodes:
        if not node.alive:
            return node
    if not is_clean(store, RESPONDS_WITHIN_S):
        return store.nodes[configuration.monitor_of(store)]
    for node in dict.fromkeys((*store.gateways, *store.entrances)):
        if _age_s(node) < _SETTLES_S or not takes_requests(store, node):
            return node
    return None


def _age_s(node: Node) -> float:
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        return time.time() - node.processes[0].create_time()
    return 0.0

"""When a Ceph can be used: its placement groups are clean, and its gateways take requests and have settled."""

from __future__ import annotations

import contextlib
import time

import psutil
from botocore.exceptions import BotoCoreError, ClientError

from validate.lab.ceph import configuration
from validate.lab.ceph.cluster import is_clean
from validate.lab.store import Node, Store
from validate.s3.account import Account

_RESPONDS_WITHIN_S = 5.0
_SETTLES_S = 6.0
"""A gateway writes some 90 small objects in its first seconds."""

_BUCKET = "tailcast-lab"


def unready(store: Store) -> Node | None:
    """Return a host that cannot be used yet; None if the store can be used."""
    for node in store.nodes:
        if not node.alive:
            return node
    if not is_clean(store, _RESPONDS_WITHIN_S):
        return store.nodes[configuration.monitor_of(store)]
    for node in dict.fromkeys((*store.gateways, *store.entrances)):
        if _age_s(node) < _SETTLES_S or not _takes_requests(store, node):
            return node
    return None


def _age_s(node: Node) -> float:
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        return time.time() - node.processes[0].create_time()
    return 0.0


def _takes_requests(store: Store, node: Node) -> bool:
    """Whether a bucket can be made and removed."""
    client = Account(store.target).client(node.endpoint_url, 1, _RESPONDS_WITHIN_S)
    try:
        client.create_bucket(Bucket=_BUCKET)
        client.delete_bucket(Bucket=_BUCKET)
    except (BotoCoreError, ClientError):
        return False
    return True

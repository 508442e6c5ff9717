"""When a Swift can be used: all its servers respond, and a bucket can be made through each proxy."""

from __future__ import annotations

import urllib.request

from botocore.exceptions import BotoCoreError, ClientError

from validate.lab.store import Node, Store
from validate.lab.swift.configuration import address
from validate.lab.swift.program import SERVERS
from validate.s3.account import Account

_RESPONDS_WITHIN_S = 5.0
_BUCKET = "tailcast-lab"


def unready(store: Store) -> Node | None:
    """Return a host that cannot be used yet; None if the store can be used."""
    for host, node in enumerate(store.nodes):
        numbers = range(len(SERVERS) if host < store.form.hosts else 1)
        if not all(_is_healthy(address(store, host, number)) for number in numbers):
            return node
    return next((node for node in store.entrances if not _takes_requests(store, node)), None)


def _is_healthy(where: tuple[str, int]) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy of the environment
    try:
        with opener.open(f"http://{where[0]}:{where[1]}/healthcheck", timeout=_RESPONDS_WITHIN_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _takes_requests(store: Store, node: Node) -> bool:
    """Whether a bucket can be made and removed; the first one also makes the account."""
    account = Account(store.target)
    client = account.client(node.endpoint_url, 1, _RESPONDS_WITHIN_S)
    try:
        client.create_bucket(Bucket=_BUCKET)
        client.delete_bucket(Bucket=_BUCKET)
    except (BotoCoreError, ClientError):
        return False
    return True

"""When a Swift can be used: all its servers respond, and a bucket can be made through each proxy."""

from __future__ import annotations

import urllib.request

from validate.lab.readiness import RESPONDS_WITHIN_S, takes_requests
from validate.lab.store import Node, Store
from validate.lab.swift.configuration import address
from validate.lab.swift.program import SERVERS


def unready(store: Store) -> Node | None:
    """Return a host that cannot be used yet; None if the store can be used."""
    for host, node in enumerate(store.nodes):
        numbers = range(len(SERVERS) if host < store.form.hosts else 1)
        if not all(_is_healthy(address(store, host, number)) for number in numbers):
            return node
    return next((node for node in store.entrances if not takes_requests(store, node)), None)


def _is_healthy(where: tuple[str, int]) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # past any proxy of the environment
    try:
        with opener.open(f"http://{where[0]}:{where[1]}/healthcheck", timeout=RESPONDS_WITHIN_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False

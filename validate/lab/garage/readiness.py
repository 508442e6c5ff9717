"""When a Garage can be used."""

from __future__ import annotations

from validate.lab.garage.administration import import_key, is_healthy, lay_out, node_id
from validate.lab.readiness import takes_requests
from validate.lab.store import Node, Store


def unready(store: Store) -> Node | None:
    """Return a node that cannot be used yet; None if all are connected and take requests.

    Nodes without a layout are given one, and the key of the lab.
    """
    ids: list[str] = []
    for host, node in enumerate(store.nodes):
        try:
            ids.append(node_id(store, host))
        except OSError:
            return node
    try:
        lay_out(store, ids)
        if (alone := next((host for host in range(len(ids)) if not is_healthy(store, host)), None)) is not None:
            return store.nodes[alone]
        import_key(store)
    except OSError:
        return store.nodes[0]
    return next((node for node in store.nodes if not takes_requests(store, node)), None)

"""Whether a second attempt of a request needs the stations of the first, so that it waits in the same queues."""

from __future__ import annotations

import numpy as np

from models.network.station import Bound, Choice
from models.store import Spec, compile_spec
from sim.demands.visit_places import stations_of
from traces.errors import InputError
from traces.operations import OPS
from traces.workload.generate import generate

_ROWS = 200


def needs_same(spec: Spec, op: str, role: str) -> bool:
    """Return whether all attempts of a request of an operation visit the same stations of a role.

    They do if the key or the client decides which, or if there is no other. An attempt that a group binds to a member,
    such as one of several gateways, chooses another one.

    Args:
        spec: of the store.
        op: name of the operation, perhaps after that of a group of clients.
        role: of stations.
    """
    trace = generate(spec.workload.model_copy(update={"operations": _ROWS}), 0)
    try:
        network, requests = compile_spec(spec, trace)
    except InputError:  # such as a workload that needs a duration
        return False
    rows = np.flatnonzero(trace.op == OPS.index(op.rpartition(".")[2]))
    routes = network.with_sub_requests(np.unique(requests.route[rows]).tolist())
    visited = [
        isinstance(visit.station, Bound) and network.groups[visit.station.group].choice is not Choice.CLIENT
        for k in routes
        for visit in network.routes[k].visits
        if any(network.stations[each].role == role for each in stations_of(network, visit.station))
    ]
    return bool(visited) and not any(visited)

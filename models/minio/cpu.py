"""CPU time per request of a MinIO host and its clients."""

from __future__ import annotations

from typing import cast

import numpy as np

from models.capabilities import Side
from models.minio.spec import MinioSpec
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Visit
from models.network.station import Bound, Choice
from traces.workload.workload import Op


def cpu_s(spec: MinioSpec, network: Network, requests: Requests) -> dict[Side, float]:
    """Return the mean CPU time in s of each side per request that is not retried or hedged."""
    total_s = client_s = 0.0
    for k in np.unique(requests.route).tolist():
        size = requests.size_bytes[requests.route == k]
        route = network.routes[k]
        total_s += sum(float(visit.demand.mean_s(size).sum()) for visit in route.visits if _on_cpu(network, visit))
        of_client = spec.client.cpu_demand(cast(Op, route.name.partition(" ")[0]))
        client_s += float(of_client.mean_s(size).sum()) if of_client else 0.0
    count = max(len(requests), 1)
    return {"client": client_s / count, "server": (total_s - client_s) / count}


def _on_cpu(network: Network, visit: Visit) -> bool:
    at = visit.station
    if isinstance(at, Bound) and network.groups[at.group].choice is Choice.CLIENT:
        at = int(network.groups[at.group].members[0, at.position])
    return isinstance(at, int | np.integer) and network.stations[at].role.endswith("cpu")

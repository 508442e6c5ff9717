"""CPU time per request of a MinIO host and its clients."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from models.capabilities import Side
from models.minio.spec.spec import MinioSpec
from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from models.shared.steps import Place


def cpu_s(spec: MinioSpec, network: Network, requests: Requests) -> dict[Side, float]:
    """Return the mean CPU time in s of each side per request that is not retried or hedged, with its sub-requests.

    Of these, what takes no core, such as the metadata of a part, is none of the client's either.
    """
    on_cores = cache(partial(_cpu_fraction, network))
    total_s = client_s = 0.0
    for k in np.unique(requests.route).tolist():
        for number, size, fraction in by_route(network, k, requests.size_bytes[requests.route == k]):
            route = network.routes[number]
            on_cpu = ((v, on_cores(v.station)) for v in route.visits)
            spent_s = sum(part * float(v.mean_s(size).sum()) for v, part in on_cpu if part)
            total_s += fraction * spent_s
            of_client = spec.client_cpu(route.operation) if spent_s else None
            client_s += fraction * float(of_client.mean_s(size).sum()) if of_client else 0.0
    count = max(len(requests), 1)
    return {"client": client_s / count, "server": (total_s - client_s) / count}


def _cpu_fraction(network: Network, place: Place) -> float:
    """Return the fraction of a visit's possible stations that are cores."""
    counts = network.station_counts(place)
    stations = np.flatnonzero(counts)
    on_cpu = [network.stations[k].role.endswith("cpu") for k in stations.tolist()]
    return float((counts[stations] * on_cpu).sum() / counts.sum())

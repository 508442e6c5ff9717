"""CPU time per request: what a Run recorded of client and server, and what a spec says of it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.minio.spec import MinioSpec
from models.network.demand_sheet import Requests
from models.network.network import Network, Visit
from models.store import Spec
from traces.run import Run

Side = Literal["client", "server"]
SIDES: tuple[Side, ...] = ("client", "server")


def measured_cpu_s(run: Run) -> dict[Side, float]:
    """CPU seconds per request of each side that the Run knows of; nothing of a Run that recorded none."""
    recorded = run.info.get("cpu", {})
    return {side: float(s) for side in SIDES if (s := recorded.get(f"{side}_per_op_s")) is not None and s > 0}


def tells_cpu(spec: Spec) -> bool:
    """Whether the model says what client and server processes take."""
    return isinstance(spec, MinioSpec)


def modelled_cpu_s(spec: Spec, network: Network, requests: Requests) -> dict[Side, float]:
    """Mean CPU seconds per request of each side; a request that is not repeated or hedged.

    Nothing where the model does not say it.

    `network`, `requests`: what the spec makes of a trace (`compile`).
    """
    if not tells_cpu(spec):
        return {}
    total_s = client_s = 0.0
    for k in np.unique(requests.route).tolist():
        size = requests.size_bytes[requests.route == k]
        route = network.routes[k]
        total_s += sum(float(visit.demand.mean_s(size).sum()) for visit in route.visits if _on_cpu(network, visit))
        of_client = spec.client.cpu.get(route.name.partition(" ")[0])
        client_s += float(of_client.mean_s(size).sum()) if of_client else 0.0
    count = max(len(requests), 1)
    return {"client": client_s / count, "server": (total_s - client_s) / count}


def _on_cpu(network: Network, visit: Visit) -> bool:
    return isinstance(visit.station, int | np.integer) and network.stations[visit.station].role.endswith("cpu")

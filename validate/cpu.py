"""CPU time per request: what a Run recorded of client and server, and what a spec says of it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from models.network import Network
from models.sheet import Requests
from models.spec import Spec
from traces.run import Run
from traces.trace import Trace

Side = Literal["client", "server"]
SIDES: tuple[Side, ...] = ("client", "server")


def measured_cpu_s(run: Run) -> dict[Side, float]:
    """CPU seconds per request of each side that the Run knows of; nothing of a Run that recorded none."""
    recorded = run.info.get("cpu", {})
    return {side: float(s) for side in SIDES if (s := recorded.get(f"{side}_per_op_s")) is not None and s > 0}


def modelled_cpu_s(spec: Spec, trace: Trace, requests: Requests | None = None) -> dict[Side, float]:
    """Mean CPU seconds per request of each side for what a trace asks for; a request that is not repeated or hedged.

    `requests`: those of ``spec.compile(trace)``, where they are known; they are the same for all demands of a spec.
    """
    requests = spec.compile(trace)[1] if requests is None else requests
    any_row = Trace(trace.table.slice(0, 1), trace.pacing)
    idle = spec.model_copy(update={"client": spec.client.model_copy(update={"cpu": {}})})
    whole, server = (_mean_cpu_s(version.compile(any_row)[0], requests) for version in (spec, idle))
    return {"client": whole - server, "server": server}


def _mean_cpu_s(network: Network, requests: Requests) -> float:
    total = 0.0
    for k, route in enumerate(network.routes):
        size = requests.size_bytes[requests.route == k]
        for visit in route.visits if len(size) else ():
            if isinstance(visit.station, int | np.integer) and network.stations[visit.station].role.endswith("cpu"):
                total += float(visit.demand.mean_s(size).sum())
    return total / max(len(requests), 1)

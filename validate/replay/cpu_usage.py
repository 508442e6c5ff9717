"""CPU time per request: what a Run recorded of client and server, and what a spec says of it."""

from __future__ import annotations

from models.capabilities import Side
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, store_of
from traces.run import Run

SIDES: tuple[Side, ...] = ("client", "server")


def measured_cpu_s(run: Run) -> dict[Side, float]:
    """CPU seconds per request of each side that the Run knows of; nothing of a Run that recorded none."""
    recorded = run.info.get("cpu", {})
    return {side: float(s) for side in SIDES if (s := recorded.get(f"{side}_per_op_s")) is not None and s > 0}


def tells_cpu(spec: Spec) -> bool:
    """Whether the model says what client and server processes take."""
    return store_of(spec).cpu is not None


def modelled_cpu_s(spec: Spec, network: Network, requests: Requests) -> dict[Side, float]:
    """Mean CPU seconds per request of each side; a request that is not repeated or hedged.

    Nothing where the model does not say it.

    `network`, `requests`: what the spec makes of a trace (`compile_spec`).
    """
    cpu = store_of(spec).cpu
    return {} if cpu is None else cpu(spec, network, requests)

"""CPU time per request of client and server, as measured in a Run and as modelled by a spec."""

from __future__ import annotations

from models.capabilities import SIDES, Side
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, store_of
from traces.run import Run


def measured_cpu_s(run: Run) -> dict[Side, float]:
    """Return the CPU seconds per request of each side, as far as the Run recorded them."""
    recorded = run.info.get("cpu", {})
    return {side: float(s) for side in SIDES if (s := recorded.get(f"{side}_per_op_s")) is not None and s > 0}


def models_cpu(spec: Spec) -> bool:
    """Whether the store's model has CPU times of client and server processes."""
    return store_of(spec).cpu is not None


def modelled_cpu_s(spec: Spec, network: Network, requests: Requests) -> dict[Side, float]:
    """Return the mean CPU seconds per request of each side, without retries or hedging; empty if not modelled.

    Args:
        network, requests: the compiled spec and trace (`compile_spec`).
    """
    cpu = store_of(spec).cpu
    return {} if cpu is None else cpu(spec, network, requests)

"""What retries and hedges cost: attempts beyond the first of each request, and the load that they add."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from models.shared.client_policy import ClientPolicies
from sim.verdict.verdict import LoadVerdict


@dataclass(frozen=True)
class ExtraAttempts:
    """Attempts beyond the first, of a store that is not overloaded.

    Attributes:
        retries, hedges: whether the clients retry or hedge.
        per_request: mean number over all requests.
        allowed: its long-run maximum by the budgets, and by the number of retries and hedges that a request may have.
        station: the one that saturates first; None: no station limits the rate.
        utilization: of this station in the run, with the extra attempts. How much of it is theirs shows the same spec
            without them, with the same seed: they may be cancelled at any visit.
    """

    retries: bool
    hedges: bool
    per_request: float
    allowed: float
    station: str | None
    utilization: float | None


def extra_attempts(
    per_request: float, requests: Mapping[str, int], client: ClientPolicies, load: LoadVerdict | None
) -> ExtraAttempts | None:
    """Return what retries and hedges cost; None: the clients have neither, or an overload dominates.

    Args:
        per_request: extra attempts per request of all operations.
        requests: number of requests of each operation, or of each one of a group, such as ``backup.GET``.
        client: the policies of the clients.
        load: the verdict on the load; None: not determined.
    """
    policies = {op: client.policy(op.rpartition(".")[2]) for op in requests}
    retries, hedges = (any(getattr(p, name) for p in policies.values()) for name in ("retries", "second"))
    total = sum(requests.values())
    if not (retries or hedges) or not total or (load is not None and load.overloaded):
        return None
    allowed = math.fsum(
        requests[op] * (min(p.retries, p.retry_budget) + min(p.second, p.hedge_budget)) for op, p in policies.items()
    )
    first = None if load is None else load.saturates_first
    station, utilization = (None, None) if first is None else (first.station, first.utilization)
    return ExtraAttempts(retries, hedges, per_request, allowed / total, station, utilization)

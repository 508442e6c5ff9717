"""The features of a Network that analysis without simulation supports: others are refused, not ignored."""

from __future__ import annotations

import functools
from dataclasses import MISSING, Field, fields
from typing import Any

import numpy as np

from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Route, Stage, Visit
from models.network.scenario import Action
from models.network.station import Bound, Group, Member, Station
from models.network.sub_requests import SubRequests

_COUNTED: dict[type[Any], set[str]] = {
    Network: {"stations", "routes", "placements", "groups", "scenario"},
    Station: {
        "name",
        "role",
        "discipline",
        "servers",
        "indices",
        "batch_item_s",
        "flush_s",
        "setup_s",
        "caches",
        "age_bias",
        "weights",
        "queue_limit",
        "queue_s",
        "queued_each_s",
        "shares_server",
        "parts",
        "poll_s",
        "poll_limit",
        "period_s",
        "phase_s",
        "repeat_s",
        "repeat_limit",
    },
    Route: {"operation", "stages", "priority", "policy", "variant"},
    Stage: {"branches", "need", "delivers"},
    Visit: {"station", "demand", "releases", "ties", "timer", "claims", "chance", "early", "flushes", "starts"},
    SubRequests: {
        "route",
        "chunk_bytes",
        "first",
        "most",
        "count",
        "size_bytes",
        "parallel",
        "need",
        "own_keys",
        "new_keys",
        "key_step",
        "cancels",
        "keeps",
        "delivers",
    },
    Group: {"choice", "members", "table", "role", "indices"},
    Policy: {
        "operation",
        "timeout_s",
        "retries",
        "backoff_s",
        "backoff_max_s",
        "squares",
        "jitter",
        "retry_budget",
        "retry_budget_cap",
        "hedge_after_s",
        "hedge_quantile",
        "hedge_budget",
        "hedge_budget_cap",
        "tied_after_s",
        "cancels",
    },
    Action: {"kind", "target", "at_s", "member", "value"},
}
"""The supported fields of a Network; all others must have their default."""


def uncounted_feature(network: Network) -> str | None:
    """Return the first unsupported feature of the network, in words; None: all are supported."""
    routes = network.routes
    stages = [stage for route in routes for stage in route.stages]
    visits = [visit for route in routes for visit in route.visits]
    policies = [route.policy for route in routes]
    subs = [sub for route in routes for _, sub in route.starts]
    parts: list[Any] = [network, *network.stations, *routes, *stages, *visits, *subs, *policies, *network.groups]
    for part in [*parts, *network.scenario]:
        defaults = _defaults_of_uncounted(type(part))  # type: ignore[arg-type]  # a class is hashable
        if defaults is None:
            return f"{type(part).__name__} in a route"
        for name, default in defaults:
            if bool(getattr(part, name) != default):
                return f"{name} of {getattr(part, 'name', type(part).__name__)}"
    bound_otherwise = [v.station for v in visits if not isinstance(v.station, int | np.integer | Member | Bound)]
    return f"the choice of a station by {type(bound_otherwise[0]).__name__}" if bound_otherwise else None


@functools.cache
def _defaults_of_uncounted(kind: type[Any]) -> list[tuple[str, Any]] | None:
    """Return name and default of each field of a type that is not counted; None for an unknown type."""
    counted = next((names for known, names in _COUNTED.items() if issubclass(kind, known)), None)
    return None if counted is None else [(f.name, _default(f)) for f in fields(kind) if f.name not in counted]


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()

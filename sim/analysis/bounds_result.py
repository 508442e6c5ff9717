"""Bounds of a Network without simulation, and exact means where they exist: the result of `sim.analysis.bounds`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from sim.json_form import to_json
from sim.saturation.stable_rate import Bound


@dataclass(frozen=True)
class Between:
    """Bounds of a figure; None: there is no bound."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class ClosedLoad:
    """Clients that wait for each response, and their mean think time."""

    loop: str
    clients: int
    think_s: float


@dataclass(frozen=True)
class OpenLoad:
    """Arrivals at a mean rate."""

    loop: str
    offered_ops: float


@dataclass(frozen=True)
class ResourceBounds:
    """Bounds of a station, a pool of tokens, or all members of a group together.

    Attributes:
        kind: ``station``, ``pool`` or ``group``.
        servers: number of servers or tokens; None: infinite.
        visits: per request.
        demand_s: per request; for a pool the time that a token is held.
        max_throughput_ops: maximum throughput in requests per second.
        utilization: for an infinite server the mean number of jobs in service.
    """

    name: str
    role: str
    kind: str
    servers: int | None
    visits: float
    demand_s: Between
    max_throughput_ops: float | None
    utilization: Between


@dataclass(frozen=True)
class RouteBounds:
    """Bounds of the requests of a route: their fraction, their demands by role of station, their response time."""

    name: str
    fraction: float
    demand_s: dict[str, float]
    response_s: Between


@dataclass(frozen=True)
class StationMeans:
    """Exact means of a station: residence time of a request, and number of jobs."""

    name: str
    residence_s: float
    mean_jobs: float


@dataclass(frozen=True)
class RouteMeans:
    """The exact mean response time of a route."""

    name: str
    response_s: float


@dataclass(frozen=True)
class ExactMeans:
    """Means of a network in product form."""

    throughput_ops: float
    response_s: float
    stations: list[StationMeans]
    routes: list[RouteMeans]


@dataclass(frozen=True)
class BalancedJobBounds:
    """Bounds of a closed loop in product form."""

    throughput_ops: Between
    response_s: Between


@dataclass(frozen=True)
class Unavailable:
    """Why there is no such result."""

    reason: str


@dataclass(frozen=True)
class Bounds:
    """Bounds that follow from service demands; None: there is no bound.

    Attributes:
        load: how the requests are issued.
        bottleneck: the resource that saturates first, at `max_throughput_ops`; None: none does.
        throughput_ops: of successful requests.
        response_s: mean over the mix, of all requests that are not refused; those that time out count with the time
            they took.
        stations: resources that are used, the most loaded first.
        routes: routes that requests take.
        exact, balanced_job: available if the network has product form.
        notes: further assumptions, in sentences.
        from_s, until_s: the stretch of the run in which the bottleneck saturates; None: the whole run, or its end.
        bound: whether it saturates at `max_throughput_ops`, or at most or least at it, as far as is known.
        is_warm: whether that is the rate when caches have filled, which are empty at first.
        again: beginning and end in s of the other stretches with the same rate.
    """

    load: ClosedLoad | OpenLoad
    bottleneck: str | None
    max_throughput_ops: float | None
    throughput_ops: Between
    response_s: Between
    stations: list[ResourceBounds]
    routes: list[RouteBounds]
    exact: ExactMeans | Unavailable
    balanced_job: BalancedJobBounds | Unavailable
    notes: list[str]
    from_s: float | None = None
    until_s: float | None = None
    bound: Bound = "at"
    is_warm: bool = False
    again: tuple[tuple[float, float], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return JSON values, with the fields of the load next to the others."""
        rest = {field.name: to_json(getattr(self, field.name)) for field in fields(self) if field.name != "load"}
        return {**to_json(self.load), **rest}

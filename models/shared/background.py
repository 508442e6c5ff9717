"""Background work in a spec, and how drives schedule it against client requests.

Ceph's schedulers (mClock, weighted priority queue) divide an OSD between three classes by weight: clients, background
recovery, and background best effort (scrubbing, snapshot trimming). MinIO does not distinguish healing and scanning
from requests: drives serve them in order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, get_args

import numpy as np
from pydantic import Field, model_validator

from models.network.background import Background
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route
from models.network.service_demand import Demand
from models.network.station import Member, Station
from models.shared.steps import in_series, visit
from traces.errors import InputError
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, PerSecond, Seconds, Weight
from traces.workload.distributions import Strict

ServiceClass = Literal["client", "recovery", "best_effort"]
LoadTarget = Literal["drives", "cpu"]
ClassWeight = Annotated[Weight, Basis("assumed: equal weights")]

MAX_OPERATIONS = 20_000_000
"""Maximum number of operations of a load, because all of them are drawn beforehand."""
_DISCIPLINES = {"priority": Discipline.PRIORITY, "weighted": Discipline.WEIGHTED_SHARE}


class Load(Strict):
    """One kind of background work, such as recovery, scrubbing, healing, scanning or lifecycle."""

    name: str = Field(
        min_length=1, description="Name of the work, different for each load; it also selects the random numbers."
    )
    rate: Annotated[PerSecond, Field(gt=0)] = Field(description="Rate of operations in the whole store.")
    demand: Demand = Field(description="Service time of an operation; per-byte times apply to `size`.")
    size: Bytes = Field(0, description="Bytes moved by an operation, such as those of a scrubbed or healed chunk.")
    target: LoadTarget = Field(
        "drives", description="Stations that serve the operations; each operation picks one of them at random."
    )
    service_class: ServiceClass = Field(
        "best_effort",
        description="Service class by which drives schedule the operations (see `background.scheduling`).",
    )
    arrivals: Literal["poisson", "even"] = Field(
        "poisson",
        description="Arrival process: random (Poisson), or with equal gaps, the first at a random moment of a gap.",
    )
    at: Seconds = Field(0.0, description="Time at which the work starts, from the start of the run.")
    until: Seconds | None = Field(None, description="Time at which the work ends; absent: with the workload.")

    @model_validator(mode="after")
    def _ends_later(self) -> Load:
        if self.until is not None and self.until <= self.at:
            raise ValueError(f"until is {self.until:g} s; it must be after at, {self.at:g} s")
        return self


class Weights(Strict):
    """Weights by which the classes divide a drive's time while all of them have jobs waiting."""

    client: ClassWeight = Field(1.0, gt=0, description="Weight of the requests that clients wait for.")
    recovery: ClassWeight = Field(1.0, gt=0, description="Weight of recovery: rebuilding lost or outdated copies.")
    best_effort: ClassWeight = Field(1.0, gt=0, description="Weight of best-effort work, such as scrubbing.")


class BackgroundWork(Strict):
    """Background work, and how drives schedule it against client requests."""

    scheduling: Literal["fifo", "priority", "weighted"] = Field(
        "fifo",
        description="Order in which drives serve accesses: by arrival; clients before recovery before best effort; or "
        "by the weights of the classes. Accesses are never interrupted.",
    )
    weights: Weights = Field(
        Weights(), description="Weights of the classes in weighted scheduling, as Ceph's osd_mclock_scheduler_*_wgt."
    )
    loads: tuple[Load, ...] = Field(
        (), description="Background work during the run: recovery, scrubbing, healing and the like."
    )

    @model_validator(mode="after")
    def _names_differ(self) -> BackgroundWork:
        names = [load.name for load in self.loads]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValueError(f"loads.{number}.name: there are two loads with the name {name!r}")
        return self


def with_background(
    work: BackgroundWork, network: Network, requests: Requests, roles: Mapping[LoadTarget, str]
) -> tuple[Network, Requests]:
    """Return network and requests with a store's background work added; unchanged if there is none.

    Each load gets a route with one visit, and a placement table that lists its target stations.

    Args:
        roles: the role of the stations that each target stands for.

    Raises:
        InputError: the end of a load is not known beforehand, it has too many operations, or its name is that of work
            of the store itself.
    """
    if work == BackgroundWork():
        return network, requests
    stations = _scheduled(work, network.stations, roles["drives"])
    routes, tables, background = list(network.routes), list(network.placements), list(requests.background)
    own = [each.name for each in requests.background]
    for number, load in enumerate(work.loads):
        if load.name in own:
            raise InputError(
                f"background.loads.{number}.name: {load.name!r} is the name of work of the store itself; give another"
            )
        targets = [k for k, s in enumerate(stations) if s.role == roles[load.target] and not s.discipline.infinite]
        step = visit(Member(len(tables), 0, ("target",)), load.demand)
        priority = get_args(ServiceClass).index(load.service_class)
        background.append(_operations(load, number, len(routes), requests))
        routes.append(Route(f"background {load.name}", in_series(step), priority))
        tables.append(np.array(targets, np.int32)[:, None])
    network = replace(network, stations=stations, routes=tuple(routes), placements=tuple(tables))
    return network, replace(requests, background=tuple(background))


def _scheduled(work: BackgroundWork, stations: tuple[Station, ...], role: str) -> tuple[Station, ...]:
    """Return the stations, drives with the scheduling of the spec; with classes, they share their servers with none."""
    if work.scheduling == "fifo":
        return stations
    weights = (work.weights.client, work.weights.recovery, work.weights.best_effort)
    found = [replace(station, shares_server=False, parts=1) for station in stations]
    for number, station in enumerate(found):
        if station.role == role and station.discipline == Discipline.FIFO:
            found[number] = replace(station, discipline=_DISCIPLINES[work.scheduling], weights=weights)
    return tuple(found)


def _operations(load: Load, number: int, route: int, requests: Requests) -> Background:
    pacing, field = requests.pacing, f"background.loads.{number}"
    end_s = pacing.duration_s
    if end_s is None and pacing.loop == "open":
        end_s = float(requests.arrival_s.max(initial=0.0))
    known = [at_s for at_s in (end_s, load.until) if at_s is not None]
    if not known:
        raise InputError(
            f"{field}.until: is missing; the end of a closed loop is not known beforehand, so give until or "
            "workload.duration"
        )
    until_s = min(known)
    if load.rate * (until_s - load.at) > MAX_OPERATIONS:
        raise InputError(
            f"{field}.rate: results in {load.rate * (until_s - load.at):.3g} operations; at most "
            f"{MAX_OPERATIONS:.3g} are allowed"
        )
    return Background(
        load.name, route, load.rate, min(load.at, until_s), until_s, load.size, load.arrivals == "poisson"
    )

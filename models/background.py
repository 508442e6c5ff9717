"""Background work in a spec: what a store does by itself, and how its drives choose between that and its clients.

Ceph has three classes for it, which its schedulers (mClock, weighted priority queue) serve by their shares: clients,
background recovery, and background best effort (scrubbing, snapshot trimming). MinIO's healing and scanner are the same
to a drive, which serves them in the order in which they come.
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
from models.network.route import Route, Visit, single
from models.network.service_demand import Demand
from models.network.station import Member, Station
from traces.errors import InputError
from traces.units import Bytes, PerSecond, Seconds
from traces.workload.distributions import Strict

ServiceClass = Literal["client", "recovery", "best_effort"]
Target = Literal["drives", "cpu"]
Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]

MAX_OPERATIONS = 20_000_000
"""Operations of a load at most: all of them are drawn beforehand."""
_DISCIPLINES = {"priority": Discipline.PRIORITY, "weighted": Discipline.WEIGHTED_SHARE}


class Load(Strict):
    """One kind of background work: recovery, scrubbing, healing, a scanner, lifecycle."""

    name: str = Field(min_length=1, description="what it is; unique, as it names the random numbers")
    rate: Annotated[PerSecond, Field(gt=0)] = Field(description="operations per second, in the whole store")
    demand: Demand = Field(description="service time of an operation; bytes count its size")
    size: Bytes = Field(0, description="bytes that an operation moves")
    target: Target = Field("drives", description="where an operation is served: at one of these, picked at random")
    service_class: ServiceClass = Field("best_effort", description="the class by which drives schedule it")
    arrivals: Literal["poisson", "even"] = Field("poisson", description="how operations spread about the rate")
    at: Seconds = Field(0.0, description="when it begins")
    until: Seconds | None = Field(None, description="when it ends; absent: with the workload")

    @model_validator(mode="after")
    def _ends_later(self) -> Load:
        if self.until is not None and self.until <= self.at:
            raise ValueError(f"until is {self.until:g} s; it must be after at, {self.at:g} s")
        return self


class Weights(Strict):
    """Shares of a drive's time that the classes get while all of them wait."""

    client: Weight = 1.0
    recovery: Weight = 1.0
    best_effort: Weight = 1.0


class BackgroundWork(Strict):
    """What the store does by itself, and how drives choose between that and requests."""

    scheduling: Literal["fifo", "priority", "weighted"] = Field(
        "fifo",
        description="what a drive serves next: the first that came; clients before recovery before best effort; or the "
        "classes by their weights. No access is interrupted",
    )
    weights: Weights = Field(Weights(), description="of weighted scheduling, as osd_mclock_scheduler_*_wgt of Ceph")
    loads: tuple[Load, ...] = Field((), description="each kind of background work")

    @model_validator(mode="after")
    def _names_differ(self) -> BackgroundWork:
        names = [load.name for load in self.loads]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValueError(f"loads.{number}.name: there are two loads of the name {name!r}")
        return self


def with_background(
    work: BackgroundWork, network: Network, requests: Requests, roles: Mapping[Target, str]
) -> tuple[Network, Requests]:
    """The network and the requests of a store with its background work; as they are where there is none.

    Each load has a route of one visit, to a row of a placement table of its own that lists its targets. Routes and
    tables come after all others, so that the requests' random numbers stay the same.

    Args:
        roles: of the stations that each target stands for.

    Raises:
        InputError: the end of a load is not known beforehand, or it has too many operations.
    """
    if work == BackgroundWork():
        return network, requests
    stations = tuple(_scheduled(work, station, roles["drives"]) for station in network.stations)
    routes, tables, background = list(network.routes), list(network.placements), list(requests.background)
    for number, load in enumerate(work.loads):
        targets = [k for k, s in enumerate(stations) if s.role == roles[load.target] and not s.discipline.infinite]
        visit = Visit(Member(len(tables), 0), load.demand)
        priority = get_args(ServiceClass).index(load.service_class)
        background.append(_operations(load, number, len(routes), requests))
        routes.append(Route(f"background {load.name}", (single(visit),), priority))
        tables.append(np.array(targets, np.int32)[:, None])
    network = replace(network, stations=stations, routes=tuple(routes), placements=tuple(tables))
    return network, replace(requests, background=tuple(background))


def _scheduled(work: BackgroundWork, station: Station, role: str) -> Station:
    """A drive with the scheduling of the spec; any other station as it is."""
    if work.scheduling == "fifo" or station.role != role or station.discipline != Discipline.FIFO:
        return station
    weights = (work.weights.client, work.weights.recovery, work.weights.best_effort)
    return replace(station, discipline=_DISCIPLINES[work.scheduling], weights=weights)


def _operations(load: Load, number: int, route: int, requests: Requests) -> Background:
    pacing, field = requests.pacing, f"background.loads.{number}"
    end_s = pacing.duration_s
    if end_s is None and pacing.loop == "open":
        end_s = float(requests.arrival_s.max(initial=0.0))
    known = [at_s for at_s in (end_s, load.until) if at_s is not None]
    if not known:
        raise InputError(
            f"{field}.until: is missing; a closed loop has no end that is known beforehand, so give until or "
            "workload.duration"
        )
    until_s = min(known)
    if load.rate * (until_s - load.at) > MAX_OPERATIONS:
        raise InputError(
            f"{field}.rate: makes {load.rate * (until_s - load.at):.3g} operations; at most {MAX_OPERATIONS:.3g} are "
            "simulated"
        )
    return Background(
        load.name, route, load.rate, min(load.at, until_s), until_s, load.size, load.arrivals == "poisson"
    )

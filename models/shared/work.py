"""A cluster's own work as background load: objects that workers process one after the other, and how fast they can.

The operations of a load arrive evenly, at the rate that the workers reach in an idle cluster, and each takes one of as
many tokens first. So a busy cluster slows the work down as it does a closed loop of workers. In an idle cluster, the
rate is limited by the workers or by the busiest station (asymptotic bounds of a closed network; Denning and Buzen,
Computing Surveys 10(3), 1978).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from models.network.background import Background
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Route
from models.network.station import Member, Station
from models.shared.background import MAX_OPERATIONS
from traces.errors import InputError

RECOVERY, BEST_EFFORT = 1, 2
"""Service classes of drives, as in `models.shared.background`."""
WORKERS = "background workers"
"""The role of their tokens, all of which are taken as long as there is work: that limits no request."""


@dataclass(frozen=True)
class ObjectWork:
    """Objects that workers process.

    Attributes:
        name: of its route; it selects the random numbers.
        route: of one object, which takes a worker first.
        table: placement table of the route.
        size_bytes: of each object.
        objects: number of them; infinite for work without end.
        from_s: its beginning.
        rate_ops: objects per second that begin.
        stop_s: time at which the work is stopped, if it is not done.
    """

    name: str
    route: Route
    table: NDArray[np.int32]
    size_bytes: int
    objects: float
    from_s: float
    rate_ops: float
    stop_s: float = math.inf

    @property
    def until_s(self) -> float:
        """Time at which all objects are done."""
        return self.from_s + self.objects / self.rate_ops

    @property
    def last_s(self) -> float:
        """A time between the beginnings of the last object and of the next one, if there were more."""
        return self.from_s + math.ceil(self.objects) / self.rate_ops if self.objects < math.inf else math.inf


def idle_rate_ops(
    route: Route, workers: int, rows: NDArray[np.int32], stations: Sequence[Station], size_bytes: int
) -> float:
    """Return the objects per second that workers reach at most if nothing else runs, with mean demands.

    Args:
        route: of one object.
        workers: number of them.
        rows: rows of the only placement table that the route refers to.
        size_bytes: of an object.
    """
    size, row, took_s = np.array([size_bytes]), np.arange(len(rows)), np.zeros(len(rows))
    queues = np.array([s.discipline.takes_time and not s.discipline.infinite for s in stations])
    timed = np.array([s.discipline.takes_time for s in stations])
    servers = np.array([s.servers for s in stations], float)
    busy_s = np.zeros(len(stations))
    for stage in route.stages:
        branch_s, work_s = [], np.zeros((len(rows), len(stations)))
        for branch in stage.branches:
            once_s = np.zeros(len(rows))
            for visit in branch:
                place, mean_s = visit.station, float(visit.mean_s(size)[0])
                at = rows[:, place.position] if isinstance(place, Member) else np.full(len(rows), place)
                once_s += mean_s * timed[at]
                work_s[row, at] += mean_s * queues[at] / servers[at]
            branch_s.append(once_s)
        stage_s = np.sort(branch_s, axis=0)[stage.need - 1]
        if stage.need == len(stage.branches):  # branches that share a station wait for each other there
            stage_s = np.maximum(stage_s, work_s.max(axis=1))
        took_s += stage_s
        busy_s += work_s.mean(axis=0)
    return 1 / float(max(took_s.mean() / workers, busy_s.max()))


def with_works(
    works: Iterable[ObjectWork], stations: Sequence[Station], network: Network, requests: Requests
) -> tuple[Network, Requests]:
    """Return network and requests with a cluster's own work added.

    Args:
        works: whose tables follow those of the network.
        stations: those of the network and further ones of the works.

    Raises:
        InputError: there is such work in a closed loop without a duration.
    """
    works = list(works)
    if not works:
        return network, requests
    end_s = requests.pacing.duration_s
    if end_s is None and requests.pacing.loop == "open":
        end_s = float(requests.arrival_s.max(initial=0.0))
    if end_s is None:
        raise InputError(
            f"workload.duration: is missing; the end of a closed loop is not known beforehand, and so is that of the "
            f"{works[0].name}"
        )
    routes, tables, background = list(network.routes), list(network.placements), list(requests.background)
    for work in works:
        most_s = work.from_s + MAX_OPERATIONS / work.rate_ops
        until_s = min(work.last_s, work.stop_s, end_s, most_s)
        tables.append(work.table)
        routes.append(work.route)
        if until_s > work.from_s:
            background.append(Background(
                work.name, len(routes) - 1, work.rate_ops, work.from_s, until_s, work.size_bytes, poisson=False
            ))  # fmt: skip
    network = replace(network, stations=tuple(stations), routes=tuple(routes), placements=tuple(tables))
    return network, replace(requests, background=tuple(background))

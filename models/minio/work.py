"""Objects that workers of a cluster process in the background, and how fast they can."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.minio.spec import MinioSpec
from models.minio.stations import Stations
from models.network.route import Route
from models.network.station import Member


@dataclass(frozen=True)
class Work:
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
        return self.from_s + (math.ceil(self.objects) - 0.5) / self.rate_ops if self.objects < math.inf else math.inf


def objects_of_set(spec: MinioSpec, pool: int, sets: int) -> float:
    """Return the number of objects in each erasure set of a pool: pools have them by free space."""
    assert spec.stored is not None
    weights = [1.0, *(each.weight for each in spec.pools)]
    return spec.stored.objects * weights[pool] / sum(weights) / sets


def idle_rate_ops(route: Route, workers: int, rows: NDArray[np.int32], stations: Stations, size_bytes: int) -> float:
    """Return the objects per second that workers reach at most if nothing else runs, with mean demands.

    Args:
        route: of one object.
        workers: number of them.
        rows: rows of the only placement table that the route refers to.
        size_bytes: of an object.
    """
    size, row, took_s = np.array([size_bytes]), np.arange(len(rows)), np.zeros(len(rows))
    queues = np.array([s.discipline.takes_time and not s.discipline.infinite for s in stations.all])
    timed = np.array([s.discipline.takes_time for s in stations.all])
    servers = np.array([s.servers for s in stations.all], float)
    busy_s = np.zeros(len(stations.all))
    for stage in route.stages:
        branch_s, work_s = [], np.zeros((len(rows), len(stations.all)))
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

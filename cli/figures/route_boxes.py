"""Contents of a route diagram: equal branches merged, visits with mean service demand and utilisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.network import Network
from models.network.route import Stage, Visit
from models.network.station import NOWHERE
from models.network.sub_requests import SubRequests
from sim.demands.visit_places import stations_of


@dataclass(frozen=True)
class Box:
    """A visit, or equal visits of several branches; or the sub-requests that a visit starts.

    Attributes:
        role: that of its station, or the name of the sub-requests' route.
        mean_s: mean service demand.
        stations: indices of the stations that may serve it, in all merged branches.
        action: its action at a pool or a gate, or how many sub-requests are in progress; empty if it is served.
        utilization: mean and maximum over the stations; None for infinite servers, or if it is unknown.
    """

    role: str
    action: str
    mean_s: float
    stations: tuple[int, ...]
    utilization: tuple[float, float] | None

    @property
    def key(self) -> tuple[str, str, float]:
        """Properties that are equal in merged branches."""
        return self.role, self.action, self.mean_s


@dataclass(frozen=True)
class Branches:
    """A number of branches with equal visits."""

    count: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Fork:
    """A stage: its branches, and its join condition as text, which is empty for one branch."""

    joined: str
    branches: tuple[Branches, ...]


def forks_of(network: Network, route: int, size_bytes: NDArray[np.int64], load: Mapping[str, float]) -> list[Fork]:
    """Return the stages of a route without visits to infinite servers that take no time.

    Args:
        network: the network.
        route: index of the route.
        size_bytes: bytes of its requests, over which service demands are averaged.
        load: utilisation of stations by name.
    """
    forks = (_fork(network, stage, size_bytes, load) for stage in network.routes[route].stages)
    return [fork for fork in forks if fork.branches]


def _fork(network: Network, stage: Stage, size_bytes: NDArray[np.int64], load: Mapping[str, float]) -> Fork:
    equal: dict[tuple[Any, ...], list[list[Box]]] = {}
    for branch in stage.branches:
        boxes = _in_a_row([box for visit in branch for box in _boxes(network, visit, size_bytes, load)])
        if boxes:
            equal.setdefault(tuple(box.key for box in boxes), []).append(boxes)
    merged = tuple(Branches(len(same), tuple(map(_merged, zip(*same, strict=True)))) for same in equal.values())
    drawn = sum(branches.count for branches in merged)
    # Branches without a visit end immediately.
    return Fork(_joined(stage.need - (len(stage.branches) - drawn), drawn), merged)


def _in_a_row(boxes: list[Box]) -> list[Box]:
    """Merge consecutive boxes at the same servers, such as the quanta of one job."""
    drawn: list[Box] = []
    for box in boxes:
        last = drawn[-1] if drawn else None
        if last and not box.action and (last.role, last.stations) == (box.role, box.stations):
            drawn[-1] = replace(last, mean_s=last.mean_s + box.mean_s)
        else:
            drawn.append(box)
    return drawn


def _joined(need: int, branches: int) -> str:
    if need <= 0:
        return "not waited for"
    if branches == 1:
        return ""
    return f"needs all {branches}" if need == branches else f"needs {need} of {branches}"


def _boxes(network: Network, visit: Visit, size_bytes: NDArray[np.int64], load: Mapping[str, float]) -> Iterator[Box]:
    possible = tuple(stations_of(network, visit.station))
    # Of some keys or servers the visit is nowhere, such as a link to a part that is on the same host.
    places = tuple(k for k in possible if network.stations[k].role != NOWHERE.role)
    mean_s = float(visit.mean_s(size_bytes).mean())
    if places and (not network.stations[places[0]].discipline.infinite or mean_s):
        yield _served(network, visit, places, mean_s, load)
    if visit.starts is not None:
        started = " or ".join(dict.fromkeys(network.routes[route].name for route in visit.starts.routes))
        yield Box(started, _in_progress(visit.starts), 0.0, possible, None)


def _in_progress(sub: SubRequests) -> str:
    if (sub.most if sub.chunk_bytes else sub.count) == 1:
        return "one"
    return f"{sub.parallel} at a time" if sub.parallel else "all at once"


def _served(network: Network, visit: Visit, places: tuple[int, ...], mean_s: float, load: Mapping[str, float]) -> Box:
    kind = network.stations[places[0]]
    action = "passes" if kind.discipline.is_gate else ""
    if kind.discipline.holds_tokens:
        action = "gives back" if visit.releases else "takes one"
    known = [load[s.name] for k in places if (s := network.stations[k]).name in load]
    limited = not (kind.discipline.infinite or kind.discipline.is_gate)
    utilization = (float(np.mean(known)), max(known)) if known and limited else None
    return Box(kind.role, action, mean_s, places, utilization)


def _merged(boxes: tuple[Box, ...]) -> Box:
    """Merge the visits of equal branches, with the stations of all."""
    stations = tuple(sorted({k for box in boxes for k in box.stations}))
    known = [box.utilization for box in boxes if box.utilization]
    load = (float(np.mean([mean for mean, _ in known])), max(greatest for _, greatest in known)) if known else None
    return Box(boxes[0].role, boxes[0].action, boxes[0].mean_s, stations, load)

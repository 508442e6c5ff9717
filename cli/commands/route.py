"""The route of a request as a reader wants it: like branches as one, each visit with its demand and utilisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Stage, Visit
from sim.analysis.visit_places import stations_of


@dataclass(frozen=True)
class Box:
    """A visit as it is drawn.

    Attributes:
        mean_s: its mean demand.
        stations: indices of those that it may be to, in all of the branches that it stands for.
        action: what it does at a pool or a gate; empty where it is served.
        utilization: mean and greatest of the stations; none where servers are infinite or nothing is known.
    """

    role: str
    action: str
    mean_s: float
    stations: tuple[int, ...]
    utilization: tuple[float, float] | None

    @property
    def alike(self) -> tuple[str, str, float]:
        """What boxes of branches that are drawn as one have in common."""
        return self.role, self.action, self.mean_s


@dataclass(frozen=True)
class Lane:
    """So many branches of the same visits."""

    count: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Fork:
    """A stage as it is drawn: its lanes, and when it is joined, in words; no words where it has one branch."""

    joined: str
    lanes: tuple[Lane, ...]


def forks_of(network: Network, requests: Requests, route: int, load: Mapping[str, float]) -> list[Fork]:
    """The stages of a route; visits to infinite servers that take no time are left out, as nothing happens there.

    `load`: the utilisation of stations by name.
    """
    size_bytes = requests.size_bytes[requests.route == route]
    forks = (_fork(network, stage, size_bytes, load) for stage in network.routes[route].stages)
    return [fork for fork in forks if fork.lanes]


def _fork(network: Network, stage: Stage, size_bytes: NDArray[np.int64], load: Mapping[str, float]) -> Fork:
    alike: dict[tuple[Any, ...], list[list[Box]]] = {}
    for branch in stage.branches:
        boxes = _in_a_row([box for visit in branch if (box := _box(network, visit, size_bytes, load))])
        if boxes:
            alike.setdefault(tuple(box.alike for box in boxes), []).append(boxes)
    lanes = tuple(Lane(len(same), tuple(map(_merged, zip(*same, strict=True)))) for same in alike.values())
    drawn = sum(lane.count for lane in lanes)
    # Branches without a visit are done at once.
    return Fork(_joined(stage.need - (len(stage.branches) - drawn), drawn), lanes)


def _in_a_row(boxes: list[Box]) -> list[Box]:
    """The boxes, those for the same servers one after the other as one, as time slices are."""
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


def _box(network: Network, visit: Visit, size_bytes: NDArray[np.int64], load: Mapping[str, float]) -> Box | None:
    places = tuple(stations_of(network, visit.station))
    kind = network.stations[places[0]]
    mean_s = float(visit.demand.mean_s(size_bytes).mean())
    if kind.discipline.infinite and not mean_s:
        return None
    action = "passes" if kind.discipline.is_gate else ""
    if kind.discipline.holds_tokens:
        action = "gives back" if visit.releases else "takes one"
    known = [load[s.name] for k in places if (s := network.stations[k]).name in load]
    limited = not (kind.discipline.infinite or kind.discipline.is_gate)
    utilization = (float(np.mean(known)), max(known)) if known and limited else None
    return Box(kind.role, action, mean_s, places, utilization)


def _merged(boxes: tuple[Box, ...]) -> Box:
    """A visit of several branches, for the stations of all of them."""
    stations = tuple(sorted({k for box in boxes for k in box.stations}))
    known = [box.utilization for box in boxes if box.utilization]
    load = (float(np.mean([mean for mean, _ in known])), max(greatest for _, greatest in known)) if known else None
    return Box(boxes[0].role, boxes[0].action, boxes[0].mean_s, stations, load)

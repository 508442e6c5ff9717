"""Faults common to all stores: outages, degradation intervals, noisy neighbours; the station speeds they result in."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from models.network.scenario import Action, Kind
from traces.units import Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Workload

Slowdown = tuple[int, float, float, float]
"""Which of several stations alike, from when until when it is slow, and the share of its speed that is left."""

FaultForm = Literal["outage", "slow", "neighbour"]
"""Something dies, something is slow, or somebody else takes a fraction of a host."""


@dataclass(frozen=True)
class FaultKind:
    """How a failure that an engineer names stands in the `faults` of a store's spec.

    Attributes:
        event: the kind of the event.
        form: which fields it has: those of an `Outage`, of a `Degradation` with a speed, or of a `NoisyNeighbour`.
        numbered: the field that has the number of what is hit; empty: there is only one.
        refuses: whether requests are refused at once while it lasts.
        note: what there is to know of a failure, given the spec and the event in it; empty: nothing.
    """

    event: str
    form: FaultForm
    numbered: str = ""
    refuses: bool = False
    note: Callable[[Any, Any], str] = lambda spec, event: ""


class Outage(Strict):
    """Something that dies, and perhaps comes back."""

    at: Seconds = Field(description="when it dies")
    back_at: Seconds | None = Field(None, description="when it is started again; absent: it stays down")

    @property
    def back_s(self) -> float:
        """When it is started again; infinite: never."""
        return math.inf if self.back_at is None else self.back_at

    @model_validator(mode="after")
    def _comes_back_later(self) -> Outage:
        if self.back_at is not None and self.back_at <= self.at:
            raise ValueError(f"back_at is {self.back_at:g} s; it must be after at, {self.at:g} s")
        return self


class Degradation(Strict):
    """Something that is slow for a while."""

    at: Seconds
    until: Seconds | None = Field(None, description="absent: to the end")

    @property
    def end_s(self) -> float:
        """When it ends; infinite: never."""
        return math.inf if self.until is None else self.until

    @model_validator(mode="after")
    def _ends_later(self) -> Degradation:
        if self.until is not None and self.until <= self.at:
            raise ValueError(f"until is {self.until:g} s; it must be after at, {self.at:g} s")
        return self


class NoisyNeighbour(Degradation):
    """Somebody else works on a host and takes a share of it: all that is left is as slow as a fair scheduler makes it.

    The share is taken evenly, from every service: what a neighbour who comes in bursts does to the tail is more.
    """

    kind: Literal["noisy_neighbour"]
    resource: Literal["cpu", "drives", "network"] = Field("cpu", description="what it takes its share of")
    fraction: float = Field(gt=0, lt=1, description="how much it takes: 0.5 leaves half the speed")


def speeds(slowdowns: Iterable[Slowdown], stations: Sequence[int]) -> list[Action]:
    """The speeds of stations that are slow for several reasons, perhaps at once: the factors multiply.

    Args:
        stations: the index in the network of each that a slowdown may name.
    """
    of_station: dict[int, list[Slowdown]] = defaultdict(list)
    for slowdown in slowdowns:
        of_station[slowdown[0]].append(slowdown)
    actions = []
    for which, mine in of_station.items():
        for at_s in sorted({t for _, start, end, _ in mine for t in (start, end) if t < math.inf}):
            speed = math.prod(speed for _, start, end, speed in mine if start <= at_s < end)
            actions.append(Action(Kind.SPEED, stations[which], at_s, value=speed))
    return actions


def refuse_instant_failures(workload: Workload, latency_s: float, kind: str) -> None:
    """A closed loop asks again as soon as a request has failed: that must take time, or it never ends.

    Args:
        latency_s: of the network, which a failing request passes.
        kind: of the event that makes requests fail.

    Raises:
        ValueError: it takes none.
    """
    if workload.rate is None and not latency_s and not workload.think_time.mean:
        raise ValueError(
            f"faults: {kind} makes requests fail, which takes no time without network.latency, so that a closed loop "
            "would ask for ever; give network.latency, workload.think_time or workload.rate"
        )

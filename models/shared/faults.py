"""Faults common to all stores: outages, degradation intervals, noisy neighbours; and the resulting station speeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from models.network.scenario import Action, ActionKind
from traces.spec.units import Fraction, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Workload

Slowdown = tuple[int, float, float, float]
"""Number of a station among those of its kind, start and end of the slowdown in s, and the remaining speed."""

Stations = NDArray[np.integer[Any]]
"""Indices of stations in a network."""

FaultForm = Literal["outage", "slow", "neighbour", "work"]
"""A part fails, a part is slow, another tenant takes a fraction of a host, or the store has more work of its own."""


@dataclass(frozen=True)
class FaultKind:
    """How a failure of the command `failures` is written in the `faults` of a store's spec.

    Attributes:
        event: its `kind` in the spec.
        form: its fields: those of an `Outage`, of a `Degradation` with or without a speed, or of a `NoisyNeighbour`.
        numbered: the field with the number of the failed part; empty if there is only one such part.
        refuses: whether requests are refused immediately while it lasts.
        settled: fields and values with which the store has noticed it when it begins, and does what follows.
        helps: changes of the spec with which fewer requests may fail while it lasts, by path.
        note: a remark on the failure, given the spec and the event in it; empty for none.
        groups: returns the number of the first part of each named group of parts, given the spec.
        within: path of the store below, in whose section `faults` it is; empty: in that of the spec itself.
    """

    event: str
    form: FaultForm
    numbered: str = ""
    refuses: bool = False
    settled: Mapping[str, float] = field(default_factory=dict)
    helps: tuple[Mapping[str, Any], ...] = ()
    note: Callable[[Any, Any], str] = lambda spec, event: ""
    groups: Callable[[Any], Mapping[str, int]] = lambda spec: {}
    within: str = ""

    @property
    def section(self) -> str:
        """The path of the section that it is in."""
        return f"{self.within}.faults" if self.within else "faults"


OTHER_HOSTS: tuple[Mapping[str, Any], ...] = ({"balance": "proxy"},)
"""What helps while a host is down: a proxy sends no requests to a host that is known to be down."""

SLOW_PARTS = {
    "slow-drive": FaultKind("slow_drive", "slow", "drive"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}
"""Failures of the command `failures` that a store with `SlowDrive` and `HostNeighbour` has, by name."""


class Outage(Strict):
    """The failure of a part, which may be restarted later."""

    at: Seconds = Field(description="Time of the failure, from the start of the run.")
    back_at: Seconds | None = Field(None, description="Time at which the part works again; absent: it stays down.")

    @property
    def back_s(self) -> float:
        """Time of the restart; infinite if there is none."""
        return math.inf if self.back_at is None else self.back_at

    @model_validator(mode="after")
    def _comes_back_later(self) -> Outage:
        if self.back_at is not None and self.back_at <= self.at:
            raise ValueError(f"back_at is {self.back_at:g} s; it must be after at, {self.at:g} s")
        return self


class MountDown(Outage):
    """The process of a mount ends: its operations fail until it is mounted again."""

    kind: Literal["mount_down"] = Field(
        description="Mount killed: its operations, also those in progress, fail until it is mounted again."
    )
    mount: int = Field(0, ge=0, description="Number of the mount or gateway that is killed, from 0.")


class Degradation(Strict):
    """A degradation interval: a part is slow for some time."""

    at: Seconds = Field(description="Time at which the degradation begins, from the start of the run.")
    until: Seconds | None = Field(
        None, description="Time at which the part is back to normal; absent: not during the run."
    )

    @property
    def end_s(self) -> float:
        """End time; infinite if there is none."""
        return math.inf if self.until is None else self.until

    @model_validator(mode="after")
    def _ends_later(self) -> Degradation:
        if self.until is not None and self.until <= self.at:
            raise ValueError(f"until is {self.until:g} s; it must be after at, {self.at:g} s")
        return self


class NoisyNeighbour(Degradation):
    """Another tenant takes a fraction of a host's resource, which slows down the store as a fair scheduler would.

    Each service is slowed down by the same factor; a neighbour with bursts of load affects the tail more.
    """

    kind: Literal["noisy_neighbour"] = Field(
        description="Noisy neighbour: another tenant of a host takes a fraction of one resource."
    )
    resource: Literal["cpu", "drives", "network"] = Field("cpu", description="Resource that the other tenant uses.")
    fraction: Fraction = Field(
        gt=0, lt=1, description="Fraction of the resource that the other tenant uses; 0.5 leaves half the speed."
    )


class HostNeighbour(NoisyNeighbour):
    """Another tenant takes a fraction of a resource of one host."""

    host: int = Field(0, ge=0, description="Number of the host, from 0; in a store with pools, counted pool by pool.")


class SlowDrive(Degradation):
    """A drive loses speed, and so do the commits of its journal if it has its own."""

    kind: Literal["slow_drive"] = Field(description="Slow drive: a drive loses speed but returns no errors.")
    drive: int = Field(ge=0, description="Number of the drive, counted host by host from 0.")
    speed: Fraction = Field(gt=0, le=1, description="Remaining speed as a fraction of the normal one.")


@dataclass(frozen=True)
class SlowParts:
    """The parts that slow drives and neighbours slow down.

    Attributes:
        drives: drives that are slow themselves, by number, host by host.
        shared_drives: drives of hosts whose drives a neighbour uses.
        cores, links: by host.
    """

    drives: list[Slowdown] = field(default_factory=list)
    shared_drives: list[Slowdown] = field(default_factory=list)
    cores: list[Slowdown] = field(default_factory=list)
    links: list[Slowdown] = field(default_factory=list)


def fault_times(faults: Iterable[Any]) -> list[float]:
    """Return when faults begin in s, in their order."""
    return [float(fault.at) for fault in faults]


def outage_actions(outages: Iterable[tuple[float, float]], stations: Iterable[int]) -> list[Action]:
    """Return the failures and restarts of stations that are down as long as any of their outages lasts.

    Args:
        outages: start and end of each in s, in any order; they may overlap, and infinite ends have no restart.
        stations: that fail together.
    """
    spans = merged(outages)
    actions = []
    for station in stations:
        for start, end in spans:
            actions.append(Action(ActionKind.DOWN, station, start))
            if end < math.inf:
                actions.append(Action(ActionKind.UP, station, end))
    return actions


def shut_actions(gate: int, spans: Iterable[tuple[float, float]]) -> list[Action]:
    """Return the actions that keep a gate shut as long as any of some spans lasts.

    Args:
        gate: a station of the discipline `GATE`.
        spans: start and end of each in s, in any order; they may overlap, and at an infinite end it stays shut.
    """
    actions = []
    for start, end in merged(span for span in spans if span[0] < span[1]):
        actions.append(Action(ActionKind.SHUT, gate, start))
        if end < math.inf:
            actions.append(Action(ActionKind.OPEN, gate, end))
    return actions


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the same times as spans that neither overlap nor touch, in ascending order."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def refuse_overlaps(faults: Sequence[object]) -> None:
    """Refuse two failures of one kind and part that overlap: the part would be back while it is down.

    Raises:
        ValueError: names both faults, and when the second may begin.
    """
    earlier: dict[tuple[object, ...], tuple[int, Outage]] = {}
    outages = [(number, fault) for number, fault in enumerate(faults) if isinstance(fault, Outage)]
    for number, fault in sorted(outages, key=lambda each: each[1].at):
        parts = tuple((name, getattr(fault, name)) for name in _PARTS if hasattr(fault, name))
        key = (getattr(fault, "kind", ""), *parts)
        if key in earlier:
            before, other = earlier[key]
            if fault.at < other.back_s:
                what = " ".join(f"{name} {which}" for name, which in parts)
                allowed = "give that one a back_at" if other.back_at is None else f"allowed is from {other.back_s:g} s"
                raise ValueError(
                    f"faults.{number}.at: is {fault.at:g} s, when {what} is down already (faults.{before}); {allowed}"
                )
        earlier[key] = number, fault


_PARTS = ("drive", "host", "rack", "osd", "gateway", "proxy")


def slow_parts(faults: Iterable[object], first_drive: Sequence[int]) -> SlowParts:
    """Return what the slow drives and neighbours among the faults slow down; other faults do not matter.

    `first_drive`: the number of each host's first drive, host by host, and that of all drives.
    """
    found = SlowParts()
    for fault in faults:
        if isinstance(fault, SlowDrive):
            found.drives.append((fault.drive, fault.at, fault.end_s, fault.speed))
        elif isinstance(fault, HostNeighbour):
            part: Slowdown = (fault.host, fault.at, fault.end_s, 1 - fault.fraction)
            if fault.resource == "cpu":
                found.cores.append(part)
            elif fault.resource == "network":
                found.links.append(part)
            else:
                drives = range(*first_drive[fault.host : fault.host + 2])
                found.shared_drives.extend((drive, *part[1:]) for drive in drives)
    return found


def speeds(slowdowns: Iterable[Slowdown], stations: Sequence[int]) -> list[Action]:
    """Return the speed changes of stations; the factors of simultaneous slowdowns multiply.

    Args:
        slowdowns: in any order.
        stations: index in the network of each station that a slowdown may name by number.
    """
    of_station: dict[int, list[Slowdown]] = defaultdict(list)
    for slowdown in slowdowns:
        of_station[slowdown[0]].append(slowdown)
    actions = []
    for which, of_one in of_station.items():
        for at_s in sorted({t for _, start, end, _ in of_one for t in (start, end) if t < math.inf}):
            speed = math.prod(speed for _, start, end, speed in of_one if start <= at_s < end)
            actions.append(Action(ActionKind.SPEED, stations[which], at_s, value=speed))
    return actions


def slowdowns_of_hosts(
    faults: Iterable[object],
    *,
    cpu: Stations,
    drives: Stations,
    ins: Stations,
    outs: Stations,
    always: SlowParts = SlowParts(),  # is not changed
) -> list[Action]:
    """Return the effects of slow drives and of neighbours on stations.

    Args:
        faults: of the spec; others do not matter.
        cpu, ins, outs: cores and links of each host, shape (hosts,).
        drives: of each host, host by host, of any shape.
        always: parts that differ in speed all the time; slowdowns multiply with these.
    """
    slow = slow_parts(faults, [drives.size * host // cpu.size for host in range(cpu.size + 1)])
    return [
        *speeds(slow.cores + always.cores, cpu.tolist()),
        *speeds(slow.drives + slow.shared_drives + always.drives, drives.ravel().tolist()),
        *speeds(slow.links + always.links, ins.tolist()),
        *speeds(slow.links + always.links, outs.tolist()),
    ]


def refuse_absent_part(number: int, fault: Any, counts: Mapping[str, int]) -> None:
    """Refuse a fault of a part that does not exist.

    Args:
        number: place of the fault among those of the spec.
        fault: it has the number of its part in a field with the part's name.
        counts: number of parts, by name.

    Raises:
        ValueError: the message names the field, and what is allowed.
    """
    for part, count in counts.items():
        which = getattr(fault, part, 0)
        if which >= count:
            raise ValueError(f"faults.{number}.{part}: there is no {part} {which}; allowed are 0 to {count - 1}")


def refuse_unfit_faults(spec: Any, counts: Mapping[str, int], nic: float | None, refusing: Collection[str]) -> None:
    """Refuse faults of parts that do not exist, of a bandwidth without a limit, and instant failures of closed loops.

    Args:
        spec: of a store.
        counts: number of parts, by name.
        nic: bandwidth of the hosts' NICs; 0 or None: no limit.
        refusing: kinds of faults that make requests fail at once.

    Raises:
        ValueError: names the fault, and what is allowed.
    """
    for number, fault in enumerate(spec.faults):
        refuse_absent_part(number, fault, counts)
        if isinstance(fault, NoisyNeighbour) and fault.resource == "network" and not nic:
            raise ValueError(f"faults.{number}.resource: unlimited bandwidth has no fraction to take; give hosts.nic")
        if fault.kind in refusing:
            refuse_instant_failures(spec.workload, spec.network.latency, fault.kind)


def refuse_instant_failures(workload: Workload, latency_s: float, kind: str) -> None:
    """Refuse closed loops in which failed requests take no time: their clients would retry endlessly.

    Args:
        workload: the requests.
        latency_s: network latency, which failing requests also have.
        kind: kind of the fault that makes requests fail.

    Raises:
        ValueError: a failed request takes no time.
    """
    closed = [part for part in workload.parts.values() if part.rate is None]
    if not latency_s and any(not part.think_time.mean for part in closed):
        raise ValueError(
            f"faults: {kind} makes requests fail, which takes no time without network.latency, so a closed loop would "
            "never end; give network.latency, workload.think_time or workload.rate"
        )

"""Hosts that differ in speed, in groups of equal ones: as many drives on each, and other cores, NICs and drives.

Hosts are numbered group by group. What a group does not say is as for all hosts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models.network.discipline import Discipline
from models.network.scenario import Action, ActionKind
from models.network.station import Station
from models.shared.faults import Slowdown
from traces.spec.field_notes import Basis, LinkRate, Unit
from traces.spec.units import MOST_COUNT, BytesPerSecond
from traces.workload.distributions import Strict


class SpeedGroup(Strict):
    """Equal hosts among those of a store; what is absent is as for all hosts."""

    count: Annotated[int, Basis("assumed: one host", 1, 1000)] = Field(
        1, ge=1, le=MOST_COUNT, description="Number of hosts of the group."
    )
    cores: Annotated[int, Field(ge=1, le=MOST_COUNT), Basis("that of all hosts", 1, 768)] | None = Field(
        None, description="Number of cores of each of its hosts."
    )
    core_speed: Annotated[float, Unit("", "0.8"), Field(gt=0, allow_inf_nan=False)] = Field(
        1.0, description="Speed of its cores, as a multiple of that of all hosts."
    )
    nic: Annotated[BytesPerSecond, Field(gt=0), Basis("that of all hosts", 1.25e8, 5e10), LinkRate()] | None = Field(
        None, description="Bandwidth of the network interface of each of its hosts in each direction."
    )
    drive_speed: Annotated[float, Unit("", "0.5"), Field(gt=0, allow_inf_nan=False)] = Field(
        1.0,
        description="Speed of its drives, as a multiple of that of `drives`: with 0.5 each access takes twice as long.",
    )


Groups = Mapping[str, SpeedGroup]


def counted(data: Any) -> Any:
    """Return the fields of a section of hosts with the number of those in its groups, if it has any.

    Raises:
        ValueError: another number of hosts is given.
    """
    if not isinstance(data, Mapping) or not isinstance(groups := data.get("groups"), Mapping) or not groups:
        return data
    counts = [_count_of(group) for group in groups.values()]
    if any(count is None for count in counts):
        return data  # the field itself says what is wrong
    total, given = sum(count or 0 for count in counts), data.get("count")
    if given is not None and given != total:
        raise ValueError(f"count is {given}; its groups have {total} hosts: give that number, or none")
    return {**data, "count": total}


def refuse_single_links(groups: Groups, nic: float) -> None:
    """Refuse a NIC of a group where those of all hosts have no limit.

    Raises:
        ValueError: names the field.
    """
    for name, group in groups.items():
        if group.nic is not None and not nic:
            raise ValueError(f"groups.{name}.nic: requires the NICs of all hosts as well, in nic")


def refuse_own_cores(groups: Groups, shared: bool) -> None:
    """Refuse cores of a group if all hosts share those of one machine.

    Raises:
        ValueError: names the group.
    """
    for name, group in groups.items():
        if shared and (group.cores is not None or group.core_speed != 1.0):
            raise ValueError(f"groups.{name}: with cores.shared, hosts cannot differ in their cores")


def first_hosts(hosts: Sequence[str]) -> dict[str, int]:
    """Return the first host of each group, given the name of the group of each host; none if hosts are equal."""
    return {name: hosts.index(name) for name in dict.fromkeys(hosts) if name}


def _count_of(group: Any) -> int | None:
    count = group.get("count", 1) if isinstance(group, Mapping) else getattr(group, "count", None)
    return count if isinstance(count, int) else None


def group_of_hosts(groups: Groups, hosts: int) -> list[str]:
    """Return the name of the group of each host; empty names, if hosts are equal."""
    return [name for name, group in groups.items() for _ in range(group.count)] or [""] * hosts


def figures(
    groups: Groups, hosts: int, field: Literal["cores", "core_speed", "nic", "drive_speed"], common: float
) -> list[float]:
    """Return a figure of each host: that of its group, or what all hosts have in common."""
    own = {name: getattr(group, field) for name, group in groups.items()}
    return [common if own.get(name) is None else own[name] for name in group_of_hosts(groups, hosts)]


def named(host: int, group: str) -> str:
    """Return the name of a host, with its group if hosts differ."""
    return f"host {host} ({group})" if group else f"host {host}"


def renewed(groups: Groups) -> Iterator[dict[str, float | None]]:
    """Yield changes of a spec that make the slower parts of each group as fast as those of all hosts."""
    for name, group in groups.items():
        path = f"hosts.groups.{name}"
        if group.drive_speed < 1.0:
            yield {f"{path}.drive_speed": 1.0}
        if group.core_speed < 1.0 or group.cores is not None:
            yield {f"{path}.core_speed": 1.0, f"{path}.cores": None}
        if group.nic is not None:
            yield {f"{path}.nic": None}


def slowest_fraction(speeds: Sequence[float]) -> float:
    """Return the fraction of parts, given the speed of each, that are the slowest: where closed loops wait."""
    least = min(speeds)
    return sum(speed == least for speed in speeds) / len(speeds)


def latencies(
    drives: Sequence[Slowdown], count: int, common: int, add: Callable[[Station], int], passes: bool
) -> tuple[NDArray[np.int32], list[Action]]:
    """Add where the overlapping latency of slower or faster drives passes, and return that of each drive.

    Args:
        drives: those that differ in speed.
        count: number of all drives.
        common: where that of the others passes.
        add: adds a station and returns its index.
        passes: whether drives have such a latency.

    Returns:
        stations, shape (count,), and the actions that give them their speeds; without differences there are none.
    """
    late, of_speed = np.full(count, common, np.int32), dict[float, int]()
    for drive, _, _, speed in drives if passes else ():
        if speed not in of_speed:
            name, infinite = f"drive latency at {speed:g} times the speed", Discipline.INFINITE_SERVER
            of_speed[speed] = add(Station(name, "drive latency", infinite, indices=(f"{speed:g}",)))
        late[drive] = of_speed[speed]
    return late, [Action(ActionKind.SPEED, station, value=speed) for speed, station in of_speed.items()]


def always(speeds: Sequence[float]) -> list[Slowdown]:
    """Return what parts with these speeds are all the time: slowdowns by number, of those that are not 1."""
    return [(number, 0.0, math.inf, speed) for number, speed in enumerate(speeds) if speed != 1.0]

"""Shortest positioning time first, as hard disks do by NCQ: how many accesses wait, from which each takes the next.

In a closed loop they follow from the clients. In an open loop they are a fixed point: of the times of the disks follows
how busy the busiest is, of that how many accesses wait, and of these the times. It exists below the rate at which disks
with the deepest queue saturate, and it is unique, because a deeper queue only shortens the times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from models.devices.drive_times import DriveTimes
from models.devices.hdd import Hdd
from models.network.demand_sheet import Requests
from models.network.descendants import by_route
from models.network.network import Network
from models.network.scenario import first_speeds
from models.network.station import Station
from traces.trace import Pacing, Trace

DRIVE = "drive"
"""The role of drives in all stores' networks."""
_LONGEST_GAP = 20.0  # mean gaps; a longer one has a probability of e⁻²⁰ in a Poisson process
_LEAST_BUSY = 0.5  # utilisation up to which at most one access is at an M/M/1 server on average


@dataclass(frozen=True)
class HddQueue:
    """What a spec and a Trace say about the queues of hard disks.

    Attributes:
        disk: one of the disks; None: there are none.
        deepest: largest number of waiting accesses that a disk chooses from.
        of_clients: mean number of accesses at a disk that is busy, if all clients are in closed loops; None: open loop.
    """

    disk: Hdd | None
    deepest: float
    of_clients: float | None

    def compiled(
        self, trace: Trace, compile_at: Callable[[float], tuple[Network, Requests]]
    ) -> tuple[Network, Requests]:
        """Return the network whose disks have as many waiting accesses as the load of a Trace.

        Args:
            trace: the requests.
            compile_at: returns the network, given the mean number of accesses at a disk that is busy, at least 1.
        """
        if self.disk is None or self.deepest <= 1:
            return compile_at(1.0)
        if self.of_clients is not None:
            return compile_at(max(1.0, self.of_clients))
        rate_ops, alone = _rate_ops(trace), compile_at(1.0)
        most = rate_ops * busy_s(*alone)
        if not most > _LEAST_BUSY:
            return alone
        many = compile_at(self.deepest)
        return many if math.isinf(rate_ops) else self._between(most, rate_ops * busy_s(*many), many, compile_at)

    def _between(
        self,
        most: float,
        least: float,
        many: tuple[Network, Requests],
        compile_at: Callable[[float], tuple[Network, Requests]],
    ) -> tuple[Network, Requests]:
        """Return the network at the fixed point of an M/M/1 queue, which has ``u / (1 - u)`` accesses.

        `most` and `least` are the utilisations with one access and with the deepest queue. Between them, utilisation
        changes in proportion to the time of positioning.
        """
        if least >= self.deepest / (1 + self.deepest):
            return many
        alone_s, many_s = self._position_s(1.0), self._position_s(self.deepest)

        def excess(waiting: float) -> float:
            used = least + (most - least) * (self._position_s(waiting) - many_s) / (alone_s - many_s)
            return used - waiting / (1 + waiting)

        return compile_at(float(scipy.optimize.brentq(excess, 1.0, self.deepest, xtol=1e-3)))

    def _position_s(self, waiting: float) -> float:
        assert self.disk is not None
        return self.disk.model_copy(update={"depth": waiting}).access("read").constant


def hdd_queue(pools: Sequence[DriveTimes], trace: Trace, accesses: NDArray[np.float64], drives: int) -> HddQueue:
    """Return the queues of the hard disks of pools, which are taken to be used like those of the first one.

    Args:
        pools: the drives of each.
        trace, accesses, drives: as for `of_clients`.
    """
    scheduled = [pool for pool in pools if pool.deepest > 1]
    if not scheduled:
        return HddQueue(None, 1, None)
    deepest = max(pool.deepest for pool in scheduled)
    return HddQueue(scheduled[0].disk, deepest, of_clients(trace, accesses, drives))


def of_clients(trace: Trace, accesses: NDArray[np.float64], drives: int) -> float | None:
    """Return the mean number of accesses at a drive that is busy in closed loops; None: the loop is open.

    Each client has one request, which waits for the slowest of its k accesses: on average 1/H of them are still at
    drives, with the harmonic number H of k, if their times are independent and exponential (Nelson and Tantawi, IEEE
    Transactions on Computers 37(6), 1988; from memory). Time that requests are elsewhere is left out.

    Args:
        trace: the requests.
        accesses: number of accesses that each request makes at the same time, on different drives, shape (requests,).
        drives: number of drives, which are used evenly.
    """
    clients = _clients(trace.pacing)
    if clients is None:
        return None
    harmonic = np.maximum(1, scipy.special.digamma(np.maximum(accesses, 1) + 1) + np.euler_gamma)
    return clients * float((accesses / harmonic).mean()) / drives if len(trace) else 0.0


def busy_s(network: Network, requests: Requests) -> float:
    """Return the mean time in s for which a request occupies the busiest drive, if keys are even.

    Commits that share the server of a drive count as if each was in a batch of its own, hedged visits as if made.
    """
    stations, total_s = network.stations, np.zeros(len(network.stations))
    on_drive = np.array([_on_drive(stations, at) for at in range(len(stations))])
    for k in np.unique(requests.route).tolist():
        size_bytes = requests.size_bytes[requests.route == k]
        for route, sizes, started in by_route(network, k, size_bytes):
            for visit in network.routes[route].visits:
                if not visit.demand.takes_time:
                    continue
                counts = network.station_counts(visit.station)
                if on_drive[counts > 0].any():
                    total_s += counts * (started * float(visit.mean_s(sizes).sum()) / counts.sum())
    most_s, speeds = 0.0, first_speeds(network.scenario)
    for at, station in enumerate(stations):
        if _is_drive(station):
            shared_s = total_s[at + 1] if at + 1 < len(stations) and stations[at + 1].shares_server else 0.0
            most_s = max(most_s, (total_s[at] + shared_s) / station.servers / speeds.get(at, 1.0))
    return most_s / max(len(requests), 1)


def _is_drive(station: Station) -> bool:
    return station.role == DRIVE and station.discipline.takes_time and not station.discipline.infinite


def _on_drive(stations: Sequence[Station], at: int) -> bool:
    """Whether a station is a drive, or shares the server of one."""
    return _is_drive(stations[at]) or (stations[at].shares_server and _is_drive(stations[at - 1]))


def _rate_ops(trace: Trace) -> float:
    """Return the mean rate of an open loop from 0, or from its first arrival if this is before 0 or far later.

    Infinite if all of several requests arrive at once.
    """
    if len(trace) < 2:
        return 0.0
    first_s, last_s = float(trace.arrival_s[0]), float(trace.arrival_s[-1])
    gap_s = (last_s - first_s) / (len(trace) - 1)
    span_s = last_s if 0 <= first_s <= _LONGEST_GAP * gap_s or not gap_s else last_s - first_s
    return len(trace) / span_s if span_s else math.inf


def _clients(pacing: Pacing) -> int | None:
    """Return the number of clients of closed loops; None for an open loop or a mixed one with such a group."""
    if pacing.loop == "mixed":
        counts = [_clients(group) for _, group in pacing.groups]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None
    return pacing.clients if pacing.loop == "closed" else None

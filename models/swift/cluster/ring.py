"""The object and container rings: which drives hold a partition, and in which order they are tried.

Replicas go to as many zones as possible, then to as many hosts, and drives hold as many partitions each. The builder of
Swift does the same by moving partitions step by step; only balance and dispersion matter here. If drives have weights,
they hold partitions in proportion: zones and hosts have as many replicas of a partition as their weight is of all,
rounded up or down, as with the builder's default overload of 0 (swift/common/ring/builder.py).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from traces.random_streams import stream_id, uniforms

Table = NDArray[np.int32]

_LEAST_PARTITIONS_PER_DRIVE = 16  # of those simulated, so that drives are equally loaded
_MOST_PARTITIONS = 4096
_ROUNDED = 1e-9  # of sums of fractions that are whole numbers
_ORDERS = 12  # least number of random orders of replicas that stand for all, if those are more


def partitions_of(part_power: int, replicas: int, drives: int) -> int:
    """Return the number of partitions to simulate, a power of two: fewer than there are, but equally distributed."""
    enough = _LEAST_PARTITIONS_PER_DRIVE * drives / replicas
    power = min(part_power, max(6, math.ceil(math.log2(enough))), int(math.log2(_MOST_PARTITIONS)))
    return 1 << power


def placed(name: str, rows: int, replicas: int, host: Table, zone: Table, weights: tuple[float, ...] = ()) -> Table:
    """Return the drives of each row in the order of their use, shape (rows, drives): replicas, then handoffs.

    Args:
        name: selects the random numbers.
        rows: number of partitions or containers.
        replicas: number of replicas; if there are fewer drives, a row has only those.
        host, zone: of each drive.
        weights: of each drive; those of weight 0 are used last; empty: all are equal.
    """
    if len(set(weights)) > 1:
        return _weighted(name, rows, replicas, tuple(host.tolist()), tuple(zone.tolist()), weights)
    return _placed(name, rows, replicas, tuple(host.tolist()), tuple(zone.tolist()))


@lru_cache(maxsize=16)  # a store is compiled many times until its rate at saturation is known
def _placed(name: str, rows: int, replicas: int, hosts: tuple[int, ...], zones: tuple[int, ...]) -> Table:
    host, zone = np.array(hosts, np.int32), np.array(zones, np.int32)
    drives = len(host)
    load = np.zeros(drives)
    found = np.empty((rows, drives), np.int32)
    draws = uniforms(0, stream_id(f"swift/ring/{name}"), 0, rows * drives).reshape(rows, drives)
    for row in range(rows):
        of_host, of_zone = np.zeros(int(host.max()) + 1), np.zeros(int(zone.max()) + 1)
        left = np.ones(drives, bool)
        for position in range(drives):
            if position < replicas:
                order = np.lexsort((draws[row], load, of_host[host], of_zone[zone], ~left))
                chosen = int(order[0])
                load[chosen] += 1
            else:
                rest = np.lexsort((draws[row], of_host[host], of_zone[zone], ~left))
                found[row, position:] = rest[: drives - position]
                break
            found[row, position] = chosen
            left[chosen] = False
            of_host[host[chosen]] += 1
            of_zone[zone[chosen]] += 1
    found.setflags(write=False)
    return found


@lru_cache(maxsize=16)
def _weighted(
    name: str, rows: int, replicas: int, hosts: tuple[int, ...], zones: tuple[int, ...], weights: tuple[float, ...]
) -> Table:
    host, zone, weight = np.array(hosts, np.int32), np.array(zones, np.int32), np.array(weights)
    drives, used = len(host), weight > 0
    wanted = weight / weight.sum() * replicas  # replicas of a partition on each drive
    wanted = _at_most_one(wanted)
    of_tiers = [np.bincount(tier, weights=wanted) for tier in (zone, host)]
    most = [np.ceil(each - _ROUNDED) for each in of_tiers]
    least = [np.floor(each + _ROUNDED) for each in of_tiers]
    load = np.zeros(drives)
    found = np.empty((rows, drives), np.int32)
    draws = uniforms(0, stream_id(f"swift/ring/{name}"), 0, rows * drives).reshape(rows, drives)
    with np.errstate(divide="ignore"):
        part = np.where(used, 1 / wanted, 0.0)
    for row in range(rows):
        of_zone, of_host = np.zeros(len(most[0])), np.zeros(len(most[1]))
        left = used.copy()
        for position in range(min(replicas, int(used.sum()))):
            keys = (
                draws[row], (load + 1) * part,
                (of_host >= least[1])[host], (of_host >= most[1])[host],
                (of_zone >= least[0])[zone], (of_zone >= most[0])[zone], ~left,
            )  # fmt: skip
            chosen = int(np.lexsort(keys)[0])
            found[row, position] = chosen
            load[chosen] += 1
            left[chosen] = False
            of_host[host[chosen]] += 1
            of_zone[zone[chosen]] += 1
        taken = found[row, : min(replicas, int(used.sum()))]
        rest = np.lexsort((draws[row], of_host[host], of_zone[zone], ~used, np.isin(np.arange(drives), taken)))
        found[row, len(taken) :] = rest[: drives - len(taken)]
    found.setflags(write=False)
    return found


def _at_most_one(wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the wanted replicas of a partition on each drive, of which one has at most one; others take the rest."""
    total, found = wanted.sum(), wanted.copy()
    while (found > 1 + _ROUNDED).any():
        full = found >= 1
        rest = found[~full].sum()
        if not rest:
            return np.minimum(found, 1.0)
        found = np.where(full, 1.0, found * (total - full.sum()) / rest)
    return found


def orders_of(replicas: int) -> Table:
    """Return orders in which a proxy may try replicas (`sorting_method` shuffle), shape (orders, replicas)."""
    if math.factorial(replicas) <= _ORDERS:
        return np.array(list(permutations(range(replicas))), np.int32)
    count = replicas * math.ceil(_ORDERS / replicas)
    draws = uniforms(0, stream_id("swift/orders"), 0, count * replicas).reshape(count, replicas)
    shuffled = np.argsort(draws, axis=1)
    first = np.arange(count)[:, None]  # each replica is the first one as often as any other
    return np.asarray((shuffled - shuffled[:, :1] + first) % replicas, np.int32)

"""The object and container rings: which drives hold a partition, and in which order they are tried.

Replicas go to as many zones as possible, then to as many hosts, and drives hold as many partitions each. The builder of
Swift does the same by moving partitions step by step; only balance and dispersion matter here.
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
_ORDERS = 12  # least number of random orders of replicas that stand for all, if those are more


def partitions_of(part_power: int, replicas: int, drives: int) -> int:
    """Return the number of partitions to simulate, a power of two: fewer than there are, but equally distributed."""
    enough = _LEAST_PARTITIONS_PER_DRIVE * drives / replicas
    power = min(part_power, max(6, math.ceil(math.log2(enough))), int(math.log2(_MOST_PARTITIONS)))
    return 1 << power


def placed(name: str, rows: int, replicas: int, host: Table, zone: Table) -> Table:
    """Return the drives of each row in the order of their use, shape (rows, drives): replicas, then handoffs.

    Args:
        name: selects the random numbers.
        rows: number of partitions or containers.
        replicas: number of replicas; if there are fewer drives, a row has only those.
        host, zone: of each drive.
    """
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


def orders_of(replicas: int) -> Table:
    """Return orders in which a proxy may try replicas (`sorting_method` shuffle), shape (orders, replicas)."""
    if math.factorial(replicas) <= _ORDERS:
        return np.array(list(permutations(range(replicas))), np.int32)
    count = replicas * math.ceil(_ORDERS / replicas)
    draws = uniforms(0, stream_id("swift/orders"), 0, count * replicas).reshape(count, replicas)
    shuffled = np.argsort(draws, axis=1)
    first = np.arange(count)[:, None]  # each replica is the first one as often as any other
    return np.asarray((shuffled - shuffled[:, :1] + first) % replicas, np.int32)

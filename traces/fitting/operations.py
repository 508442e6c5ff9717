"""Find the order of operations on an object: what the first request for it does, and what later ones do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from traces.fitting.independence import FEW_REUSES
from traces.operations import OPS
from traces.statistics.reuse_distance import Indices, previous
from traces.workload.reuse import FIRST, LAST, MIDDLE, ONLY

_ORDERED = 0.1  # fraction of first requests whose operation differs, beyond which operations have an order; assumed


def has_order(objects: Indices, op: NDArray[np.int32]) -> bool:
    """Whether the first request for an object differs in its operation from later ones, as the PUT that creates it."""
    place = places(objects)
    first, later = (np.bincount(op[rows], minlength=len(OPS)) for rows in (place == FIRST, place > FIRST))
    if min(first.sum(), later.sum()) < FEW_REUSES:
        return False
    return bool(np.abs(first / first.sum() - later / later.sum()).sum() / 2 > _ORDERED)


def places(objects: Indices) -> NDArray[np.int64]:
    """Return the place of each request among those for its object, shape (requests,)."""
    again = previous(objects) >= 0
    more = previous(objects[::-1])[::-1] >= 0
    result: NDArray[np.int64] = np.select([~again & ~more, ~again, ~more], [ONLY, FIRST, LAST], MIDDLE)
    return result


def operations_in_order(op: NDArray[np.int32], place: NDArray[np.int64]) -> dict[str, dict[str, float]]:
    """Return the weights of operations by place."""
    found = {}
    for name, code in (("only", ONLY), ("first", FIRST), ("middle", MIDDLE), ("last", LAST)):
        seen = np.bincount(op[place == code], minlength=len(OPS))
        found[name] = {o: float(f"{n / seen.sum():.5g}") for o, n in zip(OPS, seen.tolist(), strict=True) if n}
    found["first"] = found["first"] or found["only"]
    found["middle"] = found["middle"] or found["last"] or found["first"]
    return found

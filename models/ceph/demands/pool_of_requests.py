"""Which data pool the object of each request is in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.ceph.spec.spec import CephSpec
from models.network.placement import key_hashes
from traces.operations import LIST
from traces.trace import Trace


def pool_of_requests(spec: CephSpec, trace: Trace) -> NDArray[np.int64]:
    """Return the number of the data pool of each request, shape (requests,).

    That of its group of clients, or else by the hash of its key; a LIST needs no pool, and has the first.
    """
    second = spec.pools.second
    if second is None:
        return np.zeros(len(trace), np.int64)
    if second.groups:
        theirs = [number for number, name in enumerate(trace.groups) if name in second.groups]
        is_second = np.isin(trace.group, theirs)
    else:
        is_second = (key_hashes(trace) >> np.uint64(40)) < np.uint64(round(second.objects * 2**24))
    return np.asarray(is_second & (trace.op != LIST), np.int64)

"""Traces of workloads that were generated last: simulations with the same workload and seed have one."""

from __future__ import annotations

import threading
from collections import OrderedDict

from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload

_MOST = 1_000_000
"""Total number of requests that are kept."""

_made = OrderedDict[tuple[str, int], Trace]()
_lock = threading.Lock()  # a cluster worker may have several threads


def generated(workload: Workload, seed: int) -> Trace:
    """Return the trace of a workload, which must not be changed.

    Raises:
        InputError: as for `generate`.
    """
    key = workload.model_dump_json(), seed
    with _lock:
        trace = _made.pop(key, None) or generate(workload, seed)
        _made[key] = trace
        while sum(map(len, _made.values())) > _MOST:
            _made.popitem(last=False)
    return trace

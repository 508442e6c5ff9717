"""Requests of a store whose caches have filled: at first they are empty, so a request does more work.

The rate at saturation of such a store is that of the later ones of some requests, which arrive at this rate, as entries
of caches may expire: a fixed point. So it depends neither on the length of a run nor on its load. If the work of later
requests still falls, more than this rate may be served in a longer run; if it grows, less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, compile_spec
from sim.demands.request_work import Settling, settling_of, work_s
from sim.saturation.stable_rate import Bound, at_times
from traces.random_streams import stream_id, uniforms
from traces.trace import Trace
from traces.workload.distributions import Exponential

_FEW = 3_000, 12_000  # rows of which first rates follow
_SAME = 0.02  # difference of the logarithms of rates that are the same
_MOST_ROUNDS = 3  # trials of all rows


@dataclass(frozen=True)
class Warm:
    """A store whose caches have filled, at the rate at saturation.

    Attributes:
        trace: requests that arrive at that rate.
        network, requests: compiled from them, without the first `settling.first`.
    """

    trace: Trace
    network: Network
    requests: Requests
    settling: Settling


LimitOf = Callable[[Network, Requests], tuple[str, float]]
"""Returns the role of the station that saturates first, and the rate in op/s at which it does."""


def warm_at_saturation(spec: Spec, trace: Trace, end_s: float, limit_of: LimitOf) -> Warm:
    """Return a store at saturation whose caches have filled.

    Args:
        spec: of the store.
        trace: its requests, which are issued in their order, at other times.
        end_s: time from which faults do not count.
        limit_of: what saturates first of some requests, by their demands.
    """
    rate_ops = math.inf
    for rows in (*(rows for rows in _FEW if rows < len(trace)), *[len(trace)] * _MOST_ROUNDS):
        issued = at_rate(Trace(trace.table.slice(0, rows), trace.pacing), rate_ops)
        network, requests = compile_spec(spec, issued, end_s, saturated=True)
        role, ops = limit_of(network, requests.after(rows // 2))
        is_same = math.isinf(ops) or (math.isfinite(rate_ops) and abs(math.log(ops / rate_ops)) <= _SAME)
        if rows == len(trace) and is_same:
            break
        rate_ops = ops
    settling = settling_of(work_s(network, requests, role))
    return Warm(issued, network, requests.after(settling.first), settling)


def at_rate(trace: Trace, rate_ops: float) -> Trace:
    """Return the requests of a trace as a Poisson process with a rate; infinite: with that of the trace."""
    if math.isinf(rate_ops):
        return trace
    u = uniforms(0, stream_id("warm", "arrivals"), 0, len(trace))
    return at_times(trace, np.arange(len(trace)), np.cumsum(Exponential().quantile(u)) / rate_ops)


def bound_of(settling: Settling) -> Bound:
    """Return whether the rate at saturation is that of the later requests, or more or less may be served."""
    return "at" if settling.drift == 1 else "at least" if settling.drift < 1 else "at most"

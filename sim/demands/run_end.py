"""The faults of a spec that matter for a run whose end is not known without simulation."""

from __future__ import annotations

import math

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, compile_spec, faults_of, last_arrival_s
from sim.demands.service_demands import mean_demands
from traces.errors import InputError
from traces.trace import Trace

_LONGER = 10.0
"""How much longer than its expected work one request after the other a run may last, for pauses and retries."""


def latest_end_s(spec: Spec, trace: Trace) -> float:
    """Return the time in s before which a run of a trace ends, as far as faults matter; infinite: not known.

    A closed loop without a duration ends at some time before `_LONGER` times the time that its requests take one after
    the other in the healthy store.
    """
    last_s = last_arrival_s(trace)
    if not faults_of(spec) or last_s < math.inf:
        return last_s
    network, requests = compile_spec(spec, trace, 0.0)
    try:
        demands = mean_demands(network, requests)
    except InputError:  # a feature of the network is not supported
        return last_s
    one_s = demands.queueing_s + demands.delay_s + float(requests.think_s.mean())
    return _LONGER * len(requests) * one_s


def compile_until_end(spec: Spec, trace: Trace, *, saturated: bool = False) -> tuple[Network, Requests]:
    """Return the Network of a spec with the faults that may begin before the end of a run, and its requests.

    Args:
        spec, trace, saturated: as of `compile_spec`.

    Raises:
        InputError: as `compile_spec`.
    """
    return compile_spec(spec, trace, latest_end_s(spec, trace), saturated=saturated)

"""Times at the server in a simulation: what a store's own metrics tell of its requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from models.store import Spec, compile_spec, required, store_of
from sim.simulate import requests_only
from traces.statistics.summary import Floats
from traces.trace import Trace
from validate.compare.server_part import simulate_server_part


@dataclass(frozen=True)
class ServerTimes:
    """What each request of a Run took at the server; NaN: not known.

    Attributes:
        took_s: seconds until its handler had finished, shape (requests,).
        first_byte_s: seconds until the first byte of the response, shape (requests,).
        cpu_s: mean CPU time of the server's processes per request, in seconds.
    """

    took_s: Floats
    first_byte_s: Floats
    cpu_s: float


def server_times(spec: Spec, trace: Trace, seed: int) -> ServerTimes:
    """Return the times at the server in the simulation of a trace with a seed.

    Raises:
        InputError: the store's model does not define CPU times, or the server part of latencies.
    """
    store = store_of(spec)
    network, requests = compile_spec(spec, trace)
    cpu_s = required(store.cpu, spec, "CPU times")(spec, network, requests)["server"]
    run, took_s = simulate_server_part(spec, network, requests, trace, seed)
    # The same seed gives the same times; there the first byte is the arrival at the server.
    answered_s = requests_only(network, requests, trace, seed).column("first_byte_s")
    arrived_s = run.column("first_byte_s")
    way_back_s = required(store.server_part, spec, "server part of latencies").way_back_s(spec)
    first_byte_s = np.where(np.isnan(answered_s), took_s, answered_s - way_back_s - arrived_s)
    first_byte_s[np.isnan(took_s)] = np.nan
    return ServerTimes(took_s, first_byte_s, cpu_s)

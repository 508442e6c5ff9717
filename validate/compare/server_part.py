"""Latencies split into the server part and the rest, for measured and simulated Runs.

The server part lasts from the arrival of a request at the server until its handler has finished. The rest is the
network, the work of the client, and the wait for a core to do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from models.capabilities import ServerPart
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec, required, store_of
from sim.simulate import requests_only
from traces.run import Run
from traces.statistics.summary import Floats
from traces.tables import with_column
from traces.trace import Trace

PARTS = ("server", "rest")


def latency_parts(run: Run, server_s: Floats) -> dict[str, Run]:
    """Return Runs of the same requests whose latencies are the server part and the rest.

    Args:
        server_s: shape (requests,); requests with NaN are left out.
    """
    known = np.isfinite(server_s)
    return {
        part: _with_latency(run, known, took_s)
        for part, took_s in zip(PARTS, (server_s, run.latency_s - server_s), strict=True)
    }


def _with_latency(run: Run, known: np.ndarray[tuple[int], np.dtype[np.bool_]], latency_s: Floats) -> Run:
    ends_s = pa.array((run.column("arrival_s") + latency_s)[known])
    return Run(with_column(run.requests.filter(pa.array(known)), "end_s", ends_s), run.info)


def stamped(spec: Spec, network: Network) -> Network:
    """Return the network with the time of each request's first byte set to its arrival at the server.

    Raises:
        InputError: the store's model does not define the server part.
    """
    return _part_of(spec).stamped(spec, network)


def simulate_server_part(
    spec: Spec, network: Network, requests: Requests, trace: Trace, seed: int
) -> tuple[Run, Floats]:
    """Simulate a Run (`sim.simulate.requests_only`) with the seconds that each request took at the server.

    Requests with several attempts and failed ones have NaN.

    Args:
        network, requests: the compiled spec and trace (`compile_spec`), the network with stamps (`stamped`).

    Raises:
        InputError: the store's model does not define the server part.
    """
    part = _part_of(spec)
    run = requests_only(network, requests, trace, seed)
    arrived_s = run.column("first_byte_s")
    arrived_s = np.where(np.isnan(arrived_s), run.column("start_s"), arrived_s)
    server_s = run.column("end_s") - part.way_back_s(spec) - arrived_s
    server_s[(run.column("attempts") > 1) | run.failed] = np.nan
    return run, server_s


def _part_of(spec: Spec) -> ServerPart[Any]:
    return required(store_of(spec).server_part, spec, "server part of latencies")

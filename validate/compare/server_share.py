"""A request's latency split into the server's share and all else, of measured and of simulated Runs.

The server's share lasts from the request's arrival at the server until its handler is done. All else is the network and
the client's work, and the waiting for a core to do it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from models.minio.spec import MinioSpec
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.route import Route, Stage
from models.store import Spec
from sim.simulate import requests_alone
from traces.errors import InputError
from traces.run import Run
from traces.statistics.summary import Floats
from traces.trace import Trace

SHARES = ("server", "rest")


def shares_of(run: Run, server_s: Floats) -> dict[str, Run]:
    """Runs of the same requests whose latencies are the share of the server, and the rest.

    `server_s`: shape (requests,); requests with NaN are left out.
    """
    known = np.isfinite(server_s)
    return {
        share: _lasting(run, known, took_s)
        for share, took_s in zip(SHARES, (server_s, run.latency_s - server_s), strict=True)
    }


def _lasting(run: Run, kept: np.ndarray[tuple[int], np.dtype[np.bool_]], latency_s: Floats) -> Run:
    requests = run.requests.filter(pa.array(kept))
    at = requests.schema.get_field_index("end_s")
    ends_s = pa.array((run.column("arrival_s") + latency_s)[kept])
    return Run(requests.set_column(at, requests.schema.field(at), ends_s), run.info)


def simulate_shares(spec: Spec, network: Network, requests: Requests, trace: Trace, seed: int) -> tuple[Run, Floats]:
    """The Run of `sim.simulate.requests_alone`, and the seconds that each request was at the server.

    A request with several attempts has NaN, as has a failed one.

    Args:
        network, requests: what the spec makes of the trace (`compile`).

    Raises:
        InputError: the spec's model does not say where the server begins.
    """
    if not isinstance(spec, MinioSpec):
        raise InputError(f"the server's share of latencies is known of a minio's model, not of a {spec.store}'s")
    run = requests_alone(_stamped(spec, network), requests, trace, seed)
    arrived_s = run.column("first_byte_s")
    arrived_s = np.where(np.isnan(arrived_s), run.column("start_s"), arrived_s)
    server_s = run.column("end_s") - spec.network.latency - arrived_s
    server_s[(run.column("attempts") > 1) | run.failed] = np.nan
    return run, server_s


def _stamped(spec: MinioSpec, network: Network) -> Network:
    """The network whose requests' first byte is stamped when they arrive at the server."""
    return replace(network, routes=tuple(_stamped_route(spec, route) for route in network.routes))


def _stamped_route(spec: MinioSpec, route: Route) -> Route:
    before = (route.name.partition(" ")[0] in spec.client.cpu) + bool(spec.network.latency)
    stages = [replace(stage, delivers=False) for stage in route.stages]
    (visits,) = stages[0].branches
    sent = [Stage((visits[:before],), 1, delivers=True)] if before else []
    return replace(route, stages=(*sent, Stage((visits[before:],), 1), *stages[1:]))

"""JuiceFS as stations and routes over the network of the store below.

`files.py` has what requests do to files, `metadata.py` the rounds of the engine, `routes.py` the order of visits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from models.below.issued import UNROUTED, Issued
from models.juicefs.files import Kind, kinds_of
from models.juicefs.routes import STORED, Fetch, Routes, fetches
from models.juicefs.spec import JuiceFSSpec
from models.juicefs.stations import Stations
from models.layer import compile_below
from models.network.background import Background
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.sub_requests import SubRequests
from traces.errors import InputError
from traces.operations import COPY, FILE, OPS
from traces.trace import Trace

_HEARTBEAT_S = 12.0
"""Interval of a session's heartbeat (juicedata/juicefs, cmd/flags.go)."""


def issues(spec: JuiceFSSpec, trace: Trace) -> list[Issued]:
    """Return the blocks that requests store, read and delete in the store below."""
    return [each for _, each in _issued(spec, *kinds_of(spec, trace))]


def _issued(spec: JuiceFSSpec, kinds: list[Kind], route: NDArray[np.int32]) -> list[tuple[Fetch, Issued]]:
    of_kind = [fetches(kind, spec.blocks.size) for kind in kinds]
    every = dict.fromkeys([STORED, *(fetch for found in of_kind for fetch in found)])
    issued = []
    for fetch in every:
        by = np.isin(route, [k for k, found in enumerate(of_kind) if fetch in found])
        op, count, size = fetch
        if count:
            starts = SubRequests(UNROUTED, count=count, size_bytes=size, parallel=_parallel(spec, op))
        else:
            starts = SubRequests(UNROUTED, spec.blocks.size, parallel=1 if op == "part" else _parallel(spec, op))
        held = spec.blocks.size if op in ("DELETE", "part") else None
        issued.append((fetch, Issued("GET" if op == "part" else op, by, starts, held, of_part=op == "part")))
    return issued


def _parallel(spec: JuiceFSSpec, op: str) -> int:
    return {"PUT": spec.blocks.uploads, "GET": spec.blocks.read_ahead}.get(op, spec.blocks.deletes)


def compile(spec: JuiceFSSpec, trace: Trace, saturated: bool = False) -> tuple[Network, Requests]:
    """Return the Network of a spec, and the requests of a Trace on it.

    Raises:
        InputError: a gateway does not serve an operation of the trace, or the store below raises it.
    """
    if spec.is_gateway:
        refused = [OPS[k] for k in np.unique(trace.op).tolist() if OPS[k] in FILE]
        if refused:
            served = ", ".join(OPS[: COPY + 1])
            raise InputError(f"workload: has {', '.join(refused)}; gateways of JuiceFS serve {served}")
    kinds, route = kinds_of(spec, trace)
    issued = _issued(spec, kinds, route)
    below = compile_below(_with_mounts(spec), trace, saturated=saturated, issued=[each for _, each in issued])
    found = dict(zip([key for key, _ in issued], below.starts, strict=True))
    locked = ["folder"] * (1 + max((max(kind.folder, kind.file) for kind in kinds), default=-1))
    for kind in kinds:
        if kind.file >= 0:
            locked[kind.file] = "file"
    stations = Stations(spec, below.network, locked)
    first = len(below.network.routes)
    builder = Routes(spec, stations, found, first + len(kinds) + 1)
    own = [*(builder.route(kind, number) for number, kind in enumerate(kinds)), builder.heartbeat()]
    network, requests = below.with_layer(
        stations.all,
        [*own, *builder.subs.all],
        trace,
        route,
        stations.scenario,
        placements=stations.tables,
        groups=stations.groups,
    )
    beats = _heartbeat(spec, requests, first + len(kinds))
    return network, replace(requests, background=(*requests.background, *beats))


def _with_mounts(spec: JuiceFSSpec) -> JuiceFSSpec:
    """Return the spec with a client machine of the store below for each mount."""
    below = spec.below
    if not hasattr(below.client, "machines"):
        return spec
    client = below.client.model_copy(update={"machines": spec.mounts.count})
    return spec.model_copy(update={"below": below.model_copy(update={"client": client})})


def _heartbeat(spec: JuiceFSSpec, requests: Requests, route: int) -> list[Background]:
    """Return the heartbeats of all mounts, if the end of the run is known beforehand."""
    until_s = requests.pacing.duration_s
    if until_s is None and requests.pacing.loop == "open":
        until_s = float(requests.arrival_s.max(initial=0.0))
    if not until_s:
        return []
    name = f"juicefs heartbeat {spec.level}"
    return [Background(name, route, spec.mounts.count / _HEARTBEAT_S, 0.0, until_s, poisson=False)]

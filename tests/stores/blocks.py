"""A store of the tests: a client that cuts objects into blocks, which another store keeps, twenty in flight at a time.

It has a cache, which serves some of the reads, and a limit of its own to the requests that it has in progress.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from pydantic import Field

from models.below.issued import UNROUTED, Issued
from models.capabilities import Doubt, Spread
from models.layer import LayerSpec, compile_below
from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route
from models.network.service_demand import Demand, ServiceDemand
from models.network.station import Station
from models.network.sub_requests import SubRequests
from models.shared import steps
from models.shared.faults import Degradation, FaultKind, speeds
from models.shared.prices import Price, PriceList
from models.store import Store, register
from traces.operations import OPS, Op
from traces.random_streams import stream_id, uniforms
from traces.spec.units import Bytes, Fraction
from traces.trace import Trace

SERVED: tuple[Op, ...] = ("GET", "PUT", "DELETE")


class Cut(LayerSpec):
    """A client that keeps objects as blocks in the store below."""

    class Prices(PriceList):
        """What the clients cost."""

        core: Price = 0.0

    class SlowClient(Degradation):
        """The client's cores lose speed."""

        kind: Literal["slow_client"]
        speed: float = Field(gt=0, le=1)

    store: Literal["blocks"]
    block: Bytes = Field(4 << 20, gt=0, description="Size of a block.")
    parallel: int = Field(20, ge=1, description="Blocks of an object in flight.")
    hit_ratio: Fraction = Field(0.0, ge=0, le=1, description="Fraction of the reads that the cache serves.")
    cores: int = Field(4, ge=1, description="Cores of the client.")
    cpu: Demand = Field(ServiceDemand(constant=2e-5), description="Work of the client for a request.")
    faults: tuple[SlowClient, ...] = ()
    prices: Prices | None = None

    @property
    def priced(self) -> dict[str, float]:
        """How much there is of what `prices` names."""
        return {"core": self.cores}


def cached(spec: Cut, trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which requests the cache serves, shape (rows,)."""
    reads = trace.op == OPS.index("GET")
    return np.asarray(reads & (uniforms(0, stream_id("blocks/cache"), 0, len(trace)) < spec.hit_ratio))


def issues(spec: Cut, trace: Trace) -> list[Issued]:
    """Return the blocks that are read and written, and those of deleted objects by their number."""
    hits, found = cached(spec, trace), []
    for op in ("GET", "PUT"):
        moved = SubRequests(UNROUTED, spec.block, parallel=spec.parallel, delivers=op == "GET")
        found.append(Issued(op, (trace.op == OPS.index(op)) & ~hits, moved))
    deleted = np.where(trace.op == OPS.index("DELETE"), np.maximum(-(-trace.size_bytes // spec.block), 1), 0)
    for count in np.unique(deleted[deleted > 0]).tolist():
        names = SubRequests(UNROUTED, count=count, size_bytes=0, parallel=spec.parallel)
        found.append(Issued("DELETE", deleted == count, names, spec.block))
    return found


def compile(spec: Cut, trace: Trace, saturated: bool = False) -> tuple[Network, Requests]:
    """A request is worked on, and waits for its blocks; one that the cache serves is only worked on."""
    below, issued = compile_below(spec, trace, saturated=saturated), issues(spec, trace)
    first = len(below.network.stations)
    cpu, waits = first, first + 1
    stations = [
        Station(f"blocks cpu {spec.level}", "blocks cpu", Discipline.SIRO, spec.cores, (spec.level,)),
        Station(f"blocks {spec.level}", "blocks", Discipline.INFINITE_SERVER, indices=(spec.level,)),
    ]
    work, route = steps.use(cpu, spec.cpu), np.zeros(len(trace), np.int32)
    routes = [Route("GET", steps.in_series(work + steps.instant(waits), delivers=True), variant="cached")]
    for each, starts in zip(issued, below.starts, strict=True):
        route[each.by] = len(routes)
        stages = steps.in_series(work + steps.starts(waits, starts), delivers=True)
        routes.append(Route(each.op, stages, policy=spec.client.policy(each.op), variant=f"in blocks {len(routes)}"))
    slow = speeds(((0, each.at, each.end_s, each.speed) for each in spec.faults), [cpu])
    return below.with_layer(stations, routes, trace, route, slow)


STORE = Store(
    "blocks", Cut, compile, partial(compile, saturated=True), frozenset(SERVED), issues=issues,
    faults={"slow-client": FaultKind("slow_client", "slow")},
    demands=lambda spec, ops: {"cpu": spec.cpu}, spreads={"cpu": Spread(0.5, 2.0, "assumed")},
    doubts=lambda spec: [Doubt("block", "is above 64 MiB")] if spec.block > 64 << 20 else [],
)  # fmt: skip
register(STORE)

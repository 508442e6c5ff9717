"""Simpler forecasts, to which those of the simulator are compared.

An operational bound, exact mean value analysis of the same service demands, and a straight line through two measured
points: what an engineer has without a simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.store import Spec
from sim.analysis.bounds import bounds
from sim.analysis.product_form import closed_means, open_means
from sim.demands.service_demands import Demands
from sim.saturation.saturation import demands_at_load
from traces.errors import InputError
from traces.operations import OPS
from traces.spec.units import parse_bytes
from traces.trace import Trace
from traces.workload.generate import generate
from validate.reference.figures import ALL, units_per_request
from validate.reference.rows import DURATION, Row

_REQUESTS = 3000
"""Number of requests over which service demands are averaged."""

_LENGTHS = ("workload.operations", "workload.duration")
"""Settings that change how long a run is, not what is measured."""


@dataclass(frozen=True)
class Means:
    """Throughput in requests per second, and mean response time in s; None: unknown."""

    ops: float | None
    response_s: float | None


@dataclass(frozen=True)
class Baseline:
    """Bounds and exact means of a workload.

    Attributes:
        bounds: the highest throughput, the lowest mean response time.
        mva: the means if all stations had exponential demands and the branches of a fork followed each other.
        fraction: of each operation among the requests.
        mean_bytes: that a request of it moves.
        requests: number of requests of the workload, if it is given.
    """

    bounds: Means
    mva: Means
    fraction: Mapping[str, float]
    mean_bytes: Mapping[str, float]
    requests: int | None

    def figure(self, means: Means, op: str, name: str) -> float | None:
        """Return a figure by its name in a published table; None if these means do not give it.

        Means are of all requests, so latencies are known for workloads of one operation only.
        """
        fraction = self.fraction.get(op, 0.0)
        if not fraction:
            return None
        if name.startswith("throughput_"):
            return None if means.ops is None else means.ops * fraction * units_per_request(name, self.mean_bytes[op])
        if name == DURATION:
            return None if not means.ops or self.requests is None else self.requests / means.ops
        per_s = {"latency_mean_s": 1.0, "latency_mean_ms": 1e3, "latency_mean_us": 1e6}.get(name)
        if per_s is None or fraction < 1 or means.response_s is None:
            return None
        return means.response_s * per_s


def baseline(spec: Spec, op: str, trace: Trace | None = None) -> Baseline:
    """Return the bounds and means of a spec's workload, or of a trace; without values where they cannot be computed.

    Of a workload in phases with different operations, those of the phase of `op`. A row may be about no operation.
    """
    none = Means(None, None)
    if op not in (*OPS, ALL) or spec.workload.groups:  # bounds need one loop
        return Baseline(none, none, {}, {}, None)
    whole = spec.workload.operations
    limit = min(whole or _REQUESTS, _REQUESTS)
    if trace is None:
        trace = generate(spec.workload.limited(limit), 0)
    if op != ALL and len(np.unique(trace.phase)) > 1:
        trace = Trace(trace.table.filter(pa.array(trace.op == OPS.index(op))), trace.pacing)
    count = None if whole is None else round(whole * len(trace) / limit)
    fraction, mean_bytes = {ALL: 1.0}, {ALL: float(trace.transfer_bytes.mean())}
    for code in np.unique(trace.op).tolist():
        mine = trace.op == code
        fraction[OPS[code]] = float(np.count_nonzero(mine)) / len(trace)
        mean_bytes[OPS[code]] = float(trace.transfer_bytes[mine].mean())
    try:
        network, requests, demands = demands_at_load(spec, trace)
        limits = bounds(network, requests, demands)
    except InputError:  # a feature that they do not cover
        return Baseline(none, none, fraction, mean_bytes, count)
    highest = Means(limits.throughput_ops.high, limits.response_s.low)
    return Baseline(highest, _exact(network, requests, demands, highest.ops), fraction, mean_bytes, count)


def _exact(network: Network, requests: Requests, demands: Demands, offered_ops: float | None) -> Means:
    """Return the means of a network in product form with the same service demands at each station."""
    demand_s = demands.fraction @ demands.mean_s
    is_delay = np.array([station.discipline.infinite for station in network.stations])
    queues = ~is_delay & (demand_s > 0)
    servers = np.array([float(station.servers) for station in network.stations])[queues]
    delay_s, think_s = float(demand_s[is_delay].sum()), float(requests.think_s.mean())
    clients = requests.pacing.clients
    try:
        if requests.pacing.loop == "closed":
            ops, _ = closed_means(demand_s[queues], servers, think_s + delay_s, clients)
            return Means(ops, clients / ops - think_s)
        if not offered_ops:
            return Means(None, None)
        jobs = open_means(demand_s[queues], servers, offered_ops)
        return Means(offered_ops, float(jobs.sum()) / offered_ops + delay_s)
    except ValueError:  # too many stations and clients, or a saturated open loop
        return Means(None, None)


def straight_lines(rows: Sequence[Row], figure: str) -> list[float | None]:
    """Return a figure of each row on the line through two measured points of its series.

    A series are rows of one operation that differ in one number only, such as the clients. The two points are those of
    its least values, as of someone who measures two light loads before buying more; of these two, and of rows that are
    in no series of three or more, there is no forecast.
    """
    result: list[float | None] = [None] * len(rows)
    mine = [i for i, row in enumerate(rows) if figure in row.measured]
    paths = {path: None for i in mine for path in rows[i].settings if path not in _LENGTHS}
    series: list[tuple[int, list[tuple[float, int]]]] = []
    for path in paths:
        alike: dict[tuple[object, ...], dict[float, int]] = {}
        for i in mine:
            value = _number(rows[i].settings.get(path, ""))
            rest = {p: v for p, v in rows[i].settings.items() if p != path and p not in _LENGTHS}
            if value is not None:
                alike.setdefault((rows[i].op, tuple(sorted(rest.items()))), {}).setdefault(value, i)
        series += [(len(points), sorted(points.items())) for points in alike.values() if len(points) > 2]
    for _, points in sorted(series, key=lambda one: one[0]):  # the longest last: it replaces others
        (x0, first), (x1, second) = points[:2]
        y0, y1 = rows[first].measured[figure], rows[second].measured[figure]
        for x, i in points[2:]:
            y = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
            result[i] = y if y > 0 else None
    return result


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(parse_bytes(text))
    except ValueError:
        return None

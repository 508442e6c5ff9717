"""Latency distributions through published quantiles, and networks that consist of such a distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Route, Stage
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Outcome, Program
from traces.random_streams import stream_id, uniforms
from traces.trace import Pacing
from traces.workload.distributions import Empirical, Exponential

Floats = NDArray[np.float64]
Points = Mapping[float, float]
"""Quantiles in ms by their probability."""


class Scale(NamedTuple):
    """An axis on which quantiles are interpolated and extrapolated linearly."""

    of: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    least: float
    most: float
    logarithmic: bool  # the latencies


TAILS = {
    "lognormal": Scale(special.ndtri, special.ndtr, -6.0, 6.0, True),
    "Pareto": Scale(lambda p: -np.log1p(-p), lambda x: -np.expm1(-x), 0.0, 21.0, True),
    "exponential": Scale(lambda p: -np.log1p(-p), lambda x: -np.expm1(-x), 0.0, 21.0, False),
    "bounded": Scale(lambda p: p, lambda x: x, 0.0, 1.0, True),
}


def distribution(points_ms: Points, tail: str = "lognormal") -> ServiceDemand:
    """The latency distribution through these quantiles; `tail` says how it runs between and beyond them."""
    scale = TAILS[tail]
    x, y = scale.of(np.array(list(points_ms))), np.array(list(points_ms.values())) / 1000
    y = np.log(y) if scale.logarithmic else y
    grid = np.union1d(np.linspace(scale.least, scale.most, 1500), x)
    left = np.clip(np.searchsorted(x, grid, side="right") - 1, 0, len(x) - 2)
    value = y[left] + (np.diff(y) / np.diff(x))[left] * (grid - x[left])
    value = np.exp(value) if scale.logarithmic else np.maximum(value, 0)
    p = scale.back(grid)
    p[0], p[-1] = 0, 1
    shape = Empirical(probabilities=tuple(p.tolist()), values=tuple(value.tolist()))
    return ServiceDemand(constant=float(np.trapezoid(value, p)), distribution=shape)


def distribution_quantile_ms(demand: ServiceDemand, p: float) -> float:
    """A quantile of a distribution."""
    return float(1000 * demand.constant * demand.distribution.quantile(np.array([p]))[0])


def requested(arrival_s: Floats, pacing: Pacing = Pacing()) -> Requests:  # noqa: B008
    """Requests of the first route at these times."""
    zeros = np.zeros(len(arrival_s))
    none = zeros.astype(np.int32)
    return Requests(none, zeros.astype(np.int64), zeros.astype(np.uint64), arrival_s, zeros, none, pacing)


def poisson(n: int, rate_ops: float, seed: int) -> Requests:
    """Requests with Poisson arrivals."""
    return requested(np.cumsum(Exponential().quantile(uniforms(seed, stream_id("arrival"), 0, n)) / rate_ops))


def never_queued(*stages: Stage, policy: Policy = NO_POLICY) -> Network:
    """A route whose visits are all at one infinite server: station 0."""
    station = Station("leaf", "leaf", Discipline.INFINITE_SERVER)
    return Network((station,), (Route("read", stages, policy=policy),))


def ran(network: Network, requests: Requests, seed: int) -> tuple[Outcome, Floats]:
    """The outcome, and the latencies in ms."""
    outcome = compiled_engine.run(Program.of(network, requests, seed))
    return outcome, 1000 * (outcome.end_s - outcome.start_s)

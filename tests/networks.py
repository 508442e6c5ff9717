"""Random networks and requests for property tests, and networks of theory."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from models.demand import ServiceDemand
from models.network import Discipline, Member, Network, Route, Stage, Station, Visit, single
from models.sheet import Requests
from traces.distributions import Deterministic, Exponential, Hyperexponential, Lognormal, SlowMode
from traces.streams import uniforms
from traces.trace import Pacing

SHAPES = (
    Deterministic(), Exponential(), Lognormal(cv=1.5), Hyperexponential(cv=2), SlowMode(probability=0.1, factor=10),
)  # fmt: skip


@st.composite
def stations(draw, name: str) -> Station:
    discipline = draw(st.sampled_from(Discipline))
    if discipline is Discipline.GROUP_COMMIT:
        limit, item_s = draw(st.integers(0, 3)), draw(st.sampled_from([0.0, 0.05]))
        return Station(name, "journal", discipline, batch_limit=limit, batch_item_s=item_s)
    return Station(name, "server", discipline, servers=draw(st.integers(1, 3)))


@st.composite
def networks(draw) -> Network:
    """A few stations of all disciplines, placements, and routes of fork-join stages; open or closed."""
    count = draw(st.integers(1, 4))
    chosen = tuple(draw(stations(f"s{i}")) for i in range(count))
    table = np.array(
        draw(st.lists(st.lists(st.integers(0, count - 1), min_size=2, max_size=2), min_size=1, max_size=3))
    )
    # Few distinct deterministic demands, zero among them, make events coincide: that is where orders differ.
    demand = st.builds(
        ServiceDemand,
        constant=st.sampled_from([0.0, 0.5, 1.0, 0.3]),
        per_byte=st.sampled_from([0.0, 0.01]),
        distribution=st.sampled_from(SHAPES),
    )
    place = st.one_of(st.integers(0, count - 1), st.builds(Member, table=st.just(0), position=st.integers(0, 1)))
    branch = st.lists(st.builds(Visit, place, demand), min_size=1, max_size=3).map(tuple)

    @st.composite
    def stage(draw):
        branches = tuple(draw(st.lists(branch, min_size=1, max_size=3)))
        return Stage(branches, draw(st.integers(1, len(branches))), draw(st.booleans()))

    routes = tuple(
        Route(f"r{i}", tuple(draw(st.lists(stage(), min_size=1, max_size=3)))) for i in range(draw(st.integers(1, 3)))
    )
    if draw(st.booleans()):
        pacing = Pacing()
    else:
        duration_s = draw(st.sampled_from([None, 20.0]))
        stagger_s = draw(st.sampled_from([0.0, 0.5]))
        repeat = duration_s is not None and draw(st.booleans())
        pacing = Pacing("closed", draw(st.integers(1, 5)), stagger_s, duration_s, repeat)
    return Network(chosen, routes, (table.astype(np.int32),), pacing)


@st.composite
def requests_for(draw, network: Network) -> Requests:
    """Requests of all routes; arrivals coincide at times, phases and pauses occur in closed loops."""
    n, seed = draw(st.integers(1, 60)), draw(st.integers(0, 2**32))
    u = [uniforms(seed, stream, 0, n) for stream in range(6)]
    coarse = draw(st.booleans())
    gaps = np.round(-np.log(u[0])) * 0.5 if coarse else -np.log(u[0])
    closed = network.pacing.loop == "closed"
    repeat = network.pacing.repeat
    # Laps of requests that take no time at all would never reach the end of the duration.
    pause = 0.25 if repeat else draw(st.sampled_from([0.0, 0.25]))
    return Requests(
        route=(u[1] * len(network.routes)).astype(np.int32),
        size_bytes=(u[2] * 50).astype(np.int64),
        key_hash=(u[3] * 1000).astype(np.uint64),
        arrival_s=np.zeros(n) if closed else np.cumsum(gaps),
        think_s=pause * (np.ones(n) if repeat else np.round(u[4])),
        phase=np.sort((u[5] * draw(st.integers(1, 3))).astype(np.int32)) if closed else np.zeros(n, np.int32),
        repeat=repeat,
    )


def one_station(station: Station, demand: ServiceDemand, pacing: Pacing | None = None) -> Network:
    """A network of a single station that each request visits once."""
    return Network((station,), (Route("job", (single(Visit(0, demand)),)),), pacing=pacing or Pacing())


def poisson(n: int, rate_ops: float, seed: int) -> Requests:
    """Open-loop requests of the first route with Poisson arrivals."""
    zeros = np.zeros(n)
    arrival_s = np.cumsum(Exponential().quantile(uniforms(seed, 1, 0, n)) / rate_ops)
    return Requests(
        zeros.astype(np.int32),
        zeros.astype(np.int64),
        zeros.astype(np.uint64),
        arrival_s,
        zeros,
        zeros.astype(np.int32),
    )


def closed(n: int, think_mean_s: float, seed: int) -> Requests:
    """Closed-loop requests of the first route with exponential think times."""
    zeros = np.zeros(n)
    think_s = Exponential().quantile(uniforms(seed, 1, 0, n)) * think_mean_s
    return Requests(
        zeros.astype(np.int32), zeros.astype(np.int64), zeros.astype(np.uint64), zeros, think_s, zeros.astype(np.int32)
    )

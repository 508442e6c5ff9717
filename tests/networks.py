"""Random networks and requests for property tests, and networks of theory."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from models.network.demand_sheet import Requests, draw_sheet
from models.network.discipline import DISCIPLINES, Discipline
from models.network.joined_table import JoinedTable, PlacementTable
from models.network.network import Network
from models.network.retry_policy import Policy
from models.network.route import Chance, Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import UNBOUNDED, Bound, Caches, Choice, Group, Member, Station
from models.network.sub_requests import RouteChoice, SubRequests
from sim.engine.outcome import Program
from traces.random_streams import uniforms
from traces.trace import Pacing
from traces.workload.distributions import Deterministic, Exponential, Hyperexponential, Lognormal, Occasional, SlowMode

# Hypothesis prints the class variables too, so each discipline would hold all disciplines: hundreds of MB.
setattr(Discipline, "_repr_pretty_", lambda discipline, printer, cycle: printer.text(repr(discipline)))  # noqa: B010

SHAPES = (
    Deterministic(), Exponential(), Lognormal(cv=1.5), Hyperexponential(cv=2), SlowMode(probability=0.1, factor=10),
    Occasional(probability=0.5),
)  # fmt: skip


def claiming_once(visits: list[Visit]) -> tuple[Visit, ...]:
    """A branch of these visits: after one that claims the stage there is no other, and no timer."""
    first = next((i for i, visit in enumerate(visits) if visit.claims), len(visits))
    after = (dataclasses.replace(visit, timer=False, claims=False) for visit in visits[first + 1 :])
    return (*visits[: first + 1], *after)


def _visit(place, demand, releases, ties, timer, claims, chance, early, flushes) -> Visit:
    made = None if timer or claims else chance
    return Visit(place, demand, releases, ties, timer, claims, made, releases and early, flushes)


CLASSES = 2
PLAIN = DISCIPLINES[: Discipline.PRIORITY.code]


@st.composite
def stations(draw, name: str, disciplines=DISCIPLINES) -> Station:
    discipline = draw(st.sampled_from(disciplines))
    match discipline:
        case Discipline.GROUP_COMMIT:
            item_s, flush_s = draw(st.sampled_from([(0.0, 0.0), (0.05, 0.0), (0.05, 0.5)]))
            return Station(name, "journal", discipline, 1, (name,), batch_item_s=item_s, flush_s=flush_s)
        case Discipline.GATE:
            poll_s, limit = draw(st.sampled_from([(0.0, 1), (0.5, 2), (1.0, 100)]))
            period_s = draw(st.sampled_from([0.0, 0.0, 0.75])) if not poll_s else 0.0
            return Station(name, "gate", discipline, 1, (name,), poll_s=poll_s, poll_limit=limit, period_s=period_s)
        case Discipline.OPTIMISTIC:
            repeat_s, limit = draw(st.sampled_from([(0.0, 1), (0.25, 3)]))
            return Station(name, "counter", discipline, 1, (name,), repeat_s=repeat_s, repeat_limit=limit)
        case Discipline.POOL:
            limit = draw(st.sampled_from([0, 1, 5, UNBOUNDED]))
            return Station(name, "pool", discipline, draw(st.integers(1, 3)), (name,), queue_limit=limit)
    weights = tuple(draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in range(CLASSES))
    sets_up = discipline.sets_up and len(disciplines) > len(PLAIN)
    setup_s = draw(st.sampled_from([0.0, 0.25])) if sets_up else 0.0
    caches = draw(st.sampled_from([None, Caches(0.5, 1.0, 2.0), Caches(2.0, 3.0, 0.5)])) if sets_up else None
    servers = draw(st.integers(1, 3))
    age_bias = draw(st.sampled_from([0.0, 0.5, 1.0])) if discipline.draws else 0.0
    has_queue = discipline.shares and len(disciplines) > len(PLAIN)
    queue_s = draw(st.sampled_from([0.0, 0.3, 2.0, math.inf])) if has_queue else 0.0
    queued_each_s = draw(st.sampled_from([0.0, 0.2, math.inf]))
    return Station(
        name, "server", discipline, servers, (name,), setup_s=setup_s, caches=caches, age_bias=age_bias,
        weights=weights, queue_s=queue_s, queued_each_s=queued_each_s,
    )  # fmt: skip


def paired(chosen: tuple[Station, ...], shares: bool) -> tuple[Station, ...]:
    """The stations, of which the first two neighbours that may do so share a server if `shares`."""
    for i in range(1, len(chosen)):
        if shares and chosen[i - 1].may_pair and chosen[i].may_pair:
            parts = 3 if chosen[i].discipline.batches else 1
            return (*chosen[:i], dataclasses.replace(chosen[i], shares_server=True, parts=parts), *chosen[i + 1 :])
    return chosen


@st.composite
def policies(draw) -> Policy:
    """Timeouts, retries, and one way or none to a second attempt."""
    seconds = st.sampled_from([0.3, 0.5, 1.0, 2.0])
    second = draw(st.sampled_from(["none", "after", "quantile", "tied"]))
    return Policy(
        timeout_s=draw(st.one_of(st.just(math.inf), seconds)),
        retries=draw(st.integers(0, 2)),
        backoff_s=draw(st.sampled_from([0.0, 0.25])),
        squares=draw(st.booleans()),
        jitter=draw(st.sampled_from([0.0, 0.5])),
        retry_budget=draw(st.sampled_from([math.inf, 0.5, 0.0])),
        retry_budget_cap=draw(st.sampled_from([1, 2, 10])),
        hedge_after_s=draw(seconds) if second == "after" else math.inf,
        hedge_quantile=0.9 if second == "quantile" else 0.0,
        hedge_budget=draw(st.sampled_from([math.inf, 0.3])),
        hedge_budget_cap=draw(st.sampled_from([1, 2, 10])),
        tied_after_s=draw(st.sampled_from([0.0, 0.3])) if second == "tied" else math.inf,
        cancels=draw(st.booleans()),
    )


@st.composite
def actions(draw, chosen, groups) -> Action | None:
    """Something that may happen to one of the stations or to a group; None: the one drawn never changes."""
    at_s = draw(st.sampled_from([0.0, 1.0, 2.5, 4.0]))
    kind = draw(st.sampled_from(ActionKind))
    if kind in (ActionKind.JOIN, ActionKind.LEAVE) and groups:
        group = draw(st.integers(0, len(groups) - 1))
        names = len(chosen) if groups[group].table == 0 else len(groups[group].members)
        return Action(kind, group, at_s, member=draw(st.integers(0, names - 1)))
    target = draw(st.integers(0, len(chosen) - 1))
    match chosen[target].discipline:
        case Discipline.GATE if chosen[target].period_s:
            return None
        case Discipline.GATE:
            return Action(draw(st.sampled_from([ActionKind.SHUT, ActionKind.OPEN])), target, at_s)
        case Discipline.POOL | Discipline.OPTIMISTIC:
            return None
    is_paired = any(station.shares_server for station in chosen[target : target + 2])
    kind = ActionKind.SPEED if is_paired else draw(st.sampled_from([ActionKind.SPEED, ActionKind.DOWN, ActionKind.UP]))
    return Action(kind, target, at_s, value=draw(st.sampled_from([0.5, 2.0])))


@st.composite
def joined_tables(draw, stations: int, columns: int) -> JoinedTable:
    """Tables of any content, also with near coordinators that do not exist, or are named twice."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    keys, per_epoch, epochs, near = (draw(st.integers(*limits)) for limits in ((1, 5), (1, 4), (1, 3), (0, 3)))
    of_key, of_coordinator = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    joins = near + draw(st.integers(1, 4))

    def some(low: int, high: int, *shape: int) -> np.ndarray:
        return random.integers(low, high, shape).astype(np.int32)

    return JoinedTable(
        some(0, stations, keys, of_key),
        some(0, stations, epochs * per_epoch, of_coordinator),
        some(-of_key - of_coordinator, stations, joins, columns),
        some(0, joins - near, epochs, keys),
        some(-1, per_epoch + 1, keys, near),
    )


@st.composite
def balanced(draw, stations: int, number: int, joined: JoinedTable) -> Group:
    """A group of two positions; its members are stations, columns of the first table, or coordinators of the second."""
    table = draw(st.sampled_from([None, 0, 1]))
    if table == 1:
        return Group(draw(st.sampled_from(Choice)), joined.coordinators, table, indices=(number,))
    member = st.lists(st.integers(0, stations - 1 if table is None else 1), min_size=2, max_size=2)
    members = np.array(draw(st.lists(member, min_size=1, max_size=4)), np.int32)
    return Group(draw(st.sampled_from(Choice)), members, table, indices=(number,))


@st.composite
def starting(draw, routes: int, groups: tuple[Group, ...]) -> tuple[int, int, SubRequests]:
    """A route, a number that selects one of its visits, and what this visit starts: requests of a later route."""
    starts = draw(st.integers(0, max(routes - 2, 0)))
    chunk_bytes = draw(st.sampled_from([None, None, 10]))
    free = [number for number, group in enumerate(groups) if group.table != 0]  # whose members are columns of a table
    own_keys = draw(st.booleans())
    first, last = min(starts + 1, routes - 1), min(starts + 2, routes - 1)
    route: int | RouteChoice = draw(st.integers(first, last))
    if first < last and draw(st.booleans()):
        route = RouteChoice((7, 20), (((first, 0.5), (last, 0.5)), ((route, 1.0),)))
    return starts, draw(st.integers(0, 20)), SubRequests(
        route,
        chunk_bytes,
        draw(st.integers(1, 4)) if chunk_bytes is None else 1,
        draw(st.sampled_from([None, 7])) if chunk_bytes is None else None,
        first=draw(st.sampled_from([0, 0, 1])),
        most=draw(st.sampled_from([None, 1, 2])) if chunk_bytes else None,
        parallel=draw(st.sampled_from([None, 1, 2])),
        need=draw(st.sampled_from([None, None, 1, 2])),
        own_keys=own_keys,
        new_keys=own_keys and draw(st.booleans()),
        key_step=0 if own_keys else draw(st.sampled_from([0, 1, 3])),
        cancels=draw(st.booleans()),
        keeps=tuple(free) if draw(st.booleans()) else (),
        delivers=draw(st.booleans()),
    )  # fmt: skip


def with_sub_requests(routes: tuple[Route, ...], starts: list[tuple[int, int, SubRequests]]) -> tuple[Route, ...]:
    """The routes with sub-requests; the last one has none."""
    changed = list(routes)
    for k, number, sub in starts if len(routes) > 1 else ():
        of = changed[k]
        chosen = number % len(of.visits)
        counter = itertools.count()
        changed[k] = dataclasses.replace(of, stages=tuple(
            dataclasses.replace(stage, branches=tuple(
                tuple(dataclasses.replace(v, starts=sub) if next(counter) == chosen else v for v in branch)
                for branch in stage.branches
            ))
            for stage in of.stages
        ))  # fmt: skip
    return tuple(changed)


def pacings():
    """Open, or closed with a few clients, for all rows or repeating them for a while."""
    closed_loops = st.builds(
        lambda clients, stagger_s, limit: Pacing("closed", clients, stagger_s, *limit),
        st.integers(1, 5), st.sampled_from([0.0, 0.5]),
        st.sampled_from([(None, False), (20.0, False), (20.0, True)]),
    )  # fmt: skip
    return st.one_of(st.just(Pacing()), closed_loops)


@st.composite
def networks(draw, plain: bool = False) -> Network:
    """A few stations, placements, and routes of fork-join stages; all features, or those of a plain network only."""
    count = draw(st.integers(1, 4))
    disciplines = PLAIN if plain else DISCIPLINES
    chosen = tuple(draw(stations(f"s{i}", disciplines)) for i in range(count))
    if not plain:
        chosen = paired(chosen, draw(st.booleans()))
    members = st.lists(st.integers(0, count - 1), min_size=2, max_size=2)
    table = np.array(draw(st.lists(members, min_size=1, max_size=3)), np.int32)
    tables: tuple[PlacementTable, ...] = (table,) if plain else (table, draw(joined_tables(count, 2)))
    groups = () if plain else tuple(draw(balanced(count, i, tables[1])) for i in range(draw(st.integers(0, 2))))
    # Few distinct deterministic demands, zero among them, make events coincide: that is where orders differ.
    demand = st.builds(
        ServiceDemand,
        constant=st.sampled_from([0.0, 0.5, 1.0, 0.3]),
        per_byte=st.sampled_from([0.0, 0.01]),
        distribution=st.sampled_from(SHAPES),
    )
    placed = st.builds(Member, table=st.integers(0, len(tables) - 1), position=st.integers(0, 1))
    places = [st.integers(0, count - 1), placed]
    if groups:
        places.append(st.builds(Bound, group=st.integers(0, len(groups) - 1), position=st.integers(0, 1)))
    flags = st.just(False) if plain else st.booleans()
    chances = [None, Chance(0.5), Chance(0.5), Chance(0.0)]
    chances.append(Chance(0.7, within=chances[1]))
    visit = st.builds(
        _visit, st.one_of(places), demand, flags, flags, flags, flags, st.sampled_from(chances), flags, flags
    )
    branch = st.lists(visit, min_size=1, max_size=3).map(claiming_once)

    @st.composite
    def stage(draw):
        branches = tuple(draw(st.lists(branch, min_size=1, max_size=3)))
        return Stage(branches, draw(st.integers(1, len(branches))), draw(st.booleans()))

    stages = st.lists(stage(), min_size=1, max_size=3).map(tuple)
    common = [draw(policies()) for _ in range(2)]  # routes with equal policies share budgets and observed latencies
    routes = tuple(
        Route(
            f"r{i}", draw(stages),
            priority=0 if plain else draw(st.integers(0, CLASSES - 1)),
            policy=Policy() if plain or i == 0 else draw(st.sampled_from(common)),
        )
        for i in range(draw(st.integers(1, 3)))
    )  # fmt: skip
    if not plain:
        routes = with_sub_requests(routes, draw(st.lists(starting(len(routes), groups), max_size=4)))
    scenario = () if plain else tuple(filter(None, draw(st.lists(actions(chosen, groups), max_size=4))))
    return Network(chosen, routes, tables, groups, scenario)


@st.composite
def programs(draw) -> Program:
    """A network of all features, requests for it, and one or two background loads."""
    network = draw(networks())
    requests = draw(requests_for(network))
    seed = draw(st.integers(0, 2**64 - 1))
    one = poisson(draw(st.integers(1, 10)), 2.0, seed=3)
    background = (draw_sheet(network, one, 9, 0, len(one)),) * draw(st.integers(1, 2))
    return dataclasses.replace(Program.of(network, requests, seed, draw(st.booleans())), background=background)


@st.composite
def requests_for(draw, network: Network) -> Requests:
    """Requests of all routes; arrivals coincide at times, phases and pauses occur in closed loops."""
    n, seed = draw(st.integers(1, 60)), draw(st.integers(0, 2**32))
    u = [uniforms(seed, stream, 0, n) for stream in range(6)]
    coarse = draw(st.booleans())
    gaps = np.round(-np.log(u[0])) * 0.5 if coarse else -np.log(u[0])
    pacing = draw(pacings())
    closed, repeat = pacing.loop == "closed", pacing.repeat
    # Laps of requests that take no time at all would never reach the end of the duration.
    pause = 0.25 if repeat else draw(st.sampled_from([0.0, 0.25]))
    return Requests(
        route=(u[1] * len(network.routes)).astype(np.int32),
        size_bytes=(u[2] * 50).astype(np.int64),
        key_hash=(u[3] * 1000).astype(np.uint64),
        arrival_s=np.zeros(n) if closed else np.cumsum(gaps),
        think_s=pause * (np.ones(n) if repeat else np.round(u[4])),
        phase=np.sort((u[5] * draw(st.integers(1, 3))).astype(np.int32)) if closed else np.zeros(n, np.int32),
        pacing=pacing,
    )


def one_station(station: Station, demand: ServiceDemand) -> Network:
    """A network of a single station that each request visits once."""
    return Network((station,), (Route("job", (single(Visit(0, demand)),)),))


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


def closed(n: int, think_mean_s: float, seed: int, clients: int = 1, **pacing: Any) -> Requests:
    """Closed-loop requests of the first route with exponential think times; `pacing` as in `Pacing`."""
    zeros = np.zeros(n)
    think_s = Exponential().quantile(uniforms(seed, 1, 0, n)) * think_mean_s
    return Requests(
        zeros.astype(np.int32), zeros.astype(np.int64), zeros.astype(np.uint64), zeros, think_s, zeros.astype(np.int32),
        Pacing("closed", clients, **pacing),
    )  # fmt: skip

"""Small networks with a name, in which an engine has been wrong, or could be in the same way.

A search, `TAILCAST_TESTS=nightly` (see `tests/profiles.py`), simulates random networks, as many as TAILCAST_NETWORKS
says. What it finds is written here by hand, as small as possible; `test_named_networks.py` states what is right.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.retry_policy import NO_POLICY, Policy
from models.network.route import Chance, Route, Stage, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import ServiceDemand
from models.network.station import Station
from sim.engine.outcome import Program
from tests.networks import poisson

TOKENS, LATENCY, CLOCK = range(3)
STATIONS = (
    Station("tokens", "tokens", Discipline.POOL), Station("latency", "latency", Discipline.INFINITE_SERVER),
    Station("clock", "clock", Discipline.INFINITE_SERVER),
)  # fmt: skip
TAKE = Visit(TOKENS, ServiceDemand())
PASSED_BY = Visit(LATENCY, ServiceDemand(constant=1.0), chance=Chance(0.0))


def at(*times_s: float) -> Requests:
    """Requests of the first route at these times."""
    return dataclasses.replace(poisson(len(times_s), 1.0, seed=1), arrival_s=np.array(times_s))


def latency(time_s: float, *, claims: bool = False) -> Visit:
    return Visit(LATENCY, ServiceDemand(constant=time_s), claims=claims)


def timer(time_s: float) -> Visit:
    return Visit(CLOCK, ServiceDemand(constant=time_s), timer=True)


def one_route(
    *stages: Stage, times_s: tuple[float, ...] = (0.0,), policy: Policy = NO_POLICY, scenario: tuple[Action, ...] = ()
) -> Program:
    """The program of requests that all have these stages."""
    network = Network(STATIONS, (Route("r", stages, policy=policy),), scenario=scenario)
    return Program.of(network, at(*times_s), seed=0)


def claim_in_vain_with_a_token() -> Program:
    """The request ends at once with the branch that takes a token; the other claims its stage 1 s later, in vain.

    Found by a search: the token was held for 1 s of a run that ended at 0 s.
    """
    return one_route(Stage(((TAKE,), (latency(1.0, claims=True), TAKE)), 1))


def timer_in_vain_with_a_token() -> Program:
    """The first request takes the token, and ends at 1 s, with a timer to come; the second one waits for the token."""
    return one_route(single(TAKE), Stage(((latency(1.0),), (timer(10.0), latency(1.0))), 1), times_s=(0.0, 0.5))


def timer_that_begins_after_the_end() -> Program:
    """The request ends within the fork of its last stage, before the timer of the other branch begins."""
    return one_route(single(TAKE), Stage(((PASSED_BY,), (timer(10.0),)), 1), times_s=(0.0, 0.5))


def timer_of_a_cancelled_attempt() -> Program:
    """The only attempt times out after 2 s while a timer is all that it waits for."""
    return one_route(single(TAKE), single(timer(10.0)), times_s=(0.0, 0.5), policy=Policy(timeout_s=2.0))


def timer_that_is_lost() -> Program:
    """The stage is joined at 1 s, the timers' station dies at 2 s, and a timer is lost at 10 s, in vain."""
    stage = Stage(((latency(1.0),), (timer(10.0), latency(1.0))), 1)
    return one_route(single(TAKE), stage, scenario=(Action(ActionKind.DOWN, CLOCK, 2.0),))


def timer_that_is_lost_but_needed() -> Program:
    """The stage waits for a timer whose station dies at 2 s, which is noticed at 10 s: the request fails."""
    return one_route(single(TAKE), single(timer(10.0)), scenario=(Action(ActionKind.DOWN, CLOCK, 2.0),))


def token_that_is_never_returned() -> Program:
    """A branch takes the token after 1 s; another one of the same attempt waits for it from 2 s on, for good."""
    return one_route(Stage(((timer(1.0), TAKE, latency(1.0)), (timer(2.0), TAKE)), 2))


def hedge_that_goes_on_with_a_token() -> Program:
    """The first attempt takes the token from 1 s to 2 s; the second one, which is not cancelled, takes it then."""
    return one_route(single(latency(1.0), TAKE, latency(1.0)), policy=Policy(hedge_after_s=0.5, cancels=False))

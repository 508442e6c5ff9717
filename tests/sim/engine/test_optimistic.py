"""Transactions under optimistic concurrency control: conflicts, repetitions, and that both engines have the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.network.demand_sheet import Requests
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.scenario import Action, ActionKind
from models.network.service_demand import NOTHING, ServiceDemand
from models.network.station import Station
from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure, Program
from sim.engine.reference import engine as simpy_engine
from tests.sim.engine.test_theory_features import at
from traces.trace import Pacing

COUNTER, DELAY, POOL, SETUP, OTHER = range(5)


def network(*visits: Visit, repeat_s: float = 0.0, limit: int = 100) -> Network:
    """Return a network of one route with these visits."""
    stations = (
        Station("counter", "counter", Discipline.OPTIMISTIC, repeat_s=repeat_s, repeat_limit=limit),
        Station("delay", "delay", Discipline.INFINITE_SERVER),
        Station("pool", "pool", Discipline.POOL),
        Station("server", "server", Discipline.FIFO, setup_s=0.25),
        Station("other", "counter", Discipline.OPTIMISTIC, indices=(1,), repeat_s=0.125, repeat_limit=limit),
    )
    return Network(stations, (Route("PUT", (single(*visits),)),))


def transaction(*visits: Visit, at: int = COUNTER) -> tuple[Visit, ...]:
    return Visit(at, NOTHING), *visits, Visit(at, NOTHING, releases=True)


def wait(seconds: float, place: int = DELAY) -> Visit:
    return Visit(place, ServiceDemand(constant=seconds))


def run(net: Network, requests: Requests, paths: bool = False):
    """Run both engines, which must agree to the bit, and return the outcome."""
    program = Program.of(net, requests, 1, paths=paths)
    one, two = simpy_engine.run(program), compiled_engine.run(program)
    one.check(net)
    for name in ("end_s", "failure", "visits", "waiting_s", "busy_s", "path_s", "clock_s"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), name)
    return one


def test_of_two_transactions_the_first_to_commit_wins_and_the_other_is_repeated_at_once():
    outcome = run(network(*transaction(wait(1.0))), at(0.0, 0.5))
    assert outcome.end_s.tolist() == [1.0, 2.5]  # the second finds at 1.5 that the first committed at 1
    assert outcome.visits[DELAY] == 3


def test_one_that_begins_after_the_commit_does_not_conflict():
    assert run(network(*transaction(wait(1.0))), at(0.0, 1.5, 3.0)).end_s.tolist() == [1.0, 2.5, 4.0]


def test_a_change_by_one_that_commits_without_beginning_is_a_conflict():
    net = network(wait(0.5), Visit(COUNTER, NOTHING, releases=True), *transaction(wait(1.0)))
    assert run(net, at(0.0, 0.25)).end_s.tolist() == [
        3.5,
        1.75,
    ]


def test_pauses_grow_with_the_square_of_the_repetitions_and_begin_with_none():
    count = 40
    outcome = run(network(*transaction(wait(1.0)), repeat_s=0.001), at(*[0.0] * count), paths=True)
    latency_s = np.sort(outcome.end_s)
    assert latency_s[0] == 1.0 and latency_s[1] == 2.0  # the pause before the first repetition is 0
    assert (latency_s[2:] > 3.0).all()
    # What was lost to conflicts is waiting at the counter; the rest is one execution.
    net = network(wait(1.0))
    waiting_s = outcome.path_s[:, 1 + 2 * net.roles.index("counter")]
    np.testing.assert_allclose(waiting_s, outcome.end_s - 1.0, atol=1e-12)


def test_the_mean_pause_before_the_second_repetition_is_half_of_three_steps():
    # The third conflicts with the first, and when it is repeated at once, with the repetition of the second.
    pauses = []
    for seed in range(200):
        net = network(*transaction(wait(1.0)), repeat_s=1.0)
        program = Program.of(net, at(0.0, 0.4, 0.5), seed)
        pauses.append(np.sort(compiled_engine.run(program).end_s)[2] - 3.5)
    assert np.mean(pauses) == pytest.approx(1.5, abs=0.25)
    assert max(pauses) <= 3.0


def test_after_its_last_repetition_a_transaction_is_refused():
    outcome = run(network(*transaction(wait(1.0)), limit=0), at(0.0, 0.5))
    assert outcome.failure.tolist() == [Failure.NONE, Failure.CONFLICT]


def test_tokens_taken_since_the_beginning_are_returned():
    taken = network(*transaction(Visit(POOL, NOTHING), wait(1.0)), wait(5.0))
    outcome = run(taken, at(0.0, 0.0))
    # The second gets the token when the first has ended, and conflicts with it; then it takes the token again.
    assert outcome.end_s.tolist() == [6.0, 13.0]


def test_a_visit_is_repeated_with_its_own_demand():
    net = network(*transaction(wait(1.0, SETUP)))
    assert run(net, at(0.0, 0.5)).end_s.tolist() == [1.25, 3.5]  # 2.25 - 0.25: no setup after the first; then 1.25 more


def test_a_branch_does_not_conflict_with_itself():
    net = network(Visit(COUNTER, NOTHING), *transaction(wait(1.0)), Visit(COUNTER, NOTHING, releases=True))
    assert run(net, at(0.0)).end_s.tolist() == [1.0]


def test_a_transaction_conflicts_with_what_comes_after_it_has_noted_the_count_again():
    """It takes 2 s, and conflicts with commits in its second half; then it is repeated as a whole."""
    late = network(Visit(COUNTER, NOTHING), wait(1.0), *transaction(wait(1.0)))
    assert run(late, at(0.0, 0.5)).end_s.tolist() == [2.0, 4.5]
    assert run(late, at(0.0, 1.25)).end_s.tolist() == [2.0, 3.25]


def test_what_claims_its_stage_is_not_repeated():
    net = network(*transaction(Visit(DELAY, ServiceDemand(constant=1.0), claims=True)))
    assert run(net, at(0.0, 0.5)).failure.tolist() == [Failure.NONE, Failure.CONFLICT]


def test_counters_have_no_actions():
    net = network(*transaction(wait(1.0)))
    with pytest.raises(ValueError, match="have no actions"):
        Network(net.stations, net.routes, scenario=(Action(ActionKind.DOWN, COUNTER, 1.0),))


_visits = st.sampled_from(
    [wait(0.5), wait(0.25, SETUP), Visit(POOL, NOTHING), Visit(POOL, NOTHING, releases=True), *transaction(at=OTHER)]
)


@given(
    st.lists(_visits, max_size=5), st.lists(_visits, max_size=2), st.sampled_from([0.0, 0.125]), st.integers(0, 4),
    st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=2, max_size=8), st.booleans(),
)  # fmt: skip
def test_engines_agree_on_transactions_to_the_bit(inside, after, repeat_s, limit, gaps, is_closed):
    net = network(*transaction(*inside), *after, wait(0.25), repeat_s=repeat_s, limit=limit)
    requests = at(*np.cumsum(gaps))
    if is_closed:
        requests = replace(requests, pacing=Pacing("closed", 3))
    run(net, requests, paths=True)

"""The named networks: both engines do the same, and what is right."""

from __future__ import annotations

import pytest

from sim.engine.compiled import engine as compiled_engine
from sim.engine.outcome import Failure
from sim.engine.reference import engine as simpy_engine
from tests.sim.engine import named_networks as named
from tests.sim.engine.test_engines import assert_identical

# When the requests end and the run, how long the token was held, and how many requests have failed.
KNOWN = [
    (named.claim_in_vain_with_a_token, [0.0], 1.0, 1.0, Failure.NONE),
    (named.timer_in_vain_with_a_token, [1.0, 2.0], 2.0, 2.0, Failure.NONE),
    (named.timer_that_begins_after_the_end, [0.0, 0.5], 0.5, 0.0, Failure.NONE),
    (named.timer_of_a_cancelled_attempt, [2.0, 2.5], 2.5, 2.5, Failure.TIMEOUT),
    (named.timer_that_is_lost, [1.0], 1.0, 1.0, Failure.NONE),
    (named.timer_that_is_lost_but_needed, [10.0], 10.0, 10.0, Failure.STATION_DOWN),
    (named.hedge_that_goes_on_with_a_token, [2.0], 3.0, 2.0, Failure.NONE),
]


@pytest.mark.parametrize(("network", "end_s", "clock_s", "held_s", "why"), KNOWN, ids=[k[0].__name__ for k in KNOWN])
def test_a_named_network_has_its_outcome_on_both_engines(network, end_s, clock_s, held_s, why):
    program = network()
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    assert outcome.end_s.tolist() == end_s
    assert outcome.clock_s == clock_s
    assert outcome.busy_s[named.TOKENS] == held_s
    assert outcome.failure.tolist() == [why] * len(end_s)
    assert outcome.held.tolist() == [0, 0, 0]


def test_a_token_that_is_never_returned_is_held_until_the_end_of_the_run():
    program = named.token_that_is_never_returned()
    outcome = compiled_engine.run(program)
    assert_identical(simpy_engine.run(program), outcome)
    assert (outcome.in_flight, outcome.clock_s, outcome.busy_s[named.TOKENS]) == (1, 2.0, 1.0)
    assert (outcome.held[named.TOKENS], outcome.waiting[named.TOKENS]) == (1, 1)

"""How often a PUT's lock is refused because the release of its own earlier one is overtaken."""

from __future__ import annotations

import itertools

import pytest
from lock_refusals import idle_lead, overtaken_at, overtaken_fraction, refused_fraction


@pytest.mark.parametrize("lockers", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("overtaken", [0.0, 0.15, 0.5])
def test_refusals_are_those_of_all_outcomes(lockers, overtaken):
    refused = 0.0
    for outcome in itertools.product([False, True], repeat=lockers):
        probability = 1.0
        for late in outcome:
            probability *= overtaken if late else 1 - overtaken
        refused += probability * (outcome.count(False) < lockers // 2 + 1)
    assert refused_fraction(lockers, overtaken) == pytest.approx(refused)


@pytest.mark.parametrize("lockers", [2, 3, 4, 8])
def test_overtaken_fraction_is_the_inverse(lockers):
    assert overtaken_fraction(lockers, refused_fraction(lockers, 0.2)) == pytest.approx(0.2)
    assert overtaken_fraction(lockers, 0.99) == pytest.approx(0.5)  # no more than chance


def test_busy_cores_let_requests_overtake_more_often():
    lead = idle_lead(0.3, 0.15)
    assert overtaken_at(0.3, lead) == pytest.approx(0.15)
    assert 0.15 < overtaken_at(0.8, lead) < overtaken_at(1.0, lead) == 0.5
    assert overtaken_at(0.0, idle_lead(0.3, 0.5)) == 0.5  # no lead at all

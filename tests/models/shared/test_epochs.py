"""Epochs: the spans of faults divide a run into states that do not change."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.shared.epochs import NO_PARTS, Epoch, Parts, Span, epochs_of


@dataclass(frozen=True)
class State(Epoch):
    down: Parts = NO_PARTS
    slow: Parts = NO_PARTS


def test_a_run_without_faults_has_one_epoch():
    assert epochs_of(State, []) == (State(),) == (State(0.0),)


def test_parts_in_the_same_state_are_taken_together():
    spans = [Span(1, 3, "down", [0]), Span(2, math.inf, "down", [1, 2]), Span(2, 3, "slow", [5])]
    assert epochs_of(State, spans) == (
        State(0.0),
        State(1, frozenset([0])),
        State(2, frozenset([0, 1, 2]), frozenset([5])),
        State(3, frozenset([1, 2])),
    )


def test_a_state_that_no_part_can_be_in_is_refused():
    with pytest.raises(TypeError, match="donw"):
        epochs_of(State, [Span(0, 1, "donw", [0])])


_TIMES = st.sampled_from([0.0, 1.0, 2.5, 4.0, 7.0, math.inf])
_SPANS = st.builds(Span, _TIMES, _TIMES, st.sampled_from(["down", "slow"]), st.frozensets(st.integers(0, 4)))


@given(st.lists(_SPANS, max_size=6), st.floats(0, 10))
def test_the_epoch_of_a_time_has_what_the_spans_say(spans, at_s):
    found = epochs_of(State, spans)
    assert [epoch.at_s for epoch in found] == sorted({epoch.at_s for epoch in found}) and found[0].at_s == 0
    now = [epoch for epoch in found if epoch.at_s <= at_s][-1]
    for state, parts in (("down", now.down), ("slow", now.slow)):
        mine = [s.parts for s in spans if s.state == state and s.from_s <= at_s < s.until_s]
        assert parts == frozenset().union(*mine)

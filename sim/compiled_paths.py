"""Where the time of a request goes, in the compiled engine: the branches that decide when its stages end."""

from __future__ import annotations

from models.network import Discipline
from sim.compiled_clock import NOW, apart
from sim.compiled_queues import position_of
from sim.compiled_state import Rules, State
from sim.layout import Layout

_SHARING, _POOL, _GATE = int(Discipline.PROCESSOR_SHARING), int(Discipline.POOL), int(Discipline.GATE)


@apart
def add_branch(layout: Layout, rules: Rules, state: State, last: int) -> None:
    """Add the visits of a branch that has just ended, by role, to the path of its attempt."""
    attempt = last >> rules.position_bits
    first, position = last, position_of(layout, rules, state, last)
    while first > attempt << rules.position_bits and not layout.positions[position - 1].is_last:
        first -= 1
        position -= 1
    for token in range(first, last + 1):
        left_s = state.tokens[token + 1].since if token < last else state.time[NOW]
        station, since = state.tokens[token].station, state.tokens[token].since
        discipline = layout.stations[station].discipline
        if discipline == _SHARING:
            served_s = min(left_s - since, state.tokens[token].demand)
            waited_s = left_s - since - served_s
        elif discipline in (_POOL, _GATE):
            waited_s, served_s = left_s - since, 0.0
        else:
            waited_s, served_s = state.tokens[token].began - since, left_s - state.tokens[token].began
        at = 2 * (attempt * rules.roles + layout.stations[station].role)
        state.path_of_try[at] += waited_s
        state.path_of_try[at + 1] += served_s


@apart
def put_path(rules: Rules, state: State, request: int, winner: int) -> None:
    """Keep the path of the attempt that won."""
    state.path_s[request, 0] = state.tries[winner].began_s - state.results[request].start_s
    first = winner * 2 * rules.roles
    for i in range(2 * rules.roles):
        state.path_s[request, 1 + i] = state.path_of_try[first + i]

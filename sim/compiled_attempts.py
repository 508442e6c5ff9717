"""Attempts of the compiled engine: how they are served, cancelled and ended, and the tokens of pools that they hold."""

from __future__ import annotations

import numpy as np

from sim.compiled_clock import CLOCK, NOW, apart, compiled
from sim.compiled_queues import HOLDING, IDLE, WAITING, drop, go_on_soon, next_job_apart, position_of, slot_of
from sim.compiled_state import Rules, State
from sim.layout import Layout


@compiled
def started(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    """The job is in service now; at a tied visit the other attempts are cancelled."""
    state.tokens[token].began = state.time[NOW]
    state.tokens[token].life = state.stations[station].died
    if rules.tied:
        _tie(layout, rules, state, token)


@apart
def _tie(layout: Layout, rules: Rules, state: State, token: int) -> None:
    slot, attempt = slot_of(rules, token), token >> rules.position_bits
    route = state.slots[slot].route
    if (
        state.tries[attempt].over
        or not layout.routes[route].tied
        or not layout.positions[position_of(layout, rules, state, token)].ties
    ):
        return
    state.slots[slot].tied = 1
    first = slot << rules.attempt_bits
    for other in range(first, first + state.slots[slot].attempts):
        if other != attempt and not state.tries[other].over:
            cancel(layout, rules, state, other)


@apart
def cancel(layout: Layout, rules: Rules, state: State, attempt: int) -> None:
    """What waits leaves its queue; what is in service ends there."""
    state.time[CLOCK] = state.time[NOW]
    state.tries[attempt].cancelled = 1
    close(layout, rules, state, attempt)
    slot = attempt >> rules.attempt_bits
    route = state.slots[slot].route
    visits = layout.route_first_position[route + 1] - layout.route_first_position[route]
    first = attempt << rules.position_bits
    for token in range(first, first + visits):
        if state.tokens[token].state == WAITING:
            drop(state, token)
            state.tries[attempt].live -= 1
    if state.tries[attempt].live == 0:
        drained(layout, rules, state, attempt)


@compiled
def close(layout: Layout, rules: Rules, state: State, attempt: int) -> None:
    """The attempt has an outcome, so its members have one less under way."""
    state.tries[attempt].over = 1
    for group in range(rules.groups):
        member = state.member_of_try[attempt * rules.groups + group]
        if member >= 0:
            name = name_of(layout, state, attempt >> rules.attempt_bits, group, member)
            state.member_outstanding[group, name] -= 1


@compiled
def station_of_member(layout: Layout, state: State, slot: int, group: int, member: int, position: int) -> int:
    """The station at a position of a group's member."""
    station: int = layout.member_station[group, member, position]
    rows = layout.groups[group].rows
    if rows:
        row = np.int64(state.slots[slot].key % np.uint64(rows))
        station = layout.placement_station[layout.groups[group].first + row * layout.groups[group].columns + station]
    return station


@compiled
def name_of(layout: Layout, state: State, slot: int, group: int, member: int) -> int:
    """What a member goes by: its index, or its first station where members depend on the key."""
    if layout.groups[group].rows:
        return station_of_member(layout, state, slot, group, member, 0)
    return member


@compiled
def drained(layout: Layout, rules: Rules, state: State, attempt: int) -> None:
    """No branch is left; tokens that the attempt still holds go back."""
    if state.tries[attempt].held:
        _give_back_all(layout, rules, state, attempt)


@apart
def _give_back_all(layout: Layout, rules: Rules, state: State, attempt: int) -> None:
    route = state.slots[attempt >> rules.attempt_bits].route
    visits = layout.route_first_position[route + 1] - layout.route_first_position[route]
    first = attempt << rules.position_bits
    for token in range(first, first + visits):
        if state.tokens[token].state == HOLDING:
            give_back(layout, rules, state, token)


@apart
def give_back(layout: Layout, rules: Rules, state: State, token: int) -> None:
    """The pool's token that was taken at this visit comes back, and goes to whoever waits."""
    station = state.tokens[token].station
    state.tokens[token].state = IDLE
    state.tries[token >> rules.position_bits].held -= 1
    if state.stations[station].live:
        grant(rules, state, next_job_apart(layout, rules, state, station))
    else:
        settle_pool(state, station)
        state.stations[station].busy -= 1


@apart
def settle_pool(state: State, station: int) -> None:
    """Bring the pool's integral up to now."""
    held = state.stations[station].busy
    state.stations[station].busy_s += held * (state.time[NOW] - state.stations[station].last_s)
    state.stations[station].last_s = state.time[NOW]


@apart
def grant(rules: Rules, state: State, token: int) -> None:
    state.tokens[token].state = HOLDING
    state.tries[token >> rules.position_bits].held += 1
    go_on_soon(state, token)

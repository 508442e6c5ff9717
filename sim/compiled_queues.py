"""Jobs that wait at a station of the compiled engine.

Queues are linked lists through the tokens, so nothing is allocated while the clock runs. A job that gives up while it
waits stays in its queue as a *husk* until the queue comes to it.
"""

from __future__ import annotations

import numpy as np

from models.network import Discipline
from sim.compiled_clock import FREE, GO_ON, NOW, REASON_BITS, REFUSED, apart, compiled, mixed, push
from sim.compiled_state import Rules, State
from sim.layout import Layout

_RANDOM, _WEIGHTED = int(Discipline.RANDOM_ORDER), int(Discipline.WEIGHTED_SHARE)
_PRIORITY = int(Discipline.PRIORITY)
_NIL = -1

# States of a token.
IDLE, WAITING, HUSK, HOLDING = range(4)


@compiled
def slot_of(rules: Rules, token: int) -> int:
    """The request of a visit."""
    return token >> (rules.position_bits + rules.attempt_bits)


@compiled
def position_of(layout: Layout, rules: Rules, state: State, token: int) -> int:
    """The visit's place, numbered through all routes."""
    within = token & ((1 << rules.position_bits) - 1)
    position: int = within + layout.route_first_position[state.slots[slot_of(rules, token)].route]
    return position


@compiled
def refuse_soon(state: State, token: int, why: int) -> None:
    """Refuse a job in an event of its own, so that no station is entered while another is changing."""
    push(state, state.time[NOW], REFUSED, (token << REASON_BITS) | why)


@compiled
def go_on_soon(state: State, token: int) -> None:
    """Have a job go on in an event of its own."""
    push(state, state.time[NOW], GO_ON, token)


@compiled
def maybe_free(state: State, slot: int) -> None:
    """Give the slot back once its request has ended and nothing of it is left anywhere."""
    if state.slots[slot].ended and state.slots[slot].busy == 0 and not state.slots[slot].is_free:
        state.slots[slot].is_free = 1
        state.slot_free[state.counter[FREE]] = slot
        state.counter[FREE] += 1


@compiled
def class_of(layout: Layout, rules: Rules, state: State, station: int, token: int) -> int:
    discipline = layout.stations[station].discipline
    if discipline in (_PRIORITY, _WEIGHTED):
        priority: int = layout.routes[state.slots[slot_of(rules, token)].route].priority
        return station * rules.classes + priority
    return station * rules.classes


@compiled
def wait(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    state.tokens[token].state = WAITING
    state.stations[station].live += 1
    of = class_of(layout, rules, state, station, token)
    queued = state.classes[of].queued
    state.classes[of].queued = queued + 1
    if layout.stations[station].discipline == _RANDOM:
        state.random_token[state.stations[station].random_row, queued] = token
        return
    state.tokens[token].next = _NIL
    if queued == 0:
        state.classes[of].head = token
        if state.stations[station].virtual > state.classes[of].start:
            state.classes[of].start = state.stations[station].virtual
    else:
        state.tokens[state.classes[of].tail].next = token
    state.classes[of].tail = token


@apart
def wait_apart(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    wait(layout, rules, state, station, token)


@compiled
def _draw(rules: Rules, state: State, station: int, row: int) -> np.uint64:
    """The next random word of a random-order station."""
    choices: int = state.random[row].choices
    state.random[row].choices = choices + 1
    return mixed(rules.seed, station, choices)


@compiled
def _any_of(rules: Rules, state: State, station: int, row: int, count: int) -> int:
    return np.int64(_draw(rules, state, station, row) % np.uint64(count))  # type: ignore[return-value]


@compiled
def _dequeue(layout: Layout, rules: Rules, state: State, station: int) -> int:
    """The next of the queue, husk or not."""
    of = station * rules.classes
    discipline = layout.stations[station].discipline
    if discipline == _RANDOM:
        row, last = state.stations[station].random_row, state.classes[of].queued - 1
        chosen = _any_of(rules, state, station, row, last + 1)
        fairness = layout.stations[station].fairness
        if fairness and (_draw(rules, state, station, row) >> np.uint64(11)) * 2.0**-53 < fairness:
            other = _any_of(rules, state, station, row, last + 1)
            since_s = state.tokens[state.random_token[row, chosen]].since
            chosen = other if state.tokens[state.random_token[row, other]].since < since_s else chosen
        drawn: int = state.random_token[row, chosen]
        state.random_token[row, chosen] = state.random_token[row, last]
        state.classes[of].queued = last
        return drawn
    if discipline in (_PRIORITY, _WEIGHTED):
        best = _NIL
        for one in range(of, of + rules.classes):
            if state.classes[one].queued and (
                best == _NIL or (discipline == _WEIGHTED and state.classes[one].start < state.classes[best].start)
            ):
                best = one
        of = best
    token: int = state.classes[of].head
    state.classes[of].head = state.tokens[token].next
    state.classes[of].queued -= 1
    return token


@compiled
def next_job(layout: Layout, rules: Rules, state: State, station: int) -> int:
    """The next job that still waits; there is one."""
    token: int = _NIL
    while True:
        token = _dequeue(layout, rules, state, station)
        if state.tokens[token].state != HUSK:
            break
        state.tokens[token].state = IDLE
        slot = slot_of(rules, token)
        state.slots[slot].busy -= 1
        maybe_free(state, slot)
    state.tokens[token].state = IDLE
    state.stations[station].live -= 1
    state.stations[station].waiting_s += state.time[NOW] - state.tokens[token].since
    return token


@apart
def next_job_apart(layout: Layout, rules: Rules, state: State, station: int) -> int:
    """`next_job` where it is not needed often."""
    return next_job(layout, rules, state, station)


@apart
def drop(state: State, token: int) -> None:
    """A waiting job gives up."""
    station = state.tokens[token].station
    state.stations[station].live -= 1
    state.stations[station].waiting_s += state.time[NOW] - state.tokens[token].since
    state.tokens[token].state = HUSK

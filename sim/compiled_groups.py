"""How the compiled engine picks a member of a group: what `sim/load_balancer.py` does."""

from __future__ import annotations

import numpy as np

from models.network import Choice
from models.sheet import POSITIONS
from sim.compiled_attempts import name_of, station_of_member
from sim.compiled_clock import apart, mixed
from sim.compiled_state import Rules, State
from sim.layout import Layout

_HASH, _ROUND_ROBIN, _LEAST = int(Choice.HASH), int(Choice.ROUND_ROBIN), int(Choice.LEAST_OUTSTANDING)
_RANDOM = int(Choice.RANDOM)
_NIL = -1


@apart
def bind(layout: Layout, rules: Rules, state: State, token: int, code: int) -> int:
    """The station of a run-time binding; -1 where no member is present."""
    group, position = code // POSITIONS, code % POSITIONS
    attempt = token >> rules.position_bits
    at, slot = attempt * rules.groups + group, attempt >> rules.attempt_bits
    if state.member_of_try[at] < 0:
        member = _pick(layout, rules, state, slot, group)
        if member < 0:
            return _NIL
        state.member_of_try[at] = member
        state.member_outstanding[group, name_of(layout, state, slot, group, member)] += 1
    return station_of_member(layout, state, slot, group, state.member_of_try[at], position)


@apart
def _is_present(layout: Layout, state: State, slot: int, group: int, member: int) -> bool:
    return bool(state.member_present[group, name_of(layout, state, slot, group, member)])


@apart
def _outstanding(layout: Layout, state: State, slot: int, group: int, member: int) -> int:
    count: int = state.member_outstanding[group, name_of(layout, state, slot, group, member)]
    return count


@apart
def _is_taken(rules: Rules, state: State, slot: int, group: int, member: int) -> bool:
    """Whether another attempt of the request is bound to the member."""
    first = slot << rules.attempt_bits
    for other in range(first, first + state.slots[slot].attempts):
        if state.member_of_try[other * rules.groups + group] == member:
            return True
    return False


@apart
def _pick(layout: Layout, rules: Rules, state: State, slot: int, group: int) -> int:
    """A member that is present, if possible one that no attempt of the request is bound to; -1 where none is."""
    members = layout.groups[group].members
    count = 0
    for member in range(members):
        if _is_present(layout, state, slot, group, member) and not _is_taken(rules, state, slot, group, member):
            count += 1
    fresh = count > 0
    if not fresh:
        for member in range(members):
            count += _is_present(layout, state, slot, group, member)
        if count == 0:
            return _NIL
    choice = layout.groups[group].choice
    if choice == _LEAST:
        best, least = _NIL, 0
        for place in range(count):
            member = _candidate(layout, rules, state, slot, group, fresh, place)
            outstanding = _outstanding(layout, state, slot, group, member)
            if best == _NIL or outstanding < least:
                best, least = member, outstanding
        return best
    if choice == _HASH:
        place = int(state.slots[slot].key % np.uint64(count))
    elif choice == _ROUND_ROBIN:
        place = state.groups[group].picks % count
        state.groups[group].picks += 1
    else:
        place = _draw(layout, rules, state, group, count)
        if choice != _RANDOM:
            other = _draw(layout, rules, state, group, max(count - 1, 1))
            if other >= place and count > 1:
                other += 1
            first = _candidate(layout, rules, state, slot, group, fresh, place)
            second = _candidate(layout, rules, state, slot, group, fresh, other)
            fewer = _outstanding(layout, state, slot, group, second) < _outstanding(layout, state, slot, group, first)
            return second if fewer else first
    return _candidate(layout, rules, state, slot, group, fresh, place)


@apart
def _draw(layout: Layout, rules: Rules, state: State, group: int, count: int) -> int:
    stream = len(layout.stations) + group
    value = int(mixed(rules.seed, stream, state.groups[group].draws) % np.uint64(count))
    state.groups[group].draws += 1
    return value


@apart
def _candidate(layout: Layout, rules: Rules, state: State, slot: int, group: int, fresh: bool, place: int) -> int:
    """The candidate at a place among those present, or among those present and not taken."""
    for member in range(layout.groups[group].members):
        present = _is_present(layout, state, slot, group, member)
        if present and not (fresh and _is_taken(rules, state, slot, group, member)):
            if place == 0:
                return member
            place -= 1
    return _NIL

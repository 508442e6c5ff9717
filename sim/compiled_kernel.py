"""The machine of the compiled engine: the same events, in the same order, as the SimPy engine's.

A request in flight has a *slot*; a *token* is (slot, position) in one integer and stands for the visit there,
so queues are linked lists through the tokens and nothing is allocated while the clock runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from models.network import Discipline
from sim.compiled_state import Chunk, Rules, State
from sim.layout import Layout

# Why `advance` returns.
DONE, NEED_SHEET, NEED_SPACE = 0, 1, 2

# Kinds of event; an event is kind + 8 x argument.
_DEPART_DELAY, _DEPART_SERVED, _DEPART_BATCH, _DEPART_SHARED, _READY, _ISSUE = range(6)
_KIND_BITS = 3

_DELAY, _FIFO, _SHARING = int(Discipline.DELAY), int(Discipline.FIFO), int(Discipline.PROCESSOR_SHARING)
_RANDOM = int(Discipline.RANDOM_ORDER)
_NIL = -1

# Places in `State.counter`.
HEAP, HOLE, INSERTED, FREE, NEXT_ROW, OUTSTANDING, PHASE, ARRIVAL_INSERTED = range(8)
# Places in `State.time`.
NOW, CLOCK = range(2)

_Function = TypeVar("_Function", bound=Callable[..., Any])


# The kernel allocates nothing, so it needs no reference counts; they would cost ten times what it does.
# Numba's cache looks at this file only: what the kernel calls has to stand here too.
_OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False}


def _compiled(function: _Function) -> _Function:
    """Part of the kernel."""
    compiled: _Function = njit(**_OPTIONS, forceinline=True)(function)
    return compiled


def _entry(function: _Function) -> _Function:
    """Called from Python."""
    compiled: _Function = njit(**_OPTIONS)(function)
    return compiled


@_compiled
def _push(state: State, time: float, kind: int, argument: int) -> None:
    inserted = state.counter[INSERTED]
    state.counter[INSERTED] = inserted + 1
    event = kind | (argument << _KIND_BITS)
    if state.counter[HOLE]:
        state.counter[HOLE] = 0
        _sink(state, time, inserted, event)
        return
    heap_time, heap_inserted, heap_event = state.heap_time, state.heap_inserted, state.heap_event
    at = state.counter[HEAP]
    state.counter[HEAP] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if heap_time[parent] <= time:  # what was inserted earlier goes first
            break
        heap_time[at] = heap_time[parent]
        heap_inserted[at] = heap_inserted[parent]
        heap_event[at] = heap_event[parent]
        at = parent
    heap_time[at] = time
    heap_inserted[at] = inserted
    heap_event[at] = event


@_compiled
def _sink(state: State, time: float, inserted: int, event: int) -> None:
    """Put an event into the hole at the top of the heap."""
    heap_time, heap_inserted, heap_event = state.heap_time, state.heap_inserted, state.heap_event
    size = state.counter[HEAP]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap_time[right] < heap_time[child]
            or (heap_time[right] == heap_time[child] and heap_inserted[right] < heap_inserted[child])
        ):
            child = right
        if time < heap_time[child] or (time == heap_time[child] and inserted < heap_inserted[child]):
            break
        heap_time[at] = heap_time[child]
        heap_inserted[at] = heap_inserted[child]
        heap_event[at] = heap_event[child]
        at = child
    heap_time[at] = time
    heap_inserted[at] = inserted
    heap_event[at] = event


@_compiled
def _fill_hole(state: State) -> None:
    """Close the hole at the top of the heap with its last event."""
    state.counter[HOLE] = 0
    state.counter[HEAP] -= 1
    last = state.counter[HEAP]
    if last > 0:
        _sink(state, state.heap_time[last], state.heap_inserted[last], state.heap_event[last])


@_compiled
def _mixed(seed: np.uint64, stream: int, index: int) -> np.uint64:
    """As `traces.streams.mixed`."""
    value = seed + np.uint64(0x9E3779B97F4A7C15) * np.uint64(stream + 1)
    value += np.uint64(0xD1B54A32D192ED03) * np.uint64(index + 1)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@_compiled
def _wait(state: State, station: int, token: int) -> None:
    state.token_since[token] = state.time[NOW]
    state.token_next[token] = _NIL
    if state.station_waiting[station] == 0:
        state.station_head[station] = token
    else:
        state.token_next[state.station_tail[station]] = token
    state.station_tail[station] = token
    state.station_waiting[station] += 1


@_compiled
def _next(state: State, station: int) -> int:
    token: int = state.station_head[station]
    state.station_head[station] = state.token_next[token]
    state.station_waiting[station] -= 1
    state.station_waiting_s[station] += state.time[NOW] - state.token_since[token]
    return token


@_compiled
def _wait_at_random(state: State, station: int, token: int) -> None:
    state.token_since[token] = state.time[NOW]
    state.random_token[state.random_row[station], state.station_waiting[station]] = token
    state.station_waiting[station] += 1


@_compiled
def _next_at_random(rules: Rules, state: State, station: int) -> int:
    row = state.random_row[station]
    last = state.station_waiting[station] - 1
    chosen = np.int64(_mixed(rules.seed, station, state.random_choices[row]) % np.uint64(last + 1))
    state.random_choices[row] += 1
    token: int = state.random_token[row, chosen]
    state.random_token[row, chosen] = state.random_token[row, last]
    state.station_waiting[station] = last
    state.station_waiting_s[station] += state.time[NOW] - state.token_since[token]
    return token


@_compiled
def _enter(layout: Layout, state: State, token: int) -> None:
    """A visit begins."""
    station = state.token_station[token]
    discipline = layout.station_discipline[station]
    if discipline in (_FIFO, _RANDOM):
        state.station_visits[station] += 1
        if state.station_busy[station] < layout.station_servers[station]:
            state.station_busy[station] += 1
            state.station_busy_s[station] += state.token_demand[token]
            _push(state, state.time[NOW] + state.token_demand[token], _DEPART_SERVED, token)
        elif discipline == _FIFO:
            _wait(state, station, token)
        else:
            _wait_at_random(state, station, token)
    elif discipline == _DELAY:
        state.station_visits[station] += 1
        state.station_busy_s[station] += state.token_demand[token]
        _push(state, state.time[NOW] + state.token_demand[token], _DEPART_DELAY, token)
    elif discipline == _SHARING:
        _share_enter(layout, state, station, token)
    else:
        state.station_visits[station] += 1
        if state.station_busy[station]:
            _wait(state, station, token)
        else:
            state.station_busy[station] = 1
            state.token_next[token] = _NIL
            _commit(layout, state, station, token, 1)


@_compiled
def _serve_next(layout: Layout, rules: Rules, state: State, station: int) -> None:
    """A server is free."""
    if state.station_waiting[station]:
        if layout.station_discipline[station] == _FIFO:
            token = _next(state, station)
        else:
            token = _next_at_random(rules, state, station)
        state.station_busy_s[station] += state.token_demand[token]
        _push(state, state.time[NOW] + state.token_demand[token], _DEPART_SERVED, token)
    else:
        state.station_busy[station] -= 1


@_compiled
def _commit(layout: Layout, state: State, station: int, first: int, members: int) -> None:
    """A batch begins; its members are linked from `first` on."""
    duration = state.token_demand[first] + (members - 1) * layout.station_batch_item_s[station]
    state.station_busy_s[station] += duration
    state.station_batch[station] = first
    _push(state, state.time[NOW] + duration, _DEPART_BATCH, station)


@_compiled
def _commit_next(layout: Layout, state: State, station: int) -> None:
    """The batch server is free."""
    members = state.station_waiting[station]
    if members == 0:
        state.station_busy[station] = 0
        return
    limit = layout.station_batch_limit[station]
    if limit and members > limit:
        members = limit
    first = last = _next(state, station)
    for _ in range(members - 1):
        last = _next(state, station)
    state.token_next[last] = _NIL
    _commit(layout, state, station, first, members)


@_compiled
def _share_rate(present: int, servers: int) -> float:
    return servers / present if present > servers else 1.0


@_compiled
def _share_advance(layout: Layout, state: State, station: int) -> None:
    row = state.shared_row[station]
    elapsed = state.time[NOW] - state.shared_last_s[row]
    present, servers = state.shared_present[row], layout.station_servers[station]
    if present:
        state.station_busy_s[station] += min(present, servers) * elapsed
        state.station_waiting_s[station] += max(present - servers, 0) * elapsed
        state.shared_attained_s[row] += elapsed * _share_rate(present, servers)
    state.shared_last_s[row] = state.time[NOW]


@_compiled
def _share_schedule(layout: Layout, state: State, station: int) -> None:
    row = state.shared_row[station]
    state.shared_version[row] += 1
    present = state.shared_present[row]
    if present:
        left = max(state.shared_done[row, 0] - state.shared_attained_s[row], 0.0)
        rate = _share_rate(present, layout.station_servers[station])
        argument = (state.shared_version[row] << 20) | station
        _push(state, state.time[NOW] + left / rate, _DEPART_SHARED, argument)


@_compiled
def _share_enter(layout: Layout, state: State, station: int, token: int) -> None:
    _share_advance(layout, state, station)
    row = state.shared_row[station]
    done, order = state.shared_done[row], state.shared_order[row]
    tokens = state.shared_token[row]
    time = state.shared_attained_s[row] + state.token_demand[token]
    at = state.shared_present[row]
    state.shared_present[row] = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if done[parent] <= time:
            break
        done[at], order[at], tokens[at] = done[parent], order[parent], tokens[parent]
        at = parent
    done[at], order[at], tokens[at] = time, state.station_visits[station], token
    state.station_visits[station] += 1
    _share_schedule(layout, state, station)


@_compiled
def _share_leave(layout: Layout, state: State, station: int) -> int:
    """The job with least left to do is done; returns its token."""
    _share_advance(layout, state, station)
    row = state.shared_row[station]
    done, order, tokens = state.shared_done[row], state.shared_order[row], state.shared_token[row]
    attained = done[0]
    token: int = tokens[0]
    size = state.shared_present[row] - 1
    state.shared_present[row] = size
    time, number, moved = done[size], order[size], tokens[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (done[right] < done[child] or (done[right] == done[child] and order[right] < order[child])):
            child = right
        if time < done[child] or (time == done[child] and number < order[child]):
            break
        done[at], order[at], tokens[at] = done[child], order[child], tokens[child]
        at = child
    done[at], order[at], tokens[at] = time, number, moved
    state.shared_attained_s[row] = attained if size else 0.0
    _share_schedule(layout, state, station)
    return token


@_compiled
def _take(layout: Layout, rules: Rules, chunk: Chunk, state: State, client: int) -> int:
    """Copy the next request into a slot, so that the Sheet can go before the request does; returns the slot."""
    request = state.counter[NEXT_ROW]
    row = request - chunk.first
    route = chunk.route[row]
    state.counter[FREE] -= 1
    slot: int = state.slot_free[state.counter[FREE]]
    state.slot_request[slot] = request
    state.slot_route[slot] = route
    state.slot_stage[slot] = layout.route_first_stage[route]
    state.slot_left[slot] = 0
    state.slot_client[slot] = client
    state.result_client[request] = client
    token, visit = slot << rules.position_bits, chunk.first_visit[row]
    for i in range(layout.route_first_position[route + 1] - layout.route_first_position[route]):
        state.token_station[token + i] = chunk.station[visit + i]
        state.token_demand[token + i] = chunk.demand_s[visit + i]
    state.counter[NEXT_ROW] = request + 1
    state.counter[OUTSTANDING] += 1
    return slot


@_compiled
def _begin(layout: Layout, rules: Rules, state: State, slot: int) -> None:
    state.result_start_s[state.slot_request[slot]] = state.time[NOW]
    _fork(layout, rules, state, slot)


@_compiled
def _fork(layout: Layout, rules: Rules, state: State, slot: int) -> None:
    stage = state.slot_stage[slot]
    first, last = layout.stage_first_branch[stage], layout.stage_first_branch[stage + 1]
    state.slot_done[slot] = 0
    state.slot_left[slot] += last - first
    for branch in range(first, last):
        _enter(layout, state, (slot << rules.position_bits) + layout.branch_first_position[branch])


@_compiled
def _leave(layout: Layout, rules: Rules, state: State, token: int) -> None:
    """A visit is over: on to the next of its branch, or to the join."""
    state.time[CLOCK] = state.time[NOW]
    slot = token >> rules.position_bits
    position = token - (slot << rules.position_bits) + layout.route_first_position[state.slot_route[slot]]
    if not layout.position_is_last[position]:
        _enter(layout, state, token + 1)
        return
    state.slot_left[slot] -= 1
    stage = state.slot_stage[slot]
    if layout.position_stage[position] == stage:
        state.slot_done[slot] += 1
        if state.slot_done[slot] == layout.stage_need[stage]:
            _join(layout, rules, state, slot)
    if state.slot_left[slot] == 0:
        state.slot_free[state.counter[FREE]] = slot
        state.counter[FREE] += 1


@_compiled
def _join(layout: Layout, rules: Rules, state: State, slot: int) -> None:
    stage, request, now = state.slot_stage[slot], state.slot_request[slot], state.time[NOW]
    if layout.stage_delivers[stage]:
        state.result_first_byte_s[request] = now
    if stage + 1 < layout.route_first_stage[state.slot_route[slot] + 1]:
        state.slot_stage[slot] = stage + 1
        _fork(layout, rules, state, slot)
        return
    state.result_end_s[request] = now
    state.counter[OUTSTANDING] -= 1
    if not rules.open_loop:
        _push(state, now, _READY, state.slot_client[slot])


@_compiled
def _ready(layout: Layout, rules: Rules, chunk: Chunk, state: State, client: int) -> None:
    """A closed-loop client wants its next request."""
    now, row = state.time[NOW], state.counter[NEXT_ROW] - chunk.first
    if now >= rules.limit_s or row >= len(chunk.route):
        return
    if chunk.phase[row] != state.counter[PHASE]:
        state.client_parked[client] = True
        if state.counter[OUTSTANDING] == 0:
            state.counter[PHASE] = chunk.phase[row]
            for other in range(len(state.client_parked)):
                if state.client_parked[other]:
                    state.client_parked[other] = False
                    _push(state, now + other * rules.stagger_s, _READY, other)
        return
    think_s = chunk.think_s[row]
    if think_s > 0:
        if now + think_s < rules.limit_s:
            _push(state, now + think_s, _ISSUE, _take(layout, rules, chunk, state, client))
    else:
        _begin(layout, rules, state, _take(layout, rules, chunk, state, client))


@_compiled
def _handle(layout: Layout, rules: Rules, chunk: Chunk, state: State, event: int) -> None:
    kind, argument = event & ((1 << _KIND_BITS) - 1), event >> _KIND_BITS
    if kind == _DEPART_SERVED:
        _serve_next(layout, rules, state, state.token_station[argument])
        _leave(layout, rules, state, argument)
    elif kind == _DEPART_DELAY:
        _leave(layout, rules, state, argument)
    elif kind == _DEPART_SHARED:
        station, version = argument & ((1 << 20) - 1), argument >> 20
        if version == state.shared_version[state.shared_row[station]]:
            _leave(layout, rules, state, _share_leave(layout, state, station))
    elif kind == _DEPART_BATCH:
        token = state.station_batch[argument]
        _commit_next(layout, state, argument)
        while token != _NIL:
            following = state.token_next[token]
            _leave(layout, rules, state, token)
            token = following
    elif kind == _READY:
        _ready(layout, rules, chunk, state, argument)
    else:
        _begin(layout, rules, state, argument)


@_entry
def start(rules: Rules, state: State) -> None:
    """Put the first events on the clock."""
    if rules.open_loop:
        state.counter[INSERTED] += 1  # the first arrival
    else:
        for client in range(len(state.client_parked)):
            _push(state, client * rules.stagger_s, _READY, client)


@_entry
def advance(layout: Layout, rules: Rules, chunk: Chunk, state: State) -> int:
    """Execute events until all is done, the next Sheet is needed, or the arrays are too small for one more event.

    Open-loop arrivals ascend already, so they stay out of the heap; each still takes its insertion number when
    the one before it happens.
    """
    end = chunk.first + len(chunk.route)
    branches = len(layout.branch_first_position)
    while True:
        row = state.counter[NEXT_ROW]
        if row >= end and not chunk.is_last:
            return NEED_SHEET
        in_use = len(state.slot_free) - state.counter[FREE]
        if state.counter[FREE] == 0 or state.counter[HEAP] + 2 * branches * (in_use + 1) + len(
            state.client_parked
        ) >= len(state.heap_time):
            return NEED_SPACE
        any_event = state.counter[HEAP] > 0
        if rules.open_loop and row < end:
            arrival_s = chunk.arrival_s[row - chunk.first]
            if not any_event or (
                arrival_s < state.heap_time[0]
                or (arrival_s == state.heap_time[0] and state.counter[ARRIVAL_INSERTED] < state.heap_inserted[0])
            ):
                state.time[NOW] = arrival_s
                slot = _take(layout, rules, chunk, state, -1)
                state.counter[ARRIVAL_INSERTED] = state.counter[INSERTED]
                state.counter[INSERTED] += 1
                _begin(layout, rules, state, slot)
                continue
        if not any_event:
            return DONE
        if state.heap_time[0] < state.time[NOW]:
            state.time[NOW] = math.nan  # the clock would run back: the caller refuses the run
            return DONE
        state.time[NOW] = state.heap_time[0]
        # Most events put one event on the clock: it takes the place of the one that happens now.
        state.counter[HOLE] = 1
        _handle(layout, rules, chunk, state, state.heap_event[0])
        if state.counter[HOLE]:
            _fill_hole(state)

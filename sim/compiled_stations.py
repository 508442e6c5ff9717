"""Clock and stations of the compiled engine: what `sim/simpy_stations.py` does, in the same order.

Queues are linked lists through the tokens, so nothing is allocated while the clock runs. A job that gives up while it
waits stays in its queue as a *husk* until the queue comes to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from models.network import Discipline
from sim.compiled_state import Floats, Ints, Rules, State
from sim.layout import Layout
from sim.outcome import Failure
from sim.warmth import cooled, refill_time_s, warmed

# Kinds of event; an event is kind + 16 x argument.
DEPART_DELAY, DEPART_SERVED, DEPART_BATCH, DEPART_SHARED, GO_ON, REFUSED, LOOK_AGAIN = range(7)
READY, ISSUE, BACKGROUND, TIME_OUT, SECOND, RETRY, ACT = range(7, 14)
KIND_BITS = 4
REASON_BITS = 3
_STATION_BITS = 24

_DELAY, _FIFO, _SHARING = int(Discipline.DELAY), int(Discipline.FIFO), int(Discipline.PROCESSOR_SHARING)
_BATCH, _RANDOM, _WEIGHTED = int(Discipline.GROUP_COMMIT), int(Discipline.RANDOM_ORDER), int(Discipline.WEIGHTED_SHARE)
_POOL, _GATE = int(Discipline.POOL), int(Discipline.GATE)
_PRIORITY = int(Discipline.PRIORITY)
_QUEUE_FULL, _STATION_DOWN = int(Failure.QUEUE_FULL), int(Failure.STATION_DOWN)
_NIL = -1

# States of a token.
IDLE, WAITING, HUSK, HOLDING = range(4)

# Places in `State.counter`.
HEAP, HOLE, INSERTED, FREE, NEXT_ROW, OUTSTANDING, PHASE, ARRIVAL_INSERTED, ENDED, COUNTED = range(10)
COUNTERS = 10
# Places in `State.time`.
NOW, CLOCK = range(2)

_Function = TypeVar("_Function", bound=Callable[..., Any])

# The kernel allocates nothing, so it needs no reference counts; they would cost ten times what it does.
_OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False}


_INNER: dict[str, Any] = _OPTIONS | {"cache": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: _Function) -> _Function:
    """Part of the kernel that is on every request's way: compiled into its caller."""
    made: _Function = njit(**_INNER, forceinline=True)(function)
    return made


def apart(function: _Function) -> _Function:
    """Part of the kernel that is rarely needed: compiled once, not into each caller."""
    made: _Function = njit(**_INNER)(function)
    return made


def entry(function: _Function) -> _Function:
    """Part of the kernel that Python calls."""
    made: _Function = njit(**_OPTIONS)(function)
    return made


@compiled
def push(state: State, time: float, kind: int, argument: int) -> None:
    """Put an event on the clock."""
    inserted = state.counter[INSERTED]
    state.counter[INSERTED] = inserted + 1
    event = kind | (argument << KIND_BITS)
    heap_time, heap_inserted, heap_event = state.heap_time, state.heap_inserted, state.heap_event
    if state.counter[HOLE]:
        state.counter[HOLE] = 0
        _sink(heap_time, heap_inserted, heap_event, state.counter[HEAP], time, inserted, event)
        return
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


@apart
def _sink(
    heap_time: Floats, heap_inserted: Ints, heap_event: Ints, size: int, time: float, inserted: int, event: int
) -> None:
    """Put an entry into the hole at the top of a heap of so many: the clock's, or a shared server's jobs."""
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


@compiled
def fill_hole(state: State) -> None:
    """Close the hole at the top of the heap with its last event."""
    state.counter[HOLE] = 0
    state.counter[HEAP] -= 1
    last = state.counter[HEAP]
    heap_time, heap_inserted, heap_event = state.heap_time, state.heap_inserted, state.heap_event
    if last > 0:
        _sink(heap_time, heap_inserted, heap_event, last, heap_time[last], heap_inserted[last], heap_event[last])


@compiled
def mixed(seed: np.uint64, stream: int, index: int) -> np.uint64:
    """As `traces.streams.mixed`."""
    value = seed + np.uint64(0x9E3779B97F4A7C15) * np.uint64(stream + 1)
    value += np.uint64(0xD1B54A32D192ED03) * np.uint64(index + 1)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


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
def _class_of(layout: Layout, rules: Rules, state: State, station: int, token: int) -> int:
    discipline = layout.stations[station].discipline
    if discipline in (_PRIORITY, _WEIGHTED):
        priority: int = layout.routes[state.slots[slot_of(rules, token)].route].priority
        return station * rules.classes + priority
    return station * rules.classes


@compiled
def _wait(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    state.tokens[token].state = WAITING
    state.stations[station].live += 1
    of = _class_of(layout, rules, state, station, token)
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


@compiled
def _dequeue(layout: Layout, rules: Rules, state: State, station: int) -> int:
    """The next of the queue, husk or not."""
    of = station * rules.classes
    discipline = layout.stations[station].discipline
    if discipline == _RANDOM:
        row, last = state.stations[station].random_row, state.classes[of].queued - 1
        chosen = np.int64(mixed(rules.seed, station, state.random[row].choices) % np.uint64(last + 1))
        state.random[row].choices += 1
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
def _next(layout: Layout, rules: Rules, state: State, station: int) -> int:
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
def drop(state: State, token: int) -> None:
    """A waiting job gives up."""
    station = state.tokens[token].station
    state.stations[station].live -= 1
    state.stations[station].waiting_s += state.time[NOW] - state.tokens[token].since
    state.tokens[token].state = HUSK


@compiled
def _started(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
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
            _give_back(layout, rules, state, token)


@apart
def _give_back(layout: Layout, rules: Rules, state: State, token: int) -> None:
    """The pool's token that was taken at this visit comes back, and goes to whoever waits."""
    station = state.tokens[token].station
    state.tokens[token].state = IDLE
    state.tries[token >> rules.position_bits].held -= 1
    if state.stations[station].live:
        _grant(rules, state, next_apart(layout, rules, state, station))
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
def _grant(rules: Rules, state: State, token: int) -> None:
    state.tokens[token].state = HOLDING
    state.tries[token >> rules.position_bits].held += 1
    go_on_soon(state, token)


@apart
def _wait_apart(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    _wait(layout, rules, state, station, token)


@apart
def _enter_pool(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    if layout.positions[position_of(layout, rules, state, token)].releases:
        first = (token >> rules.position_bits) << rules.position_bits
        for taken in range(first, token):
            if state.tokens[taken].state == HOLDING and state.tokens[taken].station == station:
                _give_back(layout, rules, state, taken)
                break
        go_on_soon(state, token)
    elif state.stations[station].busy < layout.stations[station].servers:
        settle_pool(state, station)
        state.stations[station].busy += 1
        _grant(rules, state, token)
    elif state.stations[station].live < layout.stations[station].queue_limit:
        _wait_apart(layout, rules, state, station, token)
    else:
        refuse_soon(state, token, _QUEUE_FULL)


@apart
def _enter_gate(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    if not state.stations[station].down:
        go_on_soon(state, token)
    elif layout.stations[station].poll_s:
        state.tokens[token].polls = 1
        push(state, state.time[NOW] + layout.stations[station].poll_s, LOOK_AGAIN, token)
    else:
        _wait_apart(layout, rules, state, station, token)


@compiled
def enter(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    """A visit begins."""
    discipline = layout.stations[station].discipline
    state.tokens[token].since = state.time[NOW]
    if discipline == _SHARING:
        _share_enter(layout, rules, state, station, token)
        return
    state.stations[station].visits += 1
    if discipline == _GATE:
        _enter_gate(layout, rules, state, station, token)
    elif state.stations[station].down:
        refuse_soon(state, token, _STATION_DOWN)
    elif discipline == _DELAY:
        duration = state.tokens[token].demand / state.stations[station].speed
        state.stations[station].busy_s += duration
        push(state, state.time[NOW] + duration, DEPART_DELAY, token)
        _started(layout, rules, state, station, token)
    elif discipline == _POOL:
        _enter_pool(layout, rules, state, station, token)
    elif state.stations[station].busy >= layout.stations[station].servers:
        _wait(layout, rules, state, station, token)
    elif discipline == _BATCH:
        state.stations[station].busy = 1
        state.tokens[token].next = _NIL
        _commit(layout, rules, state, station, token, 1)
    else:
        if layout.stations[station].refill_s:
            _cool(layout, state, station)
        state.stations[station].busy += 1
        state.tokens[token].demand += layout.stations[station].setup_s
        _serve(layout, rules, state, station, token)


_cooled, _refill_time_s, _warmed = compiled(cooled), compiled(refill_time_s), compiled(warmed)


@apart
def _cool(layout: Layout, state: State, station: int) -> None:
    """Bring the station's warmth up to now, before servers turn idle or busy."""
    servers = layout.stations[station].servers
    idle_s = (state.time[NOW] - state.stations[station].warm_at) * (servers - state.stations[station].busy) / servers
    state.stations[station].warmth = _cooled(state.stations[station].warmth, idle_s, layout.stations[station].cooling_s)
    state.stations[station].warm_at = state.time[NOW]


@apart
def _warm(layout: Layout, state: State, station: int, token: int) -> None:
    """Have the job fill the station's caches with its work."""
    of = layout.stations[station]
    work_s, warmth = state.tokens[token].demand, state.stations[station].warmth
    state.tokens[token].demand += _refill_time_s(warmth, work_s, of.refill_s, of.warming_s)
    state.stations[station].warmth = _warmed(warmth, work_s / of.servers, of.warming_s)


@compiled
def _serve(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    if layout.stations[station].refill_s:
        _warm(layout, state, station, token)
    if layout.stations[station].discipline == _WEIGHTED:
        of = _class_of(layout, rules, state, station, token)
        if state.classes[of].start > state.stations[station].virtual:
            state.stations[station].virtual = state.classes[of].start
        weight = layout.station_weight[station, of - station * rules.classes]
        state.classes[of].start = state.stations[station].virtual + state.tokens[token].demand / weight
    duration = state.tokens[token].demand / state.stations[station].speed
    state.stations[station].busy_s += duration
    push(state, state.time[NOW] + duration, DEPART_SERVED, token)
    _started(layout, rules, state, station, token)


@compiled
def serve_next(layout: Layout, rules: Rules, state: State, station: int) -> None:
    """A server is free."""
    if layout.stations[station].refill_s:
        _cool(layout, state, station)
    if state.stations[station].live:
        _serve(layout, rules, state, station, _next(layout, rules, state, station))
    else:
        state.stations[station].busy -= 1


@apart
def _commit(layout: Layout, rules: Rules, state: State, station: int, first: int, members: int) -> None:
    """A batch begins; its members are linked from `first` on."""
    demand = state.tokens[first].demand + (members - 1) * layout.stations[station].batch_item_s
    duration = demand / state.stations[station].speed
    state.stations[station].busy_s += duration
    push(state, state.time[NOW] + duration, DEPART_BATCH, first)
    token = first
    while token != _NIL:
        _started(layout, rules, state, station, token)
        token = state.tokens[token].next


@apart
def commit_next(layout: Layout, rules: Rules, state: State, station: int) -> None:
    """The batch server is free."""
    members = state.stations[station].live
    if members == 0:
        state.stations[station].busy = 0
        return
    limit = layout.stations[station].batch_limit
    if limit and members > limit:
        members = limit
    first = last = next_apart(layout, rules, state, station)
    for _ in range(members - 1):
        token = next_apart(layout, rules, state, station)
        state.tokens[last].next = token
        last = token
    state.tokens[last].next = _NIL
    _commit(layout, rules, state, station, first, members)


@compiled
def is_lost(state: State, token: int) -> bool:
    """Whether the station has died since the job's service began; its time after that was not spent."""
    station, life = state.tokens[token].station, state.tokens[token].life
    if life == state.stations[station].died:
        return False
    state.stations[station].busy_s -= state.time[NOW] - state.station_death_s[station, life]
    return True


@apart
def next_apart(layout: Layout, rules: Rules, state: State, station: int) -> int:
    """`_next` where it is not needed often."""
    return _next(layout, rules, state, station)


@compiled
def _share_rate(layout: Layout, state: State, station: int) -> float:
    present, servers = state.shared[state.stations[station].shared_row].present, layout.stations[station].servers
    rate: float = state.stations[station].speed * (servers / present if present > servers else 1.0)
    return rate


@compiled
def settle_shared(layout: Layout, state: State, station: int) -> None:
    """Bring a sharing station's integrals up to now."""
    row = state.stations[station].shared_row
    elapsed = state.time[NOW] - state.stations[station].last_s
    present, servers = state.shared[row].present, layout.stations[station].servers
    if present:
        state.stations[station].busy_s += min(present, servers) * elapsed
        state.stations[station].waiting_s += max(present - servers, 0) * elapsed
        state.shared[row].attained_s += elapsed * _share_rate(layout, state, station)
    state.stations[station].last_s = state.time[NOW]


@compiled
def _share_schedule(layout: Layout, state: State, station: int) -> None:
    row = state.stations[station].shared_row
    state.shared[row].version += 1
    if state.shared[row].present:
        left = max(state.shared_done[row, 0] - state.shared[row].attained_s, 0.0)
        argument = (state.shared[row].version << _STATION_BITS) | station
        push(state, state.time[NOW] + left / _share_rate(layout, state, station), DEPART_SHARED, argument)


@compiled
def _share_enter(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    state.stations[station].visits += 1
    if state.stations[station].down:
        refuse_soon(state, token, _STATION_DOWN)
        return
    settle_shared(layout, state, station)
    row = state.stations[station].shared_row
    done, order = state.shared_done[row], state.shared_order[row]
    tokens = state.shared_token[row]
    time = state.shared[row].attained_s + state.tokens[token].demand
    at = state.shared[row].present
    state.shared[row].present = at + 1
    while at > 0:
        parent = (at - 1) >> 1
        if done[parent] <= time:
            break
        done[at], order[at], tokens[at] = done[parent], order[parent], tokens[parent]
        at = parent
    done[at], order[at], tokens[at] = time, state.stations[station].visits, token
    _share_schedule(layout, state, station)
    _started(layout, rules, state, station, token)


@compiled
def _share_pop(state: State, station: int) -> int:
    """The job with least left to do; returns its token."""
    row = state.stations[station].shared_row
    done, order, tokens = state.shared_done[row], state.shared_order[row], state.shared_token[row]
    token: int = tokens[0]
    last = state.shared[row].present - 1
    state.shared[row].present = last
    _sink(done, order, tokens, last, done[last], order[last], tokens[last])
    return token


@compiled
def share_depart(layout: Layout, state: State, argument: int) -> int:
    """The token that a shared server has done; -1 where a newcomer has outdated the departure."""
    station, version = argument & ((1 << _STATION_BITS) - 1), argument >> _STATION_BITS
    row = state.stations[station].shared_row
    if version != state.shared[row].version:
        return _NIL
    settle_shared(layout, state, station)
    attained = state.shared_done[row, 0]
    token = _share_pop(state, station)
    state.shared[row].attained_s = attained if state.shared[row].present else 0.0
    _share_schedule(layout, state, station)
    return token


@apart
def die(layout: Layout, rules: Rules, state: State, station: int) -> None:
    """Refuse who waits; who is in service will find out. A gate is shut."""
    if state.stations[station].down:
        return
    state.stations[station].down = 1
    discipline = layout.stations[station].discipline
    if discipline == _GATE:
        return
    if layout.stations[station].refill_s:
        _cool(layout, state, station)
    state.stations[station].busy = 0
    state.station_death_s[station, state.stations[station].died] = state.time[NOW]
    state.stations[station].died += 1
    while state.stations[station].live:
        refuse_soon(state, next_apart(layout, rules, state, station), _STATION_DOWN)
    if discipline == _SHARING:
        row = state.stations[station].shared_row
        settle_shared(layout, state, station)
        while state.shared[row].present:
            refuse_soon(state, _share_pop(state, station), _STATION_DOWN)
        state.shared[row].attained_s = 0.0
        state.shared[row].version += 1


@apart
def revive(layout: Layout, rules: Rules, state: State, station: int) -> None:
    """The station is back; an opened gate lets pass who waits."""
    if not state.stations[station].down:
        return
    state.stations[station].down = 0
    if layout.stations[station].discipline == _GATE:
        while state.stations[station].live:
            go_on_soon(state, next_apart(layout, rules, state, station))


@apart
def set_speed(layout: Layout, state: State, station: int, speed: float) -> None:
    """From now on the station serves at `speed` times its speed."""
    if layout.stations[station].discipline == _SHARING:
        settle_shared(layout, state, station)
        state.stations[station].speed = speed
        _share_schedule(layout, state, station)
    else:
        state.stations[station].speed = speed

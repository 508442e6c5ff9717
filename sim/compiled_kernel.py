"""Requests and their attempts in the compiled engine: what `sim/simpy_engine.py` does, in the same order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from models.agenda import Kind
from models.network import Discipline
from models.policy import HEDGE_SAMPLES
from sim.compiled_attempts import cancel, close, drained, settle_pool
from sim.compiled_clock import (
    ACT,
    ARRIVAL_INSERTED,
    BACKGROUND,
    CLOCK,
    COUNTED,
    DEPART_BATCH,
    DEPART_DELAY,
    DEPART_SERVED,
    DEPART_SHARED,
    ENDED,
    FREE,
    GO_ON,
    HEAP,
    HOLE,
    INSERTED,
    ISSUE,
    KIND_BITS,
    LOOK_AGAIN,
    NEXT_ROW,
    NOW,
    OUTSTANDING,
    PHASE,
    READY,
    REASON_BITS,
    REFUSED,
    RETRY,
    SECOND,
    TIME_OUT,
    apart,
    compiled,
    entry,
    fill_hole,
    mixed,
    push,
)
from sim.compiled_groups import bind
from sim.compiled_paths import add_branch, put_path
from sim.compiled_queues import IDLE, maybe_free, position_of, refuse_soon
from sim.compiled_sharing import settle_shared, share_depart
from sim.compiled_state import Chunk, Floats, Ints, Rules, State
from sim.compiled_stations import commit_next, die, enter, is_lost, revive, serve_next, set_speed
from sim.latency_bins import BINS, LEAST_EXPONENT, SUB_BINS
from sim.layout import Layout
from sim.outcome import JITTER_STREAM, Failure

# Why `advance` returns.
DONE, NEED_SHEET, NEED_SLOTS, NEED_HEAP, CLOCK_RAN_BACK = range(5)

_NO_MEMBER, _STATION_DOWN, _TIMEOUT = int(Failure.NO_MEMBER), int(Failure.STATION_DOWN), int(Failure.TIMEOUT)
_GATE_SHUT = int(Failure.GATE_SHUT)
_SPEED, _DOWN, _UP, _SHUT, _OPEN = int(Kind.SPEED), int(Kind.DOWN), int(Kind.UP), int(Kind.SHUT), int(Kind.OPEN)
_JOIN, _LEAVE = int(Kind.JOIN), int(Kind.LEAVE)
_SHARING, _POOL = int(Discipline.PROCESSOR_SHARING), int(Discipline.POOL)
_NIL = -1
_REST, _ON, _FORK = range(3)
_ID_BITS, _LIFE_MASK = 36, (1 << 22) - 1


@compiled
def _take(layout: Layout, rules: Rules, chunk: Chunk, state: State, row: int, stream: int) -> int:
    """Copy a request's visits into a slot, so that the Sheet can go before the request does; returns the slot."""
    route = chunk.route[row]
    state.counter[FREE] -= 1
    slot: int = state.slot_free[state.counter[FREE]]
    state.slots[slot].is_free = 0
    state.slots[slot].route = route
    state.slots[slot].key = chunk.key_hash[row]
    state.slots[slot].stream = stream
    state.slots[slot].attempts = state.slots[slot].retries = state.slots[slot].pending = 0
    state.slots[slot].ended = state.slots[slot].tied = state.slots[slot].busy = 0
    state.slots[slot].life += 1
    visits = layout.route_first_position[route + 1] - layout.route_first_position[route]
    visit = chunk.first_visit[row]
    for number in range(layout.routes[route].attempts):
        attempt = (slot << rules.attempt_bits) + number
        state.tries[attempt].stage = layout.route_first_stage[route]
        state.tries[attempt].live = state.tries[attempt].held = 0
        state.tries[attempt].cancelled = state.tries[attempt].over = 0
        for group in range(rules.groups):
            state.member_of_try[attempt * rules.groups + group] = _NIL
        if rules.paths:
            state.path_of_try[attempt * 2 * rules.roles : (attempt + 1) * 2 * rules.roles] = 0.0
        token = attempt << rules.position_bits
        for i in range(visits):
            state.tokens[token + i].station = chunk.station[visit]
            state.tokens[token + i].demand = chunk.demand_s[visit]
            state.tokens[token + i].state = IDLE
            visit += 1
    return slot


@compiled
def _take_next(layout: Layout, rules: Rules, chunk: Chunk, state: State, client: int) -> int:
    request = state.counter[NEXT_ROW]
    slot = _take(layout, rules, chunk, state, request - chunk.first, _NIL)
    state.slots[slot].request = request
    state.slots[slot].client = client
    state.results[request].client = client
    state.counter[NEXT_ROW] = request + 1
    state.counter[OUTSTANDING] += 1
    return slot


@compiled
def _timer(state: State, slot: int, which: int) -> int:
    """An event's argument that is outdated when the slot is used again."""
    argument: int = ((state.slots[slot].life & _LIFE_MASK) << _ID_BITS) | which
    return argument


@compiled
def _begin(layout: Layout, rules: Rules, state: State, slot: int) -> int:
    """A request begins; returns its first attempt, which is to be forked."""
    now, route = state.time[NOW], state.slots[slot].route
    state.results[state.slots[slot].request].start_s = now
    state.routes[route].begun += 1
    second_s = layout.routes[route].second_s
    if layout.routes[route].quantile > 0 and state.bins[route].total >= HEDGE_SAMPLES:
        exponent, sub = state.bins[route].place // SUB_BINS, state.bins[route].place % SUB_BINS
        second_s = math.ldexp(0.5 + (sub + 1) / (2 * SUB_BINS), exponent + LEAST_EXPONENT)
    if second_s < math.inf:
        push(state, now + second_s, SECOND, _timer(state, slot, slot))
    return _attempt(layout, rules, state, slot)


@compiled
def _attempt(layout: Layout, rules: Rules, state: State, slot: int) -> int:
    """The next attempt begins; returns it, to be forked."""
    attempt: int = (slot << rules.attempt_bits) + state.slots[slot].attempts
    state.slots[slot].attempts += 1
    state.tries[attempt].began_s = state.time[NOW]
    if state.slots[slot].stream < 0:
        state.results[state.slots[slot].request].attempts = state.slots[slot].attempts
    timeout_s = layout.routes[state.slots[slot].route].timeout_s
    if timeout_s < math.inf:
        push(state, state.time[NOW] + timeout_s, TIME_OUT, _timer(state, slot, attempt))
    return attempt


@compiled
def _enter(layout: Layout, rules: Rules, state: State, token: int) -> None:
    """The visit at the token's position begins."""
    station = state.tokens[token].station
    if station < 0:
        station = bind(layout, rules, state, token, -1 - station)
        if station < 0:
            refuse_soon(state, token, _NO_MEMBER)
            return
        state.tokens[token].station = station
    enter(layout, rules, state, station, token)


@compiled
def _leave(layout: Layout, rules: Rules, state: State, token: int) -> int:
    """A visit is over. Returns `_ON` where the branch goes on, `_FORK` where the next stage is to be forked."""
    state.time[CLOCK] = state.time[NOW]
    attempt = token >> rules.position_bits
    slot = attempt >> rules.attempt_bits
    if not state.tries[attempt].cancelled:
        position = position_of(layout, rules, state, token)
        if not layout.positions[position].is_last:
            return _ON
        state.tries[attempt].live -= 1
        state.slots[slot].busy -= 1
        stage = state.tries[attempt].stage
        if layout.positions[position].stage == stage and not state.tries[attempt].over:
            state.tries[attempt].done += 1
            if state.tries[attempt].done == layout.stages[stage].need:
                if rules.paths:
                    add_branch(layout, rules, state, token)
                return _join(layout, rules, state, attempt)
    else:
        state.tries[attempt].live -= 1
        state.slots[slot].busy -= 1
    return _REST


@compiled
def _join(layout: Layout, rules: Rules, state: State, attempt: int) -> int:
    slot, stage = attempt >> rules.attempt_bits, state.tries[attempt].stage
    if layout.stages[stage].delivers and state.slots[slot].stream < 0:
        request = state.slots[slot].request
        if math.isnan(state.results[request].first_byte_s):
            state.results[request].first_byte_s = state.time[NOW]
    if stage + 1 < layout.route_first_stage[state.slots[slot].route + 1]:
        state.tries[attempt].stage = stage + 1
        return _FORK
    close(layout, rules, state, attempt)
    if not state.slots[slot].ended:
        _end(layout, rules, state, slot, attempt, 0)
    return _REST


@compiled
def _proceed(layout: Layout, rules: Rules, state: State, token: int, forks: int) -> None:
    """Have a token leave its visit, or fork an attempt, and enter what follows."""
    attempt, first, last = forks, 0, 0
    if token != _NIL:
        attempt = token >> rules.position_bits
        follows = _leave(layout, rules, state, token)
        if follows == _ON:
            last = 1
        elif follows == _FORK:
            forks = attempt
    if forks != _NIL:
        stage = state.tries[forks].stage
        first, last = layout.stage_first_branch[stage], layout.stage_first_branch[stage + 1]
        state.tries[forks].done = state.tries[forks].failed = 0
        state.tries[forks].forked_s = state.time[NOW]
        state.tries[forks].live += last - first
        state.slots[forks >> rules.attempt_bits].busy += last - first
    for branch in range(first, last):
        entering = token + 1
        if forks != _NIL:
            entering = (forks << rules.position_bits) + layout.branch_first_position[branch]
        _enter(layout, rules, state, entering)
    if state.tries[attempt].live == 0:
        drained(layout, rules, state, attempt)
    maybe_free(state, attempt >> rules.attempt_bits)


@apart
def _see(state: State, layout: Layout, route: int, latency_s: float) -> None:
    """`LatencyBins.add`."""
    mantissa, exponent = math.frexp(latency_s)
    place = (exponent - LEAST_EXPONENT) * SUB_BINS + int((mantissa - 0.5) * 2 * SUB_BINS)
    place = min(max(place, 0), BINS - 1) if latency_s > 0 else 0
    state.bin_count[route, place] += 1
    state.bins[route].total += 1
    if place <= state.bins[route].place:
        state.bins[route].below += 1
    wanted = layout.routes[route].quantile * state.bins[route].total
    while state.bins[route].below < wanted:
        state.bins[route].place += 1
        state.bins[route].below += state.bin_count[route, state.bins[route].place]
    while (
        state.bins[route].below - state.bin_count[route, state.bins[route].place] >= wanted
        and state.bins[route].place > 0
    ):
        state.bins[route].below -= state.bin_count[route, state.bins[route].place]
        state.bins[route].place -= 1


@compiled
def _end(layout: Layout, rules: Rules, state: State, slot: int, winner: int, why: int) -> None:
    now = state.time[NOW]
    state.time[CLOCK] = now
    state.slots[slot].ended = 1
    request, route = state.slots[slot].request, state.slots[slot].route
    if state.slots[slot].stream >= 0:
        state.background_end_s[request] = now
        return
    state.results[request].end_s = now
    state.results[request].failure = why
    first = slot << rules.attempt_bits
    state.results[request].winner = winner - first + 1 if winner >= 0 else 0
    if winner >= 0 and rules.paths:
        put_path(rules, state, request, winner)
    state.counter[OUTSTANDING] -= 1
    state.counter[ENDED] += 1
    if winner >= 0 and layout.routes[route].quantile > 0:
        _see(state, layout, route, now - state.results[request].start_s)
    if layout.routes[route].cancels:
        for other in range(first, first + state.slots[slot].attempts):
            if not state.tries[other].over:
                cancel(layout, rules, state, other)
    if not rules.open_loop:
        push(state, now, READY, state.slots[slot].client)
    while (
        state.counter[COUNTED] < len(layout.counted_at)
        and state.counter[ENDED] >= layout.counted_at[state.counter[COUNTED]]
    ):
        state.counter[COUNTED] += 1
        _act(layout, rules, state, layout.counted_action[state.counter[COUNTED] - 1])


@apart
def _give_up(layout: Layout, rules: Rules, state: State, attempt: int, why: int) -> None:
    """An attempt has failed; another is under way, or a retry is due, or the request has failed."""
    if state.tries[attempt].over:
        return
    cancel(layout, rules, state, attempt)
    slot = attempt >> rules.attempt_bits
    if state.slots[slot].ended:
        return
    route = state.slots[slot].route
    if state.slots[slot].stream < 0:
        if state.slots[slot].pending:
            return
        first = slot << rules.attempt_bits
        for other in range(first, first + state.slots[slot].attempts):
            if not state.tries[other].over:
                return
    retries = state.slots[slot].retries
    budget = layout.routes[route].retry_share * state.routes[route].begun
    if retries < layout.routes[route].retries and state.routes[route].retried + 1 <= budget:
        state.routes[route].retried += 1
        pause_s = min(layout.routes[route].backoff_s * 2.0**retries, layout.routes[route].backoff_max_s)
        if layout.routes[route].jitter > 0:
            word = mixed(rules.seed, JITTER_STREAM + retries, state.slots[slot].request) >> np.uint64(11)
            pause_s *= 1.0 - layout.routes[route].jitter * (np.float64(word) * 2.0**-53)
        state.slots[slot].retries += 1
        state.slots[slot].pending += 1
        push(state, state.time[NOW] + pause_s, RETRY, _timer(state, slot, slot))
    else:
        _end(layout, rules, state, slot, _NIL, why)


@apart
def _refuse(layout: Layout, rules: Rules, state: State, token: int, why: int) -> None:
    """The job's branch has failed; so has its attempt, when too few branches are left."""
    state.time[CLOCK] = state.time[NOW]
    attempt = token >> rules.position_bits
    slot = attempt >> rules.attempt_bits
    stage = layout.positions[position_of(layout, rules, state, token)].stage
    state.tries[attempt].live -= 1
    state.slots[slot].busy -= 1
    gives_up = False
    if stage == state.tries[attempt].stage and not state.tries[attempt].over:
        state.tries[attempt].failed += 1
        need = layout.stages[stage].need
        width = layout.stage_first_branch[stage + 1] - layout.stage_first_branch[stage]
        gives_up = state.tries[attempt].done < need and width - state.tries[attempt].failed < need
    if gives_up:
        _give_up(layout, rules, state, attempt, why)
    elif state.tries[attempt].live == 0:
        drained(layout, rules, state, attempt)
    maybe_free(state, slot)


@compiled
def _second(layout: Layout, rules: Rules, state: State, slot: int) -> int:
    """A hedged or tied request's second attempt is due; returns it, to be forked, or -1."""
    if state.slots[slot].ended or state.slots[slot].tied:
        return _NIL
    route = state.slots[slot].route
    if state.routes[route].hedged + 1 > layout.routes[route].hedge_share * state.routes[route].begun:
        return _NIL
    state.routes[route].hedged += 1
    return _attempt(layout, rules, state, slot)


@apart
def _look_again(layout: Layout, rules: Rules, state: State, token: int) -> int:
    """A job that polls a gate; returns it where it passes, else -1."""
    station = state.tokens[token].station
    shut = state.stations[station].down
    cancelled = state.tries[token >> rules.position_bits].cancelled
    if shut and state.tokens[token].polls < layout.stations[station].poll_limit and not cancelled:
        state.tokens[token].polls += 1
        push(state, state.time[NOW] + layout.stations[station].poll_s, LOOK_AGAIN, token)
        return _NIL
    state.stations[station].waiting_s += state.time[NOW] - state.tokens[token].since
    if shut:
        _refuse(layout, rules, state, token, _GATE_SHUT)
        return _NIL
    return token


@apart
def _act(layout: Layout, rules: Rules, state: State, action: int) -> None:
    """The agenda has something done."""
    kind, target = layout.actions[action].kind, layout.actions[action].target
    if kind == _SPEED:
        set_speed(layout, state, target, layout.actions[action].value)
    elif kind in (_DOWN, _SHUT):
        die(layout, rules, state, target)
    elif kind in (_UP, _OPEN):
        revive(layout, rules, state, target)
    elif kind in (_JOIN, _LEAVE):
        state.member_present[target, layout.actions[action].member] = kind == _JOIN
    elif not state.backgrounds[target].released:
        state.backgrounds[target].released = 1
        state.backgrounds[target].zero_s = state.time[NOW]
        push(state, state.time[NOW], BACKGROUND, (target << 1) | 1)


@compiled
def _ready(layout: Layout, rules: Rules, chunk: Chunk, state: State, client: int) -> int:
    """A closed-loop client wants its next request; returns the slot of one that begins at once, else -1."""
    now, row = state.time[NOW], state.counter[NEXT_ROW] - chunk.first
    if now >= rules.limit_s or row >= len(chunk.route):
        return _NIL
    if chunk.phase[row] != state.counter[PHASE]:
        state.client_parked[client] = True
        if state.counter[OUTSTANDING] == 0:
            state.counter[PHASE] = chunk.phase[row]
            for other in range(len(state.client_parked)):
                if state.client_parked[other]:
                    state.client_parked[other] = False
                    push(state, now + other * rules.stagger_s, READY, other)
        return _NIL
    think_s = chunk.think_s[row]
    if think_s > 0 and now + think_s >= rules.limit_s:
        return _NIL
    slot = _take_next(layout, rules, chunk, state, client)
    if think_s > 0:
        push(state, now + think_s, ISSUE, slot)
        return _NIL
    return slot


@apart
def _background(layout: Layout, rules: Rules, background: Chunk, streams: Ints, state: State, argument: int) -> int:
    """A background request arrives, and the stream's next is put on the clock; with bit 0, only the latter.

    Returns the attempt to be forked, or -1.
    """
    stream = argument >> 1
    first, last = streams[stream], streams[stream + 1]
    slot = _NIL
    if not argument & 1:
        row = first + state.backgrounds[stream].next
        slot = _take(layout, rules, background, state, row, stream)
        state.slots[slot].request = row
        state.backgrounds[stream].next += 1
    row = first + state.backgrounds[stream].next
    if row < last:
        push(state, state.backgrounds[stream].zero_s + background.arrival_s[row], BACKGROUND, stream << 1)
    return _attempt(layout, rules, state, slot) if slot >= 0 else _NIL


@compiled
def _handle(
    layout: Layout, rules: Rules, chunk: Chunk, background: Chunk, streams: Ints, state: State, event: int
) -> tuple[int, int, int]:
    """What an event does at its station.

    Returns the token that leaves its visit then (of a batch, the first), the attempt to be forked, and the slot of a
    request that begins; -1 for none.
    """
    kind, argument = event & ((1 << KIND_BITS) - 1), event >> KIND_BITS
    token, forks, begins = _NIL, _NIL, _NIL
    if kind in (DEPART_SERVED, DEPART_DELAY):
        if is_lost(state, argument):
            _refuse(layout, rules, state, argument, _STATION_DOWN)
        else:
            if kind == DEPART_SERVED:
                serve_next(layout, rules, state, state.tokens[argument].station)
            token = argument
    elif kind == GO_ON:
        token = argument
    elif kind == DEPART_SHARED:
        token = share_depart(layout, state, argument)
    elif kind == DEPART_BATCH:
        token = _depart_batch(layout, rules, state, argument)
    elif kind == READY:
        begins = _ready(layout, rules, chunk, state, argument)
    elif kind == ISSUE:
        begins = argument
    elif kind == LOOK_AGAIN:
        token = _look_again(layout, rules, state, argument)
    elif kind == BACKGROUND:
        forks = _background(layout, rules, background, streams, state, argument)
    else:
        forks = _handle_rare(layout, rules, state, kind, argument)
    return token, forks, begins


@apart
def _depart_batch(layout: Layout, rules: Rules, state: State, first: int) -> int:
    """Returns the first member that leaves, or -1 where the batch is lost."""
    if not is_lost(state, first):
        commit_next(layout, rules, state, state.tokens[first].station)
        return first
    token = first
    while token != _NIL:
        following = state.tokens[token].next
        _refuse(layout, rules, state, token, _STATION_DOWN)
        token = following
    return _NIL


@apart
def _handle_rare(layout: Layout, rules: Rules, state: State, kind: int, argument: int) -> int:
    """Refusals, the agenda, and timers that their slot has not outdated; returns the attempt to be forked, or -1."""
    if kind == REFUSED:
        _refuse(layout, rules, state, argument >> REASON_BITS, argument & ((1 << REASON_BITS) - 1))
        return _NIL
    if kind == ACT:
        _act(layout, rules, state, argument)
        return _NIL
    which, life = argument & ((1 << _ID_BITS) - 1), argument >> _ID_BITS
    slot = which >> rules.attempt_bits if kind == TIME_OUT else which
    forks = _NIL
    if state.slots[slot].is_free or life != state.slots[slot].life & _LIFE_MASK:
        return _NIL
    if kind == TIME_OUT:
        _give_up(layout, rules, state, which, _TIMEOUT)
        maybe_free(state, slot)
    elif kind == SECOND:
        forks = _second(layout, rules, state, slot)
    else:
        state.slots[slot].pending -= 1
        if not state.slots[slot].ended:
            forks = _attempt(layout, rules, state, slot)
    return forks


@entry
def finish(layout: Layout, state: State) -> None:
    """Bring all integrals up to the end."""
    state.time[NOW] = state.time[CLOCK]
    for station in range(len(layout.stations)):
        if layout.stations[station].discipline == _SHARING:
            settle_shared(layout, state, station)
        elif layout.stations[station].discipline == _POOL:
            settle_pool(state, station)


@entry
def start(layout: Layout, rules: Rules, state: State, timed: Ints, at_s: Floats, held: NDArray[np.bool_]) -> None:
    """Put the first events on the clock: the agenda, background work, then clients or the first arrival."""
    for i in range(len(timed)):
        push(state, at_s[i], ACT, timed[i])
    for stream in range(len(held)):
        if not held[stream]:
            push(state, 0.0, BACKGROUND, (stream << 1) | 1)
    if rules.open_loop:
        state.counter[ARRIVAL_INSERTED] = state.counter[INSERTED]
        state.counter[INSERTED] += 1
    else:
        for client in range(len(state.client_parked)):
            push(state, client * rules.stagger_s, READY, client)


@entry
def advance(layout: Layout, rules: Rules, chunk: Chunk, background: Chunk, streams: Ints, state: State) -> int:
    """Execute events until all is done, the next Sheet is needed, or the arrays are too small for one more event.

    Open-loop arrivals ascend already, so they stay out of the heap; each still takes its insertion number when
    the one before it happens.
    """
    end = chunk.first + len(chunk.route)
    width = 2 * (len(layout.branch_first_position) << rules.attempt_bits) + 8
    while True:
        row = state.counter[NEXT_ROW]
        if row >= end and not chunk.is_last:
            return NEED_SHEET
        in_use = len(state.slot_free) - state.counter[FREE]
        if state.counter[FREE] == 0:
            return NEED_SLOTS
        if state.counter[HEAP] + width * (in_use + 1) + len(state.client_parked) >= len(state.heap_time):
            return NEED_HEAP
        any_event = state.counter[HEAP] > 0
        token, forks, begins = _NIL, _NIL, _NIL
        batch = False
        arrives = rules.open_loop and row < end
        if arrives and any_event:
            arrival_s = chunk.arrival_s[row - chunk.first]
            arrives = arrival_s < state.heap_time[0] or (
                arrival_s == state.heap_time[0] and state.counter[ARRIVAL_INSERTED] < state.heap_inserted[0]
            )
        if arrives:
            state.time[NOW] = chunk.arrival_s[row - chunk.first]
            begins = _take_next(layout, rules, chunk, state, _NIL)
            state.counter[ARRIVAL_INSERTED] = state.counter[INSERTED]
            state.counter[INSERTED] += 1
        elif any_event:
            if state.heap_time[0] < state.time[NOW]:
                return CLOCK_RAN_BACK
            state.time[NOW] = state.heap_time[0]
            # Most events put one event on the clock: it takes the place of the one that happens now.
            state.counter[HOLE] = 1
            event = state.heap_event[0]
            batch = event & ((1 << KIND_BITS) - 1) == DEPART_BATCH
            token, forks, begins = _handle(layout, rules, chunk, background, streams, state, event)
        else:
            return DONE
        if begins != _NIL:
            forks = _begin(layout, rules, state, begins)
        while token != _NIL or forks != _NIL:
            following = state.tokens[token].next if batch else _NIL
            _proceed(layout, rules, state, token, forks)
            token, forks = following, _NIL
        if state.counter[HOLE]:
            fill_hole(state)

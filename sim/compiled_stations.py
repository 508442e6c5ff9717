"""Stations of the compiled engine: what `sim/simpy_stations.py` does, in the same order."""

from __future__ import annotations

from models.network import Discipline
from sim.compiled_attempts import give_back, grant, settle_pool, started
from sim.compiled_clock import DEPART_BATCH, DEPART_DELAY, DEPART_SERVED, LOOK_AGAIN, NOW, apart, compiled, push
from sim.compiled_queues import (
    HOLDING,
    class_of,
    go_on_soon,
    next_job,
    next_job_apart,
    position_of,
    refuse_soon,
    wait,
    wait_apart,
)
from sim.compiled_sharing import settle_shared, share_enter, share_pop, share_schedule
from sim.compiled_state import Rules, State
from sim.layout import Layout
from sim.outcome import Failure
from sim.warmth import cooled, refill_time_s, warmed

_DELAY, _SHARING = int(Discipline.DELAY), int(Discipline.PROCESSOR_SHARING)
_BATCH, _WEIGHTED = int(Discipline.GROUP_COMMIT), int(Discipline.WEIGHTED_SHARE)
_POOL, _GATE = int(Discipline.POOL), int(Discipline.GATE)
_QUEUE_FULL, _STATION_DOWN = int(Failure.QUEUE_FULL), int(Failure.STATION_DOWN)
_NIL = -1


@apart
def _enter_pool(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    if layout.positions[position_of(layout, rules, state, token)].releases:
        first = (token >> rules.position_bits) << rules.position_bits
        for taken in range(first, token):
            if state.tokens[taken].state == HOLDING and state.tokens[taken].station == station:
                give_back(layout, rules, state, taken)
                break
        go_on_soon(state, token)
    elif state.stations[station].busy < layout.stations[station].servers:
        settle_pool(state, station)
        state.stations[station].busy += 1
        grant(rules, state, token)
    elif state.stations[station].live < layout.stations[station].queue_limit:
        wait_apart(layout, rules, state, station, token)
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
        wait_apart(layout, rules, state, station, token)


@compiled
def enter(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
    """A visit begins."""
    discipline = layout.stations[station].discipline
    state.tokens[token].since = state.time[NOW]
    if discipline == _SHARING:
        share_enter(layout, rules, state, station, token)
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
        started(layout, rules, state, station, token)
    elif discipline == _POOL:
        _enter_pool(layout, rules, state, station, token)
    elif state.stations[station].busy >= layout.stations[station].servers:
        wait(layout, rules, state, station, token)
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
        of = class_of(layout, rules, state, station, token)
        if state.classes[of].start > state.stations[station].virtual:
            state.stations[station].virtual = state.classes[of].start
        weight = layout.station_weight[station, of - station * rules.classes]
        state.classes[of].start = state.stations[station].virtual + state.tokens[token].demand / weight
    duration = state.tokens[token].demand / state.stations[station].speed
    state.stations[station].busy_s += duration
    push(state, state.time[NOW] + duration, DEPART_SERVED, token)
    started(layout, rules, state, station, token)


@compiled
def serve_next(layout: Layout, rules: Rules, state: State, station: int) -> None:
    """A server is free."""
    if layout.stations[station].refill_s:
        _cool(layout, state, station)
    if state.stations[station].live:
        _serve(layout, rules, state, station, next_job(layout, rules, state, station))
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
        started(layout, rules, state, station, token)
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
    first = last = next_job_apart(layout, rules, state, station)
    for _ in range(members - 1):
        token = next_job_apart(layout, rules, state, station)
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
        refuse_soon(state, next_job_apart(layout, rules, state, station), _STATION_DOWN)
    if discipline == _SHARING:
        row = state.stations[station].shared_row
        settle_shared(layout, state, station)
        while state.shared[row].present:
            refuse_soon(state, share_pop(state, station), _STATION_DOWN)
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
            go_on_soon(state, next_job_apart(layout, rules, state, station))


@apart
def set_speed(layout: Layout, state: State, station: int, speed: float) -> None:
    """From now on the station serves at `speed` times its speed."""
    if layout.stations[station].discipline == _SHARING:
        settle_shared(layout, state, station)
        state.stations[station].speed = speed
        share_schedule(layout, state, station)
    else:
        state.stations[station].speed = speed

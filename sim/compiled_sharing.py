"""Shared servers of the compiled engine, in virtual time: a heap of the attained service at which jobs are done."""

from __future__ import annotations

from sim.compiled_attempts import started
from sim.compiled_clock import DEPART_SHARED, NOW, compiled, push, sink
from sim.compiled_queues import refuse_soon
from sim.compiled_state import Rules, State
from sim.layout import Layout
from sim.outcome import Failure

_STATION_DOWN = int(Failure.STATION_DOWN)
_STATION_BITS = 24
_NIL = -1


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
def share_schedule(layout: Layout, state: State, station: int) -> None:
    row = state.stations[station].shared_row
    state.shared[row].version += 1
    if state.shared[row].present:
        left = max(state.shared_done[row, 0] - state.shared[row].attained_s, 0.0)
        argument = (state.shared[row].version << _STATION_BITS) | station
        push(state, state.time[NOW] + left / _share_rate(layout, state, station), DEPART_SHARED, argument)


@compiled
def share_enter(layout: Layout, rules: Rules, state: State, station: int, token: int) -> None:
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
    share_schedule(layout, state, station)
    started(layout, rules, state, station, token)


@compiled
def share_pop(state: State, station: int) -> int:
    """The job with least left to do; returns its token."""
    row = state.stations[station].shared_row
    done, order, tokens = state.shared_done[row], state.shared_order[row], state.shared_token[row]
    token: int = tokens[0]
    last = state.shared[row].present - 1
    state.shared[row].present = last
    sink(done, order, tokens, last, done[last], order[last], tokens[last])
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
    token = share_pop(state, station)
    state.shared[row].attained_s = attained if state.shared[row].present else 0.0
    share_schedule(layout, state, station)
    return token

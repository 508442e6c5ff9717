"""The compiled engine: feeds Sheets to the kernel and makes room for it. The default engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.network import Discipline, Network
from models.sheet import Sheet
from sim import compiled_kernel as kernel
from sim.compiled_state import Chunk, Rules, State
from sim.layout import Layout, layout_of
from sim.outcome import CHUNK, InvariantError, Outcome, Program

_FIRST_SLOTS = 64


def _rules(program: Program) -> Rules:
    network = program.network
    pacing = network.pacing
    widest = max(len(route.visits) for route in network.routes)
    limit_s = math.inf if pacing.duration_s is None else pacing.duration_s
    return Rules(
        pacing.loop == "open", pacing.stagger_s, limit_s, max(widest - 1, 1).bit_length(), np.uint64(program.seed)
    )


def _empty_state(network: Network, rules: Rules) -> State:
    stations = len(network.stations)
    shared_row, shared = _numbered(network, Discipline.PROCESSOR_SHARING)
    random_row, random = _numbered(network, Discipline.RANDOM_ORDER)

    def ints(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, np.int64)

    def floats(*shape: int) -> NDArray[np.float64]:
        return np.zeros(shape, np.float64)

    state = State(
        counter=ints(8), time=floats(2),
        heap_time=floats(0), heap_inserted=ints(0), heap_event=ints(0),
        slot_free=ints(0), slot_request=ints(0), slot_route=ints(0), slot_stage=ints(0), slot_done=ints(0),
        slot_left=ints(0), slot_client=ints(0),
        token_station=ints(0), token_demand=floats(0), token_since=floats(0), token_next=ints(0),
        station_busy=ints(stations), station_head=ints(stations), station_tail=ints(stations),
        station_waiting=ints(stations), station_batch=ints(stations), station_visits=ints(stations),
        station_busy_s=floats(stations), station_waiting_s=floats(stations),
        shared_row=shared_row,
        shared_done=floats(shared, 0), shared_order=ints(shared, 0), shared_token=ints(shared, 0),
        shared_present=ints(shared), shared_attained_s=floats(shared), shared_last_s=floats(shared),
        shared_version=ints(shared),
        random_row=random_row, random_token=ints(random, 0), random_choices=ints(random),
        client_parked=np.zeros(0 if rules.open_loop else network.pacing.clients, np.bool_),
        result_start_s=floats(0), result_first_byte_s=floats(0), result_end_s=floats(0),
        result_client=np.zeros(0, np.int32),
    )  # fmt: skip
    return _with_space(state, rules, network)


def _numbered(network: Network, discipline: Discipline) -> tuple[NDArray[np.int64], int]:
    """A number for each station of a discipline, and how many there are."""
    has = [s.discipline is discipline for s in network.stations]
    return np.cumsum([0, *has])[:-1].astype(np.int64), sum(has)


def _wider(array: NDArray[Any], length: int, fill: float = 0) -> NDArray[Any]:
    """The array, longer along its last axis."""
    wide = np.full((*array.shape[:-1], length), fill, array.dtype)
    wide[..., : array.shape[-1]] = array
    return wide


def _with_space(state: State, rules: Rules, network: Network) -> State:
    """The state with twice the slots, and a heap to go with them."""
    old = len(state.slot_free)
    slots = max(2 * old, _FIRST_SLOTS)
    branches = sum(len(stage.branches) for route in network.routes for stage in route.stages)
    clients = len(state.client_parked)
    lengths = {
        "slot": slots,
        "token": slots << rules.position_bits,
        "heap": 4 * branches * (slots + 2) + 2 * clients + 64,
        "shared": slots * branches,
        "random": slots * branches,
    }
    grown: dict[str, Any] = {}
    for name, array in state._asdict().items():
        group = name.split("_")[0]
        if group in ("slot", "token", "heap") or array.ndim == 2:
            grown[name] = _wider(array, lengths[group])
    state = state._replace(**grown)
    free = int(state.counter[kernel.FREE])
    state.slot_free[free : free + slots - old] = np.arange(old, slots)
    state.counter[kernel.FREE] += slots - old
    return state


def _with_results(state: State, requests: int) -> State:
    """The state with room for the results of so many requests."""
    if requests <= len(state.result_end_s):
        return state
    length = max(requests, 2 * len(state.result_end_s))
    return state._replace(
        result_start_s=_wider(state.result_start_s, length, math.nan),
        result_first_byte_s=_wider(state.result_first_byte_s, length, math.nan),
        result_end_s=_wider(state.result_end_s, length, math.nan),
        result_client=_wider(state.result_client, length),
    )


def _chunk(sheet: Sheet) -> Chunk:
    return Chunk(
        sheet.first, len(sheet) < CHUNK, sheet.route, sheet.arrival_s, sheet.think_s, sheet.phase, sheet.first_visit,
        sheet.station, sheet.demand_s,
    )  # fmt: skip


def _idle_with_queue(layout: Layout, state: State) -> int:
    queueing = layout.station_discipline != Discipline.DELAY
    return int((queueing & (state.station_waiting > 0) & (state.station_busy < layout.station_servers)).sum())


def run(program: Program, progress: Callable[[int], None] | None = None) -> Outcome:
    """Execute a program; `progress` is told how many requests have begun.

    Raises:
        InvariantError: the engine broke one of its laws.
    """
    network = program.network
    layout, rules = layout_of(network), _rules(program)
    state = _empty_state(network, rules)
    kernel.start(rules, state)
    idle_with_queue = 0
    reason = kernel.NEED_SHEET
    while reason != kernel.DONE:
        if reason == kernel.NEED_SHEET:
            begun = int(state.counter[kernel.NEXT_ROW])
            idle_with_queue += _idle_with_queue(layout, state)
            if progress:
                progress(begun)
            chunk = _chunk(program.draw(begun, CHUNK))
            state = _with_results(state, begun + len(chunk.route))
        else:
            state = _with_space(state, rules, network)
        reason = kernel.advance(layout, rules, chunk, state)
    if math.isnan(state.time[kernel.NOW]):
        raise InvariantError("the clock ran back")
    begun = int(state.counter[kernel.NEXT_ROW])
    outcome = Outcome(
        state.result_start_s[:begun], state.result_first_byte_s[:begun], state.result_end_s[:begun],
        state.result_client[:begun], state.station_visits, state.station_busy_s, state.station_waiting_s,
        float(state.time[kernel.CLOCK]), int(state.counter[kernel.OUTSTANDING]), idle_with_queue,
    )  # fmt: skip
    outcome.check(network)
    return outcome

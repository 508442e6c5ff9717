"""The arrays that the compiled kernel works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Chunk(NamedTuple):
    """A Sheet, as the kernel reads it; `is_last` when no request follows."""

    first: int
    is_last: bool
    route: NDArray[np.int32]
    arrival_s: Floats
    think_s: Floats
    phase: NDArray[np.int32]
    first_visit: Ints
    station: NDArray[np.int32]
    demand_s: Floats


class Rules(NamedTuple):
    """A Pacing, as the kernel reads it."""

    open_loop: bool
    stagger_s: float
    limit_s: float
    position_bits: int
    seed: np.uint64


class State(NamedTuple):
    """All that changes while the clock runs. Arrays are indexed by what their name begins with."""

    counter: Ints
    time: Floats
    heap_time: Floats
    heap_inserted: Ints
    heap_event: Ints
    slot_free: Ints  # a stack
    slot_request: Ints
    slot_route: Ints
    slot_stage: Ints
    slot_done: Ints  # branches of the stage
    slot_left: Ints  # branches of all stages, stragglers too
    slot_client: Ints
    token_station: Ints
    token_demand: Floats
    token_since: Floats
    token_next: Ints
    station_busy: Ints
    station_head: Ints
    station_tail: Ints
    station_waiting: Ints
    station_batch: Ints  # first token of the batch in service
    station_visits: Ints
    station_busy_s: Floats
    station_waiting_s: Floats
    shared_row: Ints  # of each station in the shared_ arrays
    shared_done: Floats  # heap of attained service at departure, shape (sharing stations, tokens at most)
    shared_order: Ints
    shared_token: Ints
    shared_present: Ints
    shared_attained_s: Floats
    shared_last_s: Floats
    shared_version: Ints
    random_row: Ints  # of each station in the random_ arrays
    random_token: Ints  # the waiting jobs, shape (random-order stations, tokens at most)
    random_choices: Ints
    client_parked: NDArray[np.bool_]
    result_start_s: Floats
    result_first_byte_s: Floats
    result_end_s: Floats
    result_client: NDArray[np.int32]

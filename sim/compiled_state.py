"""The arrays that the compiled engine works on. Arrays of records keep a thing's figures together, and the kernel's
signature short: Numba's compile time grows with the number of arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Records = Any  # a structured array: rec[i].field


def record(ints: str, floats: str = "", **others: Any) -> np.dtype[np.void]:
    """A record with these fields."""
    fields = [(name, np.int64) for name in ints.split()] + [(name, np.float64) for name in floats.split()]
    return np.dtype([*fields, *others.items()])


SLOT = record(
    # is_free: not in use; stream: of background work, -1 for a client's request; pending: retries that are due;
    # busy: branches of all tries that live, and husks in queues; life: how often it has been used: outdates timers
    "is_free request route client stream attempts retries pending ended tied busy life",
    key=np.uint64,
)
TRY = record("stage done failed live held cancelled over", "began_s forked_s")
# life: how often its station had died when its service began; since: the visit began; began: its service did
TOKEN = record("station next state life polls", "demand since began")
# live: jobs that wait, husks not counted; shared_row, random_row: its row in those arrays;
# last_s: up to when the integrals of sharing stations and pools are kept; warm_at: up to when the warmth is
STATION = record(
    "busy live down died visits shared_row random_row", "speed busy_s waiting_s last_s virtual warmth warm_at"
)
CLASS = record("head tail queued", "start")  # queued: husks counted
SHARED = record("present version", "attained_s")
RANDOM = record("choices")
GROUP = record("picks draws")
ROUTE = record("begun retried hedged")
BINS = record("total place below")
BACKGROUND = record("released next", "zero_s")
RESULT = record("", "start_s first_byte_s end_s", client=np.int32, failure=np.int16, attempts=np.int16, winner=np.int16)


class Chunk(NamedTuple):
    """A Sheet, as the kernel reads it; `is_last` when no request follows."""

    first: int
    is_last: bool
    route: NDArray[np.int32]
    arrival_s: Floats
    think_s: Floats
    phase: NDArray[np.int32]
    key_hash: NDArray[np.uint64]
    first_visit: Ints
    station: NDArray[np.int32]
    demand_s: Floats


class Rules(NamedTuple):
    """What stays the same: the pacing, the sizes that names are made of, and whether rare features occur at all."""

    open_loop: bool
    stagger_s: float
    limit_s: float
    position_bits: int
    attempt_bits: int
    classes: int
    groups: int
    roles: int
    tied: bool
    paths: bool
    seed: np.uint64


class State(NamedTuple):
    """All that changes while the clock runs.

    A *slot* is a request in flight, a *try* one of its attempts (slot and number in one integer), a *token* a visit of
    a try (try and position in one integer).
    """

    counter: Ints
    time: Floats
    heap_time: Floats
    heap_inserted: Ints
    heap_event: Ints
    slot_free: Ints  # a stack
    slots: Records
    tries: Records
    member_of_try: Ints  # shape (tries x groups,); -1: not bound
    path_of_try: Floats  # waiting and service by role, shape (tries x 2 x roles,); empty where not wanted
    tokens: Records
    stations: Records
    station_death_s: Floats  # shape (stations, deaths at most)
    classes: Records  # shape (stations x classes,)
    shared: Records  # a row for each sharing station
    shared_done: Floats  # heap of attained service at departure, shape (sharing stations, tokens at most)
    shared_order: Ints
    shared_token: Ints
    random: Records  # a row for each random-order station
    random_token: Ints  # the queue, shape (random-order stations, tokens at most)
    member_present: Ints  # shape (groups, members or stations at most)
    member_outstanding: Ints  # by a member's index, or by its first station where members depend on the key
    groups: Records
    routes: Records
    bins: Records  # by route
    bin_count: Ints  # shape (routes, bins)
    backgrounds: Records
    client_parked: NDArray[np.bool_]
    results: Records
    path_s: Floats  # shape (results, 1 + 2 x roles)
    background_end_s: Floats

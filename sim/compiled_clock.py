"""The clock of the compiled engine: its events and their heap; and how parts of the kernel are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit

from sim.compiled_state import Floats, Ints, State

# Kinds of event; an event is kind + 16 x argument.
DEPART_DELAY, DEPART_SERVED, DEPART_BATCH, DEPART_SHARED, GO_ON, REFUSED, LOOK_AGAIN = range(7)
READY, ISSUE, BACKGROUND, TIME_OUT, SECOND, RETRY, ACT = range(7, 14)
KIND_BITS = 4
REASON_BITS = 3

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
        sink(heap_time, heap_inserted, heap_event, state.counter[HEAP], time, inserted, event)
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
def sink(
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
        sink(heap_time, heap_inserted, heap_event, last, heap_time[last], heap_inserted[last], heap_event[last])


@compiled
def mixed(seed: np.uint64, stream: int, index: int) -> np.uint64:
    """As `traces.streams.mixed`."""
    value = seed + np.uint64(0x9E3779B97F4A7C15) * np.uint64(stream + 1)
    value += np.uint64(0xD1B54A32D192ED03) * np.uint64(index + 1)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

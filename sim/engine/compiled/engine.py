"""The compiled engine, the default: passes a program and its Sheets to the kernel, and returns the results."""

from __future__ import annotations

import ctypes
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from models.network.demand_sheet import Sheet
from models.network.descendants import Descendants, no_descendants
from models.network.descendants import joined as joined_descendants
from sim.engine.compiled.layout import arrays_of
from sim.engine.compiled.library import library
from sim.engine.compiled.records import BACKGROUND, LOOP, PROGRAM, RESULTS, SHEET, InputFault, KernelStatus, packed
from sim.engine.outcome import Floats, InvariantError, Kept, Outcome, Program, RequestOutcomes, Taking

cancelled = threading.Event()
"""While it is set, runs in threads other than the main thread end: Ctrl-C reaches the main thread only."""


class CancelledError(Exception):
    """The run was cancelled."""


class _Spent(threading.local):
    kernel_s = 0.0


_spent = _Spent()


def kernel_s() -> float:
    """Return the CPU time of this thread in the kernel, where it does not hold Python's lock."""
    return _spent.kernel_s


_SHEET_COLUMNS = ("route", "arrival_s", "think_s", "phase", "key_hash", "first_visit", "station", "demand_s")


_SHEETS = 2
"""Least number of sheets whose results are taken: more at a time cost less each, and leave the CPU's caches."""


class _Kernel:
    """A program in the kernel while it runs; owns the memory whose addresses the kernel has."""

    def __init__(self, program: Program):
        network = program.network
        self._functions = library()
        self._background, backgrounds = _background(program)
        loops = _loops(program)
        self._arrays = arrays_of(network) | {"backgrounds": backgrounds, "loops": np.array(loops, LOOP.dtype)}
        self._sheets: dict[int, tuple[Sheet, NDArray[Any]]] = {}  # of each source, which the kernel reads
        self._program = packed(
            PROGRAM,
            open_loop=program.pacing.loop == "open",
            clients=sum(loop[1] - loop[0] for loop in loops),
            classes=network.classes,
            roles=len(network.roles),
            paths=program.paths,
            tied=any(route.policy.tied_after_s < math.inf for route in network.routes),
            early=any(visit.early for route in network.routes for visit in route.visits),
            position_bits=(max(len(route.visits) for route in network.routes) - 1).bit_length(),
            attempt_bits=(max(route.policy.attempts for route in network.routes) - 1).bit_length(),
            seed=program.seed,
            **self._arrays,
        )
        self._background_sheet = _sheet(self._background, is_last=True)
        self._path_shape = (int(program.paths), 1 + 2 * len(network.roles))
        self._stations = len(network.stations)
        self._engine: int | None = None
        self._least_taken = _SHEETS * program.chunk
        self._taken = self._unended = 0  # requests whose results have been passed on, and those without an end

    def __enter__(self) -> Self:
        program, background = self._program.ctypes.data, self._background_sheet.ctypes.data
        at = ctypes.c_int64()
        _refuse(self._functions.kernel_check(program, background, ctypes.byref(at)), at.value)
        self._engine = self._functions.kernel_create(program, background)
        if self._engine is None:
            raise MemoryError("the simulation")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._functions.kernel_destroy(self._engine)

    @property
    def begun(self) -> int:
        """The number of requests begun."""
        return int(self._functions.kernel_begun(self._engine))

    @property
    def wanted(self) -> int:
        """The source that needs a sheet."""
        return int(self._functions.kernel_wanted(self._engine))

    def advance(self, sheet: Sheet, is_last: bool) -> KernelStatus:
        """Execute the next sheet of the source that needs one.

        Raises:
            TypeError, ValueError: the sheet is invalid.
        """
        record = _sheet(sheet, is_last)
        at = ctypes.c_int64()
        fault = self._functions.kernel_check_sheet(self._engine, record.ctypes.data, ctypes.byref(at))
        _refuse(fault, at.value + sheet.first)
        self._sheets[self.wanted] = sheet, record
        begun_s = time.thread_time()
        status = self._functions.kernel_advance(self._engine, record.ctypes.data)
        _spent.kernel_s += time.thread_time() - begun_s
        return KernelStatus(status)

    def give(self, taking: Taking) -> None:
        """Pass on the results of the requests before the first one in flight, if they are some sheets."""
        if (ready := int(self._functions.kernel_ready(self._engine))) >= self._least_taken:
            self._pass_on(ready, _AtEnd.of(0, 0), taking)

    def outcome(self, taking: Taking) -> Outcome:
        """Pass on the results that are left, after the last sheet, and return the outcome without any."""
        self._functions.kernel_finish(self._engine)
        begun, at_end = self.begun, _AtEnd.of(len(self._background.route), self._stations)
        run = self._pass_on(begun - self._taken, at_end, taking)
        figures = {name: run[name].item() for name in ("clock_s", "in_flight", "idle_with_queue")}
        return Outcome(**vars(self._empty(0)), **vars(at_end), **figures, begun=begun, unended=self._unended)

    def _pass_on(self, requests: int, at_end: _AtEnd, taking: Taking) -> NDArray[Any]:
        """Take the results of the next requests; returns the record, which has the figures of the run."""
        chunk = self._empty(requests)
        results = packed(RESULTS, clock_s=0.0, in_flight=0, idle_with_queue=0, **vars(chunk), **vars(at_end))
        self._functions.kernel_take(self._engine, results.ctypes.data)
        self._taken += requests
        self._unended += requests - int(chunk.ended.sum())
        chunk.require(results["clock_s"].item())
        taking(chunk)
        return results

    def _empty(self, requests: int) -> RequestOutcomes:
        paths, width = self._path_shape
        return RequestOutcomes(
            np.empty(requests), np.empty(requests), np.empty(requests), np.empty(requests, np.int32),
            np.empty(requests, np.int8), np.empty(requests, np.int16), np.empty(requests, np.int16),
            np.empty((requests * paths, width)),
        )  # fmt: skip


@dataclass(frozen=True)
class _AtEnd:
    """The results of background operations and stations, as in `Outcome`."""

    background_end_s: Floats
    visits: NDArray[np.int64]
    busy_s: Floats
    waiting_s: Floats
    held: NDArray[np.int64]
    waiting: NDArray[np.int64]

    @staticmethod
    def of(background: int, stations: int) -> _AtEnd:
        return _AtEnd(
            np.empty(background), np.empty(stations, np.int64), np.empty(stations), np.empty(stations),
            np.empty(stations, np.int64), np.empty(stations, np.int64),
        )  # fmt: skip


_FAULTS = {
    InputFault.COUNTS: "the network has too many stations, classes, visits or attempts, or its pacing is out of range",
    InputFault.SIZES: "arrays that must have equal lengths differ in length",
    InputFault.STATION: "station {at} has a value out of range",
    InputFault.ROUTE: "route {at} has a value out of range",
    InputFault.STAGE: "a stage of route {at} has branches that do not exist, or needs more branches than it has",
    InputFault.POSITION: "the visits of route {at} do not match its stages",
    InputFault.GROUP: "group {at} names a station that does not exist",
    InputFault.ACTION: "action {at} has a target that does not exist, or a value out of range",
    InputFault.BACKGROUND: "background load {at} has an operation that is out of range, or a policy",
    InputFault.SHEET_ROUTE: "request {at} has a route that does not exist",
    InputFault.SHEET_ARRIVAL: (
        "request {at} has an arrival time that is not finite, or before that of the previous request"
    ),
    InputFault.SHEET_THINK: "request {at} has a think time that is negative or not finite",
    InputFault.SHEET_PHASE: "request {at} has an earlier phase than the previous request",
    InputFault.SHEET_VISITS: "request {at} has visits that the sheet does not contain",
    InputFault.SHEET_STATION: "request {at} visits a station, or a group's position, that does not exist",
    InputFault.SHEET_DEMAND: "request {at} has a service demand that is negative or not finite",
    InputFault.SHEET_FIRST: "the sheet does not begin with the next request",
    InputFault.DESCENDANTS: "request {at} has sub-requests that do not exist, or that are out of range",
}


def _refuse(fault: int, at: int) -> None:
    if fault != InputFault.NONE:
        raise ValueError(_FAULTS[InputFault(fault)].format(at=at))


def _sheet(sheet: Sheet, is_last: bool) -> NDArray[Any]:
    columns = {name: getattr(sheet, name) for name in _SHEET_COLUMNS}
    found = _NO_DESCENDANTS if sheet.descendants is None else _descendants(sheet.descendants)
    return packed(SHEET, first=sheet.first, is_last=is_last, **columns, **found)


def _descendants(found: Descendants) -> dict[str, NDArray[Any]]:
    return {
        "first_descendant": found.first, "first_family": found.first_family, "first_child": found.first_child,
        "child_route": found.route, "child_key_hash": found.key_hash, "child_identity": found.identity,
        "child_first_visit": found.visits.first, "child_station": found.visits.station,
        "child_demand_s": found.visits.demand_s,
    }  # fmt: skip


_NO_DESCENDANTS = _descendants(no_descendants(0))


def _loops(program: Program) -> list[tuple[float, ...]]:
    """Return the rows of the closed loops, whose clients are numbered one loop after the other."""
    rows: list[tuple[float, ...]] = []
    end = 0
    for _, pacing in program.loops:
        if pacing.loop == "closed":
            limit_s = math.inf if pacing.duration_s is None else pacing.duration_s
            rows.append((end, end + pacing.clients, pacing.stagger_s, limit_s))
            end += pacing.clients
    return rows


def _background(program: Program) -> tuple[Sheet, NDArray[Any]]:
    """Return all background loads in one sheet, and the rows of each."""
    sheets = program.background
    ends = np.cumsum([len(sheet) for sheet in sheets]).tolist()
    visits = np.cumsum([0, *(len(sheet.station) for sheet in sheets)])
    backgrounds = np.array([(end - len(s), end) for s, end in zip(sheets, ends, strict=True)], BACKGROUND.dtype)

    def joined(name: str, dtype: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(sheet, name) for sheet in sheets)], dtype=dtype)

    first_visit = [sheet.first_visit + at for sheet, at in zip(sheets, visits, strict=False)]
    sheet = Sheet(
        0, joined("route", np.int32), joined("arrival_s", np.float64), joined("think_s", np.float64),
        joined("phase", np.int32), joined("key_hash", np.uint64),
        np.concatenate([np.empty(0, np.int64), *first_visit]), joined("station", np.int32),
        joined("demand_s", np.float64), joined_descendants([(len(s), s.descendants) for s in sheets]),
    )  # fmt: skip
    return sheet, backgrounds


def run(program: Program, progress: Callable[[int], None] | None = None, taking: Taking | None = None) -> Outcome:
    """Execute a program.

    Args:
        program: the network and its requests.
        progress: called with the number of requests begun.
        taking: called with the results of requests as these end, in order of request index; None: all of them are in
            the outcome.

    Raises:
        InvariantError: the engine violated one of its invariants.
        NoLibraryError: the kernel's library is missing.
        ValueError, TypeError: the program or one of its sheets is invalid, or has a discipline that only the reference
            engine has.
        MemoryError: there is not enough memory for the requests in flight.
        CancelledError: `cancelled` was set.
    """
    kept = Kept()
    with _Kernel(program) as kernel:
        status, drawn = KernelStatus.NEED_SHEET, [0] * len(program.loops)
        while status is KernelStatus.NEED_SHEET:
            if cancelled.is_set() and threading.current_thread() is not threading.main_thread():
                raise CancelledError
            if progress:
                progress(kernel.begun)
            source = kernel.wanted
            sheet = program.loops[source][0](drawn[source], program.chunk)
            drawn[source] += len(sheet)
            status = kernel.advance(sheet, is_last=len(sheet) < program.chunk)
            if status is KernelStatus.NEED_SHEET:
                kernel.give(taking or kept)
        if status is KernelStatus.CLOCK_RAN_BACK:
            raise InvariantError("the clock ran backwards")
        if status is KernelStatus.OUT_OF_MEMORY:
            raise MemoryError("the simulation")
        outcome = kernel.outcome(taking or kept)
    outcome.require_stations(program.network)
    return outcome if taking else replace(outcome, **vars(kept.outcomes()))

"""The compiled engine: feeds Sheets to the kernel and makes room for it. The default engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.agenda import Kind
from models.network import Discipline, Network
from models.sheet import Sheet
from sim import compiled_state as states
from sim.compiled_state import Chunk, Rules, State
from sim.latency_bins import BINS
from sim.layout import Layout, class_count, layout_of
from sim.outcome import CHUNK, InvariantError, Outcome, Program
from traces.compiled_cache import drop_stale

_FOLDER = Path(__file__).parent

drop_stale(
    _FOLDER,
    "compiled_*.nb?",
    [
        *_FOLDER.glob("compiled_*.py"),
        *(_FOLDER / f"{name}.py" for name in ("layout", "latency_bins", "outcome", "warmth")),
        *(_FOLDER.parent / "models" / f"{name}.py" for name in ("agenda", "network", "policy", "sheet")),
    ],
)

from sim import compiled_clock as clock  # noqa: E402
from sim import compiled_kernel as kernel  # noqa: E402

_FIRST_SLOTS = 64


def is_compiled() -> bool:
    """Whether the kernel has been compiled on this machine before; else the first run takes about a minute."""
    return any((_FOLDER / "__pycache__").glob("compiled_kernel.advance*.nbc"))


def _rules(program: Program) -> Rules:
    network = program.network
    pacing = network.pacing
    widest = max(len(route.visits) for route in network.routes)
    attempts = max(route.policy.attempts for route in network.routes)
    return Rules(
        open_loop=pacing.loop == "open",
        stagger_s=pacing.stagger_s,
        limit_s=math.inf if pacing.duration_s is None else pacing.duration_s,
        position_bits=(widest - 1).bit_length(),
        attempt_bits=(attempts - 1).bit_length(),
        classes=class_count(network),
        groups=len(network.groups),
        roles=len(network.roles),
        paths=program.paths,
        tied=any(route.policy.tied_after_s < math.inf for route in network.routes),
        seed=np.uint64(program.seed),
    )


def _empty_state(program: Program, layout: Layout, rules: Rules) -> State:
    """The state before anything has happened; what depends on the number of slots has length 0."""
    network = program.network
    count, routes = len(network.stations), len(network.routes)
    deaths = 1 + sum(action.kind is Kind.DOWN for action in network.agenda)
    binned = routes if layout.routes["quantile"].any() else 0
    names = max([count if g.table is not None else len(g.members) for g in network.groups], default=0)
    background = sum(len(stream.sheet) for stream in program.background)
    stations = np.zeros(count, states.STATION)
    stations["speed"] = stations["warmth"] = 1.0
    stations["shared_row"], shared = _numbered(network, Discipline.PROCESSOR_SHARING)
    stations["random_row"], random = _numbered(network, Discipline.RANDOM_ORDER)

    def ints(*shape: int) -> NDArray[np.int64]:
        return np.zeros(shape, np.int64)

    def floats(*shape: int) -> NDArray[np.float64]:
        return np.zeros(shape, np.float64)

    state = State(
        counter=ints(clock.COUNTERS), time=floats(2),
        heap_time=floats(0), heap_inserted=ints(0), heap_event=ints(0),
        slot_free=ints(0), slots=np.zeros(0, states.SLOT), tries=np.zeros(0, states.TRY), member_of_try=ints(0),
        path_of_try=floats(0), path_s=floats(0, 1 + 2 * rules.roles),
        tokens=np.zeros(0, states.TOKEN), stations=stations, station_death_s=floats(count, deaths),
        classes=np.zeros(count * rules.classes, states.CLASS),
        shared=np.zeros(shared, states.SHARED), shared_done=floats(shared, 0), shared_order=ints(shared, 0),
        shared_token=ints(shared, 0), random=np.zeros(random, states.RANDOM), random_token=ints(random, 0),
        member_present=1 + ints(rules.groups, names), member_outstanding=ints(rules.groups, names),
        groups=np.zeros(rules.groups, states.GROUP), routes=np.zeros(routes, states.ROUTE),
        bins=np.zeros(binned, states.BINS), bin_count=ints(binned, BINS),
        backgrounds=np.zeros(len(program.background), states.BACKGROUND),
        client_parked=np.zeros(0 if rules.open_loop else network.pacing.clients, np.bool_),
        results=np.zeros(0, states.RESULT), background_end_s=floats(background) + math.nan,
    )  # fmt: skip
    return _with_slots(state, rules, layout)


def _numbered(network: Network, discipline: Discipline) -> tuple[NDArray[np.int64], int]:
    """A number for each station of a discipline, and how many there are."""
    has = [s.discipline is discipline for s in network.stations]
    return np.cumsum([0, *has])[:-1].astype(np.int64), sum(has)


def _wider(array: NDArray[Any], length: int) -> NDArray[Any]:
    """The array, longer along its last axis."""
    wide = np.zeros((*array.shape[:-1], length), array.dtype)
    wide[..., : array.shape[-1]] = array
    return wide


def _with_slots(state: State, rules: Rules, layout: Layout) -> State:
    """The state with twice the slots."""
    old = len(state.slot_free)
    slots = max(2 * old, _FIRST_SLOTS)
    tries = slots << rules.attempt_bits
    in_queues = tries * len(layout.branch_first_position)
    state = state._replace(
        slot_free=_wider(state.slot_free, slots),
        slots=_wider(state.slots, slots),
        tries=_wider(state.tries, tries),
        member_of_try=_wider(state.member_of_try, tries * rules.groups),
        path_of_try=_wider(state.path_of_try, tries * 2 * rules.roles * rules.paths),
        tokens=_wider(state.tokens, tries << rules.position_bits),
        shared_done=_wider(state.shared_done, in_queues),
        shared_order=_wider(state.shared_order, in_queues),
        shared_token=_wider(state.shared_token, in_queues),
        random_token=_wider(state.random_token, in_queues),
    )
    state.slots["is_free"][old:] = 1
    free = int(state.counter[clock.FREE])
    state.slot_free[free : free + slots - old] = np.arange(old, slots)
    state.counter[clock.FREE] += slots - old
    return _with_heap(state, rules, layout)


def _with_heap(state: State, rules: Rules, layout: Layout) -> State:
    """The state with a heap for twice its events, and for what its slots may add at one moment."""
    tokens = (len(state.slot_free) + 1) * (2 * (len(layout.branch_first_position) << rules.attempt_bits) + 8)
    length = 2 * (int(state.counter[clock.HEAP]) + tokens + len(state.client_parked)) + 64
    grown: dict[str, Any] = {
        name: _wider(getattr(state, name), length) for name in ("heap_time", "heap_inserted", "heap_event")
    }
    return state._replace(**grown)


def _with_results(state: State, rules: Rules, requests: int) -> State:
    """The state with room for the results of so many requests."""
    if requests <= len(state.results):
        return state
    old = len(state.results)
    results = _wider(state.results, max(requests, 2 * old))
    for name in ("start_s", "first_byte_s", "end_s"):
        results[name][old:] = math.nan
    if rules.paths:
        path_s = np.full((len(results), state.path_s.shape[1]), math.nan)
        path_s[:old] = state.path_s
        state = state._replace(path_s=path_s)
    return state._replace(results=results)


def _chunk(sheet: Sheet) -> Chunk:
    return Chunk(
        sheet.first, len(sheet) < CHUNK, sheet.route, sheet.arrival_s, sheet.think_s, sheet.phase, sheet.key_hash,
        sheet.first_visit, sheet.station, sheet.demand_s,
    )  # fmt: skip


def _background(program: Program) -> tuple[Chunk, NDArray[np.int64]]:
    """All background streams in one chunk, and where each begins."""
    sheets = [stream.sheet for stream in program.background]
    first = np.cumsum([0, *(len(sheet) for sheet in sheets)])
    visits = np.cumsum([0, *(len(sheet.station) for sheet in sheets)])

    def joined(name: str, dtype: type) -> NDArray[Any]:
        return np.concatenate([getattr(sheet, name) for sheet in sheets] or [np.empty(0, dtype)])

    first_visit = np.concatenate(
        [sheet.first_visit + at for sheet, at in zip(sheets, visits, strict=False)] or [np.empty(0, np.int64)]
    )
    chunk = Chunk(
        0, True, joined("route", np.int32), joined("arrival_s", np.float64), joined("think_s", np.float64),
        joined("phase", np.int32), joined("key_hash", np.uint64), first_visit, joined("station", np.int32),
        joined("demand_s", np.float64),
    )  # fmt: skip
    return chunk, first.astype(np.int64)


def _idle_with_queue(layout: Layout, state: State) -> int:
    """Stations with an idle server and a job that waits, up to now."""
    discipline, live = layout.stations["discipline"], state.stations["live"] > 0
    spare = state.stations["busy"] < layout.stations["servers"]
    idle = np.where(discipline == Discipline.GATE, state.stations["down"] == 0, spare)
    serves = (discipline != Discipline.DELAY) & (discipline != Discipline.PROCESSOR_SHARING)
    return int((serves & live & idle).sum())


def run(program: Program, progress: Callable[[int], None] | None = None) -> Outcome:
    """Execute a program; `progress` is told how many requests have begun.

    Raises:
        InvariantError: the engine broke one of its laws.
    """
    network = program.network
    layout, rules = layout_of(network), _rules(program)
    state = _empty_state(program, layout, rules)
    background, streams = _background(program)
    timed = [i for i, action in enumerate(network.agenda) if action.after_ended is None]
    at_s = np.array([network.agenda[i].at_s for i in timed], float)
    held = np.array([stream.held for stream in program.background], np.bool_)
    kernel.start(layout, rules, state, np.array(timed, np.int64), at_s, held)
    idle_with_queue = 0
    reason = kernel.NEED_SHEET
    while reason != kernel.DONE:
        if reason == kernel.NEED_SHEET:
            begun = int(state.counter[clock.NEXT_ROW])
            idle_with_queue += _idle_with_queue(layout, state)
            if progress:
                progress(begun)
            chunk = _chunk(program.draw(begun, CHUNK))
            state = _with_results(state, rules, begun + len(chunk.route))
        elif reason == kernel.NEED_SLOTS:
            state = _with_slots(state, rules, layout)
        elif reason == kernel.NEED_HEAP:
            state = _with_heap(state, rules, layout)
        else:
            raise InvariantError("the clock ran back")
        reason = kernel.advance(layout, rules, chunk, background, streams, state)
    kernel.finish(layout, state)
    outcome = _outcome(state, layout, idle_with_queue)
    outcome.check(network)
    return outcome


def _outcome(state: State, layout: Layout, idle_with_queue: int) -> Outcome:
    results = state.results[: int(state.counter[clock.NEXT_ROW])]
    stations, pools = state.stations, layout.stations["discipline"] == Discipline.POOL
    by_request = ("start_s", "first_byte_s", "end_s", "client", "attempts", "winner")
    columns: dict[str, Any] = {name: results[name].copy() for name in by_request}
    columns |= {name: stations[name].copy() for name in ("visits", "busy_s", "waiting_s")}
    return Outcome(
        **columns,
        failure=results["failure"].astype(np.int8),
        path_s=state.path_s[: len(results)].copy(),
        background_end_s=state.background_end_s,
        held=np.where(pools, stations["busy"], 0),
        clock_s=float(state.time[clock.CLOCK]),
        in_flight=int(state.counter[clock.OUTSTANDING]),
        idle_with_queue=idle_with_queue,
    )

"""A long-term forecast: a short window of requests is simulated at each of several states of a slowly growing store.

A cluster takes hours to fill and milliseconds to respond, so its contents are constant during a window. All windows
have the same seed, so differences between states are not due to chance.

The first fifth of a window is excluded from the figures as warm-up. MSER-5 (`warm_up`) is not used: a run truncated by
its own samples loses busy periods that are not warm-up, and windows truncated at different times are not comparable.
The rest is divided into ten batches, and intervals are those of batch means (Law, "Simulation Modeling and Analysis",
5th ed. 2015, section 9.5.3), calculated like those of replications.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from models.capabilities import Effect, Growth
from models.shared.work import WORKERS
from models.store import Spec, required, store_of
from sim.json_form import to_json
from sim.parallel.process_pool import process_map
from sim.parallel.result_cache import ResultFolder, content_key
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import CONFIDENCE, Figure, Replication, Replications
from sim.replication.warm_up import settled
from sim.saturation.capacity import capacity_of
from sim.simulate import EngineName, simulate
from sim.verdict.extra_attempts import ExtraAttempts, extra_attempts
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.verdict import LoadVerdict, verdict_on_run
from traces.errors import InputError
from traces.operations import ops_that
from traces.run import Run
from traces.statistics.summary import Floats, describe, ops_of, subjects_of, too_few
from traces.workload.kept_traces import generated
from traces.workload.keys import UniformKeys, WriteOnceReadOnce

Spacing = Literal["geometric", "linear"]

WARM_UP = 0.2
"""Fraction of a window that is excluded from its figures."""
BATCHES = 10
"""Number of batches of the rest, for intervals."""
MOST_STATES = 1000
MOST_OBJECTS = 1e13
INTERVALS = ("mean", "p50", "p99")
"""Latency figures that have an interval."""

State = dict[str, Any]


@dataclass(frozen=True)
class TimelinePlan:
    """The states to simulate.

    Attributes:
        low, high: objects in the cluster in the first and the last state.
        states: number of states.
        spacing: equal ratios or equal differences between neighbours.
        window_s: simulated seconds per state.

    Raises:
        InputError: a value is out of range.
    """

    low: float
    high: float
    states: int = 20
    spacing: Spacing = "geometric"
    window_s: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high <= MOST_OBJECTS:
            raise InputError(
                f"timeline: objects are {self.low:g}..{self.high:g}; the first number must be at least 0 and below the "
                f"second, which must be at most {MOST_OBJECTS:g}"
            )
        if self.low == 0 and self.spacing == "geometric":
            raise InputError("timeline: geometric spacing cannot start at 0 objects; start at 1, or use linear spacing")
        if not 2 <= self.states <= MOST_STATES:
            raise InputError(f"timeline: states is {self.states}; it must be 2 to {MOST_STATES}")
        if not 0 < self.window_s < math.inf:
            raise InputError(f"timeline: the window is {self.window_s:g} s; it must be above 0 s")

    @property
    def objects(self) -> list[float]:
        """Objects in each state, shape (states,), rounded to whole numbers."""
        between = np.geomspace if self.spacing == "geometric" else np.linspace
        counts: list[float] = np.rint(between(self.low, self.high, self.states)).tolist()
        return counts


@dataclass(frozen=True)
class StateWindow:
    """A state to simulate: everything that its result depends on.

    Attributes:
        has_verdict: whether the result has a verdict on the load, which takes longer than the window, and says why the
            window is too short.
    """

    spec: Spec
    window_s: float
    seed: int
    engine: EngineName
    has_verdict: bool = True

    @property
    def key(self) -> str:
        """A hash of the window, and of the code that simulates it."""
        return content_key((self.spec.model_dump_json(), self.window_s, self.seed, self.engine, self.has_verdict))


@dataclass(frozen=True)
class Timeline:
    """Throughput and latency of a store as a function of the number of objects in it.

    Attributes:
        states: ``{"objects", "fill_fraction", …, "load", "ops": {"GET": {"count", "errors", "throughput_ops",
            "throughput_bytes", "latency_s": {"mean", "min", "p25", …}, "interval": {"throughput_ops": [low, high],
            "latency_s": {"mean", "p50", "p99"}}, "busiest": {"role", "utilization"}, "few": […]}, …}, …}``, with the
            reason why the store is `full` (None: it is not; full ones are simulated as if they had room), the verdict
            on the load and `extra`, what retries and hedges cost (of the heavier window, if there are two),
            `unsettled`, why its windows are too short (`sim.replication.steadiness`),
            and figures of the store's growth for the state, and for the transition from the previous state
            (`models.capabilities.Growth`).
        effects: effects that begin between the first state and the last.
        columns: the figures of states to show in a table.
        window_s: simulated time per state.
        engine: ``{"name", "wall_s", "visits"}``, the sums over the windows.
    """

    states: tuple[State, ...]
    effects: tuple[Effect, ...]
    columns: tuple[str, ...]
    window_s: float
    engine: dict[str, Any]

    @property
    def warm_up_s(self) -> float:
        """The time of each window that is excluded from its figures."""
        return WARM_UP * self.window_s

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "states": list(self.states),
            "events": [vars(effect) for effect in self.effects],
            "window_s": self.window_s,
            "warm_up_s": self.warm_up_s,
            "confidence": CONFIDENCE,
            "engine": self.engine,
        }


def timeline(
    spec: Spec,
    plan: TimelinePlan,
    *,
    seed: int = 0,
    engine: EngineName = "compiled",
    workers: int = 1,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Timeline:
    """Simulate throughput and latency as a function of the number of objects stored.

    Args:
        spec: the plan replaces its `stored.objects` and the end of its workload. If keys are written once and then read
            once, a window of writes and a window of reads are simulated per state.
        workers: number of processes; the result does not depend on it.
        cache: searched before a window is simulated; stores each result.
        progress: called with the number of windows done.

    Raises:
        InputError: the store has no state that grows, or a worker was killed.
    """
    growth = growth_of(spec)
    windows = [StateWindow(growth.grown(spec, objects), plan.window_s, seed, engine) for objects in plan.objects]
    states = states_of(windows, workers=workers, cache=cache, progress=progress)
    engines = [state.pop("engine") for state in states]
    trace = generated(phases(windows[0].spec, plan.window_s)[0].workload, seed)
    return Timeline(
        states=tuple(_with_transitions(growth, spec, states)),
        effects=growth.effects(windows[0].spec, trace, plan.low, plan.high),
        columns=growth.columns,
        window_s=plan.window_s,
        engine={"name": engine, **{k: sum(e[k] for e in engines) for k in ("wall_s", "visits")}},
    )


def states_of(
    windows: Sequence[StateWindow], *, workers: int, cache: ResultFolder | None, progress: Callable[[int], None]
) -> list[State]:
    """Return the state of each window, from the cache or simulated; arguments as for `timeline`."""
    results: list[State | None] = [cache.find(window.key) if cache else None for window in windows]
    missing = [i for i, result in enumerate(results) if result is None]
    progress(len(results) - len(missing))
    workers = max(1, min(workers, len(missing)))
    with process_map(workers) as mapping:
        for i, result in zip(missing, mapping(simulated, [windows[i] for i in missing]), strict=True):
            results[i] = result
            if cache:
                cache.keep(windows[i].key, result)
            progress(len(results) - results.count(None))
    return [result for result in results if result is not None]


def growth_of(spec: Spec) -> Growth[Any]:
    """Return the growth model of the spec's store.

    Raises:
        InputError: it has none.
    """
    return required(store_of(spec).growth, spec, "growth", "timeline")


def simulated(window: StateWindow) -> State:
    """Simulate a state."""
    state: State = {}
    verdicts: list[tuple[LoadVerdict, ExtraAttempts | None]] = []
    engine, short = {"wall_s": 0.0, "visits": 0}, list[Unsettled]()
    for spec in phases(window.spec, window.window_s):
        trace = generated(spec.workload, window.seed)
        run = simulate(spec, trace, seed=window.seed, engine=window.engine)
        if not state:
            growth = growth_of(spec)
            state = growth.state(spec, trace)
            state |= {"full": growth.full(state["fill_fraction"]), "ops": {}}
        verdict = None
        if window.has_verdict:
            verdict = verdict_on_run(run, capacity_of(spec, trace, end_s=last_end_s([load_of(run)])))
        verdicts += [] if verdict is None else [(verdict, _extra(run, spec, verdict))]
        overloaded = verdict is not None and verdict.overloaded
        short += [] if overloaded or not window.has_verdict else _unsettled(run, window)
        state["ops"] |= {op: _figures(run, op, window.window_s, overloaded) for op in subjects_of(run)}
        engine = {name: engine[name] + run.info["engine"][name] for name in engine}
    worst, extra = max(verdicts, key=lambda each: each[0].severity, default=(None, None))
    return state | {"load": to_json(worst), "extra": to_json(extra), "unsettled": to_json(short), "engine": engine}


def _unsettled(run: Run, window: StateWindow) -> list[Unsettled]:
    """Return why a window is too short, without its warm-up."""
    rest = settled(run, dict.fromkeys(ops_of(run), WARM_UP * window.window_s))
    return Replications((Replication.of(rest, window.seed, load_of(run)),)).unsettled


def _extra(run: Run, spec: Spec, verdict: LoadVerdict) -> ExtraAttempts | None:
    """Return what retries and hedges cost in a window."""
    counts = {op: int(run.has(op).sum()) for op in subjects_of(run)}
    return extra_attempts(float(run.column("attempts").mean()) - 1, counts, spec.client, verdict)


def phases(spec: Spec, window_s: float) -> list[Spec]:
    """Return the spec with a workload as long as a window, or one with writes and one with reads."""
    workload = spec.workload
    lasting: dict[str, Any] = {"operations": None, "duration": window_s}
    changes: Iterable[dict[str, Any]] = [lasting]
    if isinstance(workload.keys, WriteOnceReadOnce):
        keys = UniformKeys(count=workload.operations or 1)
        changes = [lasting | {"keys": keys, "mix": {op: 1.0}} for op in workload.keys.phases]
    return [spec.model_copy(update={"workload": workload.model_copy(update=change)}) for change in changes]


def _figures(run: Run, op: str, window_s: float, overloaded: bool = False) -> dict[str, Any]:
    """Return the figures of an operation after the warm-up, structured as by `summary.summarise`.

    Latencies of an overloaded store have no interval, and neither have quantiles that too few requests support.
    """
    edges_s = np.linspace(WARM_UP * window_s, window_s, BATCHES + 1)
    requested = run.has(op)
    begun = requested & (run.column("arrival_s") >= edges_s[0])
    done = begun & ~run.failed
    ended = requested & ~run.failed & (run.column("end_s") >= edges_s[0]) & (run.column("end_s") <= edges_s[-1])
    latency_s, arrival_s, end_s = run.latency_s[done], run.column("arrival_s")[done], run.column("end_s")[ended]
    per_batch = np.histogram(end_s, edges_s)[0] / np.diff(edges_s)
    rate = Figure(len(end_s) / float(edges_s[-1] - edges_s[0]), per_batch)
    figures = describe(latency_s)
    parts = [describe(part) for part in _parts(latency_s, arrival_s, edges_s)]
    latencies = {name: Figure(figures[name], np.array([part[name] for part in parts])) for name in INTERVALS}
    few = too_few(int(done.sum()))
    moved = float(run.column("transfer_bytes")[ended].sum())
    return {
        "count": int(begun.sum()),
        "errors": int((begun & run.failed).sum()),
        "throughput_ops": rate.value,
        "throughput_bytes": moved / float(edges_s[-1] - edges_s[0]),
        "latency_s": figures,
        "interval": {
            "throughput_ops": _ends(rate),
            "latency_s": {
                name: [math.nan, math.nan] if overloaded or name in few else _ends(figure)
                for name, figure in latencies.items()
            },
        },
        "busiest": _busiest(run),
        "few": few,
    }


def _parts(values: Floats, at_s: Floats, edges_s: Floats) -> list[Floats]:
    """Return the values of each batch between edges."""
    order = np.argsort(at_s, kind="stable")
    return np.split(values[order], np.searchsorted(at_s[order], edges_s[1:-1]))


def _ends(figure: Figure) -> list[float]:
    interval = figure.interval()
    return [interval.low, interval.high]


def _busiest(run: Run) -> dict[str, Any]:
    """Return role and utilisation of the busiest station with a limited number of servers that requests may need."""
    assert run.stations is not None
    rows = run.stations.to_pylist()
    limited = [row for row in rows if row["servers"] is not None and row["role"] != WORKERS]
    most = max(limited, key=lambda row: float(row["utilization"]))
    return {name: most[name] for name in ("role", "utilization")}


def _with_transitions(growth: Growth[Any], spec: Spec, states: list[State]) -> list[State]:
    """Add figures of the transition from the previous state to each state, at the rate of its writes."""
    low = states[0]["objects"]
    for state in states:
        high = state["objects"]
        write_ops = sum(state["ops"].get(op, {}).get("throughput_ops", 0.0) for op in ops_that("creates"))
        state |= growth.on_the_way(spec, low, high, write_ops)
        low = high
    return states

"""From a spec and a Trace to a simulated Run."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import numpy as np

from models.network.demand_sheet import Requests
from models.network.network import Network
from models.shared.faults import fault_times
from models.store import Spec, compile_spec, faults_of, last_arrival_s
from sim.endless import refuse_endless
from sim.engine.compiled import engine as compiled_engine
from sim.engine.compiled.library import missing
from sim.engine.outcome import Outcome, Program, Taking
from sim.run_course import course_of
from sim.run_tables import CriticalPaths, request_table, station_table
from traces.provenance import release
from traces.run import Run
from traces.trace import Trace
from traces.workload.generate import generate

_VERSIONS = {"tailcast": release(), "python": platform.python_version()}

EngineName = Literal["compiled", "simpy"]

_NEARLY = 0.9
"""Fraction of a closed loop's time from which a fault may be after the end of the same run without it."""

_Engine = Callable[[Program, Callable[[int], None] | None, Taking | None], Outcome]


@dataclass(frozen=True)
class Beginning:
    """When a simulation began: by the calendar, and by the performance counter in s."""

    at: datetime = field(default_factory=partial(datetime.now, UTC))
    counter_s: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True)
class Executed:
    """What was executed, its outcome, and the end of the last request in s."""

    network: Network
    requests: Requests
    outcome: Outcome
    end_s: float


def engine_of(name: EngineName) -> tuple[EngineName, _Engine]:
    """Return the engine of this name, or the SimPy engine if the compiled engine's library is missing."""
    if name == "simpy" or missing():
        from sim.engine.reference import engine as simpy_engine

        return "simpy", simpy_engine.run
    return "compiled", compiled_engine.run


def simulate(
    spec: Spec,
    trace: Trace | None = None,
    *,
    seed: int = 0,
    engine: EngineName = "compiled",
    critical_path: bool = False,
    progress: Callable[[int], None] | None = None,
    end_s: float | None = None,
    first: int = 0,
    is_trial: bool = False,
) -> Run:
    """Simulate the requests of a trace on the store of a spec.

    A fault that begins after the last request has ended is as none.

    Args:
        spec: the store and its workload.
        trace: the requests; None: generated from the spec's workload with the same seed.
        seed: of the trace and of all service demands.
        engine: both give the same Run; the SimPy engine is used if the compiled engine's library is missing.
        critical_path: record waiting and service times along the critical path of each request.
        progress: called with the number of requests begun.
        end_s: time in s from which faults are left out; None: the end of the last request. With a later time, runs
            with the same faults at other times have the same network, and are equal until one of these begins.
        first: row of the first request that is issued; those before it only decide what caches hold.
        is_trial: leave the spec out of `info`, and all of the course but when the last visit ended, because only
            requests and stations count.

    Returns:
        a Run of kind ``simulated`` with station statistics and its trace.

    Raises:
        InputError: the simulation would never end, or have more requests than a Run may have.
    """
    began = Beginning()
    trace = generate(spec.workload, seed) if trace is None else trace
    engine, execute = engine_of(engine)
    paths: list[CriticalPaths] = []

    def run(until_s: float) -> Executed:
        network, requests = compile_spec(spec, trace, until_s, first=first)
        refuse_endless(network, requests)
        paths[:] = [CriticalPaths(network)] if critical_path else []
        outcome = execute(Program.of(network, requests, seed, paths=critical_path), progress, *paths or (None,))
        outcome = replace(outcome, **vars(paths[0].kept.outcomes())) if paths else outcome
        last_s = float(np.max(outcome.end_s, initial=0.0, where=outcome.ended))
        return Executed(network, requests, outcome, last_s)

    found = with_faults(spec, trace, run) if end_s is None else run(end_s)
    issued = replace(trace, table=trace.table.slice(first)) if first else trace
    info = info_of(spec, issued, found, seed, engine, began, is_trial=is_trial)
    return Run.of(
        request_table(issued, found.requests, found.outcome),
        info,
        station_table(found.network, found.outcome),
        paths[0].table() if paths else None,
        issued,
        source="simulation",
    )


def info_of(
    spec: Spec,
    issued: Trace,
    found: Executed,
    seed: int,
    engine: EngineName,
    began: Beginning,
    *,
    is_trial: bool = False,
) -> dict[str, Any]:
    """Return the ``info`` of a simulated Run."""
    return {
        "kind": "simulated",
        "started_at": began.at.isoformat(),
        "seed": seed,
        "spec": {} if is_trial else spec.model_dump(mode="json", exclude_unset=True),
        "versions": dict(_VERSIONS),
        "course": {"clock_s": found.outcome.clock_s} | ({} if is_trial else course_of(
            spec, issued, found.network, found.requests, found.outcome.begun, found.end_s
        )),
        "engine": {
            "name": engine, "wall_s": time.perf_counter() - began.counter_s, "visits": int(found.outcome.visits.sum()),
        },
    }  # fmt: skip


def with_faults(spec: Spec, trace: Trace, run: Callable[[float], Executed]) -> Executed:
    """Simulate with the faults that begin before the last request has ended.

    The end of an open loop's last request is not known beforehand, nor that of any closed loop without a duration. So
    faults that may be later are left out at first, and added if the run has not ended by then. A closed loop whose
    operations end before its duration is simulated again without the faults after its end.
    """
    times, until_s = fault_times(faults_of(spec).values()), last_arrival_s(trace)
    if times and until_s == math.inf:
        found = run(until_s)
        until_s = _NEARLY * found.end_s
        if max(times) < until_s:
            return found
    while True:
        found = run(until_s)
        missing = [at_s for at_s in times if until_s <= at_s < found.end_s]
        if not missing:
            is_late = any(found.end_s <= at_s < until_s for at_s in times)
            return run(found.end_s) if is_late else found
        until_s = math.nextafter(max(missing), math.inf)


def requests_only(network: Network, requests: Requests, trace: Trace, seed: int) -> Run:
    """Simulate like `simulate`, but return the requests only: for callers that simulate a spec thousands of times.

    Args:
        network, requests: the compiled spec and trace (`compile_spec`).
        seed: as for `simulate`.
    """
    _, execute = engine_of("compiled")
    outcome = execute(Program.of(network, requests, seed), None, None)
    info = {"kind": "simulated", "started_at": "1970-01-01T00:00:00+00:00", "versions": {}}
    return Run.of(request_table(trace, requests, outcome), info, source="simulation")

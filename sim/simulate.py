"""From a spec and a Trace to a simulated Run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from models.network import Discipline, Network
from models.sheet import Requests
from models.spec import Spec
from sim import compiled_engine, simpy_engine
from sim.outcome import Failure, Outcome, Program
from traces.errors import InputError
from traces.generate import generate
from traces.run import STATION_SCHEMA, Run
from traces.trace import Trace

EngineName = Literal["compiled", "simpy"]

_ENGINES: dict[EngineName, Callable[[Program, Callable[[int], None] | None], Outcome]] = {
    "compiled": compiled_engine.run,
    "simpy": simpy_engine.run,
}


_ANSWERS: dict[Failure, tuple[int, str | None]] = {
    Failure.NONE: (200, None),
    Failure.QUEUE_FULL: (503, "the queue was full"),
    Failure.GATE_SHUT: (504, "the gate stayed shut"),
    Failure.STATION_DOWN: (0, "the station was down"),
    Failure.NO_MEMBER: (503, "no member of the group was present"),
    Failure.TIMEOUT: (0, "timed out"),
}
"""The status and the error of a request that fails."""


def simulate(
    spec: Spec,
    trace: Trace | None = None,
    *,
    seed: int = 0,
    engine: EngineName = "compiled",
    progress: Callable[[int], None] | None = None,
) -> Run:
    """The Run that the spec's store would give.

    Args:
        spec: the store and its workload.
        trace: what is asked; None: generated from the spec's workload with the same seed.
        seed: of the trace and of all service demands.
        engine: both give the same Run.
        progress: told how many requests have begun.

    Returns:
        a Run of kind ``simulated`` with the stations' figures.

    Raises:
        InputError: the requests would never end.
    """
    begun_at, began_s = datetime.now(UTC), time.perf_counter()
    trace = generate(spec.workload, seed) if trace is None else trace
    network, requests = spec.compile(trace)
    _refuse_endless(network, requests)
    outcome = _ENGINES[engine](Program.of(network, requests, seed), progress)
    info = {
        "kind": "simulated",
        "started_at": begun_at.isoformat(),
        "seed": seed,
        "spec": spec.model_dump(mode="json", exclude_unset=True),
        "versions": {"tailcast": metadata.version("tailcast"), "python": platform.python_version()},
        "engine": {
            "name": engine, "wall_s": time.perf_counter() - began_s, "visits": int(outcome.visits.sum()),
        },
    }  # fmt: skip
    return Run.of(
        _request_table(trace, requests, outcome), info, _station_table(network, outcome), trace=trace,
        source="simulation",
    )  # fmt: skip


def _refuse_endless(network: Network, requests: Requests) -> None:
    """A closed loop whose rows repeat ends by its clock, so the clock has to move."""
    if not requests.repeat:
        return
    if not len(requests):
        raise InputError("the trace has no requests to repeat until its duration is over")
    for k in np.unique(requests.route):
        mine = requests.route == k
        sizes = np.unique(requests.size_bytes[mine])
        takes_time = any((visit.demand.mean_s(sizes) > 0).all() for visit in network.routes[k].visits)
        if not takes_time and not requests.think_s[mine].any():
            name = network.routes[k].name
            raise InputError(f"{name} takes no time, so a closed loop never reaches its duration; give it a demand")


def _request_table(trace: Trace, requests: Requests, outcome: Outcome) -> pa.Table:
    ended = np.flatnonzero(np.isfinite(outcome.end_s))
    rows = ended % len(requests) if len(requests) else ended
    start_s, first_byte_s = outcome.start_s[ended], outcome.first_byte_s[ended]
    asked = trace.table.select(["op", "bucket", "key", "size_bytes"]).take(pa.array(rows))
    return pa.table({
        "arrival_s": trace.arrival_s[rows] if trace.pacing.loop == "open" else start_s,
        "start_s": start_s,
        "first_byte_s": pa.array(first_byte_s, mask=np.isnan(first_byte_s)),
        "end_s": outcome.end_s[ended],
        **{name: asked.column(name) for name in asked.column_names},
        "transfer_bytes": trace.transfer_bytes[rows],
        "client": _clients(trace, outcome, ended, rows),
        "status": np.array([_ANSWERS[failure][0] for failure in Failure], np.int16)[outcome.failure[ended]],
        "attempts": outcome.attempts[ended],
        "winner": outcome.winner[ended],
        "error": pa.array([_ANSWERS[failure][1] for failure in Failure]).take(pa.array(outcome.failure[ended])),
    })  # fmt: skip


def _clients(trace: Trace, outcome: Outcome, ended: np.ndarray[Any, Any], rows: np.ndarray[Any, Any]) -> pa.Array:
    if trace.pacing.loop == "closed":
        return pa.array(outcome.client[ended])
    return trace.table.column("client").fill_null(0).combine_chunks().take(pa.array(rows))


def _station_table(network: Network, outcome: Outcome) -> pa.Table:
    clock_s = outcome.clock_s or 1.0
    servers = [None if s.discipline is Discipline.DELAY else s.servers for s in network.stations]
    columns = [
        [s.name for s in network.stations],
        [s.role for s in network.stations],
        servers,
        outcome.visits,
        outcome.busy_s / clock_s / np.array([s or 1 for s in servers]),
        outcome.waiting_s / clock_s,
    ]
    return pa.table(columns, schema=STATION_SCHEMA)

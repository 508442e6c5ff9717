"""Figures of a run whose requests were counted and not kept, like those of `Replication.of` of a Run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sim.replication.run_parts import PARTS, TAIL, RunParts
from sim.replication.summaries import Replication
from sim.run_course import steady_by_design
from sim.tally.tally import OpTally, Tally
from sim.verdict.offered_load import OfferedLoad, OpOutcomes, clients_of, grows, has_phases, quarters_of
from sim.verdict.stretches import STRETCHES, Slump, jam_of, slump_in, slump_parts, worst_stretch
from traces.run import StationRow
from traces.statistics.arrivals import arrival_rate_ops
from traces.statistics.spans import phase_of
from traces.statistics.summary import QUANTILES, RunOpSummary, RunSummary, in_order


def replication_of(tally: Tally, stations: list[StationRow], info: Mapping[str, Any], seed: int) -> Replication:
    """Return the figures of a run.

    Args:
        tally: of its requests.
        stations, info: rows of the station table, and the ``info`` of a Run.
        seed: of the run.
    """
    ops = {op: tally.ops[op] for op in in_order(tally.ops)}
    count = sum(each.count for each in _alone(ops).values())
    attempts = sum(each.attempts for each in _alone(ops).values()) / count if count else math.nan
    return Replication(
        seed,
        _summary(ops),
        {},
        stations,
        dict(info),
        attempts,
        _load(tally, ops) if count else None,
        _parts(tally, ops) if steady_by_design(info) else {},
        {op: each.latencies for op, each in ops.items()},
    )


def last_end_s(tally: Tally) -> float:
    """Return the end of the last request in s; 0 without requests."""
    return max((each.last_s for each in tally.ops.values()), default=0.0)


def _alone(ops: dict[str, OpTally]) -> dict[str, OpTally]:
    """Return the operations without those of groups."""
    return {op: each for op, each in ops.items() if "." not in op}


def _summary(ops: dict[str, OpTally]) -> RunSummary:
    windows = {op: each.window for op, each in _alone(ops).items()}
    first_s = min((window[0] for window in windows.values()), default=0.0)
    last_s = max((window[1] for window in windows.values()), default=0.0)
    found = {}
    for op, each in ops.items():
        begin_s, end_s = phase_of(op.rpartition(".")[2], windows)
        window_s, done = end_s - begin_s, each.count - each.errors
        found[op] = RunOpSummary(
            count=each.count,
            errors=each.errors,
            throughput_ops=done / window_s if window_s > 0 else math.nan,
            throughput_bytes=each.moved_bytes / window_s if window_s > 0 else math.nan,
            latency_s=each.latencies.describe(),
        )
    return {"ops": found, "duration_s": last_s - first_s}


def _parts(tally: Tally, ops: dict[str, OpTally]) -> dict[str, RunParts]:
    found = {}
    for op, each in _alone(ops).items():
        span_s = each.last_done_s - each.first_done_s
        if each.count - each.errors < PARTS or span_s <= 0:
            continue
        edges_s = np.linspace(each.first_done_s, each.last_done_s, PARTS + 1)
        counts = tally.between("done", op, edges_s)
        response_s = tally.between("response", op, edges_s)
        beyond = tally.beyond(op, 1 - QUANTILES[TAIL], edges_s)
        found[op] = RunParts(span_s, counts, response_s, beyond, tally.between("ended", op, edges_s))
    return found


def _load(tally: Tally, ops: dict[str, OpTally]) -> OfferedLoad:
    pacing, alone = tally.trace.pacing, _alone(ops)
    count, errors = (sum(getattr(each, name) for each in alone.values()) for name in ("count", "errors"))
    last_s, first_s = last_end_s(tally), min(each.first_s for each in alone.values())
    edges_s = tally.edges_s(last_s)
    arrived = sum(tally.between("arrived", op, edges_s) for op in alone)
    outcomes = {op: _outcomes(tally, op, each) for op, each in ops.items()}
    parts_s = np.linspace(0, last_s, STRETCHES + 1)
    arrivals = np.rint(sum(tally.between("arrived", op, parts_s) for op in alone)).astype(int).tolist()
    completions = np.rint(tally.ended_between(parts_s)).astype(int).tolist()
    completed_ops = count / (last_s - first_s) if last_s > first_s else math.inf
    known = {"ops": outcomes, "end_s": last_s, "arrivals": arrivals, "completions": completions}
    if pacing.loop == "closed":
        slump = _slump(tally, count, last_s)
        return OfferedLoad(
            "closed", pacing.clients, None, completed_ops, errors / count, count, [], False, **known, slump=slump
        )
    # Requests in flight at the ends of the equal times in which requests arrive.
    at_s, in_flight = edges_s[1:], np.rint(np.cumsum(arrived - tally.ended_between(edges_s))).astype(np.int64)
    last_arrival_s = max(each.last_arrival_s for each in alone.values())
    while_arriving = at_s <= last_arrival_s
    at_s, in_flight = at_s[while_arriving], in_flight[while_arriving]
    quarters = quarters_of(at_s, in_flight, first_s, last_arrival_s)
    clients = clients_of(pacing)
    return OfferedLoad(
        pacing.loop,
        clients,
        None if clients is not None else arrival_rate_ops(tally.trace.arrival_s, pacing.duration_s),
        completed_ops,
        errors / count,
        count,
        [int(quarter[-1]) for quarter in quarters],
        grows([int(quarter.min()) for quarter in quarters], count),
        **known,
        jam=jam_of(at_s, in_flight, count),
        drain_s=last_s - last_arrival_s,
    )


def _outcomes(tally: Tally, op: str, each: OpTally) -> OpOutcomes:
    edges_s = tally.edges_s(each.last_s)
    failed, arrived = (np.rint(tally.between(name, op, edges_s)).astype(np.int64) for name in ("failed", "arrived"))
    return OpOutcomes(each.count, each.errors, each.attempts, worst_stretch(edges_s[:-1], failed, arrived))


def _slump(tally: Tally, count: int, last_s: float) -> Slump | None:
    parts = slump_parts(count)
    if not parts or has_phases(tally.trace):
        return None
    counts = tally.ended_between(np.linspace(0, last_s, parts + 1))
    return slump_in(np.rint(counts), last_s / parts, tally.trace.pacing.clients)

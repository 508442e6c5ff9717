"""Differences of two variants by their samples, to compare those of what is kept of replications with."""

from __future__ import annotations

from sim.replication.summaries import CONFIDENCE, RATES, Differences, OpIntervals, Replications


def paired(a: Replications, b: Replications) -> Differences:
    """Return the differences `b` - `a` of two variants over the replications that both have, seed by seed."""
    count = min(len(a), len(b))
    a, b = Replications(a.runs[:count]), Replications(b.runs[:count])
    assert a.seeds == b.seeds
    ops = {}
    for op in (op for op in b.figures if op in a.figures):
        known = {name: (figure - a.figures[op][name]).interval() for name, figure in b.figures[op].items()}
        throughput_ops, throughput_bytes = (known.pop(name) for name in RATES)
        ops[op] = OpIntervals(throughput_ops, throughput_bytes, known)
    return Differences(count, CONFIDENCE, ops)

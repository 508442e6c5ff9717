"""The order of operations in tables: those with objectives first, then the others by weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sim.replication.slo import Slo


def is_minor(op: str, slos: Iterable[Slo]) -> bool:
    """Whether an operation has no objective while others have one."""
    subjects = {slo.subject for slo in slos}
    return bool(subjects) and op not in subjects


def ordered(counts: Mapping[str, float], slos: Iterable[Slo] = ()) -> list[str]:
    """Return operations: those with objectives in the order of these, then the others by their number of requests."""
    first = list(dict.fromkeys(slo.subject for slo in slos if slo.subject in counts))
    rest = sorted((op for op in counts if op not in first), key=lambda op: -counts[op])
    return [*(op for op in first if op is not None), *rest]

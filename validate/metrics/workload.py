"""The workload that metrics show, as the fields of a spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from traces.operations import OPERATIONS, OPS
from traces.workload.workload import Workload
from validate.metrics.measured import Measured

Fields: TypeAlias = "dict[str, object]"
"""Values by the names of a spec's fields."""

_ALIKE = 0.05  # sizes of operations that differ by less are one
_STEADY = 0.1  # rates over time that differ by less are one


def workload_fields(measured: Measured, like: Workload) -> Fields:
    """Return the fields of the measured workload: an open loop with rates over time, the mix, and mean sizes.

    Args:
        measured: what the metrics say.
        like: the workload whose keys it has, and whose sizes where the metrics have none: metrics count requests and
            bytes, but do not tell which objects they are of.
    """
    whole_s = float(measured.edges_s[-1])
    fields: Fields = {"rate": _short(measured.total_ops), "duration": f"{whole_s:.6g}s"}
    rates = measured.rate_ops
    if len(rates) > 1 and np.ptp(rates) > _STEADY * rates.mean():
        steps = [
            {"duration": f"{length_s:.6g}s", "level": _short(float(rate))}
            for length_s, rate in zip(np.diff(measured.edges_s), rates, strict=True)
        ]
        fields["arrivals"] = {"kind": "profile", "steps": steps}
    fields["mix"] = {op: _short(each.rate_ops / measured.total_ops) for op, each in measured.ops.items()}
    known = like.model_dump(mode="json", exclude_unset=True)
    keys = known.get("keys", {"kind": "uniform"})
    sizes = {op: size for op, each in measured.ops.items() if (size := _payload(op, each.bytes_each)) is not None}
    first = sizes.get("GET") or next(iter(sizes.values()), None)
    fields["object_size"] = known.get("object_size", 0) if first is None else round(first)
    own = {
        op: {"object_size": round(size), "keys": keys}
        for op, size in sizes.items()
        if first is not None and abs(size - first) > _ALIKE * first
    }
    if own and keys.get("kind") in _KINDS_OF_OWN:
        fields["own_objects"] = own
    fields["keys"] = keys
    if "buckets" in known:
        fields["buckets"] = known["buckets"]
    return fields


_KINDS_OF_OWN = ("uniform", "zipf", "sequential", "reuse")


def workload_notes(measured: Measured) -> Iterator[str]:
    """Yield what the workload does not have of the metrics, and what they do not tell."""
    if measured.other_ops:
        others = ", ".join(f"{op} {rate:.3g}/s" for op, rate in sorted(measured.other_ops.items()))
        yield f"requests of other operations are left out: {others}"
    if measured.failed_ops > 0:
        yield f"{measured.failed_ops:.3g} requests/s failed; they are among those counted"
    yield "sizes are means, and keys those of the spec, as metrics do not tell which objects were requested"


def _payload(op: str, bytes_each: float | None) -> float | None:
    return bytes_each if OPERATIONS[OPS.index(op)].moves_bytes else None


def _short(value: float) -> float:
    return float(f"{value:.5g}")

"""A spec together with a trace that stands for its workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.parse.spec import overridden
from models.store import Spec, spec_of
from traces.spec_file import load_mapping
from traces.trace import Trace
from validate.calibration.profile import Profile


def spec_and_trace(
    spec: Path, trace: Path | None, profile: Path | None, assignments: Sequence[str] | None
) -> tuple[Spec, Trace | None]:
    """The spec of a store, and the requests of a trace if there is one; the spec may then lack its workload.

    Raises:
        InputError: a file cannot be read, or the spec is wrong.
    """
    data = load_mapping(spec)
    if profile is not None:
        data = Profile.read(profile).applied_to(data, str(spec))
    requests = None if trace is None else Trace.read(trace)
    if requests is not None and "workload" not in data:
        data["workload"] = _workload_of(requests)
    return spec_of(overridden(data, assignments), str(spec)), requests


def _workload_of(trace: Trace) -> dict[str, Any]:
    """The section `workload` of a spec that has none: as much, as large and in as many buckets as the trace has it."""
    span_s = trace.pacing.duration_s or float(trace.arrival_s.max(initial=0.0))
    is_open, count = trace.pacing.loop == "open" and span_s > 0, max(len(trace), 1)
    think_s = float(trace.think_s.sum()) / count
    load = {"rate": count / span_s} if is_open else {"clients": trace.pacing.clients, "think_time": think_s}
    size_bytes = max(round(int(trace.size_bytes.sum()) / count), 1)
    buckets = max(len(trace.table.column("bucket").unique()), 1)
    return {**load, "operations": count, "object_size": size_bytes, "buckets": buckets}

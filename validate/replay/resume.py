"""Resuming an interrupted replay: the remaining trace, and one Run of both parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.errors import InputError
from traces.run import Run, shifted
from traces.tables import with_column
from traces.trace import Trace
from validate.replay.plan import Options
from validate.replay.schedule import schedule_of

_OF_A_PART = ("started_at", "environment", "floor", "versions", "tailcast", "cpu", "schedule")


def unissued(trace: Trace, issued: NDArray[np.int64]) -> list[list[int]]:
    """Return the rows that an interrupted replay has not issued, as ranges ``[first, end]``, `end` excluded.

    Rows are taken in order by many workers, so an interrupt can leave gaps between the last issued ones.
    """
    return _ranges(np.setdiff1d(np.arange(trace.issued), issued))


def _ranges(rows: NDArray[np.int64]) -> list[list[int]]:
    parts = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
    return [[int(part[0]), int(part[-1]) + 1] for part in parts]


def _rows(ranges: list[list[int]]) -> NDArray[np.int64]:
    return np.concatenate([np.arange(first, end) for first, end in ranges] or [np.empty(0, np.int64)])


def remaining(trace: Trace, options: Options, partial: Run) -> Trace:
    """Return the trace of the rows that a partial Run has not issued, shifted to time zero.

    Raises:
        InputError: the Run was not interrupted, is of another trace or speed, or its loop cannot be resumed.
    """
    if trace.pacing.loop == "closed" and trace.pacing.duration_s is not None:
        raise InputError("resume: a closed loop with a duration cannot be resumed; replay the trace again")
    left = partial.info.get("unissued")
    if not partial.info.get("aborted") or left is None:
        raise InputError("resume: the Run was not interrupted; nothing is left to issue")
    if partial.trace is None or not _same(partial.trace, trace):
        raise InputError("resume: the Run is of another trace; give the trace of the interrupted replay")
    if partial.info.get("speed") != options.speed:
        raise InputError(f"resume: the Run has speed {partial.info.get('speed')}, not {options.speed}")
    if not left:
        raise InputError("resume: all rows had been issued before the interrupt; nothing is left to issue")
    table = trace.table.take(_rows(left))
    arrival = table.column("arrival_s").to_numpy()
    table = with_column(table, "arrival_s", pa.array(arrival - arrival.min()))
    return Trace.of(table, replace(trace.pacing, duration_s=None))


def _same(one: Trace, other: Trace) -> bool:
    def plain(trace: Trace) -> list[pa.ChunkedArray]:
        columns = trace.table.columns
        return [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in columns]

    return one.pacing == other.pacing and plain(one) == plain(other)


def joined(partial: Run, rest: Run, trace: Trace) -> Run:
    """Join an interrupted replay and its continuation into one Run.

    The times of an open loop continue by its schedule, without the break; those of a closed loop, from the end of the
    first part. ``info["parts"]`` has the facts of each part.
    """
    left, speed = partial.info["unissued"], partial.info["speed"]
    if trace.pacing.loop == "open":
        shift_s = float(trace.arrival_s[left[0][0]]) / speed
    else:
        shift_s = float(partial.column("end_s").max()) if len(partial) else 0.0
    table = pa.concat_tables([partial.requests, shifted(rest.requests, shift_s)]).unify_dictionaries()
    parts = [*partial.info.get("parts", [_part(partial, 0.0)]), _part(rest, shift_s)]
    info = rest.info | {
        "started_at": partial.info["started_at"],
        "pacing": partial.info["pacing"],
        "parts": parts,
        "cpu": _cpu(partial, rest),
        "preload_objects": partial.info["preload_objects"] + rest.info["preload_objects"],
        "lab_faults": [*partial.info.get("lab_faults", ()), *_later(rest.info.get("lab_faults", ()), shift_s)],
        "faults": [*partial.info.get("faults", ()), *_later(rest.info.get("faults", ()), shift_s)],
        "left_behind": partial.info["left_behind"] + rest.info["left_behind"],
        "schedule": schedule_of(table, trace.pacing.loop),
    }
    if info["aborted"]:
        info["unissued"] = _ranges(_rows(left)[_rows(rest.info["unissued"])])
    return Run.of(table, info, trace=trace, source="replay")


def _later(faults: Iterable[Mapping[str, Any]], shift_s: float) -> list[dict[str, Any]]:
    """Return faults with later times."""
    return [
        {k: v + shift_s if k in ("at", "until", "back_at") and v is not None else v for k, v in fault.items()}
        for fault in faults
    ]


def _part(run: Run, begins_s: float) -> dict[str, Any]:
    return {"begins_s": begins_s, "requests": len(run)} | {name: run.info[name] for name in _OF_A_PART}


def _cpu(partial: Run, rest: Run) -> dict[str, float | None]:
    """Return the CPU use of both parts: seconds are added, fractions are weighted by the durations of the parts."""
    requests, durations = len(partial) + len(rest), (partial.duration_s, rest.duration_s)
    cpus = (partial.info["cpu"], rest.info["cpu"])

    def over(name: str, weights: tuple[float, float]) -> float | None:
        values = [cpu[name] for cpu in cpus]
        return None if None in values else sum(v * w for v, w in zip(values, weights, strict=True))

    total_s = sum(durations) or 1.0
    shares = (durations[0] / total_s, durations[1] / total_s)
    result = {name: over(name, (1.0, 1.0)) for name in ("client_s", "server_s")}
    for who in ("client", "server"):
        seconds = result[f"{who}_s"]
        result[f"{who}_per_op_s"] = None if seconds is None or not requests else seconds / requests
    return result | {name: over(name, shares) for name in ("busy_share", "other_share", "steal_share")}

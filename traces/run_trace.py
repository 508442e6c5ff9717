"""The Trace of a Run: what was asked in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from traces.run import Run
from traces.trace import TRACE_SCHEMA, Pacing, Trace


def trace_of_run(run: Run) -> Trace:
    """The Run's own trace; of a Run without one an open loop at its intended starts."""
    if run.trace is not None:
        return run.trace
    requests = run.requests.take(pa.array(np.argsort(run.column("arrival_s"), kind="stable")))
    arrival = requests.column("arrival_s").to_numpy()
    columns = {name: requests.column(name) for name in ("op", "bucket", "key", "size_bytes", "client")}
    columns["arrival_s"] = pa.array(arrival - arrival[:1])
    columns |= {"think_s": pa.array(np.zeros(len(run))), "phase": pa.array(np.zeros(len(run), np.int32))}
    nothing = pa.nulls(len(run), pa.int64())
    table = pa.table({name: columns.get(name, nothing) for name in TRACE_SCHEMA.names})
    return Trace.of(table, Pacing(), "run")


def read_asked(path: Path) -> tuple[Trace, Run | None]:
    """What was asked, from a file with a Trace or the folder of a Run, and that Run.

    Raises:
        InputError: there is neither.
    """
    if path.is_dir():
        run = Run.read(path)
        return trace_of_run(run), run
    return Trace.read(path), None

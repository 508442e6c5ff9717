"""Runs made by hand, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.run import CRITICAL_PATH_SCHEMA, Run
from traces.trace import Trace
from validate.replay.schedule import schedule_of

MEASURED = {"kind": "measured", "started_at": "2024-05-01T12:00:00+00:00", "versions": {"tailcast": "0"}}


def requests_of(latency_s: Any, **columns: Any) -> pa.Table:
    """A table of requests with the given latencies, one every 10 ms, GETs of 4096 bytes; any column can be given."""
    latency: NDArray[np.float64] = np.asarray(latency_s, dtype=float)
    n = len(latency)
    arrival = np.asarray(columns.get("arrival_s", np.arange(n) * 0.01), dtype=float)
    table: dict[str, Any] = {
        "arrival_s": arrival,
        "start_s": arrival,
        "first_byte_s": arrival + latency / 2,
        "end_s": arrival + latency,
        "op": ["GET"] * n,
        "bucket": ["b"] * n,
        "key": [f"k{i % 100}" for i in range(n)],
        "size_bytes": np.full(n, 4096),
        "transfer_bytes": np.full(n, 4096),
        "client": np.zeros(n, np.int32),
        "status": np.full(n, 200, np.int16),
        "attempts": np.ones(n, np.int16),
        "error": pa.nulls(n, pa.string()),
    }
    return pa.table(table | columns)


def run_of(
    latency_s: Any,
    *,
    info: dict[str, Any] | None = None,
    stations: Sequence[dict[str, Any]] | None = None,
    critical_path: Sequence[dict[str, Any]] | None = None,
    trace: Trace | None = None,
    **columns: Any,
) -> Run:
    """The Run of `requests_of`."""
    station_table = pa.Table.from_pylist(list(stations)) if stations else None
    path_table = None
    if critical_path is not None:
        path_table = pa.Table.from_pylist(list(critical_path), CRITICAL_PATH_SCHEMA)
    return Run.of(requests_of(latency_s, **columns), MEASURED | (info or {}), station_table, path_table, trace)


def disturbed_run(loop: str = "closed", lag_s: float = 0.0, **cpu: float) -> Run:
    """A measured Run on a machine whose other work took 31 % of the CPU, by a client that was late by `lag_s`."""
    used = {"client_s": 1.0, "client_per_op_s": 1e-3, "server_s": 2.0, "server_per_op_s": 2e-3}
    machine = {"other_share": 0.31, "steal_share": 0.0}
    due = np.arange(400) * 0.01
    end = due + lag_s + 0.005
    run = run_of(
        end - due, arrival_s=due, start_s=due + lag_s, end_s=end,
        info={"cpu": used | machine | cpu, "pacing": {"loop": loop}, "endpoint": {"kind": "loopback"}, "processes": 2,
              "max_in_flight": 256, "environment": {"cores": 2}, "aborted": False, "left_behind": [], "pinning": None,
              "client_policies": {"hedge": {"cancel": True}}},
    )  # fmt: skip
    return replace(run, info=run.info | {"schedule": schedule_of(run.requests, loop)})

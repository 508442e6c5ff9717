"""Replay of a Trace on a real store: the measured Run."""

from __future__ import annotations

import gc
import importlib.metadata
import ipaddress
import math
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from traces.errors import InputError
from traces.run import Run
from traces.trace import Trace
from validate.bucket import Buckets, Payload
from validate.loops import Clock, ClosedLoop, Loop, OpenLoop, Record, drive
from validate.machine import CpuSample, clock_floor, cpu_usage, environment
from validate.replay_plan import Options, Plan, plan_of, requests_of
from validate.s3 import Account, Answer, DataPath, Target, connect, data_path_facts

LATE_S = 0.005
_SWITCH_INTERVAL_S = 5e-4

Progress = Callable[[str, float, float], None]
"""Called with the stage (``prepare`` or ``replay``), how far it is, and how far it goes."""


def replay(
    trace: Trace,
    target: Target,
    options: Options | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Run:
    """Issue a trace's requests on a store, in buckets made for it.

    A request that fails is a row with its error. Where the buckets could not be removed, ``info["left_behind"]`` says
    so. After an interrupt the Run has what was issued until then, and ``info["aborted"]`` is true.

    Raises:
        InputError: before anything is issued: the trace cannot be replayed (see `plan_of`), the store cannot be
            reached or refuses, or there are no credentials.
    """
    options = options or Options()
    plan = plan_of(trace, options)
    account = Account(target)
    buckets = Buckets(account)
    buckets.create(plan.buckets)
    left: list[str] = []
    try:
        path = connect(account, options.data_path, buckets.names.values(), _pool(plan), options.timeout_s)
        payload = Payload(plan.largest_put_bytes)
        _check(path, account, buckets)
        buckets.preload(path, plan.preload, payload, lambda done: progress("prepare", done, len(plan.preload)))
        info, records = _measure(plan, target, path, buckets, payload, progress)
    finally:
        if not options.keep:
            left = buckets.remove(dict(plan.written))
    info |= {
        "versions": _versions(options.data_path, buckets.server),
        "endpoint": _endpoint(account.endpoint_url),
        "buckets": buckets.names if options.keep else {},
        "left_behind": left,
    }
    table = _table(trace, records)
    return Run.of(table, info | {"schedule": _schedule(table, plan)}, trace=trace, source="replay")


def _pool(plan: Plan) -> int:
    pacing = plan.trace.pacing
    return pacing.clients if pacing.loop == "closed" else plan.options.max_in_flight


def _check(path: DataPath, account: Account, buckets: Buckets) -> None:
    """Ask once, on the data path, for an object that is not there: the client is warm, and refusals show early."""
    answer = path.head(next(iter(buckets.names.values())), "tailcast-check")
    if answer.status != 404:
        said = answer.error or f"answered {answer.status} for an object that does not exist"
        raise InputError(f"{account.endpoint_url}: {said}")


def _measure(
    plan: Plan, target: Target, path: DataPath, buckets: Buckets, payload: Payload, progress: Progress
) -> tuple[dict[str, Any], list[Record]]:
    """The load itself; what is known about it, and what became of each request."""
    trace, options = plan.trace, plan.options
    clock = Clock()
    is_open = trace.pacing.loop == "open"
    loop: Loop = OpenLoop(trace, options.speed, options.max_in_flight) if is_open else ClosedLoop(trace, clock)
    limit_s = trace.pacing.duration_s

    def report(done: int, now_s: float) -> None:
        if is_open or limit_s is None:
            progress("replay", done, len(trace))
        else:
            progress("replay", min(now_s, limit_s), limit_s)

    info = {
        "kind": "measured",
        "floor": clock_floor(),
        "environment": environment(),
        "pacing": asdict(trace.pacing),
        "speed": options.speed,
        "max_in_flight": loop.workers,
        "timeout_s": options.timeout_s,
        "data_path": data_path_facts(options.data_path),
        "preload_objects": len(plan.preload),
        "started_at": datetime.now(UTC).isoformat(),
    }
    with _quiet_interpreter():
        before = CpuSample.take(target.server_pid)
        records, aborted = drive(loop, clock, _issuer(trace, path, buckets, payload), report)
        after = CpuSample.take(target.server_pid)
    return info | {"cpu": cpu_usage(before, after, len(records)), "aborted": aborted}, records


@contextmanager
def _quiet_interpreter() -> Iterator[None]:
    """No long pause of the interpreter's own: old objects out of the collector's sight, the lock handed on sooner."""
    interval_s = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval_s)
        gc.unfreeze()


def _issuer(trace: Trace, path: DataPath, buckets: Buckets, payload: Payload) -> Callable[[int], Answer]:
    """The function that does the request of a row."""
    rows = [(op, buckets.names[bucket], key, size) for op, bucket, key, size in requests_of(trace)]
    start = trace.table.column("range_start_bytes").fill_null(0).to_pylist()
    count = trace.table.column("range_bytes").to_pylist()

    def issue(row: int) -> Answer:
        op, bucket, key, size = rows[row]
        if op == "GET":
            length = count[row]
            return path.get(bucket, key, None if length is None else (start[row], start[row] + length))
        if op == "PUT":
            return path.put(bucket, key, payload.body(key, size))
        if op == "HEAD":
            return path.head(bucket, key)
        return path.delete(bucket, key) if op == "DELETE" else path.list(bucket, key)

    return issue


def _table(trace: Trace, records: list[Record]) -> pa.Table:
    """The Run's table: the trace's columns of the rows that were issued, and what became of them."""
    taken = trace.table.select(["op", "bucket", "key", "size_bytes"]).take([r.due.row for r in records])
    first_byte = [None if math.isnan(r.answer.first_byte_s) else r.answer.first_byte_s for r in records]
    measured: dict[str, Any] = {
        "arrival_s": pa.array([r.due.at_s for r in records], pa.float64()),
        "start_s": pa.array([r.start_s for r in records], pa.float64()),
        "first_byte_s": pa.array(first_byte, pa.float64()),
        "end_s": pa.array([r.end_s for r in records], pa.float64()),
        "transfer_bytes": pa.array([r.answer.transfer_bytes for r in records], pa.int64()),
        "client": pa.array([r.due.client for r in records], pa.int32()),
        "status": pa.array([r.answer.status for r in records], pa.int16()),
        "attempts": pa.array([1] * len(records), pa.int16()),
        "error": pa.array([r.answer.error for r in records], pa.string()),
    }
    return pa.table(measured | {name: taken.column(name) for name in taken.column_names})


def _schedule(table: pa.Table, plan: Plan) -> dict[str, float | int | None]:
    """How well the client kept the schedule: how far starts lag behind the intended ones, and both their rates."""
    arrival, start = table.column("arrival_s").to_numpy(), table.column("start_s").to_numpy()
    if not len(arrival):
        return {"requests": 0}
    lag = start - arrival

    def rate(times_s: Any) -> float | None:
        span_s = float(np.ptp(times_s))
        return (len(times_s) - 1) / span_s if span_s > 0 else None

    return {
        "requests": len(lag),
        "lag_p50_s": float(np.quantile(lag, 0.5)),
        "lag_p99_s": float(np.quantile(lag, 0.99)),
        "lag_max_s": float(lag.max()),
        "late_s": LATE_S,
        "late_share": float((lag > LATE_S).mean()),
        "intended_ops": rate(arrival) if plan.trace.pacing.loop == "open" else None,
        "achieved_ops": rate(start),
    }


def _versions(data_path: str, server: str | None) -> dict[str, str | None]:
    return {
        "tailcast": importlib.metadata.version("tailcast"),
        "python": platform.python_version(),
        data_path: importlib.metadata.version(data_path),
        "server": server,
    }


def _endpoint(url: str) -> dict[str, Any]:
    """Where the store is, without anything secret."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    return {"url": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", "kind": "loopback" if loopback else "remote"}

"""Replay of a Trace on a real store or a mount, which gives a measured Run."""

from __future__ import annotations

import ipaddress
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np

from traces.errors import InputError
from traces.provenance import code_version, release
from traces.run import Run
from traces.trace import Trace
from validate.compare.machine import CpuSample, clock_floor, cpu_usage, environment
from validate.mount.access import Access, access_to, places_of
from validate.mount.folders import Folders
from validate.replay.bucket_record import recorded
from validate.replay.buckets import Buckets
from validate.replay.client_processes import ClientProcesses
from validate.replay.issue import LoopClock, Record, beginning
from validate.replay.pinning import Pinning, cores_here, pinned, pinning_of
from validate.replay.plan import Options, ReplayPlan, plan_of
from validate.replay.resume import joined, remaining, unissued
from validate.replay.schedule import run_table, schedule_of
from validate.replay.seconds import Watch, Watching
from validate.s3.account import Reached, Target
from validate.s3.client import ABSENT_KEY, Client, ReplayTask

Progress = Callable[[str, float, float], None]
"""Called with the stage (``prepare`` or ``replay``), the amount done, and the total."""


_REMOVALS = 3
"""Further attempts to remove buckets from a store that has had faults."""


class Faults(Protocol):
    """Faults that are staged on the store while the requests are issued.

    Attributes:
        staged: whether there are any.
    """

    @property
    def staged(self) -> bool: ...

    def facts(self, zero_at: float, end_at: float) -> dict[str, object]:
        """Return what was staged between two times (s since 1970), as a Run records it."""

    def begin(self, zero_s: float) -> None:
        """Begin with the loop, whose start is `zero_s` by `time.perf_counter`; returns at once."""

    def end(self) -> None:
        """End what is still in force, and wait until the store can be used."""


def replay(
    trace: Trace,
    target: Target,
    options: Options | None = None,
    progress: Progress = lambda stage, done, total: None,
    faults: Faults | None = None,
    watch: Watch | None = None,
    settle: Callable[[], None] = lambda: None,
) -> Run:
    """Issue the requests of a trace on a store, in buckets created for it, or on a mount, in a folder created for it.

    A failed request is a row with its error. Buckets that could not be removed are in ``info["left_behind"]``, and why
    the store did not respond after the last request, in ``info["no_response_after"]``, else null. After an interrupt,
    the Run has the requests issued until then, ``info["aborted"]`` is true, and ``info["unissued"]`` has the others,
    except for a loop with a duration.

    Args:
        settle: called when all objects that the trace reads are written.

    Raises:
        InputError: before anything is issued: the trace cannot be replayed (see `plan_of`), the store is unreachable or
            refuses, or there are no credentials; or a client process was killed.
    """
    plan = plan_of(trace, options or Options())
    access = access_to(target, plan.options.data_path)
    with _buckets(plan, access, target, faults) as (buckets, left):
        client = Client(ReplayTask(plan, target, buckets.names, watch is not None), access)
        path = client.paths[0]
        buckets.preload(path, plan.preload, client.payload, lambda done: progress("prepare", done, len(plan.preload)))
        if plan.preload:
            settle()
        info, records = _measure(client, progress, faults, watch)
        after = path.head(buckets.names[plan.buckets[0]], ABSENT_KEY)
    info |= {
        "versions": _versions(path, target, buckets),
        "tailcast": asdict(code_version()),
        "endpoint": _endpoint(access.endpoint_url, target),
        "nodes": len(client.paths),
        "lab": None if target.lab is None else {"store": target.store, **target.lab},
        "buckets": buckets.names if plan.options.keep else {},
        "created_buckets": buckets.names,
        "left_behind": left,
        "no_response_after": None if after.status else after.error,
    }
    if info["aborted"] and (trace.pacing.loop == "open" or trace.pacing.duration_s is None):
        info["unissued"] = unissued(trace, np.array([record.due.row for record in records], np.int64))
    if faults is not None:
        info |= faults.facts(info["zero_at"], info["zero_at"] + max((r.end_s for r in records), default=0.0))
    table = run_table(trace, records)
    info["schedule"] = schedule_of(table, trace.pacing.loop)
    return Run.of(table, info, trace=trace, source="replay")


@contextmanager
def _buckets(
    plan: ReplayPlan, access: Access, target: Target, faults: Faults | None
) -> Iterator[tuple[Buckets | Folders, list[str]]]:
    """Create the buckets of a plan, and remove them at the end, however it comes.

    Yields:
        The buckets, and a list that has a line for each bucket that could not be removed afterwards.
    """
    left: list[str] = []
    with recorded(target, access.endpoint_url) as record:
        buckets = places_of(access, record, plan)

        def remove() -> None:
            if not plan.options.keep:
                left[:] = buckets.remove(plan.written)
                # A host that failed leaves locks behind, which a store may hold for a minute.
                for _ in range(_REMOVALS if left and faults is not None and faults.staged else 0):
                    left[:] = buckets.remove(plan.written) if left else left
            record.done = not left

        try:
            buckets.create(plan.buckets)
            yield buckets, left
        except InputError as error:
            remove()
            raise InputError(*error.messages, *left) from error
        except KeyboardInterrupt as error:
            remove()
            raise KeyboardInterrupt(*error.args, *left) from None
        except BaseException:
            remove()
            raise
        remove()


def resume(
    partial: Run,
    trace: Trace,
    target: Target,
    options: Options | None = None,
    progress: Progress = lambda stage, done, total: None,
    faults: Faults | None = None,
    watch: Watch | None = None,
) -> Run:
    """Issue the remaining requests of an interrupted replay of the trace, and return the Run of both parts.

    Raises:
        InputError: as in `replay` and `remaining`.
    """
    options = options or Options()
    rest = remaining(trace, options, partial)
    return joined(partial, replay(rest, target, options, progress, faults, watch), trace)


def _measure(
    client: Client, progress: Progress, faults: Faults | None, watch: Watch | None
) -> tuple[dict[str, Any], list[Record]]:
    """Issue the load, and return its facts and the record of each request."""
    plan, target = client.job.plan, client.job.target
    trace, options, limit_s = plan.trace, plan.options, plan.trace.pacing.duration_s
    watching = None if watch is None else Watching(watch, trace, options.speed)

    def report(done: int, now_s: float) -> None:
        if watching is not None:
            watching.poll(now_s)
        if trace.pacing.loop == "open" or limit_s is None:
            progress("replay", done, len(trace))
        else:
            progress("replay", min(now_s, limit_s), limit_s)

    info: dict[str, object] = {
        "kind": "measured",
        "floor": clock_floor(),
        "environment": environment(),
        "pacing": trace.pacing.known(),
        "speed": options.speed,
        "max_in_flight": plan.workers,
        "processes": options.processes,
        "timeout_s": options.limit_s,
        "client_policies": _policies(plan),
        "data_path": client.paths[0].facts,
        "preload_objects": len(plan.preload),
        "started_at": datetime.now(UTC).isoformat(),
    }
    with ExitStack() as stack:
        clients = None
        if options.processes > 1:
            clients = stack.enter_context(ClientProcesses(client.job, options.processes))
        info["pinning"] = stack.enter_context(
            _separate_cores(options, clients.pids if clients else [os.getpid()], target)
        )
        before, clock = CpuSample.take(target.server_pids, target.device_pids), LoopClock()
        zero_s = partial(_zero, plan, info, faults)
        if faults is not None:
            stack.callback(faults.end)
        if clients is None:
            records, aborted = client.run(clock, report, zero_s=zero_s, ended=watching.counts.add if watching else None)
            before = replace(before, client_s=clock.cpu_zero_s)
        else:
            aborted = clients.run(report, zero_s, watching.add if watching else lambda seconds: None)
        after = CpuSample.take(target.server_pids, target.device_pids)
        if clients is not None:
            after = replace(after, client_s=after.client_s + clients.cpu_s)
            records = clients.records()
    if watching is not None:
        watching.poll(max((record.end_s for record in records), default=0.0), ended=True)
    return info | {"cpu": cpu_usage(before, after, len(records)), "aborted": aborted}, records


def _zero(plan: ReplayPlan, info: dict[str, object], faults: Faults | None) -> float:
    """Return the start of the loop by `time.perf_counter`, record it by the calendar, and begin the faults."""
    zero_s = beginning(plan.workers)
    info["zero_at"] = time.time() + zero_s - time.perf_counter()
    if faults is not None:
        faults.begin(zero_s)
    return zero_s


@contextmanager
def _separate_cores(options: Options, clients: Sequence[int], target: Target) -> Iterator[dict[str, object] | None]:
    """Pin clients and store to separate cores, if requested and possible; yield the cores, or why not."""
    if not options.pin:
        yield None
        return
    cores = cores_here()
    pinning = pinning_of(cores, len(clients)) if target.server_pids else None
    if pinning is None:
        few = (
            f"{len(cores)} cores are too few for the store and {len(clients)} client process{'es' * (len(clients) > 1)}"
        )
        yield {"refused": few if target.server_pids else "the store's process is unknown: name a lab or a process id"}
        return
    with _pinned(clients, target, pinning):
        yield pinning._asdict()


@contextmanager
def _pinned(clients: Sequence[int], target: Target, pinning: Pinning) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(pinned(clients, pinning.client))
            stack.enter_context(pinned(target.server_pids, pinning.server))
        except OSError as error:
            raise InputError(f"pin: the processes cannot be bound to cores: {error.strerror}") from error
        yield


def _policies(plan: ReplayPlan) -> dict[str, object]:
    """Return the timeouts, retries and hedging of the clients, in the form of a spec."""
    policies = plan.options.policies.model_dump(mode="json")
    policies["timeout"] = plan.options.limit_s
    policies["hedge"]["cancel"] = plan.cancels
    return policies


def _versions(path: Reached, target: Target, buckets: Buckets | Folders) -> dict[str, str | None]:
    return {
        "tailcast": release(),
        "python": platform.python_version(),
        path.facts["name"]: path.facts["version"],
        "server": target.server_version or buckets.server,
    }


def _endpoint(url: str, target: Target) -> dict[str, str]:
    """Return the endpoint without credentials; a box is on this machine, with links of its own."""
    if target.mount is not None:
        return {"url": url, "kind": "mount"}
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    boxed = target.lab is not None and target.lab["shape"] is not None
    kind = "box" if boxed else "loopback" if loopback else "remote"
    return {"url": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", "kind": kind}

"""The time between two changes of a cluster's state: which drives proxies avoid, and which are silent.

Simplifications: accesses in progress when a part fails still complete, but responses of a silent part wait for the
timeout; all processes of all proxies begin to avoid a silent part at the same time, after errors that are spread evenly
over them; a drive that is back has nothing to catch up on, and objects were written before the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.swift.spec.faults import DriveDown, DriveFrozen, HostDown, LinkDown
from models.swift.spec.spec import SwiftSpec
from traces.operations import ops_that

_MOST_ROUNDS = 20  # of a silent part that is avoided and tried again


@dataclass(frozen=True)
class Epoch:
    """The state of a cluster from a time on.

    Attributes:
        at_s: its beginning.
        avoided: drives that no request is sent to: failed, killed, or silent for some time.
        frozen: drives that are silent, with a server that accepts connections.
        cut: drives of hosts that are silent.
        dead_hosts, cut_hosts: hosts whose container servers refuse, or are silent.
    """

    at_s: float = 0.0
    avoided: frozenset[int] = frozenset()
    frozen: frozenset[int] = frozenset()
    cut: frozenset[int] = frozenset()
    dead_hosts: frozenset[int] = frozenset()
    cut_hosts: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Silence:
    """A period in which parts do not respond; requests in progress there wait for the timeout.

    Attributes:
        drives: numbers of the drives.
        at_s, until_s: beginning, and when the requests in progress are given up.
    """

    drives: frozenset[int]
    at_s: float
    until_s: float


def epochs_of(spec: SwiftSpec) -> tuple[Epoch, ...]:
    """Return the epochs that the faults of a spec divide a run into."""
    spans: list[tuple[float, float, str, frozenset[int]]] = []
    for fault in spec.faults:
        if isinstance(fault, DriveDown):
            spans.append((fault.at, fault.back_s, "avoided", frozenset([fault.drive])))
        elif isinstance(fault, HostDown):
            spans.append((fault.at, fault.back_s, "avoided", _drives_of(spec, fault.host)))
            spans.append((fault.at, fault.back_s, "dead_hosts", frozenset([fault.host])))
        elif isinstance(fault, DriveFrozen | LinkDown):
            cut = isinstance(fault, LinkDown)
            drives = _drives_of(spec, fault.host) if isinstance(fault, LinkDown) else frozenset([fault.drive])
            if isinstance(fault, LinkDown):
                spans.append((fault.at, fault.back_s, "cut_hosts", frozenset([fault.host])))
            noticed_s = _detected_after_s(spec, fault)
            at_s = fault.at
            for _ in range(_MOST_ROUNDS):
                spans.append((at_s, min(at_s + noticed_s, fault.back_s), "cut" if cut else "frozen", drives))
                if at_s + noticed_s >= fault.back_s:
                    break
                at_s += noticed_s + spec.proxies.error_suppression_interval
                spans.append((at_s - spec.proxies.error_suppression_interval, at_s, "avoided", drives))
                if at_s >= fault.back_s:
                    break
    times = sorted({0.0, *(t for start, end, *_ in spans for t in (start, end) if t < math.inf)})
    found = []
    for t in times:
        now: dict[str, frozenset[int]] = {}
        for start, end, state, parts in spans:
            if start <= t < end:
                now[state] = now.get(state, frozenset()) | parts
        found.append(Epoch(t, **now))
    return tuple(found)


def silences_of(spec: SwiftSpec) -> tuple[Silence, ...]:
    """Return the periods in which requests in progress wait for silent parts."""
    found = []
    for fault in spec.faults:
        if isinstance(fault, DriveFrozen | LinkDown):
            drives = _drives_of(spec, fault.host) if isinstance(fault, LinkDown) else frozenset([fault.drive])
            found.append(Silence(drives, fault.at, min(fault.at + spec.proxies.node_timeout, fault.back_s)))
    return tuple(found)


def _drives_of(spec: SwiftSpec, host: int) -> frozenset[int]:
    return frozenset(range(host * spec.drives.count, (host + 1) * spec.drives.count))


def _detected_after_s(spec: SwiftSpec, fault: DriveFrozen | LinkDown) -> float:
    """Return the time in which all processes of proxies have counted enough errors of a silent part.

    A client of a closed loop is taken to spend all of its time in timeouts, which is the most that it can.
    """
    if fault.detected_after is not None:
        return fault.detected_after
    proxies = spec.proxies
    needed = (proxies.error_suppression_limit + 1) * proxies.count * proxies.cores.count
    timeout_s = proxies.conn_timeout if isinstance(fault, LinkDown) else proxies.node_timeout
    silent = spec.drives.count if isinstance(fault, LinkDown) else 1
    per_read = min(1.0, spec.data_pieces * silent / spec.total_drives)
    per_write = min(1.0, spec.pieces * silent / spec.total_drives)
    errors_ops = 0.0
    for part in spec.workload.parts.values():
        if part.rate is None:
            errors_ops += part.clients / timeout_s
            continue
        weights = {op: part.mix.get(op, 0.0) for op in part.ops_of_part}
        per_op = sum(w * (per_write if op in ops_that("changes") else per_read) for op, w in weights.items())
        errors_ops += part.rate * per_op / sum(weights.values())
    return timeout_s + needed / errors_ops if errors_ops else math.inf

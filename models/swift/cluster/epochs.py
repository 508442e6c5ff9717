"""The time between two changes of a cluster's state: which drives proxies avoid, and which are silent.

Simplifications: accesses in progress when a part fails still complete, but responses of a silent part wait for the
timeout; all processes of all proxies begin to avoid a silent part at the same time, after errors that are spread evenly
over them; a drive that is back has nothing to catch up on, and objects were written before the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from models.shared import epochs
from models.shared.epochs import NO_PARTS, Parts, Span
from models.swift.spec.faults import DriveDown, DriveFrozen, HostDown, LinkDown
from models.swift.spec.spec import SwiftSpec
from traces.operations import ops_that

_MOST_ROUNDS = 20  # of a silent part that is avoided and tried again


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """The state of drives and hosts from a time on.

    Attributes:
        avoided: drives that no request is sent to: failed, killed, or silent for some time.
        frozen: drives that are silent, with a server that accepts connections.
        cut: drives of hosts that are silent.
        dead_hosts, cut_hosts: hosts whose container servers refuse, or are silent.
    """

    avoided: Parts = NO_PARTS
    frozen: Parts = NO_PARTS
    cut: Parts = NO_PARTS
    dead_hosts: Parts = NO_PARTS
    cut_hosts: Parts = NO_PARTS


@dataclass(frozen=True)
class Silence:
    """A period in which parts do not respond; requests in progress there wait for the timeout.

    Attributes:
        drives: numbers of the drives.
        at_s, until_s: beginning, and when the requests in progress are given up.
    """

    drives: Parts
    at_s: float
    until_s: float


def epochs_of(spec: SwiftSpec) -> tuple[Epoch, ...]:
    """Return the epochs that the faults of a spec divide a run into."""
    return epochs.epochs_of(Epoch, _spans(spec))


def _spans(spec: SwiftSpec) -> Iterator[Span]:
    for fault in spec.faults:
        if isinstance(fault, DriveDown):
            yield Span(fault.at, fault.back_s, "avoided", [fault.drive])
        elif isinstance(fault, HostDown):
            yield Span(fault.at, fault.back_s, "avoided", _drives_of(spec, fault.host))
            yield Span(fault.at, fault.back_s, "dead_hosts", [fault.host])
        elif isinstance(fault, DriveFrozen):
            yield from _silent_spans(spec, fault, "frozen", frozenset([fault.drive]))
        elif isinstance(fault, LinkDown):
            yield Span(fault.at, fault.back_s, "cut_hosts", [fault.host])
            yield from _silent_spans(spec, fault, "cut", _drives_of(spec, fault.host))


def _silent_spans(spec: SwiftSpec, fault: DriveFrozen | LinkDown, state: str, drives: Parts) -> Iterator[Span]:
    """Yield the times in which drives are silent in turn with those in which they are avoided."""
    at_s, noticed_s, interval_s = fault.at, _detected_after_s(spec, fault), spec.proxies.error_suppression_interval
    for _ in range(_MOST_ROUNDS):
        yield Span(at_s, min(at_s + noticed_s, fault.back_s), state, drives)
        if at_s + noticed_s >= fault.back_s:
            return
        at_s += noticed_s + interval_s
        yield Span(at_s - interval_s, at_s, "avoided", drives)
        if at_s >= fault.back_s:
            return


def silences_of(spec: SwiftSpec) -> tuple[Silence, ...]:
    """Return the periods in which requests in progress wait for silent parts."""
    found = []
    for fault in spec.faults:
        if isinstance(fault, DriveFrozen | LinkDown):
            drives = _drives_of(spec, fault.host) if isinstance(fault, LinkDown) else frozenset([fault.drive])
            found.append(Silence(drives, fault.at, min(fault.at + spec.proxies.node_timeout, fault.back_s)))
    return tuple(found)


def _drives_of(spec: SwiftSpec, host: int) -> Parts:
    return frozenset(range(host * spec.drives.count, (host + 1) * spec.drives.count))


def _detected_after_s(spec: SwiftSpec, fault: DriveFrozen | LinkDown) -> float:
    """Return the time in which all processes of proxies have counted enough errors of a silent part.

    A client of a closed loop is taken to spend all of its time in timeouts, which is the most that it can.
    """
    if fault.detected_after is not None:
        return fault.detected_after
    proxies = spec.proxies
    needed = (proxies.error_suppression_limit + 1) * proxies.count * spec.proxy_cores.count
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

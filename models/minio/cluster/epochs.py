"""The time between two changes of a cluster's state: which drives and hosts take part in requests.

Simplifications: accesses in progress when a part fails still complete, but for those of requests that the failed host
coordinates; objects were written before the run, so a read needs its data shards; writes with increased parity move no
more bytes; decoding costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from models.minio.spec.faults import (
    CALL_TIMEOUT_S,
    DIAL_TIMEOUT_S,
    LOCK_TIMEOUT_S,
    DriveDown,
    DriveReplaced,
    LinkDown,
    hosts_down,
)
from models.minio.spec.spec import MinioSpec
from models.shared import epochs
from models.shared.epochs import NO_PARTS, Parts, Span

HEAL_WAIT_S = 1.0
"""How long after a write that missed a drive its only attempt to heal begins (healRoutine, cmd/mrf.go)."""
HEAL_SLEEP, MOST_HEAL_SLEEP_S = 5.0, 1.0
"""A node pauses after an attempt for this multiple of its time, up to a limit (healSleeper, cmd/mrf.go)."""


@dataclass(frozen=True)
class Hang:
    """A period in which a drive or a host does not respond, and requests that need it wait.

    Attributes:
        drive, host: what hangs; the other is None.
        at_s, gone_s: from its failure until the others do without it.
        back_s: when it works again.
        lock_s, read_s, call_s: timeouts of a lock, of a read with data, and of other calls.
        reads_until_s: end of the time in which reads wait for it.
        connect_s: timeout of clients that connect to the host; None: they wait until it is back.
    """

    drive: int | None
    host: int | None
    at_s: float
    gone_s: float
    back_s: float
    lock_s: float
    read_s: float
    call_s: float
    reads_until_s: float
    connect_s: float | None = None

    @property
    def calls_end_s(self) -> float:
        """When a call that waits is over at the latest: calls to a host end with its connection."""
        return self.back_s if self.host is None else self.gone_s


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """The state of drives and hosts from a time on.

    Attributes:
        drives: numbers of the drives that requests avoid, apart from those of hosts.
        hosts: numbers of the hosts that are down, so that the drives there are avoided as well.
        silent: those of them from which no refusal comes.
        unnoticed: those of them that the others have not found yet.
        returning_drives, returning_hosts: those that are back `HEAL_WAIT_S` later.
        fresh: numbers of the drives that are replaced by empty ones, so that reads do without their shards.
    """

    drives: Parts = NO_PARTS
    hosts: Parts = NO_PARTS
    silent: Parts = NO_PARTS
    unnoticed: Parts = NO_PARTS
    returning_drives: Parts = NO_PARTS
    returning_hosts: Parts = NO_PARTS
    fresh: Parts = NO_PARTS


def depends_on_time(spec: MinioSpec) -> bool:
    """Whether the stations of a request depend on its time, because parts fail."""
    return epochs_of(spec) != (Epoch(),) or bool(hangs_of(spec))


def epochs_of(spec: MinioSpec, healed_s: Mapping[int, float] = MappingProxyType({})) -> tuple[Epoch, ...]:
    """Return the epochs that the faults of a spec divide a run into.

    Args:
        healed_s: time at which each replaced drive has its objects again; others are read from at no time.
    """
    return epochs.epochs_of(Epoch, _spans(spec, healed_s))


def _spans(spec: MinioSpec, healed_s: Mapping[int, float]) -> Iterator[Span]:
    for fault in spec.faults:
        if isinstance(fault, DriveDown | DriveReplaced):
            yield from _avoided(fault.at, fault.used_s, "drives", [fault.drive])
            if isinstance(fault, DriveReplaced):
                yield Span(fault.used_s, healed_s.get(fault.drive, math.inf), "fresh", [fault.drive])
        elif isinstance(fault, LinkDown):
            yield from _avoided(fault.at, fault.back_s, "hosts", [fault.host])
            yield Span(fault.at, fault.back_s, "silent", [fault.host])
            yield Span(fault.at, fault.gone_s, "unnoticed", [fault.host])
        elif spec.total_hosts > 1 and (down := hosts_down(fault, spec.hosts.count, spec.hosts.racks)):
            yield from _avoided(fault.at, fault.back_s, "hosts", down)  # type: ignore[union-attr]


def _avoided(from_s: float, until_s: float, kind: str, parts: Sequence[int]) -> Iterator[Span]:
    yield Span(from_s, until_s, kind, parts)
    yield Span(max(from_s, until_s - HEAL_WAIT_S), until_s, f"returning_{kind}", parts)


def hangs_of(spec: MinioSpec) -> tuple[Hang, ...]:
    """Return the periods in which requests wait for drives or hosts that do not respond."""
    found = []
    for fault in spec.faults:
        if isinstance(fault, DriveDown) and fault.gone_s > fault.at:
            times = fault.at, fault.gone_s, fault.back_s
            found.append(Hang(fault.drive, None, *times, 0.0, CALL_TIMEOUT_S, CALL_TIMEOUT_S, fault.gone_s))
        elif isinstance(fault, LinkDown):
            times = fault.at, fault.gone_s, fault.back_s
            read_s, connect_s = (CALL_TIMEOUT_S, None) if fault.accepts else (DIAL_TIMEOUT_S, fault.refused_after)
            timeouts = LOCK_TIMEOUT_S, read_s, CALL_TIMEOUT_S
            found.append(Hang(None, fault.host, *times, *timeouts, fault.back_s, connect_s))
    return tuple(found)

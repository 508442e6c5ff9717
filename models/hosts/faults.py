"""Hosts that are killed or silent: until when other hosts wait for them, and when they know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from pydantic import Field

from models.shared.epochs import NO_PARTS, Epoch, Parts, Span, epochs_of
from models.shared.faults import Outage
from traces.spec.units import Seconds


class HostOutage(Outage):
    """The failure of a host; a store's own classes say what kind it is of."""

    host: int = Field(0, ge=0, description="Number of the host that fails, from 0.")


class HostSilence(HostOutage):
    """A host does not respond, which the others know some time later."""

    detected_after: Seconds = Field(description="Time until the other hosts know that it does not respond.")


@dataclass(frozen=True)
class HostEpoch(Epoch):
    """The state of the hosts from a time on.

    Attributes:
        dead: hosts that refuse calls, or that the others know to be unreachable.
        silent: hosts whose calls are waited for.
        cut: hosts whose requests are waited for, as clients do not know of it.
    """

    dead: Parts = NO_PARTS
    silent: Parts = NO_PARTS
    cut: Parts = NO_PARTS


def host_epochs(killed: Iterable[HostOutage], silent: Iterable[HostSilence]) -> tuple[HostEpoch, ...]:
    """Return the epochs that faults divide a run into."""
    return epochs_of(HostEpoch, _spans(killed, silent))


def _spans(killed: Iterable[HostOutage], silent: Iterable[HostSilence]) -> Iterator[Span]:
    for fault in killed:
        yield Span(fault.at, fault.back_s, "dead", [fault.host])
    for silence in silent:
        found_s = min(silence.at + silence.detected_after, silence.back_s)
        yield Span(silence.at, found_s, "silent", [silence.host])
        yield Span(found_s, silence.back_s, "dead", [silence.host])
        yield Span(silence.at, silence.back_s, "cut", [silence.host])


def passed_to(host: int, turn: int, dead: Collection[int], hosts: int, balance: str) -> int:
    """Return the host that a request for one is passed to, such as the same one.

    Args:
        host: that of the request, from 0.
        turn: number by which the others take turns, if it is dead and there is a proxy.
        dead: hosts that refuse requests.
        hosts: number of all.
        balance: one of `Balance`.
    """
    alive = [each for each in range(hosts) if each not in dead]
    return alive[turn % len(alive)] if balance == "proxy" and host in dead and alive else host

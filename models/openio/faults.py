"""Faults of an OpenIO cluster: rawx services that are killed or hang, hosts, meta2 services, gateways, slow drives.

A service that is killed refuses connections; one that hangs accepts them; those of a host without power are silent. New
chunks go elsewhere once the conscience has given the service a score of 0 and the oio-proxies have pulled that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from models.shared import epochs
from models.shared.epochs import NO_PARTS, Parts, Span
from models.shared.faults import SLOW_PARTS, FaultKind, HostNeighbour, Outage, SlowDrive
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

_PULLED = "OpenIO's defaults: a check each 1 s, proxies push each 1 s and pull each 5 s, half of each on average"
_REFUSED = Basis(_PULLED, 0.5, 60)
_TIMED_OUT = Basis(f"{_PULLED}; the check itself times out after 5 s (oio/conscience/checker/base.py)", 0.5, 60)
_EXPIRED = Basis(f"{_PULLED}; scores expire after 120 s (score_timeout in etc/service-types.conf-sample)", 1, 600)
_ELECTION = Basis("assumed: 10 s until ZooKeeper's session ends (sqliterepo.zk.timeout), and as much again", 1, 60)
_HAPROXY = Basis("HAProxy's defaults: a health check every 2 s, fall 3, rise 2", 0.1, 120)

Elected = Annotated[Seconds, _ELECTION]


class RawxDown(Outage):
    """The rawx service of a drive is killed, or its drive is unmounted: connections are refused."""

    kind: Literal["rawx_down"] = Field(description="Rawx failure: the service of a drive refuses connections.")
    drive: int = Field(0, ge=0, description="Number of the drive, counted host by host from 0.")
    detected_after: Annotated[Seconds, _REFUSED] = Field(
        3.5, description="Time until its score of 0 has reached the proxies."
    )


class RawxHung(Outage):
    """The rawx service of a drive hangs: it accepts connections, but does not respond."""

    kind: Literal["rawx_hung"] = Field(description="Hung rawx: the service of a drive does not respond.")
    drive: int = Field(0, ge=0, description="Number of the drive, counted host by host from 0.")
    detected_after: Annotated[Seconds, _TIMED_OUT] = Field(
        8.5, description="Time until its score of 0 has reached the proxies."
    )


class HostDown(Outage):
    """A host loses its power: its rawx services are silent, and so is the agent that would report them."""

    kind: Literal["host_down"] = Field(description="Host failure: a host is silent, with its drives and meta2 service.")
    host: int = Field(0, ge=0, description="Number of the host, from 0.")
    detected_after: Annotated[Seconds, _EXPIRED] = Field(
        123.0, description="Time until the scores of its rawx services have expired."
    )
    elected_after: Elected = Field(20.0, description="Time until bases whose master it had have another one.")
    left_out_after: Annotated[Seconds, _HAPROXY] = Field(
        6.0, description="Time until the load balancer leaves its collocated gateway out."
    )


class Meta2Down(Outage):
    """The meta2 service of a host is killed: bases whose master it had elect another one."""

    kind: Literal["meta2_down"] = Field(description="Meta2 failure: the directory service of a host is killed.")
    host: int = Field(0, ge=0, description="Number of the host whose service is killed, from 0.")
    elected_after: Elected = Field(20.0, description="Time until bases whose master it had have another one.")


class GatewayDown(Outage):
    """A gateway fails behind a load balancer, which sends requests to it until a health check detects the failure."""

    kind: Literal["gateway_down"] = Field(description="Gateway failure: a gateway refuses requests.")
    gateway: int = Field(0, ge=0, description="Number of the gateway that fails, from 0.")
    detected_after: Annotated[Seconds, _HAPROXY] = Field(
        6.0, description="Time until the load balancer detects the failure; until then requests to it fail."
    )


Fault = Annotated[
    RawxDown | RawxHung | HostDown | Meta2Down | GatewayDown | SlowDrive | HostNeighbour, Field(discriminator="kind")
]
"""An entry of the section `faults`."""


@dataclass(frozen=True)
class Epoch(epochs.Epoch):
    """The state of drives and hosts from a time on.

    Attributes:
        dead: drives whose rawx service refuses connections.
        silent: drives of hosts that are silent.
        hung: drives whose rawx service accepts connections, but does not respond.
        avoided: drives of any of these that no new chunk goes to, and that are read last.
        lost: hosts without their meta2 service.
        electing: those of which bases have no other master yet.
    """

    dead: Parts = NO_PARTS
    silent: Parts = NO_PARTS
    hung: Parts = NO_PARTS
    avoided: Parts = NO_PARTS
    lost: Parts = NO_PARTS
    electing: Parts = NO_PARTS


def epochs_of(faults: Iterable[Fault], drives_per_host: int) -> tuple[Epoch, ...]:
    """Return the epochs that faults divide a run into."""
    return epochs.epochs_of(Epoch, (span for fault in faults for span in _spans(fault, drives_per_host)))


def drives_of(fault: RawxDown | RawxHung | HostDown, drives_per_host: int) -> Parts:
    """Return the drives whose rawx services a fault affects."""
    if isinstance(fault, HostDown):
        return frozenset(range(fault.host * drives_per_host, (fault.host + 1) * drives_per_host))
    return frozenset([fault.drive])


def _spans(fault: Fault, drives_per_host: int) -> Iterator[Span]:
    if isinstance(fault, RawxDown | RawxHung | HostDown):
        drives = drives_of(fault, drives_per_host)
        state = {"rawx_down": "dead", "rawx_hung": "hung", "host_down": "silent"}[fault.kind]
        found_s = min(fault.at + fault.detected_after, fault.back_s)
        yield Span(fault.at, found_s, state, drives)
        yield Span(found_s, fault.back_s, "avoided", drives)
    if isinstance(fault, HostDown | Meta2Down):
        yield Span(fault.at, fault.back_s, "lost", [fault.host])
        yield Span(fault.at, min(fault.at + fault.elected_after, fault.back_s), "electing", [fault.host])


_DETECTED, _ELECTED = {"detected_after": 0.0}, {"elected_after": 0.0}

FAULTS = {
    "rawx": FaultKind("rawx_down", "outage", "drive", settled=_DETECTED),
    "hung-rawx": FaultKind("rawx_hung", "outage", "drive", settled=_DETECTED),
    "host": FaultKind("host_down", "outage", "host", settled={**_DETECTED, **_ELECTED, "left_out_after": 0.0}),
    "directory": FaultKind("meta2_down", "outage", "host", settled=_ELECTED),
    "gateway": FaultKind("gateway_down", "outage", "gateway", refuses=True, settled=_DETECTED),
    **SLOW_PARTS,
}
"""The failures of the command `failures`, by name."""

"""Faults of a Swift cluster: killed and silent parts, slow drives, failed proxies, a noisy neighbour.

A part that is *killed* refuses connections, so that a proxy tries the next server at once. A *silent* one accepts them
or not, and only timeouts end the wait for it, until each process of a proxy has counted enough errors to avoid it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from models.hosts.speed_groups import first_hosts, group_of_hosts
from models.shared.faults import SLOW_PARTS, FaultKind, HostNeighbour, Outage, SlowDrive
from traces.spec.field_notes import Basis
from traces.spec.units import Seconds

_COMPUTED = "absent: the time in which the workload causes as many errors as error_suppression_limit allows"
_HAPROXY = "HAProxy's defaults: a health check every 2 s, fall 3, rise 2"

Silent = Annotated[Seconds, Basis(_COMPUTED, 0.1, 3600)] | None


class DriveDown(Outage):
    """A drive fails and is unmounted: its object server responds with 507, and handoffs take its writes."""

    kind: Literal["drive_down"] = Field(description="Drive failure: a drive is unmounted and returns errors at once.")
    drive: int = Field(ge=0, description="Number of the drive, counted host by host from 0.")


class DriveFrozen(Outage):
    """A drive does not respond any more, while the object server accepts requests for it."""

    kind: Literal["drive_frozen"] = Field(description="Frozen drive: its server accepts requests but is silent.")
    drive: int = Field(ge=0, description="Number of the drive, counted host by host from 0.")
    detected_after: Silent = Field(None, description=f"Time until proxies avoid the drive; {_COMPUTED}.")


class HostDown(Outage):
    """The servers of a host are killed, or the host is switched off by its neighbours: connections are refused."""

    kind: Literal["host_down"] = Field(description="Host failure: its servers are killed and refuse connections.")
    host: int = Field(0, ge=0, description="Number of the storage host, from 0.")


class LinkDown(Outage):
    """The link of a host is cut, so that it is silent, also to the container updates of other hosts."""

    kind: Literal["link_down"] = Field(description="Link failure: a storage host is silent.")
    host: int = Field(0, ge=0, description="Number of the storage host, from 0.")
    detected_after: Silent = Field(None, description=f"Time until proxies avoid the host; {_COMPUTED}.")


class ProxyDown(Outage):
    """A proxy fails behind a load balancer, which sends requests to it until a health check detects the failure."""

    kind: Literal["proxy_down"] = Field(description="Proxy failure: a proxy refuses requests.")
    proxy: int = Field(0, ge=0, description="Number of the proxy that fails, from 0.")
    detected_after: Annotated[Seconds, Basis(_HAPROXY, 0.1, 120)] = Field(
        6.0, description="Time until the load balancer detects the failure; until then requests to it fail."
    )


Fault = Annotated[
    DriveDown | DriveFrozen | HostDown | LinkDown | ProxyDown | SlowDrive | HostNeighbour, Field(discriminator="kind")
]
"""An entry of the section `faults`."""


def _first_hosts(spec: Any) -> dict[str, int]:
    """Return the first host of each group."""
    return first_hosts(group_of_hosts(spec.hosts.groups, spec.hosts.count))


def _first_drives(spec: Any) -> dict[str, int]:
    """Return the first drive of each group of hosts."""
    return {name: host * spec.drives.count for name, host in _first_hosts(spec).items()}


FAULTS = {
    "drive": FaultKind("drive_down", "outage", "drive", groups=_first_drives),
    "frozen-drive": FaultKind("drive_frozen", "outage", "drive", settled={"detected_after": 0.0}, groups=_first_drives),
    "host": FaultKind("host_down", "outage", "host", groups=_first_hosts),
    "link": FaultKind("link_down", "outage", "host", settled={"detected_after": 0.0}, groups=_first_hosts),
    "proxy": FaultKind("proxy_down", "outage", "proxy", refuses=True, settled={"detected_after": 0.0}),
    **SLOW_PARTS,
}
"""The failures of the command `failures`, by name."""

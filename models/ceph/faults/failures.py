"""The failures of a Ceph cluster for the command `failures`, by name."""

from __future__ import annotations

from models.ceph.faults.faults import GatewayDown
from models.ceph.spec import CephSpec
from models.faults import FaultKind


def _unnoticed(spec: CephSpec, event: GatewayDown) -> str:
    if spec.gateways.count == 1 or event.back_s > event.at + event.detected_after:
        return ""
    return (
        f"The load balancer would detect the failure after {event.detected_after:g} s (detected_after), when gateway "
        f"{event.gateway} is already back; until then requests go to it and fail"
    )


FAULTS = {
    "drive": FaultKind("osd_down", "outage", "osd"),
    "host": FaultKind("host_down", "outage", "host", refuses=True),
    "gateway": FaultKind("gateway_down", "outage", "gateway", refuses=True, note=_unnoticed),
    "slow-drive": FaultKind("slow_drive", "slow", "osd"),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}

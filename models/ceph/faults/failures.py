"""The failures of a Ceph cluster for the command `failures`, by name."""

from __future__ import annotations

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.faults import GatewayDown, HostDown, OsdDown
from models.ceph.faults.recovery import duration_s, failed_osds, is_backfill, missed_writes, rebuilding, returning
from models.ceph.spec.object_size import first_object_bytes
from models.ceph.spec.spec import CephSpec
from models.shared.faults import FaultKind
from traces.spec.units import duration_text

_WORTH_SAYING_S = 1.0


def _unnoticed(spec: CephSpec, event: GatewayDown) -> str:
    if spec.gateways.count == 1 or spec.gateways.redispatch or event.back_s > event.at + event.detected_after:
        return ""
    return (
        f"The load balancer would detect the failure after {event.detected_after:g} s (detected_after), when gateway "
        f"{event.gateway} is already back; until then requests go to it and fail"
    )


def _recovers(spec: CephSpec, event: OsdDown | HostDown) -> str:
    """Say how long the cluster rebuilds what it lost, or how long OSDs that are back recover what they missed."""
    costs, osds = CostFunctions(spec, first_object_bytes(spec)), failed_osds(event, spec)
    if event.back_at is None:
        took_s = duration_s(rebuilding(osds, costs), spec, costs)
        return f"Rebuilding its data takes {duration_text(took_s)} from when it is marked out" if took_s else ""
    written = missed_writes(event, spec)
    took_s = duration_s(returning(osds, written, costs), spec, costs) if written else 0.0
    how = "by comparing all objects (backfill)" if is_backfill(written, spec) else "by the logs of placement groups"
    return (
        f"Recovering {written:,.0f} missed writes {how} takes {duration_text(took_s)}"
        if took_s >= _WORTH_SAYING_S
        else ""
    )


def _first_osds(spec: CephSpec) -> dict[str, int]:
    """Return the first OSD of each group of hosts."""
    firsts = spec.layout.first_osd
    return {group: int(firsts[host]) for group, host in _first_hosts(spec).items()}


def _first_hosts(spec: CephSpec) -> dict[str, int]:
    """Return the first host of each group."""
    if not spec.hosts.groups:
        return {}
    layout = spec.layout
    return {name: int((layout.group_of_host == number).argmax()) for number, name in enumerate(layout.groups)}


_REDISPATCH = ({"gateways.redispatch": True},)
"""The load balancer sends refused requests to another gateway."""

FAULTS = {
    "drive": FaultKind("osd_down", "outage", "osd", settled={"peering": 0.0}, note=_recovers, groups=_first_osds),
    "host": FaultKind(
        "host_down",
        "outage",
        "host",
        refuses=True,
        settled={"peering": 0.0, "gateways_detected_after": 0.0},
        helps=_REDISPATCH,
        note=_recovers,
        groups=_first_hosts,
    ),
    "gateway": FaultKind(
        "gateway_down",
        "outage",
        "gateway",
        refuses=True,
        settled={"detected_after": 0.0},
        helps=_REDISPATCH,
        note=_unnoticed,
    ),
    "slow-drive": FaultKind("slow_drive", "slow", "osd", groups=_first_osds),
    "noisy-neighbour": FaultKind("noisy_neighbour", "neighbour"),
}

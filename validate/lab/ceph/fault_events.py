"""Faults of the lab in the words of the section `faults` of a Ceph spec."""

from __future__ import annotations

from validate.lab.faults import LabFault
from validate.lab.store import Store


def fault_event(store: Store, fault: LabFault, at_s: float, until_s: float | None) -> dict[str, object] | None:
    """Return the event that is the fault; None if the model has no such event.

    OSDs that are killed refuse connections; those that are silent miss heartbeats, and those whose drive is, later.
    Without a load balancer, requests go to a killed gateway until it is back.
    """
    down = {"at": at_s} | ({} if until_s is None else {"back_at": until_s})
    number, form = fault.number, store.form
    if fault.part == "drive":
        if fault.effect == "slow":
            until = {} if until_s is None else {"until": until_s}
            return {"kind": "slow_drive", "osd": number, "speed": 1 / (fault.factor or 1.0), "at": at_s, **until}
        return (
            {"kind": "osd_down", "osd": number, "detected_by": "stalled", **down} if fault.effect == "frozen" else None
        )
    killed = fault.effect in ("killed", "restarted")
    if form.role(number) == "gateway" and killed:
        unnoticed = {} if form.balancers or until_s is None else {"detected_after": until_s - at_s}
        return {"kind": "gateway_down", "gateway": number - form.hosts, **unnoticed, **down}
    if form.role(number) == "host" and (killed or fault.effect in ("cut", "paused")):
        return {"kind": "host_down", "host": number, "detected_by": "refused" if killed else "heartbeat", **down}
    return None

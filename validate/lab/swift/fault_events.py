"""Faults of the lab in the words of the section `faults` of a Swift spec."""

from __future__ import annotations

from validate.lab.faults import LabFault
from validate.lab.store import Store


def fault_event(store: Store, fault: LabFault, at_s: float, until_s: float | None) -> dict[str, object] | None:
    """Return the event that is the fault; None if the model has no such event.

    Of a paused host the kernel still accepts connections, as the server of a frozen drive does.
    """
    slow = {"at": at_s} | ({} if until_s is None else {"until": until_s})
    down = {"at": at_s} | ({} if until_s is None else {"back_at": until_s})
    number, form = fault.number, store.form
    if fault.part == "drive":
        if fault.effect == "slow":
            return {"kind": "slow_drive", "drive": number, "speed": 1 / (fault.factor or 1.0), **slow}
        kind = {"errors": "drive_down", "frozen": "drive_frozen"}.get(fault.effect)
        return None if kind is None else {"kind": kind, "drive": number, **down}
    if form.role(number) == "gateway":
        down_at_once = fault.effect in ("killed", "restarted")
        return {"kind": "proxy_down", "proxy": number - form.hosts, **down} if down_at_once else None
    if fault.effect in ("killed", "restarted"):
        return {"kind": "host_down", "host": number, **down}
    if fault.effect == "cut":
        return {"kind": "link_down", "host": number, **down}
    if fault.effect == "paused" and form.drives == 1:
        return {"kind": "drive_frozen", "drive": number, **down}
    return None

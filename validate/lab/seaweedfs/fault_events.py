"""Faults of the lab in the words of the section `faults` of a SeaweedFS spec."""

from __future__ import annotations

from validate.lab.faults import LabFault
from validate.lab.store import Store


def fault_event(store: Store, fault: LabFault, at_s: float, until_s: float | None) -> dict[str, object] | None:
    """Return the event that is the fault; None if the model has no such event."""
    down = {"at": at_s} | ({} if until_s is None else {"back_at": until_s})
    if fault.part == "drive":
        if fault.effect != "slow":
            return None
        slow = {"at": at_s} | ({} if until_s is None else {"until": until_s})
        return {"kind": "slow_drive", "drive": fault.number, "speed": 1 / (fault.factor or 1.0), **slow}
    if store.form.role(fault.number) != "host":
        return None
    kind = {"killed": "host_down", "restarted": "host_down", "paused": "host_hung", "cut": "host_hung"}
    return {"kind": kind[fault.effect], "host": fault.number, **down} if fault.effect in kind else None

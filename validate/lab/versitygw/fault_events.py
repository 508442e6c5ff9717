"""Faults of the lab in the words of the section `faults` of a versitygw spec."""

from __future__ import annotations

from validate.lab.faults import LabFault
from validate.lab.store import Store


def fault_event(store: Store, fault: LabFault, at_s: float, until_s: float | None) -> dict[str, object] | None:
    """Return the event that is the fault; None if the model has no such event."""
    slow = {"at": at_s} | ({} if until_s is None else {"until": until_s})
    down = {"at": at_s} | ({} if until_s is None else {"back_at": until_s})
    if fault.part == "drive":
        if fault.effect == "slow":
            return {"kind": "slow_drive", "drive": fault.number, "speed": 1 / (fault.factor or 1.0), **slow}
        return {"kind": "file_system_hung", **down} if fault.effect == "frozen" else None
    return {"kind": "host_down", **down} if fault.effect in ("killed", "restarted") else None

"""Faults of hosts and drives in the words of specs, of stores whose models know killed and silent hosts."""

from __future__ import annotations

from validate.lab.faults import LabFault
from validate.lab.store import Store

_KINDS = {"killed": "host_down", "restarted": "host_down", "paused": "host_hung", "cut": "host_hung"}


def fault_event(store: Store, fault: LabFault, at_s: float, until_s: float | None) -> dict[str, object] | None:
    """Return the event that is the fault; None if these models have no such event."""
    down = {"at": at_s} | ({} if until_s is None else {"back_at": until_s})
    if fault.part == "drive":
        if fault.effect != "slow":
            return None
        slow = {"at": at_s} | ({} if until_s is None else {"until": until_s})
        return {"kind": "slow_drive", "drive": fault.number, "speed": 1 / (fault.factor or 1.0), **slow}
    if store.form.role(fault.number) != "host" or fault.effect not in _KINDS:
        return None
    return {"kind": _KINDS[fault.effect], "host": fault.number, **down}

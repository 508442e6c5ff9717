"""Faults of the lab in the words of the section `faults` of a MinIO spec."""

from __future__ import annotations

from validate.lab.faults import LabFault
from validate.lab.store import Store

DRIVE_TIMEOUT_S = 43.0
"""Until MinIO takes a drive that does not respond offline: 35 to 51 s.

A probe every 15 s begins if nothing succeeded within 5 s, up to 1 s later, and takes MINIO_DRIVE_MAX_TIMEOUT, 30 s
(monitorDiskWritable, cmd/xl-storage-disk-id-check.go).
"""


def fault_event(store: Store, fault: LabFault, at_s: float, until_s: float | None) -> dict[str, object] | None:
    """Return the event that is the fault; None if the model has no such event."""
    slow = {"at": at_s} | ({} if until_s is None else {"until": until_s})
    down = {"at": at_s} | ({} if until_s is None else {"back_at": until_s})
    host = {"host": fault.number} if store.form.hosts > 1 else {}
    if fault.part == "drive":
        drive = {"drive": fault.number}
        if fault.effect == "slow":
            return {"kind": "slow_drive", **drive, "speed": 1 / (fault.factor or 1.0), **slow}
        if fault.effect == "replaced":
            return {"kind": "drive_replaced", **drive, **down}
        if fault.effect in ("errors", "frozen"):
            detected = {"detected_after": DRIVE_TIMEOUT_S} if fault.effect == "frozen" else {}
            return {"kind": "drive_down", **drive, **down, **detected}
        return None
    if fault.effect == "limited":
        speed = _remaining(store, fault)
        return None if speed is None else {"kind": "slow_link", **host, "speed": speed, **slow}
    if fault.effect == "cut":
        return {"kind": "link_down", **host, **down}
    if fault.effect == "paused":  # its kernel still accepts connections
        return {"kind": "link_down", **host, **down, "accepts": True}
    return {"kind": "host_down", **host, **down}


def _remaining(store: Store, fault: LabFault) -> float | None:
    """Return the remaining speed of a limited link; None if it had no rate."""
    nic = None if store.box is None else store.box.shape.nic
    if fault.fraction is not None:
        return fault.fraction
    return None if nic is None or fault.bytes_per_s is None else min(1.0, fault.bytes_per_s / nic.rate)

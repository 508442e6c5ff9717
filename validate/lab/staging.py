"""Stages faults on a store: on its drives and links, which must be a box's, and on its servers.

What is done is written to a journal in the store's folder before it is done, with its times. So all faults in force
can be undone by a later command, and a Run knows those of its time, whoever staged them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from traces.errors import InputError
from traces.tables import atomic_file
from validate.lab import lab, processes
from validate.lab.box import network
from validate.lab.box.drives import Drive, DriveStatus
from validate.lab.box.set_up import drives_of, replace_drive
from validate.lab.box.shape import NicShape
from validate.lab.faults import LabFault
from validate.lab.registry import kind_of
from validate.lab.store import Node, Store

_SERVES_WITHIN_S = 30.0
_ENDS_WITHIN_S = 5.0
_POLL_S = 0.02
_LEAST_BURST_BYTES = 1 << 14


@dataclass(frozen=True)
class Staged:
    """A fault that was staged.

    Attributes:
        began_at, ended_at: s since 1970; `ended_at` is None while it is in force.
    """

    fault: LabFault
    began_at: float
    ended_at: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return the fault as written, and its times."""
        return {"fault": self.fault.what, "began_at": self.began_at, "ended_at": self.ended_at}


def check(store: Store, fault: LabFault) -> None:
    """Check that a fault can be staged on a store.

    Raises:
        InputError: there is no such part, or it is not one that the lab controls.
    """
    where = f"fault {fault.text!r}"
    count = store.form.drive_count if fault.part == "drive" else store.form.host_count
    if fault.number >= count:
        allowed = f"0 to {count - 1}" if count > 1 else "0"
        raise InputError(f"{where}: {store.name} has no {fault.part} {fault.number}; allowed are {allowed}")
    if fault.part != "host" and store.box is None:
        what = "its drives are plain folders" if fault.part == "drive" else "its hosts have no links of their own"
        raise InputError(f"{where}: {what}; start {store.name} with a shape: tailcast lab up")
    if fault.fraction is not None and store.box is not None and store.box.shape.nic is None:
        raise InputError(f"{where}: the links have no rate to take a fraction of; give one, such as 100Mbit/s")


def journal(store: Store) -> list[Staged]:
    """Return all faults that have been staged since the store was started, in order."""
    try:
        rows = json.loads(_journal_file(store).read_text())
    except FileNotFoundError:
        return []
    return [Staged(LabFault(**row["fault"]), row["began_at"], row["ended_at"]) for row in rows]


def in_force(store: Store) -> list[Staged]:
    """Return the faults that are in force."""
    return [staged for staged in journal(store) if staged.ended_at is None]


def begin(store: Store, fault: LabFault) -> None:
    """Begin a fault now, whatever its times; one that ends by itself is over when this returns.

    Raises:
        InputError: it cannot be staged, or its part does not respond.
    """
    check(store, fault)
    with _journal(store) as rows:
        index = len(rows)
        rows.append(Staged(fault, time.time()))
        _write(store, rows)
        rows[index] = replace(rows[index], began_at=_enact(store, rows, fault))
    if fault.effect == "restarted":
        _end(store, index)


def end(store: Store, which: Callable[[LabFault], bool] = lambda fault: True) -> list[LabFault]:
    """End faults that are in force; return them.

    Raises:
        InputError: a part does not respond.
    """
    indices = [i for i, staged in enumerate(journal(store)) if staged.ended_at is None and which(staged.fault)]
    for index in indices:
        _end(store, index)
    rows = journal(store)
    return [rows[index].fault for index in indices]


def _end(store: Store, index: int) -> None:
    """End a fault; that of a server has ended when the server takes connections again."""
    with _journal(store) as rows:
        if rows[index].ended_at is not None:
            return
        rows[index] = replace(rows[index], ended_at=time.time())
        fault = rows[index].fault
        if fault.effect == "replaced" and store.box is not None:
            replace_drive(store.box, fault.number)
        rows[index] = replace(rows[index], ended_at=_enact(store, rows, fault))
    if fault.effect in ("killed", "restarted"):
        _await_connection(store.nodes[fault.number])
        with _journal(store) as rows:
            rows[index] = replace(rows[index], ended_at=time.time())


def _journal_file(store: Store) -> Path:
    return store.folder / "faults.json"


@contextlib.contextmanager
def _journal(store: Store) -> Iterator[list[Staged]]:
    """Hold the journal, and write it at the end, also after an error."""
    with (store.folder / "faults.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        rows = journal(store)
        try:
            yield rows
        finally:
            _write(store, rows)


def _write(store: Store, rows: Sequence[Staged]) -> None:
    entries = [{"fault": asdict(s.fault), "began_at": s.began_at, "ended_at": s.ended_at} for s in rows]
    with atomic_file(_journal_file(store)) as temporary:
        temporary.write_text(json.dumps(entries, indent=1) + "\n")


def _enact(store: Store, rows: Sequence[Staged], changed: LabFault) -> float:
    """Bring a part into the state that all its faults in force make; return when (s since 1970)."""
    same = (changed.part, changed.number)
    faults = [s.fault for s in rows if s.ended_at is None and (s.fault.part, s.fault.number) == same]
    if changed.part == "drive":
        return _set_drive(store, changed.number, faults)
    if changed.part == "host":
        return _set_host(store, changed.number, faults)
    return (_set_cut if changed.effect == "cut" else _set_rate)(store, changed.number, faults)


def _set_drive(store: Store, number: int, faults: Sequence[LabFault]) -> float:
    assert store.box is not None
    drive = drives_of(store.box)[number]
    effects = {"errors" if fault.effect == "replaced" else fault.effect for fault in faults}
    factor = math.prod(fault.factor or 1.0 for fault in faults)
    status = drive.control("status")
    if status.slower != factor:
        status = drive.control(f"slower {factor!r}")
    for effect, is_so in (("frozen", status.frozen), ("errors", status.errors), ("full", status.full)):
        if (effect in effects) != is_so:
            status = _switch(drive, effect, effect in effects)
    return status.realtime_ns / 1e9


def _switch(drive: Drive, effect: str, on: bool) -> DriveStatus:
    return drive.control(effect if on else f"{effect} off")


def _set_cut(store: Store, host: int, faults: Sequence[LabFault]) -> float:
    assert store.box is not None
    network.cut(store.box.network, host, any(fault.effect == "cut" for fault in faults))
    return time.time()


def _set_rate(store: Store, host: int, faults: Sequence[LabFault]) -> float:
    assert store.box is not None
    box, nic = store.box, store.box.shape.nic
    normal = math.inf if nic is None else nic.rate
    rate = min([normal, *(normal * f.fraction if f.fraction is not None else f.bytes_per_s or normal for f in faults)])
    if rate < math.inf:
        burst = 0 if nic is None else round(nic.burst * rate / nic.rate)  # it lasts as long as that of the normal rate
        nic = NicShape(rate=rate, burst=max(burst, _LEAST_BURST_BYTES))
    network.limit(box.network, [host], nic, box.shape.delay if box.delays == "netem" else 0.0)
    return time.time()


def _set_host(store: Store, host: int, faults: Sequence[LabFault]) -> float:
    effects = {fault.effect for fault in faults}
    node = lab.refreshed(store).nodes[host]
    if effects & {"killed", "restarted"}:
        processes.signal_all(node.processes, signal.SIGKILL)
        at = time.time()
        processes.end(node.processes, _ENDS_WITHIN_S, at_once=True)
        return at
    if "paused" in effects:
        processes.signal_all(node.processes, signal.SIGSTOP)
        return time.time()
    processes.signal_all(node.processes, signal.SIGCONT)
    if not node.alive:
        kind = kind_of(store.name)
        lab.start_servers(kind, lab.refreshed(store), kind.find() or kind.install(lambda line: None), [host])
    return time.time()


def _await_connection(node: Node) -> None:
    """Wait until a server takes connections."""
    name, _, port = node.address.rpartition(":")
    limit_s = time.monotonic() + _SERVES_WITHIN_S
    while time.monotonic() < limit_s:
        with contextlib.suppress(OSError), socket.create_connection((name, int(port)), timeout=1.0):
            return
        time.sleep(_POLL_S)

"""Failures by name, and their entries in the `faults` section of a spec."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.shared.faults import FaultKind
from models.store import Spec, required, spec_of, store_of
from traces.errors import InputError
from traces.spec.spec_file import replaced
from traces.spec.suggestions import instead

SLOWER = 10.0  # default slowdown factor of a slow drive (assumed)
FRACTION = 0.5  # default fraction that a noisy neighbour takes (assumed)
RESOURCES = ("cpu", "drives", "network")

_SYNONYMS = {
    "node": ("host",), "server": ("host",), "machine": ("host",), "rack": ("host",),
    "disk": ("drive",), "hdd": ("drive",), "ssd": ("drive",), "osd": ("drive",), "slow-disk": ("slow-drive",),
    "rgw": ("gateway",), "radosgw": ("gateway",),
}  # fmt: skip
"""Faults that are meant by other names of the parts."""

Event = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A failure, independent of time and store.

    Attributes:
        text: the failure as written.
        kind: the name of one of the store's faults.
        which: number of the failing component, or a group of such components, of which the first one fails; or the
            resource that a noisy neighbour takes; None: 0, or ``cpu``.
        value: slowdown factor, or the fraction that a noisy neighbour takes; None: `SLOWER` or `FRACTION`.
    """

    text: str
    kind: str
    which: str | None = None
    value: float | None = None

    def fault(self, spec: Spec) -> FaultKind:
        """Return the store's fault of this kind.

        Raises:
            InputError: the store has no such fault.
        """
        faults = required(store_of(spec).faults or None, spec, "faults", self._where)
        if self.kind not in faults:
            meant = next((name for name in _SYNONYMS.get(self.kind, ()) if name in faults), self.kind)
            said = f"did you mean {meant}?" if meant in faults else instead(self.kind, faults)
            raise InputError(f"{self._where}: a {spec.store} store has no {self.kind}; {said}")
        return faults[self.kind]

    def event(self, spec: Spec, at_s: float, until_s: float) -> Event:
        """Return the entry for the spec's section `faults`.

        Raises:
            InputError: the store has no such fault, or number or value are wrong.
        """
        fault = self.fault(spec)
        if fault.form == "neighbour":
            fraction = FRACTION if self.value is None else self.value
            if self.which is not None and self.which not in RESOURCES:
                raise InputError(f"{self._where}: {self.which!r} is no resource; {instead(self.which, RESOURCES)}")
            if not 0 < fraction < 1:
                raise InputError(f"{self._where}: the fraction is {fraction:g}; it must be above 0 and below 1")
            taken = {"resource": self.which or "cpu", "fraction": fraction}
            return {"kind": fault.event, **taken, "at": at_s, "until": until_s}
        number = self._number(fault, fault.groups(spec))
        if fault.form == "slow":
            slower = SLOWER if self.value is None else self.value
            if not 1 < slower < float("inf"):
                raise InputError(f"{self._where}: the slowdown factor is {slower:g}; it must be above 1")
            return {"kind": fault.event, **number, "speed": 1 / slower, "at": at_s, "until": until_s}
        if self.value is not None:
            raise InputError(f"{self._where}: a {self.kind} failure takes no value")
        end = "until" if fault.form == "work" else "back_at"
        return {"kind": fault.event, **number, "at": at_s, end: until_s}

    def added_to(self, data: Mapping[str, Any], event: Event, source: str) -> Mapping[str, Any]:
        """Return the contents of a spec file with an entry of this failure as the last one of its section.

        Args:
            data: the contents of the file.
            event: the entry.
            source: name of the file in messages.

        Raises:
            InputError: the contents are not valid, or the store has no such fault.
        """
        *path, last = self.fault(spec_of(dict(data), source)).section.split(".")
        place: Any = data
        for name in path:
            place = place[name]
        return replaced(data, {".".join((*path, last)): [*(place.get(last) or ()), event]})

    def lasting(self, spec: Spec) -> Event:
        """Return the entry for the section `faults` of a failure in force from 0 s on, which the store has noticed.

        Raises:
            InputError: as `event`.
        """
        event = self.event(spec, 0.0, math.inf)
        kept = {name: value for name, value in event.items() if name not in ("back_at", "until")}
        return kept | dict(self.fault(spec).settled)

    def _number(self, fault: FaultKind, groups: Mapping[str, int]) -> dict[str, int]:
        """Return the field with the number of the failing component: as written, or the first one of a group."""
        text = "0" if self.which is None else self.which
        if text not in groups and not text.isdecimal():
            allowed = f"; {instead(text, groups)}" if groups else ""
            raise InputError(f"{self._where}: {self.which!r} is not a number{allowed}")
        which = groups[text] if text in groups else int(text)
        if which and not fault.numbered:
            raise InputError(f"{self._where}: there is only one {self.kind}; omit the number")
        return {fault.numbered: which} if fault.numbered else {}

    @property
    def _where(self) -> str:
        return f"failure {self.text}"

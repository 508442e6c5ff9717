"""Failures as an engineer names them, and the event that each is in a spec of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.faults import FaultKind
from models.store import Spec, required, store_of
from traces.errors import InputError

SLOWER = 10.0  # times slower, of a slow drive unless told (assumed)
FRACTION = 0.5  # that a noisy neighbour takes unless told (assumed)
RESOURCES = ("cpu", "drives", "network")

Event = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A failure, without when it happens and without the store that it happens to.

    Attributes:
        text: as it was written.
        kind: the name of one of the store's faults.
        which: number of what fails, or what a noisy neighbour takes; None: the first, or ``cpu``.
        value: slow: times slower; noisy neighbour: the share it takes; None: the usual.
    """

    text: str
    kind: str
    which: str | None = None
    value: float | None = None

    def fault(self, spec: Spec) -> FaultKind:
        """What it is in the spec's store.

        Raises:
            InputError: the store has nothing of that kind.
        """
        faults = required(store_of(spec).faults or None, spec, "faults", self._where)
        if self.kind not in faults:
            raise InputError(f"{self._where}: a {spec.store} store has no {self.kind}; allowed are {', '.join(faults)}")
        return faults[self.kind]

    def event(self, spec: Spec, at_s: float, until_s: float) -> Event:
        """The entry of the spec's section `faults`.

        Raises:
            InputError: the store has nothing of that kind, or not what is said of it.
        """
        fault = self.fault(spec)
        if fault.form == "neighbour":
            fraction = FRACTION if self.value is None else self.value
            if self.which is not None and self.which not in RESOURCES:
                raise InputError(f"{self._where}: {self.which!r} cannot be taken; allowed are {', '.join(RESOURCES)}")
            if not 0 < fraction < 1:
                raise InputError(f"{self._where}: takes a share of {fraction:g}; it must be above 0 and below 1")
            taken = {"resource": self.which or "cpu", "fraction": fraction}
            return {"kind": fault.event, **taken, "at": at_s, "until": until_s}
        number = self._number(fault)
        if fault.form == "slow":
            slower = SLOWER if self.value is None else self.value
            if not 1 < slower < float("inf"):
                raise InputError(f"{self._where}: is {slower:g} times slower; it must be more than 1 times")
            return {"kind": fault.event, **number, "speed": 1 / slower, "at": at_s, "until": until_s}
        if self.value is not None:
            raise InputError(f"{self._where}: takes no value")
        return {"kind": fault.event, **number, "at": at_s, "back_at": until_s}

    def _number(self, fault: FaultKind) -> dict[str, int]:
        """The field with the number of what fails."""
        if self.which is not None and not self.which.isdecimal():
            raise InputError(f"{self._where}: {self.which!r} is no number")
        which = int(self.which or 0)
        if which and not fault.numbered:
            raise InputError(f"{self._where}: there is one {self.kind}; leave the number out")
        return {fault.numbered: which} if fault.numbered else {}

    @property
    def _where(self) -> str:
        return f"failure {self.text}"

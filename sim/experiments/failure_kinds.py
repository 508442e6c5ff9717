"""Failures as an engineer names them, and the event that each is in a spec of a store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.store import Spec
from traces.errors import InputError

KINDS = ("drive", "host", "gateway", "slow-drive", "noisy-neighbour")
SLOWER = 10.0  # times slower, of a slow drive unless told (assumed)
SHARE = 0.5  # that a noisy neighbour takes unless told (assumed)
TAKES = ("cpu", "drives", "network")

Event = dict[str, Any]

_EVENTS: dict[str, dict[str, tuple[str, str]]] = {
    "ceph": {
        "drive": ("osd_down", "osd"),
        "host": ("host_down", "host"),
        "gateway": ("gateway_down", "gateway"),
        "slow-drive": ("slow_drive", "osd"),
        "noisy-neighbour": ("noisy_neighbour", ""),
    },
    "minio": {
        "drive": ("drive_down", "drive"),
        "host": ("host_down", ""),
        "slow-drive": ("slow_drive", "drive"),
        "noisy-neighbour": ("noisy_neighbour", ""),
    },
}
"""The kind of a store's event, and its field that has the number of what is hit; empty: it has none."""


@dataclass(frozen=True)
class Failure:
    """A failure, without when it happens.

    Attributes:
        text: as it was written.
        kind: one of `KINDS`.
        which: number of the drive, host or gateway; 0 unless told.
        takes: noisy neighbour: ``cpu``, ``drives`` or ``network``.
        value: slow drive: times slower; noisy neighbour: the share it takes.
    """

    text: str
    kind: str
    which: int = 0
    takes: str = "cpu"
    value: float = 0.0

    def event(self, spec: Spec, at_s: float, until_s: float) -> Event:
        """The entry of the spec's section `events`.

        Raises:
            InputError: the store has nothing of that kind.
        """
        names = _EVENTS[spec.store]
        if self.kind not in names:
            raise InputError(
                f"failure {self.text}: a {spec.store} store has no {self.kind} of its own; allowed are "
                f"{', '.join(names)}"
            )
        kind, numbered = names[self.kind]
        number = {numbered: self.which} if numbered else {}
        if self.kind == "noisy-neighbour":
            return {"kind": kind, "takes": self.takes, "share": self.value, "at": at_s, "until": until_s}
        if self.kind == "slow-drive":
            return {"kind": kind, **number, "speed": 1 / self.value, "at": at_s, "until": until_s}
        if self.which and not numbered:
            raise InputError(f"failure {self.text}: there is one {self.kind}; leave the number out")
        return {"kind": kind, **number, "at": at_s, "back_at": until_s}

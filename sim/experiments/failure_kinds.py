"""Failures as an engineer names them, and the event that each is in a spec of a store."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from models.store import Spec
from traces.errors import InputError

KINDS = ("drive", "host", "gateway", "slow-drive", "noisy-neighbour")
SLOWER = 10.0  # times slower, of a slow drive unless told (assumed)
SHARE = 0.5  # that a noisy neighbour takes unless told (assumed)

_FORM = re.compile(r"([a-z-]+)(?::([a-z]+|\d+))?(?:=(.+))?")
_TAKES = ("cpu", "drives", "network")
_EXAMPLES = "write it like drive, drive:3, slow-drive=10 or noisy-neighbour:drives=0.5"

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
                f"--failure {self.text}: a {spec.store} store has no {self.kind} of its own; allowed are "
                f"{', '.join(names)}"
            )
        kind, numbered = names[self.kind]
        number = {numbered: self.which} if numbered else {}
        if self.kind == "noisy-neighbour":
            return {"kind": kind, "takes": self.takes, "share": self.value, "at": at_s, "until": until_s}
        if self.kind == "slow-drive":
            return {"kind": kind, **number, "speed": 1 / self.value, "at": at_s, "until": until_s}
        if self.which and not numbered:
            raise InputError(f"--failure {self.text}: there is one {self.kind}; leave the number out")
        return {"kind": kind, **number, "at": at_s, "back_at": until_s}


def parse_failure(text: str) -> Failure:
    """The failure that ``KIND[:WHICH][=VALUE]`` says.

    Raises:
        InputError: it says none; what is wrong and what is allowed are named.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InputError(f"--failure {text}: is no failure; {_EXAMPLES}")
    kind, which, value = match.groups()
    if kind not in KINDS:
        raise InputError(f"--failure {text}: {kind!r} is no failure; allowed are {', '.join(KINDS)}")
    if kind == "noisy-neighbour":
        if which is not None and which not in _TAKES:
            raise InputError(f"--failure {text}: nobody takes {which!r}; allowed are {', '.join(_TAKES)}")
        share = _number(text, value, SHARE)
        if not 0 < share < 1:
            raise InputError(f"--failure {text}: takes a share of {share:g}; it must be above 0 and below 1")
        return Failure(text, kind, takes=which or "cpu", value=share)
    if which is not None and not which.isdecimal():
        raise InputError(f"--failure {text}: {which!r} is no number; {_EXAMPLES}")
    if kind != "slow-drive":
        if value is not None:
            raise InputError(f"--failure {text}: takes no value; {_EXAMPLES}")
        return Failure(text, kind, int(which or 0))
    slower = _number(text, value, SLOWER)
    if not 1 < slower < float("inf"):
        raise InputError(f"--failure {text}: is {slower:g} times slower; it must be more than 1 times")
    return Failure(text, kind, int(which or 0), value=slower)


def _number(text: str, value: str | None, default: float) -> float:
    try:
        return default if value is None else float(value)
    except ValueError as error:
        raise InputError(f"--failure {text}: {value!r} is no number; {_EXAMPLES}") from error

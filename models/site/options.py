"""Settings of a store for given hardware, among which one keeps a promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Values: TypeAlias = dict[str, object]
"""Values by the name of a question, or by path."""


@dataclass(frozen=True)
class Hardware:
    """Equal hosts with equal drives.

    Attributes:
        hosts: number of hosts.
        drives: data drives of each.
        cores: of each.
        is_disk: whether the drives are hard disks.
        drive_bytes: capacity of a drive.
        memory: bytes of each host; None: not known.
        stored_bytes: bytes of all objects, without their copies.
    """

    hosts: int
    drives: int
    cores: int
    is_disk: bool
    drive_bytes: int
    memory: int | None = None
    stored_bytes: float = 0.0

    @property
    def total_drives(self) -> int:
        """Number of drives of all hosts."""
        return self.hosts * self.drives

    def cached(self, copies: float) -> float | None:
        """Return the fraction of stored bytes, of which there are some copies, in page caches; None: not known.

        Three quarters of a host's memory are its page cache (assumed).
        """
        if self.memory is None or not self.stored_bytes:
            return None
        return min(1.0, _CACHE * self.memory * self.hosts / (self.stored_bytes * copies))


@dataclass(frozen=True)
class Option:
    """Settings with which a store may be run.

    Attributes:
        text: the protection in the store's own words, such as ``replica 3``.
        facts: answers to questions of the store's setup, by name.
        sets: values of the spec that no question gives, by path.
    """

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)


_CACHE = 0.75

_CODES = ((4, 2), (2, 2), (6, 3), (8, 3), (8, 4))
_COPIES = 3, 4, 2, 1


def protections(places: int) -> list[str]:
    """Return protections with a place for each part: three replicas, then erasure codes, then other replicas."""
    usual, *others = [f"replica {count}" for count in _COPIES if count <= places]
    return [usual, *(f"ec {data}+{parity}" for data, parity in _CODES if data + parity <= places), *others]

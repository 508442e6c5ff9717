"""Arrays of equal drives below a store, as one drive whose times follow from those of its members.

An array of n members is taken as one server n times as fast, and a delay that overlaps with other accesses: the
approximation of several servers by Seidmann, Schweitzer and Shalev-Oren (Large Scale Systems 12, 1987; from memory).
A flush goes to all members at the same time, and a log is in one place, so a durable write gains nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.network.service_demand import ServiceDemand
from traces.spec.field_notes import Basis
from traces.workload.distributions import Strict

_LEAST = {0: 2, 1: 2, 5: 3, 6: 4, 10: 4}


class Raid(Strict):
    """An array of equal drives; times of the section are those of a member."""

    level: Literal[0, 1, 5, 6, 10] = Field(
        description="RAID level: striping (0), mirrors (1, 10), or parity on one (5) or two members (6) of a stripe."
    )
    members: Annotated[int, Basis("no default: the number of drives of the array", 2, 24)] = Field(
        ge=2, le=64, description="Number of drives of each array."
    )

    @model_validator(mode="after")
    def _is_array(self) -> Raid:
        least, mirrors = _LEAST[self.level], self.level == 10 and self.members % 2
        if self.members < least or mirrors:
            even = ", an even number," if self.level == 10 else ""
            raise ValueError(f"members is {self.members}; RAID {self.level} allows at least {least}{even} members")
        return self

    @property
    def _copies(self) -> int:
        """Members that a small write goes to: mirrors, or data and parities."""
        return {0: 1, 1: self.members, 5: 2, 6: 3, 10: 2}[self.level]

    @property
    def _reads_first(self) -> bool:
        """Whether a small write first reads what it replaces, and the parity of it."""
        return self.level in (5, 6)

    @property
    def _data_members(self) -> float:
        """Members whose bandwidth large writes have."""
        return {0: self.members, 1: 1, 5: self.members - 1, 6: self.members - 2, 10: self.members / 2}[self.level]

    def read(self, read: ServiceDemand, latency: ServiceDemand) -> tuple[ServiceDemand, ServiceDemand]:
        """Return the exclusive time of a read, and the rest of its latency, given those of a member."""
        own = read.model_copy(
            update={"constant": read.constant / self.members, "per_byte": read.per_byte / self.members}
        )
        return own, _later(read, latency, read.constant - own.constant)

    def write(
        self, read: ServiceDemand, write: ServiceDemand, latency: ServiceDemand
    ) -> tuple[ServiceDemand, ServiceDemand]:
        """Return the exclusive time of a small write, and the rest of its latency, given times of a member."""
        before_s = read.constant * self._reads_first
        busy_s = self._copies * (before_s + write.constant) / self.members
        own = write.model_copy(update={"constant": busy_s, "per_byte": write.per_byte / self._data_members})
        return own, _later(write, latency, max(before_s + write.constant - busy_s, 0.0))

    def durable(self, read: ServiceDemand, durable: ServiceDemand) -> ServiceDemand:
        """Return the time of a durable write, given times of a member."""
        return durable.model_copy(update={"constant": durable.constant + read.constant * self._reads_first})


def _later(of: ServiceDemand, latency: ServiceDemand, more_s: float) -> ServiceDemand:
    """Return a further latency that is longer; its shape is that of the longer part."""
    longer = latency if latency.constant > more_s else of
    return latency.model_copy(update={"constant": latency.constant + more_s, "distribution": longer.distribution})

"""Cores of a machine: their number, and their speed, given or by the model of the processor."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from models.network.service_demand import ServiceDemand
from traces.spec.field_notes import Basis, Unit
from traces.spec.suggestions import instead
from traces.spec.units import MOST_COUNT, Fraction
from traces.workload.distributions import Strict

CoreCount = Annotated[int, Basis("assumed: a small server", 1, 512)]


class Cores(Strict):
    """The cores of a machine; a bare number in a spec is their count."""

    count: CoreCount = Field(8, ge=1, le=MOST_COUNT, description="Number of cores of each machine.")
    speed: Annotated[float, Unit("", "1.2"), Basis("assumed: cores as in the measurement", 0.2, 5)] = Field(
        1.0, gt=0, description="Speed of a core relative to those on which the CPU times were measured."
    )

    def at_speed(self, demand: ServiceDemand) -> ServiceDemand:
        """Return a CPU demand at the speed of the cores."""
        return demand if self.speed == 1 else demand.scaled(1 / self.speed)


REFERENCE = "EPYC 7742"
"""The processor on which the CPU times of Ceph's model were measured."""

_SCORES = {
    REFERENCE: 2100,
    "Xeon E5-2660 v4": 1805,
    "Xeon Gold 6438N": 2315,
}
"""Single-thread scores of the processors that examples name (PassMark CPU list, 17 January 2026).

For compiled code the scores of x86 processors follow SPECint 2017 within 7 % (18 of 20). Those of the same processor
differ by 5 to 15 % between submissions; scores of ARM servers are 1.4 to 1.6 times too low next to them.
"""


class ProcessorCores(Strict):
    """The cores of a machine with a processor that may be named."""

    count: Annotated[int, Basis("assumed: a small server", 1, 768)] = Field(
        8, ge=1, le=MOST_COUNT, description="Number of logical cores; hyper-threads count."
    )
    speed: Annotated[float, Unit("", "1.2"), Basis(f"assumed: a core of an {REFERENCE}", 0.3, 3)] | None = Field(
        None,
        gt=0,
        description=f"Speed of a core relative to that of an {REFERENCE}: its single-thread score of PassMark over "
        f"{_SCORES[REFERENCE]}. Absent: that of `cpu`, or 1.",
    )
    cpu: str | None = Field(
        None, description=f"Model of the processor, from which the speed follows: {', '.join(sorted(_SCORES))}."
    )
    threads_per_core: Annotated[int, Basis("assumed: a thread has a core of its own", 1, 8)] = Field(
        1, ge=1, le=8, description="Number of logical cores of each physical core; 2 with hyper-threads."
    )
    thread_gain: Annotated[
        Fraction,
        Basis("assumed: hyper-threads add 0.2 to 0.3 (Marr et al., Intel Technology Journal 6(1), 2002)", 0, 1),
    ] = Field(
        0.25,
        ge=0,
        le=1,
        description="Work that each further busy thread of a physical core adds, as a fraction of that of the first.",
    )

    @field_validator("cpu")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None and name not in _SCORES:
            raise ValueError(f"{name!r} has no score here; {instead(name, list(_SCORES))}, or give speed instead")
        return name

    @property
    def relative_speed(self) -> float:
        """Speed of a core relative to the reference processor's."""
        if self.speed is not None:
            return self.speed
        return 1.0 if self.cpu is None else _SCORES[self.cpu] / _SCORES[REFERENCE]

    def effective(self, logical: int) -> int:
        """Return the number of cores at full speed that do as much as this number of busy logical ones, rounded.

        A lone thread of a physical core has its full speed, which this keeps; all threads of it together do
        ``1 + (threads - 1) x gain`` of that.
        """
        threads = self.threads_per_core
        return max(1, round(logical / threads * (1 + (threads - 1) * self.thread_gain)))


def _as_count(value: Any) -> Any:
    return {"count": value} if isinstance(value, int | float | str) and not isinstance(value, bool) else value


BARE_COUNT = BeforeValidator(_as_count, json_schema_input_type=int | dict[str, Any])
"""Reads a bare number of cores as their count."""

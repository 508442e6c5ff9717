"""Cores of a machine: their number and their speed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from models.network.service_demand import ServiceDemand
from traces.spec.field_notes import Basis, Unit
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


class OnOneMachine(Strict):
    """Cores of hosts that may be those of one machine."""

    shared: bool = Field(
        False,
        description="Whether all hosts, of a pool if there are several, use the same `count` cores, because they are "
        "virtual machines, containers or a box on one machine. Work takes equal parts of them then, whatever its "
        "length.",
    )


class SharedCores(OnOneMachine, Cores):
    """The cores of hosts; a bare number in a spec is their count."""


REFERENCE = "EPYC 7742"
"""The processor on which the CPU times of Ceph's model were measured."""


class ProcessorCores(Strict):
    """The cores of a machine whose threads may share physical cores."""

    count: Annotated[int, Basis("assumed: a small server", 1, 768)] = Field(
        8, ge=1, le=MOST_COUNT, description="Number of logical cores; hyper-threads count."
    )
    speed: Annotated[float, Unit("", "1.2"), Basis(f"assumed: as fast as a core of an {REFERENCE}", 0.3, 3)] = Field(
        1.0,
        gt=0,
        description=f"Speed of a core relative to that of an {REFERENCE}, by the CPU times of the store. Scores of "
        "benchmarks do not show it: OSDs on a processor of 1.34 times the single-thread score were no faster.",
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

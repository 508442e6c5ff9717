"""The garbage collector of MinIO's Go runtime: when enough has been allocated it marks what lives, beside the requests.

A collection takes a quarter of the cores (gcBackgroundUtilization in runtime/mgcpacer.go of Go 1.26) in slices of at
most 10 ms (forcePreemptNS in runtime/proc.go); what is left for requests is less for that while. One collection follows
the other after as much as was live has been allocated (GOGC=100).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models.network.route import Route, Stage, Visit
from models.network.service_demand import ServiceDemand
from traces.tables import OPS
from traces.units import Bytes, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Op

COLLECTING = " collecting"
"""Ends the name of a route whose requests begin a collection."""

_FRACTION_OF_CORES = 0.25
_SLICE_S = 0.01


class Allocation(Strict):
    """What a request allocates."""

    constant: Bytes = Field(0, description="whatever the object's size")
    per_byte: float = Field(0.0, ge=0, description="for each byte of the body")
    up_to: Bytes | None = Field(None, description="further bytes of the body allocate nothing; absent: all do")

    def bytes_of(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Bytes allocated by requests with bodies of these sizes."""
        counted = size_bytes if self.up_to is None else np.minimum(size_bytes, self.up_to)
        return np.asarray(self.constant + self.per_byte * counted, np.float64)


class GarbageCollector(Strict):
    """The server's garbage collector."""

    mark_work: Seconds = Field(
        0.0, description="CPU of a collection, as GODEBUG=gctrace=1 prints it; 0: it costs nothing"
    )
    allocation_interval: Bytes = Field(
        200_000_000, gt=0, description="what is allocated from one collection to the next"
    )
    allocations: dict[Op, Allocation] = Field({}, description="what an operation allocates; one not named nothing")
    inline_allocations: dict[Literal["GET", "PUT"], Allocation] = Field(
        {}, description="the same where the object lives inside xl.meta; absent: as in allocations"
    )

    def begun(
        self, op: NDArray[np.int32], size_bytes: NDArray[np.int64], inline: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which of the requests begin a collection; half of `allocation_interval` has been allocated before the first.

        Args:
            op: index in `OPS`, shape (n,).
            size_bytes: of the bodies, shape (n,).
            inline: whether the object lives inside xl.meta, shape (n,).
        """
        allocated = np.zeros(len(op))
        for name, garbage in self.allocations.items():
            mine = op == OPS.index(name)
            allocated[mine] = garbage.bytes_of(size_bytes[mine])
        for name, garbage in self.inline_allocations.items():
            mine = (op == OPS.index(name)) & inline
            allocated[mine] = garbage.bytes_of(size_bytes[mine])
        collections = np.floor(0.5 + np.cumsum(allocated) / self.allocation_interval)
        return np.diff(collections, prepend=0.0) > 0

    def with_collections(self, routes: Sequence[Route], host_cpu: int, cores: int, instant: Visit) -> tuple[Route, ...]:
        """The routes, and one more of each for requests that begin a collection; they do not wait for it.

        Args:
            routes: of requests that begin none.
            host_cpu: index of the cores' station.
            cores: how many there are.
            instant: a visit that takes no time.
        """
        if not self.mark_work:
            return tuple(routes)
        workers = max(1, round(_FRACTION_OF_CORES * cores))
        slices = math.ceil(self.mark_work / workers / _SLICE_S)
        work = (Visit(host_cpu, ServiceDemand(constant=self.mark_work / workers / slices)),) * slices
        # The branch that takes no time is done first, and the stage needs no other.
        collection = Stage(((instant,), *([work] * workers)), 1)
        collecting = (
            Route(route.name + COLLECTING, (collection, *route.stages), route.priority, route.policy)
            for route in routes
        )
        return (*routes, *collecting)

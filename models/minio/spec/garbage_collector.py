"""The garbage collector of MinIO's Go runtime, which marks live memory concurrently with requests.

A collection takes a quarter of the cores (gcBackgroundUtilization in runtime/mgcpacer.go of Go 1.26) in quanta of at
most 10 ms (forcePreemptNS in runtime/proc.go), which leaves fewer cores for requests. The next collection begins when
as many bytes have been allocated as were live (GOGC=100).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from models.network.route import Route, words
from models.network.service_demand import ServiceDemand
from models.shared.steps import Place, detached, use
from traces.operations import OPS, S3Op
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes, Seconds
from traces.workload.distributions import Strict

COLLECTING = "collecting"
"""Last word of the variant of routes whose requests begin a collection."""

_FRACTION_OF_CORES = 0.25
_QUANTUM_S = 0.01


class Allocation(Strict):
    """The memory that a request allocates."""

    constant: Bytes = Field(0, description="Bytes allocated by each request, whatever the size of the object.")
    per_byte: Annotated[float, Unit("", "2.2")] = Field(
        0.0, ge=0, description="Bytes allocated for each byte of the body, as a factor."
    )
    up_to: Bytes | None = Field(
        None, description="Length of the body up to which `per_byte` applies; absent: all of the body."
    )

    def bytes_of(self, size_bytes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the bytes allocated by requests with bodies of these sizes, same shape."""
        counted = size_bytes if self.up_to is None else np.minimum(size_bytes, self.up_to)
        return np.asarray(self.constant + self.per_byte * counted, np.float64)


class GarbageCollector(Strict):
    """The server's garbage collector."""

    mark_work: Annotated[Seconds, Basis("assumed: none; 70 ms measured (examples/minio.yaml)", 1e-3, 10)] = Field(
        0.0, description="CPU time of a collection, as printed by GODEBUG=gctrace=1; 0: collections are not simulated."
    )
    allocation_interval: Annotated[
        Bytes, Basis("measured: 210 to 220 MB on a MinIO host of two cores (examples/minio.yaml)", 4e6, 1e12)
    ] = Field(
        200_000_000,
        gt=0,
        description="Bytes allocated from one collection to the next: as many as are live (GOGC=100).",
    )
    allocations: dict[S3Op, Allocation] = Field(
        {}, description="Memory allocated by operation; 0 for operations not given."
    )
    inline_allocations: dict[Literal["GET", "PUT"], Allocation] = Field(
        {}, description="Memory allocated if the object is stored inside xl.meta; absent: as in `allocations`."
    )

    def cycles(
        self, op: NDArray[np.int32], size_bytes: NDArray[np.int64], inline: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the fraction of the time between two collections that each request adds, shape (n,).

        Args:
            op: index in `OPS`, shape (n,).
            size_bytes: sizes of the bodies, shape (n,).
            inline: whether the object is stored inside xl.meta, shape (n,).
        """
        allocated = np.zeros(len(op))
        for name, allocation in self.allocations.items():
            selected = op == OPS.index(name)
            allocated[selected] = allocation.bytes_of(size_bytes[selected])
        for name, allocation in self.inline_allocations.items():
            selected = (op == OPS.index(name)) & inline
            allocated[selected] = allocation.bytes_of(size_bytes[selected])
        return allocated / self.allocation_interval

    def collecting(self, routes: Sequence[Route], host_cpu: Place, cores: int, latency: int) -> tuple[Route, ...]:
        """Return a route for each one, for requests that begin a collection and do not wait for it; none without them.

        Args:
            routes: routes of requests that begin no collection.
            host_cpu: the cores of the host.
            cores: number of cores.
            latency: an infinite server.
        """
        if not self.mark_work:
            return ()
        workers = max(1, round(_FRACTION_OF_CORES * cores))
        quanta = math.ceil(self.mark_work / workers / _QUANTUM_S)
        work = use(host_cpu, ServiceDemand(constant=self.mark_work / workers / quanta)) * quanta
        collection = detached(latency, [work] * workers)
        return tuple(
            replace(route, stages=collection + route.stages, variant=words(route.variant, COLLECTING))
            for route in routes
        )

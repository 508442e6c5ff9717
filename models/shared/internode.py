"""The network between the servers of a store."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from traces.spec.field_notes import Basis
from traces.spec.fit_bounds import Fit
from traces.spec.units import Seconds
from traces.workload.distributions import Strict


class Internode(Strict):
    """The network between the servers of a store, without the interfaces of their hosts."""

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean"), Basis("assumed: none", 5e-6, 5e-3)] = Field(
        0.0, description="One-way latency between two servers, without queueing."
    )

"""What every store's spec has in common: its name, the workload, the clients, the network, faults and prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from models.client_policy import ClientPolicies
from models.prices import PriceList
from traces.fit_bounds import Fit
from traces.units import Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Workload


class Link(Strict):
    """The network between clients and store; a store's own section may say more of it."""

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean")] = Field(0.0, description="one way, without queueing")


class StoreSpec(Strict):
    """A form to fill in, and nothing else: a store's compiler makes a Network of it (`models.store`).

    A store's spec narrows these fields to its own sections and adds others.
    """

    store: str
    workload: Workload
    client: ClientPolicies = ClientPolicies()
    network: Link = Link()
    faults: tuple[Strict, ...] = Field((), max_length=0, description="what happens while the store runs")
    prices: PriceList | None = Field(None, description="what its parts cost; absent: no cost is worked out")

    @property
    def priced(self) -> Mapping[str, float]:
        """How much there is of what `prices` names."""
        return {}

"""The fields that the specs of all stores have: name, workload, clients, network, faults and prices."""

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
    """The network between clients and store; a store's own section may have further fields."""

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean")] = Field(
        0.0, description="One-way latency, without queueing."
    )


class StoreSpec(Strict):
    """The settings of a store; its compiler turns them into a Network (`models.store`).

    A store's spec narrows these fields to its own sections and adds others.
    """

    store: str
    workload: Workload
    client: ClientPolicies = ClientPolicies()
    network: Link = Link()
    faults: tuple[Strict, ...] = Field((), max_length=0, description="Faults during the run.")
    prices: PriceList | None = Field(None, description="Prices of the parts; absent: no cost is calculated.")

    @property
    def priced(self) -> Mapping[str, float]:
        """The amount of each part in `prices`."""
        return {}

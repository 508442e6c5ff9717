"""The fields that the specs of all stores have: name, workload, clients, network, faults and prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from models.client_policy import ClientPolicies
from models.prices import PriceList
from traces.field_notes import Basis
from traces.fit_bounds import Fit
from traces.units import Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Workload

WORKLOAD = "Requests issued to the store: arrival process or clients, operations, sizes and keys of the objects."
FAULTS = "Faults during the run: what fails or becomes slow, and when."
PRICES = "Price list of the parts, in any one currency; absent: no cost is calculated."


class Link(Strict):
    """The network between clients and store; a store's own section may have further fields."""

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean"), Basis("assumed: none", 5e-6, 5e-3)] = Field(
        0.0, description="One-way latency between client and store, without queueing."
    )


class StoreSpec(Strict):
    """The settings of a store; its compiler turns them into a Network (`models.store`).

    A store's spec narrows these fields to its own sections and adds others.
    """

    store: str = Field(description="Name of the store's model.")
    workload: Workload = Field(description=WORKLOAD)
    client: ClientPolicies = Field(ClientPolicies(), description="Client policies for late and failed responses.")
    network: Link = Field(Link(), description="Network between clients and store.")
    faults: tuple[Strict, ...] = Field((), max_length=0, description=FAULTS)
    prices: PriceList | None = Field(None, description=PRICES)

    @property
    def priced(self) -> Mapping[str, float]:
        """The amount of each part in `prices`."""
        return {}

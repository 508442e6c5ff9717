"""The cost of a store, from the price list of its spec, in the currency of the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import Field

from traces.spec.field_notes import Unit
from traces.workload.distributions import Strict

Price = Annotated[float, Unit("", "1500"), Field(ge=0, allow_inf_nan=False)]
"""An amount in the currency of the list."""


class PriceList(Strict):
    """Prices of a store's parts, one field for each kind; parts without a price cost nothing."""


class Priced(Protocol):
    """A spec that may have a price list."""

    @property
    def prices(self) -> PriceList | None:
        """The price list, or None."""

    @property
    def priced(self) -> Mapping[str, float]:
        """The amount of each part in the list."""


def cost(*specs: Priced) -> float | None:
    """Return the cost of a store and of those below it (`models.store.levels`), given their specs.

    It is the sum of prices times amounts, or None if no spec has a price list.
    """
    costs = [_cost(spec.prices.model_dump(), spec.priced) for spec in specs if spec.prices is not None]
    return sum(costs) if costs else None


def _cost(prices: Mapping[str, float], amounts: Mapping[str, float]) -> float:
    return sum(prices[name] * amount for name, amount in amounts.items())

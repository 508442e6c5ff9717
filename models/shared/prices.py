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


def cost(spec: Priced) -> float | None:
    """Return the cost of a store: the sum of prices times amounts, or None if its spec has no price list."""
    if spec.prices is None:
        return None
    price: dict[str, float] = spec.prices.model_dump()
    return sum(price[name] * amount for name, amount in spec.priced.items())

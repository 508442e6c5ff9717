"""What a store costs by a price list of its spec: plain numbers, of whatever currency the list is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import Field

from traces.workload.distributions import Strict

Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PriceList(Strict):
    """Prices of what a store consists of, a field for each kind of part; what is not named costs nothing."""


class Priced(Protocol):
    """A spec that may have a price list."""

    @property
    def prices(self) -> PriceList | None:
        """The list, if there is one."""

    @property
    def priced(self) -> Mapping[str, float]:
        """How much there is of what the list names."""


def cost(spec: Priced) -> float | None:
    """What the store costs, the sum of prices times amounts; None: its spec has no price list."""
    if spec.prices is None:
        return None
    price: dict[str, float] = spec.prices.model_dump()
    return sum(price[name] * amount for name, amount in spec.priced.items())

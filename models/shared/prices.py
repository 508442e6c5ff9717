"""The cost of a store, from the price list of its spec and the catalogue that it names, in the currency of the list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from pydantic import Field

from models.catalogue.entries import CatalogueField
from models.catalogue.quotes import Quote, Quoted, Quotes
from traces.spec.field_notes import Unit
from traces.workload.distributions import Strict

Price = Annotated[float, Unit("", "1500"), Field(ge=0, allow_inf_nan=False)]
"""An amount in the currency of the list."""

GIVEN = "given"


class PriceList(Strict):
    """Prices of a store's parts, one field for each kind; parts without a price cost nothing."""

    catalogue: CatalogueField | None = Field(
        None,
        description="Catalogue of prices for parts that have none in the list: `shipped` is that of tailcast; entries "
        "of a mapping go before it; absent: such parts cost nothing.",
    )


class Priced(Protocol):
    """A spec that may have a price list."""

    @property
    def prices(self) -> PriceList | None:
        """The price list, or None."""

    @property
    def priced(self) -> Mapping[str, float]:
        """The amount of each part in the list, by the path of its price there."""

    @property
    def quoted(self) -> Mapping[str, Quoted]:
        """What a catalogue says of each part in the list; without those of which it says nothing."""


@dataclass(frozen=True)
class PricedPart:
    """A part of a store.

    Attributes:
        name: path of its field in the price list.
        amount: how much there is of it.
        price: of one, with what it is from: given, entries of the catalogue, or nothing, if that has no such part.
        currency: of the catalogue; empty: there is none.
    """

    name: str
    amount: float
    price: Quote
    currency: str


def priced_parts(spec: Priced) -> list[PricedPart]:
    """Return the parts of a spec with a price list, in the order of the list.

    Raises:
        InputError: the catalogue lacks a part.
    """
    prices = spec.prices
    if prices is None:
        return []
    catalogue, quoted = prices.catalogue, spec.quoted
    found = []
    for name, amount in spec.priced.items():
        is_given = catalogue is None or name in prices.model_fields_set or "." in name  # of a group: only those given
        price = Quote(_price(prices, name), (GIVEN,) if is_given else ())
        if catalogue is not None and not is_given and name in quoted:
            price = quoted[name](Quotes(catalogue))
        found.append(PricedPart(name, amount, price, "" if catalogue is None else catalogue.currency))
    return found


def cost(*specs: Priced) -> float | None:
    """Return the cost of a store and of those below it (`models.store.levels`), given their specs.

    It is the sum of prices times amounts, or None if no spec has a price list.

    Raises:
        InputError: a catalogue lacks a part.
    """
    costs = [sum(part.amount * part.price.amount for part in priced_parts(each)) for each in specs if each.prices]
    return sum(costs) if costs else None


def _price(prices: Any, path: str) -> float:
    """Return the price of a part, given the path of its field in the list."""
    found = prices
    for name in path.split("."):
        found = found[name] if isinstance(found, Mapping) else getattr(found, name)
    return float(found)

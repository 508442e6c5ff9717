"""What a store costs by a price list of its spec: plain numbers, of whatever currency the list is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import Field

from traces.workload.distributions import Strict

Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class CephPrices(Strict):
    """Prices of what a Ceph cluster consists of; what is not named costs nothing."""

    gateway: Price = Field(0.0, description="a gateway, without its cores")
    gateway_core: Price = Field(0.0, description="a core that a gateway may use")
    osd_host: Price = Field(0.0, description="an OSD host, without its drives")
    drive: Price = Field(0.0, description="a data drive")
    db_gb: Price = Field(0.0, description="a GB (10^9 bytes) of block.db")
    copied_tb: Price = Field(0.0, description="copying a TB of objects to a pool with another protection")


class MinioPrices(Strict):
    """Prices of what a MinIO host consists of; what is not named costs nothing."""

    host: Price = Field(0.0, description="the host, without cores and drives")
    core: Price = Field(0.0, description="a core of the host")
    drive: Price = Field(0.0, description="a drive")


class Priced(Protocol):
    """A spec that may have a price list."""

    @property
    def prices(self) -> CephPrices | MinioPrices | None:
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

"""The entries of a catalogue of prices, as its file and the section `prices` of a spec have them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from traces.spec.field_notes import Unit
from traces.spec.spec_file import load_mapping
from traces.spec.suggestions import instead
from traces.spec.units import Bytes, BytesPerSecond, parse_bandwidth
from traces.workload.distributions import Strict

SHIPPED = "shipped"
"""Stands for the catalogue of tailcast itself."""

_FILE = Path(__file__).with_name("catalogue.yaml")


class Entry(Strict):
    """A price."""

    price: Annotated[float, Unit("", "1370")] = Field(
        ge=0, allow_inf_nan=False, description="Amount that one of these parts costs, in the currency of the catalogue."
    )
    kind: Literal["list", "retail", "paid", "typical"] = Field(
        "paid",
        description="What the price is: on a list of the manufacturer or provider, of shops, paid by a buyer, or a "
        "typical figure.",
    )
    date: Annotated[str, BeforeValidator(str)] = Field("", description="Year and month of the price, as 2026-01.")
    source: str = Field("", description="Who gave the price.")


class DriveEntry(Entry):
    """The price of a drive."""

    capacity: Bytes = Field(gt=0, description="Bytes that the drive takes by its data sheet.")


class NicEntry(Entry):
    """The price of a network interface."""

    bandwidth: BytesPerSecond = Field(gt=0, description="Bandwidth of the interface, such as 25Gbit/s.")


class Catalogue(Strict):
    """Prices of the parts of stores."""

    currency: str = Field("USD", description="Unit of all amounts, such as USD or EUR.")
    drives: dict[str, tuple[DriveEntry, ...]] = Field(
        {}, description="Prices of devices by the names of their presets, each at one or several capacities."
    )
    server: Entry | None = Field(
        None,
        description="Price of a case with board and power supplies, without processor, memory, drives and interface.",
    )
    core: Entry | None = Field(None, description="Price of one core of a server's processor, without memory.")
    memory_gb: Entry | None = Field(None, description="Price of each GB (10^9 bytes) of memory modules.")
    nics: tuple[NicEntry, ...] = Field((), description="Prices of network interfaces by their bandwidth.")

    @model_validator(mode="after")
    def _drives_exist(self) -> Self:
        from models.devices.devices import PRESETS  # imports scipy

        for name, entries in self.drives.items():
            if name not in PRESETS:
                raise ValueError(f"drives: {name!r} is not a drive; {instead(name, list(PRESETS))}")
            if not entries:
                raise ValueError(f"drives.{name}: has no entry; a capacity and a price are needed")
        return self


@cache
def _shipped() -> Mapping[str, Any]:
    return load_mapping(_FILE)


def completed(value: Any) -> Any:
    """Return the mapping of a catalogue with the entries that it lacks, which are those of tailcast.

    If the currency is another one, it has its own entries only.
    """
    if value == SHIPPED:
        return _shipped()
    if not isinstance(value, dict):
        return value
    shipped = _shipped()
    if value.get("currency", shipped["currency"]) != shipped["currency"]:
        return value
    drives, nics = value.get("drives"), value.get("nics")
    found = {**shipped, **value}
    if isinstance(drives, dict):
        found["drives"] = {**shipped["drives"], **drives}
    if isinstance(nics, list):
        own = {_bandwidth(each) for each in nics}
        found["nics"] = [*nics, *(each for each in shipped["nics"] if _bandwidth(each) not in own)]
    return found


def _bandwidth(entry: Any) -> float | None:
    """Return the bandwidth of an entry; None: it is not valid, which validation says."""
    try:
        return parse_bandwidth(entry["bandwidth"])
    except (ValueError, LookupError, TypeError):
        return None


CatalogueField = Annotated[Catalogue, BeforeValidator(completed, json_schema_input_type=Catalogue | Literal["shipped"])]
"""A catalogue in a spec: ``shipped``, or entries that go before those of tailcast."""

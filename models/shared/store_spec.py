"""The fields that the specs of all stores have: name, workload, clients, network, faults and prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from models.catalogue.quotes import Quoted
from models.durability.promise import Promise
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.client_policy import ClientPolicies
from models.shared.faults import refuse_overlaps
from models.shared.links import payload_fraction
from models.shared.prices import PriceList
from traces.spec.field_notes import Basis, Unit
from traces.spec.fit_bounds import Fit
from traces.spec.suggestions import did_you_mean
from traces.spec.units import Bytes, Fraction, Seconds
from traces.workload.distributions import Strict
from traces.workload.workload import Workload

WORKLOAD = "Requests issued to the store: arrival process or clients, operations, sizes and keys of the objects."
FAULTS = "Faults during the run: what fails or becomes slow, and when."
PRICES = "Price list of the parts, in any one currency; absent: no cost is calculated."


_QUEUE = "assumed: none; a switch of 32 ports of 40 Gbit/s has 12 MB for all of them (Zhu et al., SIGCOMM 2015)"


class Link(Strict):
    """The network between clients and store; a store's own section may have further fields."""

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean"), Basis("assumed: none", 5e-6, 5e-3)] = Field(
        0.0, description="One-way latency between client and store, without queueing."
    )
    queue: Annotated[Bytes, Basis(_QUEUE, 1 << 16, 12 << 20)] = Field(
        0,
        ge=0,
        description="Bytes that wait before a full link, in each direction of each NIC of limited bandwidth: in the "
        "NIC and in the port of the switch. Whatever comes to a full link waits for them, small messages as well; 0: "
        "none.",
    )
    mtu: Annotated[int, Unit("bytes", "9000"), Basis("assumed: Ethernet without jumbo frames", 1280, 65536)] = Field(
        1500, ge=576, le=65536, description="Largest packet in bytes; 9000 with jumbo frames, 65536 on loopback."
    )
    payload_fraction: (
        Annotated[Fraction, Field(gt=0, le=1), Basis("frames of `mtu` bytes: IEEE 802.3, RFC 7323", 0.8, 1)] | None
    ) = Field(
        None,
        description="Fraction of a NIC's rate that payload can take; absent: what the framing of Ethernet, IP and TCP "
        "leaves by `mtu`, 0.94 with 1,500 bytes and 0.99 with 9,000.",
    )

    @property
    def payload(self) -> float:
        """Fraction of a NIC's rate that payload can take."""
        return payload_fraction(self.mtu) if self.payload_fraction is None else self.payload_fraction

    def payload_rate(self, bytes_per_s: float) -> float:
        """Return the payload in bytes per second that a link of a rate can take; 0: no limit."""
        return bytes_per_s * self.payload

    def unused_headers(self, nics: Iterable[float], held: bool = False) -> dict[str, bool]:
        """Return whether each path that says what headers take has no effect.

        Args:
            nics: rates of links, B/s; 0: no limit.
            held: whether the size of packets matters to small responses, too.
        """
        limited = any(nics)
        return {
            "network.payload_fraction": not limited,
            "network.mtu": not held and (not limited or self.payload_fraction is not None),
        }

    def wire(self, bytes_per_s: float) -> ServiceDemand:
        """Return the demand of a request's bytes on a link of a rate; nothing if that is 0, which means no limit."""
        return ServiceDemand(per_byte=1 / self.payload_rate(bytes_per_s)) if bytes_per_s else NOTHING


class Internode(Strict):
    """The network between the servers of a store, without the interfaces of their hosts."""

    latency: Annotated[Seconds, Fit(1e-7, 1.0, "s", "mean"), Basis("assumed: none", 5e-6, 5e-3)] = Field(
        0.0, description="One-way latency between two servers, without queueing."
    )


class AssumedRange(Strict):
    """What a value that is not known may be: between `low` and `high`, or one of `values`."""

    low: Annotated[float | str, Unit("", "10Gbit/s")] | None = Field(
        None, description="Least value that the field may have, as the spec would give it."
    )
    high: Annotated[float | str, Unit("", "100Gbit/s")] | None = Field(
        None, description="Greatest value that the field may have, as the spec would give it."
    )
    values: Annotated[tuple[bool | float | str, ...], Unit("", "[nvme, sata-ssd]")] = Field(
        (), description="Values of which one applies, instead of `low` and `high`; all are equally likely."
    )
    source: str = Field(min_length=1, description="Reason for the range, such as stores or publications that span it.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        ends = [self.low, self.high].count(None)
        if ends == 1 or bool(self.values) == (ends == 0):
            raise ValueError("give both low and high, or a list of values")
        return self


def _fields(place: Any) -> Mapping[str, Any]:
    """Return what is inside a section or a mapping."""
    if isinstance(place, BaseModel):
        return {name: getattr(place, name) for name in type(place).model_fields}
    return place if isinstance(place, Mapping) else {}


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
    promise: Promise | None = Field(
        None, description="Durability that is promised: what must survive, and when a write is acknowledged."
    )
    assumed: dict[str, AssumedRange] = Field(
        {}, description="Ranges, by path, of values of the spec that are not known; used for the uncertainty only."
    )

    @model_validator(mode="after")
    def _has_assumed_fields(self) -> Self:
        for path in self.assumed:
            place: Any = self
            for part in path.split("."):
                known = _fields(place)
                if part not in known:
                    raise ValueError(f"assumed: {path}: no such field{did_you_mean(part, known)}")
                place = known[part]
        return self

    @model_validator(mode="after")
    def _faults_do_not_overlap(self) -> Self:
        refuse_overlaps(self.faults)
        return self

    @property
    def priced(self) -> Mapping[str, float]:
        """The amount of each part in `prices`."""
        return {}

    @property
    def quoted(self) -> Mapping[str, Quoted]:
        """What a catalogue says of each part in `prices`; without those of which it says nothing."""
        return {}

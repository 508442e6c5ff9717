"""Specs of stores on hosts with drives: clients, prices, and what all of them check."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from models.catalogue.quotes import Quoted
from models.devices.drive_times import HostDrives
from models.devices.processors import Cores
from models.hosts.sections import GatewayPrices, Gateways, HostMachines, HostPrices
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.clients import ClientMachines, refuse_storage_hosts
from models.shared.faults import refuse_unfit_faults
from models.shared.multipart import refuse_multipart
from models.shared.store_spec import PRICES, StoreSpec
from traces.operations import Op

# The sections are fields of a store's own spec, which has them in its own order.


def _hosts(spec: Any) -> HostMachines:
    hosts: HostMachines = spec.hosts
    return hosts


def _drives(spec: Any) -> HostDrives:
    drives: HostDrives = spec.drives
    return drives


def _gateways(spec: Any) -> Gateways:
    gateways: Gateways = spec.gateways
    return gateways


class HostsSpec(StoreSpec):
    """A store on hosts with drives, whose sections `hosts` and `drives` stand where its own spec has them.

    Attributes:
        refusing: kinds of faults that make requests fail at once.
        without_multipart: name of a store whose uploads in parts are not modelled; empty: they are.
    """

    refusing: ClassVar[tuple[str, ...]] = ("host_down",)
    without_multipart: ClassVar[str] = ""

    client: ClientMachines = Field(
        ClientMachines(), description="Client machines: number, cores, NICs, CPU times, policies."
    )
    prices: HostPrices | None = Field(None, description=PRICES)

    @property
    def total_drives(self) -> int:
        """Number of drives of all hosts."""
        return _hosts(self).count * _drives(self).count

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        return {"host": _hosts(self).count, "drive": self.total_drives}

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        hosts, drives = _hosts(self), _drives(self)
        return {
            "host": lambda quotes: quotes.machine(hosts.cores.count, hosts.nic),
            "drive": lambda quotes: quotes.drives_of(drives),
        }

    @property
    def numbered(self) -> dict[str, int]:
        """The number of each part that faults name by its number."""
        return {"drive": self.total_drives, "host": _hosts(self).count}

    @model_validator(mode="after")
    def _clients_fit(self) -> Self:
        """Check that clients have machines of their own, and upload objects as the model does."""
        refuse_storage_hosts(self.client)
        if self.without_multipart:
            refuse_multipart(self.client.multipart, self.without_multipart)
        return self

    @model_validator(mode="after")
    def _events_fit(self) -> Self:
        """Check that all parts named by faults exist, and that failed requests of a closed loop take time."""
        refuse_unfit_faults(self, self.numbered, _hosts(self).nic, self.refusing)
        return self


class GatewaySpec(HostsSpec):
    """A store with S3 gateways, in its section `gateways`, on the hosts or on machines of their own."""

    prices: GatewayPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        return {"gateway": 0 if _gateways(self).collocated else _gateways(self).count, **super().priced}

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        gateways = _gateways(self)
        return {"gateway": lambda quotes: quotes.machine(gateways.cores.count, gateways.nic), **super().quoted}

    @property
    def numbered(self) -> dict[str, int]:
        """The number of each part that faults name by its number."""
        return {**super().numbered, "gateway": self.gateway_count}

    @property
    def gateway_count(self) -> int:
        """Number of gateways."""
        return _hosts(self).count if _gateways(self).collocated else _gateways(self).count

    @property
    def gateway_cores(self) -> Cores:
        """The cores that a gateway uses."""
        return _hosts(self).cores if _gateways(self).collocated else _gateways(self).cores

    @property
    def gateway_nic(self) -> float:
        """Bandwidth in B/s of a gateway's network interface; 0: no limit."""
        return _hosts(self).nic if _gateways(self).collocated else _gateways(self).nic

    def gateway_cpu(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of a gateway for a request."""
        return self.gateway_cores.at_speed(_gateways(self).cpu.get(op, NOTHING))

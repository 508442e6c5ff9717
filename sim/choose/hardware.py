"""The file of `choose`: hosts, drives, workload, objectives, promise, growth and prices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from models.catalogue.quotes import Quoted
from models.devices.devices import DEVICE_PRESETS
from models.durability.promise import Promise
from models.shared.prices import Price, PricedPart, PriceList, priced_parts
from models.site.options import Hardware
from sim.capacity.growth import Growth
from traces.spec.field_notes import Unit
from traces.spec.spec_file import load_mapping, validated
from traces.spec.suggestions import instead
from traces.spec.units import MOST_COUNT, Bytes, BytesPerSecond, Seconds
from traces.workload.distributions import Strict
from traces.workload.generate import generate
from traces.workload.workload import Workload

_REQUESTS = 1000


class HostsOfFile(Strict):
    """The hosts, which are equal."""

    count: int = Field(ge=1, le=MOST_COUNT, description="Number of hosts.")
    cores: int = Field(ge=1, le=MOST_COUNT, description="Cores of each host.")
    core_speed: float = Field(
        1.0, gt=0, description="Speed of a core, as a multiple of those on which the CPU times were measured."
    )
    memory: Bytes | None = Field(None, gt=0, description="Memory of each host; absent: as stores assume it.")
    nic: BytesPerSecond = Field(gt=0, description="Bandwidth of a host's network interface, such as 25Gbit/s.")


class DrivesOfFile(Strict):
    """The data drives of each host, which are equal."""

    count: int = Field(ge=1, le=MOST_COUNT, description="Data drives of each host.")
    preset: str = Field(description="Kind of drive, such as nvme, sata-ssd or hdd-7k2: a preset.")
    capacity: Bytes | None = Field(None, gt=0, description="Capacity of each drive; absent: that of the preset.")

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if self.preset not in DEVICE_PRESETS:
            raise ValueError(f"preset: {self.preset!r} is not a drive; {instead(self.preset, list(DEVICE_PRESETS))}")
        return self

    @property
    def bytes_each(self) -> int:
        """Capacity of a drive in bytes."""
        return self.capacity or DEVICE_PRESETS[self.preset].device.capacity


class StoredOfFile(Strict):
    """The objects that the store holds."""

    objects: Annotated[float, Unit("", "1e8")] = Field(ge=1, description="Number of objects.")
    object_size: Bytes | None = Field(None, gt=0, description="Mean size; absent: that of the requests.")


class PricesOfFile(PriceList):
    """Prices of the parts, in any one currency."""

    host: Price = Field(0.0, description="Price of a host without drives.")
    drive: Price = Field(0.0, description="Price of a drive.")


class HardwareFile(Strict):
    """What a store is chosen for."""

    hosts: HostsOfFile = Field(description="Hosts: number, cores, memory, network interface.")
    drives: DrivesOfFile = Field(description="Data drives of each host.")
    latency: Seconds = Field(50e-6, description="One-way latency between two machines (default: one switch).")
    workload: Workload = Field(description="Requests, as in a spec; an open loop with a rate.")
    stored: StoredOfFile = Field(description="Objects that the store holds.")
    objectives: tuple[str, ...] = Field(min_length=1, description="Objectives, such as GET.p99<50ms.")
    promise: Promise = Field(Promise(), description="Durability that every store must keep, as in a spec.")
    growth: Growth | None = Field(None, description="Growth of objects and requests; absent: none.")
    prices: PricesOfFile | None = Field(None, description="Prices of a host and a drive; absent: no cost is given.")

    @model_validator(mode="before")
    @classmethod
    def _needs_no_end(cls, data: Any) -> Any:
        """Give a workload without an end a number of requests, as simulations have one of their own."""
        workload = data.get("workload") if isinstance(data, Mapping) else None
        if not isinstance(workload, Mapping) or {"operations", "duration", "groups"} & workload.keys():
            return data
        return {**data, "workload": {**workload, "operations": _REQUESTS}}

    @model_validator(mode="after")
    def _has_one_rate(self) -> Self:
        if self.workload.groups:
            raise ValueError("workload.groups: have rates of their own; a workload without groups is needed")
        if self.workload.rate is None:
            raise ValueError("workload.rate: is missing; stores are compared at a rate of requests, such as 2000/s")
        if self.growth is not None and self.growth.clients is not None:
            raise ValueError("growth.clients: is of a closed loop; use growth.rate")
        return self

    @property
    def object_bytes(self) -> float:
        """Mean size of stored objects."""
        if self.stored.object_size is not None:
            return float(self.stored.object_size)
        return float(generate(self.workload.limited(1000), 0).size_bytes.mean())

    @property
    def stored_bytes(self) -> float:
        """Bytes of all objects, without their copies."""
        return self.stored.objects * self.object_bytes

    def hardware(self, hosts: int | None = None) -> Hardware:
        """Return the hardware, with another number of hosts if it is given."""
        return Hardware(
            hosts or self.hosts.count, self.drives.count, self.hosts.cores,
            DEVICE_PRESETS[self.drives.preset].device.rotational, self.drives.bytes_each, self.hosts.memory,
            self.stored_bytes,
        )  # fmt: skip

    def cost(self, hosts: int) -> float | None:
        """Return the cost of a number of hosts with their drives; None: there are no prices."""
        parts = self.priced_parts
        return hosts * sum(part.amount * part.price.amount for part in parts) if parts else None

    @property
    def priced_parts(self) -> list[PricedPart]:
        """The parts of one host; empty if there are no prices."""
        return priced_parts(self)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part of one host."""
        return {"host": 1, "drive": self.drives.count}

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part."""
        hosts, drives = self.hosts, self.drives
        return {
            "host": lambda quotes: quotes.machine(hosts.cores, hosts.nic, memory_bytes=hosts.memory),
            "drive": lambda quotes: quotes.drive(drives.preset, False, drives.bytes_each),
        }


def read_hardware(
    path: Path, priced: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda data: data
) -> tuple[HardwareFile, Mapping[str, Any]]:
    """Read the file; returns it, and its mapping; `priced` returns that with a catalogue of prices.

    Raises:
        InputError: the file is missing, is not valid YAML, or a field is wrong.
    """
    data = priced(load_mapping(path))
    return validated(HardwareFile, data, str(path)), data

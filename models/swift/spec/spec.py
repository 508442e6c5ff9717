"""The spec of a Swift cluster: proxies, storage hosts with their drives, rings, and the clients."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.catalogue.quotes import Quoted
from models.devices.processors import Cores
from models.network.service_demand import NOTHING, ServiceDemand
from models.shared.background import BackgroundWork
from models.shared.clients import ClientMachines, refuse_storage_hosts
from models.shared.faults import NoisyNeighbour, refuse_unfit_faults
from models.shared.protection import Protection
from models.shared.store_spec import FAULTS, PRICES, StoreSpec
from models.swift.spec.faults import Fault, ProxyDown
from models.swift.spec.maintenance_sections import Auditor, Replicator
from models.swift.spec.sections import Containers, Drives, Hosts, ObjectRing, Proxies, Stored, SwiftPrices
from traces.operations import Op
from traces.spec.field_notes import Basis
from traces.spec.units import Fraction


class SwiftSpec(StoreSpec):
    """An OpenStack Swift cluster, its clients and their workload."""

    store: Literal["swift"] = Field(description="Selects the model of OpenStack Swift.")
    client: ClientMachines = Field(
        ClientMachines(), description="Client machines: number, cores, NICs, placement, CPU times, policies."
    )
    proxies: Proxies = Field(Proxies(), description="Proxy servers: number, cores, CPU times, timeouts, hedged reads.")
    hosts: Hosts = Field(Hosts(), description="Storage hosts: number, zones, cores, server processes, CPU times.")
    drives: Drives = Field(Drives(), description="Drives of each storage host: number, and service times.")
    ring: ObjectRing = Field(ObjectRing(), description="Object ring: partitions, replicas or erasure coding.")
    containers: Containers = Field(Containers(), description="Container databases: replicas, shards, times.")
    stored: Stored = Field(Stored(), description="Objects that the store holds before the run.")
    overwrites: Annotated[Fraction, Basis("assumed: all objects are new", 0, 1)] = Field(
        0.0, ge=0, le=1, description="Fraction of PUTs that replace an object, which makes no new directory."
    )
    auditor: Auditor | None = Field(
        None, description="Object auditor of each host, which runs in most clusters; absent: it does not run."
    )
    replicator: Replicator | None = Field(
        None,
        description="Object replicator of each host, with erasure coding its reconstructor, which run in all clusters; "
        "absent: it does not run.",
    )
    background: BackgroundWork = Field(
        BackgroundWork(), description="Other background work, such as that of updaters, expirers, or of containers."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: SwiftPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        return {"proxy": self.proxies.count, "host": self.hosts.count, "drive": len(self.used_drives)}

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        proxies, hosts = self.proxies, self.hosts
        return {
            "proxy": lambda quotes: quotes.machine(proxies.cores.count, proxies.nic),
            "host": lambda quotes: quotes.machine(hosts.cores.count, hosts.nic),
            "drive": lambda quotes: quotes.drives_of(self.drives),
        }

    @property
    def total_drives(self) -> int:
        """Number of drives of all hosts."""
        return self.hosts.count * self.drives.count

    @property
    def used_drives(self) -> list[int]:
        """Numbers of the drives that have partitions: those whose weight is above 0."""
        weights = self.ring.weights
        return [drive for drive in range(self.total_drives) if not weights or weights[drive] > 0]

    @property
    def protection(self) -> Protection:
        """Replicas, of which a write needs a majority, or fragments: one more than have all of an object's bytes."""
        erasure, replicas = self.ring.erasure, self.ring.replicas
        if erasure is None:
            return Protection.replicas(replicas, (replicas + 1) // 2)
        return Protection.erasure(erasure.data, erasure.parity, min(erasure.data + 1, erasure.data + erasure.parity))

    @property
    def pieces(self) -> int:
        """Number of replicas, or of fragments, of an object."""
        return self.protection.width

    @property
    def data_pieces(self) -> int:
        """Number of pieces that an object is read from, which have all of its bytes together."""
        return self.protection.data

    @model_validator(mode="after")
    def _parts_fit(self) -> SwiftSpec:
        """Check that there are drives for all pieces, and hosts for all zones."""
        if self.hosts.zones > self.hosts.count:
            raise ValueError(f"hosts.zones is {self.hosts.zones}; {self.hosts.count} hosts allow at most as many zones")
        if self.ring.weights and len(self.ring.weights) != self.total_drives:
            raise ValueError(
                f"ring.weights: has {len(self.ring.weights)} weights for {self.total_drives} drives (hosts.count x "
                "drives.count); give one for each, 0 for a host's missing ones, or none ([])"
            )
        if self.pieces > len(self.used_drives):
            what = "ring.replicas" if self.ring.erasure is None else "ring.erasure"
            raise ValueError(f"{what}: {self.pieces} pieces of an object need as many drives; there are "
                             f"{len(self.used_drives)} (hosts.count x drives.count) with a weight")  # fmt: skip
        if self.containers.replicas > self.total_drives:
            raise ValueError(f"containers.replicas is {self.containers.replicas}; there are {self.total_drives} drives")
        self._check_cores()
        if self.auditor is not None and self.stored.object_size is None:
            raise ValueError("stored.object_size: is missing; the auditor reads objects of this size")
        return self

    @property
    def proxy_cores(self) -> Cores:
        """The cores that a proxy runs on."""
        return self.hosts.cores if self.hosts.cores.shared else self.proxies.cores

    def proxy_demand(self, op: Op) -> ServiceDemand:
        """Return the CPU demand of a proxy for a request."""
        return self.proxy_cores.at_speed(self.proxies.cpu.get(op, NOTHING))

    def _check_cores(self) -> None:
        """Check that clients are on the hosts only if all share one machine, on which no part fails alone.

        Raises:
            ValueError: they are not, or one does.
        """
        if not self.hosts.cores.shared:
            refuse_storage_hosts(self.client)
            return
        if self.client.hosts is not None:
            raise ValueError("client.hosts: has no effect with hosts.cores.shared, where all hosts are one machine")
        for number, fault in enumerate(self.faults):
            neighbour = isinstance(fault, NoisyNeighbour) and fault.resource == "cpu"
            if neighbour or isinstance(fault, ProxyDown):
                raise ValueError(
                    f"faults.{number}.kind: {fault.kind} stops or slows cores of one machine; hosts.cores.shared "
                    "allows it for none"
                )

    @model_validator(mode="after")
    def _events_fit(self) -> SwiftSpec:
        """Check that all parts named by faults exist, and that failed requests of a closed loop take time."""
        most = {"drive": self.total_drives, "host": self.hosts.count, "proxy": self.proxies.count}
        refuse_unfit_faults(self, most, self.hosts.nic, ("proxy_down", "host_down", "drive_down"))
        return self

"""Client machines, which the specs of all stores share: their cores, NICs, placement and policies.

Every machine has a station for its cores and, if its NIC is limited, one for each direction of it. A client stays on
one machine; the requests of an open loop use the machines in turn. Clients on storage hosts use the stations of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from models.devices.processors import BARE_COUNT, Cores
from models.network.discipline import Discipline
from models.network.service_demand import Demand, ServiceDemand
from models.network.station import Bound, Choice, Group, Station
from models.shared.client_policy import ClientPolicies
from models.shared.links import link
from models.shared.steps import Step, visit
from models.shared.store_spec import Link
from traces.operations import Op
from traces.spec.field_notes import Basis, LinkRate
from traces.spec.units import BytesPerSecond

Nic = Annotated[BytesPerSecond, Basis("assumed: 25GbE", 1.25e8, 5e10), LinkRate()]
MachineCount = Annotated[int, Basis("assumed: one machine", 1, 10_000)]

Way = Literal["up", "down", "dma"]


class ClientMachines(ClientPolicies):
    """The client machines, which are identical, and the policies of the clients on them."""

    machines: MachineCount = Field(
        1, ge=1, description="Number of client machines, over which the clients are distributed."
    )
    cores: Annotated[Cores, BARE_COUNT] | None = Field(
        None, description="Cores of each client machine; absent: requests do not wait for cores of the client."
    )
    nic: Annotated[BytesPerSecond, Basis("assumed: no limit", 1.25e8, 5e10), LinkRate()] = Field(
        0.0, ge=0, description="NIC bandwidth of each client machine in each direction; 0: no limit."
    )
    placement: Literal["own", "storage_hosts"] = Field(
        "own",
        description="Where the clients run: on machines of their own, or on the storage hosts, whose cores and NICs "
        "they use; then `machines`, `cores` and `nic` have no effect, and local transfers use no NIC.",
    )
    hosts: Annotated[tuple[int, ...], Field(min_length=1)] | None = Field(
        None, description="Numbers of the storage hosts on which the clients run, from 0; absent: all of them."
    )
    cpu: dict[Op, Demand] = Field(
        {}, description="CPU time of the client for a request, by operation; 0 for operations not given."
    )

    @property
    def on_storage_hosts(self) -> bool:
        """Whether clients run on the storage hosts."""
        return self.placement == "storage_hosts"

    @model_validator(mode="after")
    def _runs_somewhere(self) -> ClientMachines:
        if self.hosts is not None and not self.on_storage_hosts:
            raise ValueError(f"hosts: require placement storage_hosts; it is {self.placement}")
        if self.hosts is not None and len(set(self.hosts)) < len(self.hosts):
            raise ValueError("hosts: one is named twice; each is allowed once")
        return self

    def cpu_demand(self, op: Op) -> ServiceDemand | None:
        """Return the CPU demand of a request on a core of its client; None: the spec does not give it."""
        demand = self.cpu.get(op)
        if demand is None or self.on_storage_hosts or self.cores is None:
            return demand
        return self.cores.at_speed(demand)

    def hosts_among(self, count: int) -> tuple[int, ...]:
        """Return the numbers of the storage hosts on which the clients run, of `count` hosts.

        Raises:
            ValueError: a host does not exist.
        """
        if self.hosts is None:
            return tuple(range(count))
        if wrong := [host for host in self.hosts if not 0 <= host < count]:
            raise ValueError(f"client.hosts: there is no host {wrong[0]}; allowed are 0 to {count - 1}")
        return self.hosts

    def unused(self) -> list[str]:
        """Return the paths of client machines that have no effect with the other values."""
        if self.on_storage_hosts:
            return ["client.machines", "client.cores", "client.nic"]
        return [] if self.cpu else ["client.cores"]


def refuse_storage_hosts(client: ClientMachines) -> None:
    """Refuse clients on storage hosts where these are not modelled.

    Raises:
        ValueError: they are given.
    """
    if client.on_storage_hosts:
        raise ValueError("client.placement: clients on storage hosts are not modelled; allowed is own")


@dataclass(frozen=True)
class HostStations:
    """The stations of a machine that clients run on; None: without a limit."""

    cpu: int | None = None
    up: int | None = None
    down: int | None = None
    dma: int | None = None

    @property
    def parts(self) -> dict[str, int]:
        """The stations by name, in order."""
        named = {"cpu": self.cpu, "up": self.up, "down": self.down, "dma": self.dma}
        return {name: station for name, station in named.items() if station is not None}


class ClientStations:
    """The stations of the client machines, and the visits of requests there.

    Attributes:
        groups: the group that binds a request to its machine, if there are several with stations.
    """

    def __init__(
        self,
        client: ClientMachines,
        add: Callable[[Station], int],
        *,
        hosts: Sequence[HostStations] = (),
        group: int = 0,
        latency: int | None = None,
        network: Link,
        connections: int = 1,
    ):
        """Add the stations of the machines, or use those of the hosts.

        Args:
            client: the section of the spec.
            add: adds a station and returns its index.
            hosts: the storage hosts, for clients that run on all of them or on some.
            group: index in the network of the group in `groups`.
            latency: an infinite server for the CPU time of clients without a limited number of cores.
            network: the network between clients and store.
            connections: number of connections that together reach the rate of a client machine's NIC.
        """
        self._client, self._add, self._latency = client, add, latency
        self._connections, self._network = connections, network
        used = [hosts[host] for host in client.hosts_among(len(hosts))] if client.on_storage_hosts else []
        machines = used or [self._machine(number) for number in range(client.machines)]
        self._at: dict[str, int | Bound] = dict(machines[0].parts)
        self.groups: tuple[Group, ...] = ()
        if len(machines) > 1 and self._at:
            self._at = {name: Bound(group, position) for position, name in enumerate(self._at)}
            members = [list(machine.parts.values()) for machine in machines]
            self.groups = (Group(Choice.CLIENT, np.array(members, np.int32), role="client machines"),)

    def _machine(self, number: int) -> HostStations:
        """Add the stations of a client machine."""
        client = self._client
        name = f"client {number}" if client.machines > 1 else "client"
        cpu = up = down = None
        if client.cores is not None:
            cpu = self._add(Station(f"{name} cpu", "client cpu", Discipline.SIRO, client.cores.count, (number,)))
        if client.nic:
            queue, connections = self._network.queue, self._connections
            up, down = (
                self._add(link(f"{name} {way}", "client network", (number, way), client.nic, queue, connections))
                for way in ("up", "down")
            )
        return HostStations(cpu, up, down)

    @property
    def cpu(self) -> int | Bound:
        """Where the CPU time of clients is spent."""
        at = self._at.get("cpu", self._latency)
        assert at is not None, "cores or an infinite server are needed"
        return at

    def work(self, op: Op) -> Step:
        """Return the CPU time of a request on its client; none if the spec does not give any."""
        demand = self._client.cpu_demand(op)
        return () if demand is None else visit(self.cpu, demand)

    def transfer(self, way: Way, demand: ServiceDemand | None = None, remote: float = 1.0) -> Step:
        """Return the transfer of a request's bytes on the client's NIC; none if it has no limit.

        Args:
            way: ``up`` from the client, ``down`` to it, ``dma`` between the NIC and the memory of a storage host.
            demand: of all bytes; None: at the rate of `nic`.
            remote: fraction of the transfers that leave the machine.
        """
        at = self._at.get(way)
        if at is None or not remote:
            return ()
        demand = self._network.wire(self._client.nic) if demand is None else demand
        return visit(at, demand.scaled(remote) if remote < 1 else demand)

"""A load balancer between clients and a store, such as HAProxy or an ingress: a machine with cores and a NIC.

The specs of all stores share the section. Bytes are received and sent again, so they load the NIC in both directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from models.devices.processors import BARE_COUNT, Cores
from models.network.discipline import Discipline
from models.network.service_demand import NOTHING, Demand, ServiceDemand
from models.network.station import Station
from models.shared.links import link
from models.shared.steps import Step, send, use
from models.shared.store_spec import Link
from traces.spec.field_notes import Basis, LinkRate
from traces.spec.units import BytesPerSecond
from traces.workload.distributions import Strict

_HAPROXY = Basis(
    "HAProxy 2.3 forwarded 2.04 M requests/s on 64 cores of a Graviton2 (haproxy.com, 2021); bytes: assumed",
    1e-6,
    1e-2,
)


class Proxy(Strict):
    """A load balancer between clients and the store."""

    cores: Annotated[Cores, BARE_COUNT] = Field(
        Cores(), description="Cores of the load balancer; a bare number is their count."
    )
    cpu: Annotated[Demand, _HAPROXY] = Field(
        ServiceDemand(constant=31e-6, per_byte=0.5e-9),
        description="CPU time of the load balancer for a request; per-byte times apply to its body.",
    )
    nic: Annotated[BytesPerSecond, Basis("assumed: no limit", 1.25e8, 5e10), LinkRate()] = Field(
        0.0, ge=0, description="NIC bandwidth of the load balancer in each direction; 0: no limit."
    )

    @property
    def cpu_demand(self) -> ServiceDemand:
        """CPU demand of a request and its response, at the speed of the cores."""
        return self.cores.at_speed(self.cpu)


@dataclass(frozen=True)
class ProxyStations:
    """The stations of a load balancer; without a limit of its NIC, it has cores only."""

    proxy: Proxy
    cpu: int
    wire: ServiceDemand
    inward: int | None
    outward: int | None

    @classmethod
    def added(cls, proxy: Proxy, add: Callable[[Station], int], network: Link, machines: int = 1) -> ProxyStations:
        """Add the stations by `add`, which returns the index of each.

        Args:
            proxy: a load balancer.
            add: adds a station and returns its index.
            network: the network between clients and store.
            machines: number of load balancers, over which requests are spread evenly.
        """
        cpu = add(Station("proxy cpu", "proxy cpu", Discipline.SIRO, proxy.cores.count * machines))
        if not proxy.nic:
            return cls(proxy, cpu, NOTHING, None, None)
        inward, outward = (
            add(link(f"proxy {way}", "proxy network", (way,), proxy.nic, network.queue)) for way in ("in", "out")
        )
        return cls(proxy, cpu, network.wire(proxy.nic), inward, outward)

    def request(self, with_body: bool) -> Step:
        """Return what a request does here on its way to the store."""
        return self._passed(self.proxy.cpu_demand if with_body else self.proxy.cpu_demand.without_bytes, with_body)

    def response(self, with_body: bool) -> Step:
        """Return what a response does on its way to the client; without a body, its CPU time is the request's."""
        return self.body() if with_body else ()

    def body(self) -> Step:
        """Return what bytes do here, in either direction, without the request or response that they belong to."""
        return self._passed(self.proxy.cpu_demand.of_bytes, with_body=True)

    def _passed(self, work: ServiceDemand, with_body: bool) -> Step:
        if self.inward is None or self.outward is None or not with_body:
            return use(self.cpu, work)
        return send(self.wire, self.inward) + use(self.cpu, work) + send(self.wire, self.outward)

"""Transfers of a request's bytes between the machines of a Ceph cluster.

A transfer loads one network interface: the receiver's on the way in, the sender's on the way out, which is the
busier of the two for each operation. Clients and gateways use the public network, OSDs the cluster network among each
other. If a limit of a host's DMA is given, all bytes that its NICs and drives move take it, too.
"""

from __future__ import annotations

from models.ceph.cluster.stations import Osd, Stations
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.requests.by_group import OsdGroups
from models.ceph.spec.spec import CephSpec
from models.network.service_demand import NOTHING
from models.shared.clients import Way
from models.shared.steps import Step, use, visit


class Transfers:
    """The visits of transfers.

    Those between machines that are the same host are left out, on average, if gateways or clients run on OSD hosts.
    """

    def __init__(self, spec: CephSpec, costs: CostFunctions, stations: Stations):
        self._spec, self._costs, self._at = spec, costs, stations
        self._groups = OsdGroups(costs)

    def public(self, osd: Osd, way: Way) -> Step:
        """Return the transfer of all bytes between an OSD and its gateway or client."""
        remote = self.remote_to_osds

        def sent(at: Osd, costs: CostFunctions) -> Step:
            return visit(at.up if way == "up" else at.down, costs.nic(costs.spec.hosts.nic).scaled(remote))

        return self._groups.each(osd, sent)

    def cluster(self, osd: Osd, way: Way, parts: float) -> Step:
        """Return the transfer of one of `parts` parts of the bytes between two OSDs."""
        remote = self.remote_between_osds

        def sent(at: Osd, costs: CostFunctions) -> Step:
            nic = costs.spec.hosts.cluster_nic
            demand = costs.nic(nic or costs.spec.hosts.nic).scaled(remote).per_shard(parts)
            if not any(part.hosts.cluster_nic for part in self._spec.host_groups.values()):
                return visit(at.up if way == "up" else at.down, demand)
            return visit(at.cluster_up if way == "up" else at.cluster_down, demand)

        return self._groups.each(osd, sent)

    def gateway(self, way: Way) -> Step:
        """Return the transfer of all bytes between a gateway and its client, on the gateway's NIC."""
        demand = self._costs.nic(self._spec.gateway_nic).scaled(self.remote_to_clients)
        return visit(self._at.gateway(way), demand)

    def ingress(self) -> Step:
        """Return the transfer of all bytes between a load balancer on a gateway's host and a gateway on another one.

        Both hosts' NICs take them once more. The load balancers are alike, so that of the gateway's host stands for the
        one which a request has passed.
        """
        if not self._spec.has_ingress:
            return ()
        elsewhere = 1 - 1 / self._spec.gateway_hosts
        demand, moved = self._costs.nic(self._spec.gateway_nic).scaled(elsewhere), self._costs.dma
        dma = moved.takes_time and self._spec.collocated
        passed = visit(self._at.gateway("dma"), moved.scaled(2 * elsewhere)) if dma else ()
        return passed + use(self._at.gateway("up"), demand) + use(self._at.gateway("down"), demand)

    def client(self, way: Way) -> Step:
        """Return the transfer of all bytes on the client's NIC; none if it has no limit."""
        spec, remote = self._spec, self.remote_to_clients
        nic = spec.hosts.nic if spec.client.on_storage_hosts else spec.client.nic
        demand = self._costs.nic(nic) if nic else NOTHING
        dma = self._at.clients.transfer("dma", self._costs.dma, remote)
        return dma + self._at.clients.transfer(way, demand, remote)

    def dma(self, osd: Osd, moved: float) -> Step:
        """Return what the devices of an OSD's host move; none without a limit.

        Args:
            osd: on the host.
            moved: as a multiple of the request's bytes.
        """
        demand = self._costs.dma
        return use(osd.dma, demand.scaled(moved)) if demand.takes_time else ()

    def dma_of_gateway(self) -> Step:
        """Return what the NIC of a gateway on an OSD host receives and sends again; none without a limit."""
        demand = self._costs.dma
        if not (demand.takes_time and self._spec.collocated):
            return ()
        return visit(self._at.gateway("dma"), demand.scaled(self.remote_to_clients + self.remote_to_osds))

    @property
    def remote_to_clients(self) -> float:
        """Fraction of the transfers between clients and the machines that they access that leave a host."""
        spec = self._spec
        if not spec.client.on_storage_hosts:
            return 1.0
        if not spec.access.via_gateways:
            return 1 - 1 / spec.host_count
        if not spec.collocated:
            return 1.0
        clients = spec.client.hosts_among(spec.host_count)
        gateways = [g % spec.host_count for g in range(spec.gateways.count)]
        return 1 - sum(gateways.count(host) for host in clients) / (len(clients) * len(gateways))

    @property
    def remote_between_osds(self) -> float:
        """Fraction of the transfers between OSDs of a placement group that leave a host: all, if each has its own."""
        spec = self._spec
        if spec.pools.failure_domain == "host" or spec.osds == 1:
            return 1.0
        layout = spec.layout
        elsewhere = sum(
            hosts * each * (spec.osds - each) for hosts, each in zip(layout.hosts, layout.osds, strict=True)
        )
        return elsewhere / (spec.osds * (spec.osds - 1))

    @property
    def remote_to_osds(self) -> float:
        """Fraction of the transfers between OSDs and their gateways or clients that leave a host."""
        spec = self._spec
        local = spec.collocated or (spec.client.on_storage_hosts and not spec.access.via_gateways)
        return 1 - 1 / spec.host_count if local else 1.0

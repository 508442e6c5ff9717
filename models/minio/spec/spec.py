"""The spec of a MinIO cluster, its hosts, drives and erasure sets, and the clients."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.catalogue.quotes import Quoted, mean
from models.minio.spec.faults import Fault, MinioHostDown, RackDown
from models.minio.spec.layout import Layout, is_symmetric, set_size
from models.minio.spec.maintenance_sections import Healing, Movement, Scanner, Stored
from models.minio.spec.release import LATEST, Release, inlines
from models.minio.spec.sections import Client, Drives, Erasure, FurtherPool, Hosts, MinioPrices, NetworkLink
from models.network.service_demand import ServiceDemand
from models.shared.background import BackgroundWork
from models.shared.faults import NoisyNeighbour, refuse_absent_part, refuse_instant_failures
from models.shared.proxies import Proxy
from models.shared.store_spec import FAULTS, PRICES, StoreSpec
from traces.operations import Op
from traces.spec.field_notes import Basis
from traces.spec.units import Bytes, Fraction
from traces.workload.distributions import Strict

_INLINE = Basis("MinIO's default: ShouldInline, internal/config/storageclass/storage-class.go", high=1 << 20)
_VERSIONED_INLINE_BYTES = 16 * 1024
_INLINE_BYTES = 128 * 1024


class ListPage(Strict):
    """What a LIST reads: the first page of a listing, whose entries every drive looks up."""

    entries: Annotated[int, Basis("assumed: the page of S3, 1,000 keys", 0, 1000)] = Field(
        1000, ge=0, le=1000, description="Number of keys of a page; drives read the xl.meta of each, and of 6 % more."
    )


class MinioSpec(StoreSpec):
    """A MinIO cluster, its clients and their workload."""

    store: Literal["minio"] = Field(description="Selects the model of MinIO.")
    release: Annotated[Release, Basis("the commit that the model was read from, 7aac2a2c")] = Field(
        LATEST,
        description="Date of the release. Since 2025-07-23 a PUT looks up the object first; since 2024-08-17 requests "
        "beyond `hosts.max_requests` are refused at once. Before 2021-04-06 small objects have a file with their data; "
        "before 2021-01-30 the default parity is half of the set.",
    )
    client: Client = Field(Client(), description="Client machines: number, cores, NICs, placement, CPU, policies.")
    network: NetworkLink = Field(NetworkLink(), description="Network between clients and store.")
    hosts: Hosts = Field(Hosts(), description="Hosts of MinIO: number, cores, network interfaces, CPU times.")
    drives: Drives = Field(Drives(), description="Drives of each host: number, and service times.")
    erasure: Erasure = Field(Erasure(), description="Erasure sets: number of drives, parity.")
    pools: tuple[FurtherPool, ...] = Field(
        (), description="Further server pools; the first one has the hosts, drives and erasure sets of the spec."
    )
    balance: Annotated[
        Literal["round_robin", "dns", "proxy", "single", "local"], Basis("assumed: clients use the hosts in turn")
    ] = Field(
        "round_robin",
        description="At which host a request arrives: in turn; at a random one, as by DNS; at a proxy, which passes it "
        "to hosts in turn and leaves out those that are down; always at the first one; or at the client's own host, "
        "over no network, as those of MinIO's speedtest.",
    )
    proxy: Proxy = Field(Proxy(), description="Load balancer between clients and hosts, if `balance` is proxy.")
    versioned: bool = Field(
        False, description="Whether buckets are versioned: smaller objects are inline, and a DELETE writes a marker."
    )
    overwrites: Annotated[Fraction, Basis("assumed: all objects are new", 0, 1)] = Field(
        0.0, ge=0, le=1, description="Fraction of PUTs that replace an object, which takes a further durable write."
    )
    listing: ListPage = Field(ListPage(), description="Size of the pages that a LIST requests.")
    inline_limit: Annotated[Bytes, _INLINE] | None = Field(
        None,
        description="Largest shard that is stored inside xl.meta instead of in a file of its own; absent: 128 KiB, or "
        "16 KiB in versioned buckets; before 2021-04-06 none.",
    )
    stored: Stored | None = Field(
        None, description="Objects of the cluster when the run begins; required for healing and the scanner."
    )
    healing: Healing = Field(Healing(), description="Healing of drives that were replaced (fault drive_replaced).")
    movement: Movement = Field(Movement(), description="Objects that change pools (faults decommission, rebalance).")
    scanner: Scanner = Field(Scanner(), description="Scanner, which walks over all objects.")
    background: BackgroundWork = Field(
        BackgroundWork(), description="Further loads, such as replication between sites."
    )
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: MinioPrices | None = Field(None, description=PRICES)

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        pools = [(hosts, drives) for hosts, drives, _ in self.layouts]
        return {
            "host": sum(hosts.count for hosts, _ in pools),
            "core": sum(
                hosts.cores.count if hosts.cores.shared else sum(hosts.of_hosts("cores")) for hosts, _ in pools
            ),
            "drive": sum(hosts.count * drives.count for hosts, drives in pools),
            "nic_gbit": sum(sum(hosts.of_hosts("nic")) * 8e-9 for hosts, _ in pools),
        }

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        pools = [(hosts, drives) for hosts, drives, _ in self.layouts]
        return {
            "host": lambda quotes: quotes.server(),
            "core": lambda quotes: quotes.core(),
            "drive": lambda quotes: mean((quotes.drives_of(d), hosts.count * d.count) for hosts, d in pools),
            "nic_gbit": lambda quotes: mean((quotes.nic_gbit(h.nic), h.count * h.nic) for h, _ in pools),
        }

    def client_cpu(self, op: Op) -> ServiceDemand | None:
        """Return the CPU demand of a request on its client; None: the spec does not give it."""
        demand = self.client.cpu_demand(op)
        return self.hosts.at_speed(demand) if demand is not None and self.client.on_storage_hosts else demand

    @property
    def layouts(self) -> tuple[tuple[Hosts, Drives, Layout], ...]:
        """Hosts, drives and layout of each pool."""
        sections = [(self.hosts, self.drives, self.erasure), *((p.hosts, p.drives, p.erasure) for p in self.pools)]
        found = []
        for number, (hosts, drives, erasure) in enumerate(sections):
            where = f"pools.{number - 1}." if number else ""
            found.append((hosts, drives, _layout(where, hosts, drives, erasure, self.release)))
        return tuple(found)

    @property
    def layout(self) -> Layout:
        """The erasure sets of the first pool."""
        return self.layouts[0][2]

    @property
    def data_shards(self) -> int:
        """Number of data shards of an object in the first pool."""
        return self.layout.data

    @property
    def inline_bytes(self) -> int:
        """Largest shard that is stored inside xl.meta; -1: none is."""
        if self.inline_limit is not None:
            return self.inline_limit
        if not inlines(self.release):
            return -1
        return _VERSIONED_INLINE_BYTES if self.versioned else _INLINE_BYTES

    @property
    def reads_per_node(self) -> int | None:
        """Number of GETs that a node lets read from drives at the same time; None: no limit."""
        return None

    @property
    def total_drives(self) -> int:
        """Number of drives of all pools."""
        return sum(hosts.count * drives.count for hosts, drives, _ in self.layouts)

    @property
    def total_hosts(self) -> int:
        """Number of hosts of all pools."""
        return sum(hosts.count for hosts, _, _ in self.layouts)

    @model_validator(mode="after")
    def _parts_fit(self) -> MinioSpec:
        """Check that erasure sets can be laid out, and that each rack has a host."""
        _ = self.layouts
        self.client.hosts_among(self.total_hosts)
        if self.hosts.racks > self.hosts.count:
            raise ValueError(f"hosts.racks: is {self.hosts.racks}; {self.hosts.count} hosts allow at most as many")
        return self

    @model_validator(mode="after")
    def _local_clients_are_on_hosts(self) -> MinioSpec:
        everywhere = self.client.on_storage_hosts and self.client.hosts is None
        if self.balance == "local" and not everywhere:
            raise ValueError(
                "balance: local requires clients on all hosts; it is allowed with client.placement: storage_hosts "
                "and without client.hosts"
            )
        return self

    @model_validator(mode="after")
    def _scanner_has_objects(self) -> MinioSpec:
        if self.scanner.speed != "off" and self.stored is None:
            raise ValueError("scanner.speed: requires stored, the objects that the scanner visits")
        return self

    @model_validator(mode="after")
    def _moves_once(self) -> MinioSpec:
        """Refuse work that is done twice: the second would have the stations and random numbers of the first."""
        earlier: dict[tuple[str, int], int] = {}
        for number, fault in enumerate(self.faults):
            part = {"drive_replaced": "drive", "decommission": "pool", "rebalance": "pool"}.get(fault.kind)
            if part is not None:
                key = fault.kind, getattr(fault, part)
                if key in earlier:
                    raise ValueError(
                        f"faults.{number}.kind: {part} {key[1]} has a {fault.kind} already (faults.{earlier[key]}); "
                        "allowed is one in a run"
                    )
                earlier[key] = number
        return self

    @model_validator(mode="after")
    def _events_fit(self) -> MinioSpec:
        """Check that all parts named by faults exist, and that failed requests of a closed loop take time."""
        most = {"drive": self.total_drives, "host": self.total_hosts, "rack": self.hosts.racks}
        most["pool"] = 1 + len(self.pools)
        for number, fault in enumerate(self.faults):
            refuse_absent_part(number, fault, most)
            if isinstance(fault, MinioHostDown | RackDown) and self.client.on_storage_hosts:
                raise ValueError(
                    f"faults.{number}.kind: {fault.kind} also stops the clients, which run on the hosts; it is allowed "
                    "with client.placement: own"
                )
            unlimited = not self.network.bandwidth and not self.hosts.nic
            if isinstance(fault, NoisyNeighbour) and fault.resource == "network" and unlimited:
                raise ValueError(
                    f"faults.{number}.resource: a network of unlimited bandwidth has no fraction to take; give "
                    "network.bandwidth or hosts.nic"
                )
            if fault.kind == "slow_link" and not self.hosts.nic:
                raise ValueError(f"faults.{number}.kind: a link of unlimited bandwidth cannot be slow; give hosts.nic")
            if fault.kind in ("drive_replaced", "decommission", "rebalance") and self.stored is None:
                raise ValueError(f"faults.{number}.kind: {fault.kind} requires stored, the objects of the cluster")
            if fault.kind in ("decommission", "rebalance") and not self.pools:
                raise ValueError(f"faults.{number}.kind: {fault.kind} requires pools that take the objects")
            if fault.kind in ("host_down", "drive_down", "drive_replaced", "rack_down", "link_down"):
                refuse_instant_failures(self.workload, self.network.latency, fault.kind)
        return self


def _layout(where: str, hosts: Hosts, drives: Drives, erasure: Erasure, release: str) -> Layout:
    """Return the layout of a pool.

    Raises:
        ValueError: the drives cannot be divided into erasure sets.
    """
    nodes, total = hosts.count * hosts.processes, hosts.count * drives.count
    if drives.count % hosts.processes:
        allowed = ", ".join(str(n) for n in range(1, drives.count + 1) if drives.count % n == 0)
        raise ValueError(
            f"{where}hosts.processes is {hosts.processes}; {drives.count} drives of a host allow {allowed}"
        )
    size = set_size(total, nodes) if erasure.set_size is None else erasure.set_size
    if size is None or total % size or not is_symmetric(size, nodes):
        allowed = ", ".join(str(n) for n in range(1 + (nodes > 1), 17) if total % n == 0 and is_symmetric(n, nodes))
        raise ValueError(
            f"{where}erasure.set_size: {total} drives of {nodes} hosts allow {allowed or 'no erasure set'}; a set has "
            "at most 16 drives, as many of each of its hosts"
        )
    parity = erasure.parity_of(size, release)
    if parity > size // 2:
        raise ValueError(f"{where}erasure.parity: is {parity}; an erasure set of {size} drives allows 0 to {size // 2}")
    return Layout(hosts.count, hosts.processes, drives.count, size, parity)

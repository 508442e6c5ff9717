"""The spec of a Ceph cluster with RADOS gateways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.catalogue.quotes import Quote, Quoted, Quotes, mean
from models.ceph.faults.faults import Fault, GatewayDown, HostDown, ReshardEvent
from models.ceph.mechanisms.bluestore import BlueStore
from models.ceph.mechanisms.bucket_index import default_pipelined
from models.ceph.mechanisms.filestore import FileStore
from models.ceph.mechanisms.osd_threads import Workers
from models.ceph.mechanisms.releases import Release, since
from models.ceph.mechanisms.rocksdb import RocksDb
from models.ceph.spec.access import S3, AccessPath
from models.ceph.spec.host_groups import HostCores, HostGroup, Layout, class_of, crush_weight
from models.ceph.spec.placement_checks import check_classes, check_numbers, check_second
from models.ceph.spec.pools import Buckets, Holdings, Pools
from models.ceph.spec.sections import (
    ASSUMED_NVME,
    CephPrices,
    Clients,
    Database,
    Gateways,
    Hosts,
    IndexDrives,
    Ingress,
    Links,
    Osd,
)
from models.devices.devices import PRESETS, DeviceField
from models.devices.processors import ProcessorCores
from models.shared.background import BackgroundWork
from models.shared.faults import NoisyNeighbour, refuse_absent_part, refuse_instant_failures
from models.shared.store_spec import FAULTS, PRICES, StoreSpec
from traces.spec.field_notes import Basis

GROUP_FIELDS = ("count", "drives", "osds_per_drive", "cores", "nic", "cluster_nic")
"""Fields of `hosts` that a group of hosts may have of its own."""


class CephSpec(StoreSpec):
    """A Ceph cluster with RADOS gateways, its clients and their workload."""

    store: Literal["ceph"] = Field(description="Selects the model of Ceph.")
    release: Annotated[Release, Basis("assumed: the release of 2023")] = Field(
        "reef", description="Release of Ceph, from which the defaults of OSDs and gateways follow."
    )
    access: AccessPath = Field(S3(), description="Access path of the clients; only s3 uses the gateways.")
    client: Clients = Field(
        Clients(), description="Client machines: number, cores, NICs, placement, CPU times, policies."
    )
    network: Links = Field(Links(), description="Network between all machines, and the rates that NICs reach.")
    proxy: Ingress | None = Field(
        None,
        description="Load balancer between clients and gateways, such as HAProxy or an ingress, which all bytes pass; "
        "absent: clients reach the gateways directly.",
    )
    gateways: Gateways = Field(Gateways(), description="RADOS gateways: number, placement, cores, CPU times, limits.")
    hosts: Hosts = Field(Hosts(), description="OSD hosts: number, drives, cores, NICs, and groups that differ.")
    osd: Osd = Field(Osd(), description="OSD daemons: CPU times, memory, order of accesses to hard disks.")
    device: Annotated[DeviceField, ASSUMED_NVME] = Field(
        PRESETS["nvme"], description="Data device of each OSD: the name of a preset, or its figures."
    )
    db: Database | None = Field(None, description="Faster device for RocksDB; absent: it is on the data device.")
    index: IndexDrives | None = Field(
        None,
        description="Drives of the OSD hosts for the index pool alone (a device class of its own); absent: bucket "
        "indexes are on the OSDs with the data.",
    )
    bluestore: BlueStore = Field(BlueStore(), description="Settings of BlueStore: allocation, deferred writes.")
    filestore: FileStore = Field(FileStore(), description="Settings of FileStore, if `osd.backend` selects it.")
    rocksdb: RocksDb = Field(RocksDb(), description="Options of RocksDB on every OSD; absent: the release's.")
    pools: Pools = Field(Pools(), description="Pools of data and bucket indexes: protection, placement groups.")
    buckets: Buckets = Field(Buckets(), description="Indexes of the buckets: shards and resharding.")
    stored: Holdings = Field(Holdings(), description="Objects in the cluster when the run begins.")
    background: BackgroundWork = Field(BackgroundWork(), description="Recovery, scrubbing and other background work.")
    faults: tuple[Fault, ...] = Field((), description=FAULTS)
    prices: CephPrices | None = Field(None, description=PRICES)

    @property
    def osds(self) -> int:
        """Number of OSDs of the cluster that have data."""
        if self.hosts.groups:
            return sum(part.hosts.count * part.osds_per_host for part in self.host_groups.values())
        return self.hosts.count * self.osds_per_host

    @property
    def host_count(self) -> int:
        """Number of OSD hosts of the cluster."""
        if self.hosts.groups:
            return sum(part.hosts.count for part in self.host_groups.values())
        return self.hosts.count

    @property
    def osds_per_host(self) -> int:
        """Number of OSDs of a host, of those that are equal."""
        return self.hosts.drives * self.hosts.osds_per_drive

    @property
    def index_osds_per_host(self) -> int:
        """Number of OSDs of a host that have only bucket indexes, of hosts that are equal."""
        return self.index.drives if self.index else 0

    @property
    def host_groups(self) -> dict[str, CephSpec]:
        """The spec with the hosts of each group alone, by its name; itself, without a name, if hosts are equal."""
        groups = self.hosts.groups
        return {name: self._with_hosts(group) for name, group in groups.items()} if groups else {"": self}

    def _with_hosts(self, group: HostGroup) -> CephSpec:
        own = {name: getattr(group, name) for name in GROUP_FIELDS}
        given = {name: value for name, value in own.items() if value is not None}
        index = self.index
        if index is not None and group.index_drives is not None:
            index = index.model_copy(update={"drives": group.index_drives}) if group.index_drives else None
        changed = {
            "hosts": self.hosts.model_copy(update={**given, "groups": {}}),
            "device": self.device if group.device is None else group.device,
            "db": self.db if group.with_db else None,
            "index": index,
        }
        return self.model_copy(update=changed)

    @property
    def data_pools(self) -> tuple[CephSpec, ...]:
        """The spec with each of its data pools alone; itself if there is one."""
        return tuple(
            self if each is self.pools else self.model_copy(update={"pools": each}) for each in self.pools.each
        )

    @property
    def layout(self) -> Layout:
        """Where the hosts and OSDs are."""
        parts = self.host_groups
        return Layout(
            tuple(parts), tuple(part.hosts.count for part in parts.values()),
            tuple(part.osds_per_host for part in parts.values()),
            tuple(part.index_osds_per_host for part in parts.values()),
            tuple(part.hosts.osds_per_drive for part in parts.values()),
            self._weights(self.pools.device_class), self._weights(self.pools.index_class),
        )  # fmt: skip

    def _weights(self, device_class: str | None) -> tuple[float, ...] | None:
        """Return the CRUSH weight of an OSD of each group for a pool on a device class; None: hosts are equal."""
        parts, classes = self.host_groups, self.device_classes
        weights = [
            crush_weight(group, parts[name].device.capacity, parts[name].hosts.osds_per_drive)
            * (device_class in (None, classes[name]))
            for name, group in self.hosts.groups.items()
        ]
        return tuple(weights) or None

    @property
    def device_classes(self) -> dict[str, str]:
        """The device class of the OSDs with data of each group of hosts, by its name."""
        groups = self.hosts.groups
        own = {name: groups[name].device_class if groups else None for name in self.host_groups}
        return {name: own[name] or class_of(part.device) for name, part in self.host_groups.items()}

    @property
    def has_index_hosts(self) -> bool:
        """Whether some hosts may have bucket indexes on OSDs without data, because pools are on device classes."""
        return self.pools.device_class is not None or self.pools.index_class is not None

    @property
    def collocated(self) -> bool:
        """Whether gateways run on the OSD hosts."""
        return self.gateways.collocated and self.access.via_gateways

    @property
    def shares_cores(self) -> bool:
        """Whether gateways and OSDs use the same cores."""
        return self.collocated and self.gateways.cores.shared

    @property
    def osds_share_cores(self) -> bool:
        """Whether gateways or clients use the cores of the OSDs."""
        return self.shares_cores or (self.client.on_storage_hosts and bool(self.client.cpu))

    @property
    def osd_cores(self) -> int:
        """Number of cores of a host that its OSDs have."""
        return self.hosts.cores.count - self.gateway_cores_on_host

    @property
    def gateway_cores_on_host(self) -> int:
        """Number of cores of a host that its gateways have alone."""
        own = self.collocated and not self.shares_cores
        return self.gateways_per_host * self.gateways.cores.count if own else 0

    @property
    def gateway_cores(self) -> ProcessorCores:
        """The kind of cores that gateways run on; their number is that of `gateways.cores`."""
        return self.hosts.cores if self.collocated else self.gateways.cores

    @property
    def gateway_hosts(self) -> int:
        """Number of hosts with gateways."""
        return min(self.gateways.count, self.host_count) if self.collocated else self.gateways.count

    @property
    def has_ingress(self) -> bool:
        """Whether load balancers on the hosts of the gateways pass requests on to any of them."""
        return self.access.via_gateways and self.proxy is not None and self.proxy.on_gateway_hosts

    @property
    def gateways_per_host(self) -> int:
        """Largest number of gateways on one host, if collocated."""
        return -(-self.gateways.count // self.host_count)

    @property
    def gateway_nic(self) -> float:
        """NIC bandwidth of a gateway's host in B/s."""
        return self.hosts.nic if self.collocated else self.gateways.nic

    @property
    def holds_small_bodies(self) -> bool:
        """Whether small bodies of gateways wait until clients acknowledge their headers; a proxy does so at once."""
        gateways = self.gateways
        by_beast = self.access.via_gateways and gateways.frontend == "beast" and not gateways.tcp_nodelay
        return by_beast and self.proxy is None and self.network.delayed_ack > 0

    @property
    def priced(self) -> dict[str, float]:
        """The amount of each part in `prices`."""
        gateways, parts = self.gateways.count if self.access.via_gateways else 0, self.host_groups
        amounts = {
            "gateway": gateways,
            "gateway_core": 0 if self.shares_cores else gateways * self.gateways.cores.count,
            "db_gb": sum(part.osds * part.db.size / 1e9 for part in parts.values() if part.db),
            **dict.fromkeys(("osd_host", "drive", "index_drive"), 0.0),
        }
        own = self.prices.groups if self.prices else {}
        for name, part in parts.items():
            hosts = part.hosts.count
            of_group = {
                "osd_host": hosts, "drive": hosts * part.hosts.drives, "index_drive": hosts * part.index_osds_per_host,
            }  # fmt: skip
            for what, amount in of_group.items():
                is_own = name in own and getattr(own[name], what) is not None
                amounts[f"groups.{name}.{what}" if is_own else what] = amount + (0.0 if is_own else amounts[what])
        return amounts

    @property
    def quoted(self) -> dict[str, Quoted]:
        """What a catalogue says of each part in `prices`."""
        parts, gateways = self.host_groups.values(), self.gateways
        found: dict[str, Quoted] = {
            "gateway_core": lambda quotes: quotes.core(),
            "osd_host": lambda quotes: mean((_host(part, quotes), part.hosts.count) for part in parts),
            "drive": lambda quotes: mean(
                (quotes.device(part.device), part.hosts.count * part.hosts.drives) for part in parts
            ),
            "index_drive": lambda quotes: mean(
                (quotes.device(part.index.device), part.hosts.count * part.index.drives) for part in parts if part.index
            ),
            "db_gb": lambda quotes: quotes.flash_gb(),
        }
        if not self.collocated:
            found["gateway"] = lambda quotes: quotes.server() + quotes.nic(gateways.nic)
        return found

    @property
    def workers(self) -> Workers:
        """The worker threads of an OSD."""
        return Workers.of(self.osd.shards, self.osd.threads_per_shard, self.release, self.defaults_of_hdd)

    @property
    def defaults_of_hdd(self) -> bool:
        """Whether OSDs have the defaults of hard disks."""
        return self.device.rotational if self.osd.device_class is None else self.osd.device_class == "hdd"

    @property
    def failure_domains(self) -> int:
        """Number of failure domains with data: hosts or OSDs."""
        return self._domains(self.layout.weights)

    def _domains(self, weights: tuple[float, ...] | None) -> int:
        """Return the number of failure domains with OSDs of these weights by group; None: all have one."""
        layout = self.layout
        used = [weight > 0 for weight in weights] if weights else [True]
        return sum(
            hosts * (1 if self.pools.failure_domain == "host" else osds)
            for hosts, osds, is_used in zip(layout.hosts, layout.osds, used, strict=True)
            if is_used
        )

    @property
    def index_domains(self) -> int:
        """Number of failure domains of the index pool."""
        if self.index is None:
            return self._domains(self.layout.index_weights)
        layout, by_osd = self.layout, self.pools.failure_domain == "osd"
        each = [osds if by_osd else min(osds, 1) for osds in layout.index_osds]
        return sum(hosts * domains for hosts, domains in zip(layout.hosts, each, strict=True))

    @property
    def index_replicas(self) -> int:
        """Number of replicas of each index shard; without gateways there is no index, so no more than fit."""
        replicas = self.pools.index_replicas
        return replicas if self.access.via_gateways else min(replicas, self.index_domains)

    @property
    def upmap_max_deviation(self) -> int | None:
        """Placement groups by which OSDs may differ from their weight's number; None: there is no balancer."""
        given = self.pools.balancer
        has_balancer = since(self.release, "pacific") if given is None else given
        return self.pools.upmap_max_deviation if has_balancer else None

    @property
    def pipelines_index(self) -> bool:
        """Whether operations on an index shard are pipelined."""
        given = self.buckets.pipelined
        return default_pipelined(self.release) if given is None else given

    @model_validator(mode="after")
    def _fits(self) -> CephSpec:
        self.client.hosts_among(self.host_count)
        if self.gateways.cores.shared and not self.gateways.collocated:
            raise ValueError("gateways.cores.shared: requires gateways.collocated: true")
        for name, count in {name: part.hosts.cores.count for name, part in self.host_groups.items()}.items():
            if count - self.gateway_cores_on_host < 1:
                raise ValueError(
                    f"gateways.cores: {self.gateways_per_host} gateways of {self.gateways.cores.count} cores each "
                    f"leave no core of a host's {count}{f' in group {name}' if name else ''} to OSDs; at most "
                    f"{(count - 1) // self.gateways_per_host} are allowed"
                )
        self._check_groups()
        if any(cores.shared for cores in (self.hosts.cores, *self._cores_of_groups)):
            self._check_one_machine()
        check_numbers(self.pools, self.layout)
        if self.access.kind == "mysql" and self.pools.data.is_ec:
            raise ValueError(
                "pools.data: is an erasure code; access mysql requires replicas, such as 'replica 3' (rbd allows both)"
            )
        if self.client.multipart is not None and not self.access.via_gateways:
            raise ValueError(f"client.multipart: requires access s3; it is {self.access.kind}")
        if self.pools.ec_optimizations and not since(self.release, "tentacle"):
            raise ValueError(f"pools.ec_optimizations: require release tentacle; it is {self.release}")
        if self.upmap_max_deviation is None and "upmap_max_deviation" in self.pools.model_fields_set:
            raise ValueError(
                f"pools.upmap_max_deviation: has no effect without a balancer, which is off by default before Pacific; "
                f"release is {self.release}, pools.balancer {self.pools.balancer}"
            )
        if self.index is not None and not self.access.via_gateways:
            raise ValueError(f"index: requires access s3; it is {self.access.kind}, which has no bucket index")
        pools = [
            ("data", self.pools.data.width, self.failure_domains),
            ("index_replicas", self.index_replicas, self.index_domains),
        ]
        if self.pools.second is not None:
            check_second(self.pools.second, self.pools, tuple(self.workload.groups or ()), self.osd.backend)
            pools.append(("second.data", self.pools.second.data.width, self.data_pools[1].failure_domains))
        for name, width, domains in pools:
            if width > domains:
                raise ValueError(
                    f"pools.{name}: requires {width} {self.pools.failure_domain}s, there are {domains}; give more "
                    "hosts, or failure_domain: osd"
                )
        self._check_events()
        return self

    @property
    def _cores_of_groups(self) -> list[HostCores]:
        return [group.cores for group in self.hosts.groups.values() if group.cores is not None]

    def _check_one_machine(self) -> None:
        """Check that hosts whose cores are those of one machine are equal, and have no cores for gateways alone.

        Raises:
            ValueError: they differ, or have such cores.
        """
        if self.hosts.groups:
            raise ValueError("hosts.cores.shared: is for equal hosts; leave hosts.groups out")
        if self.gateway_cores_on_host:
            raise ValueError("gateways.cores: must be shared if the hosts share the cores of one machine")
        for number, fault in enumerate(self.faults):
            if isinstance(fault, NoisyNeighbour) and fault.resource == "cpu":
                raise ValueError(
                    f"faults.{number}.kind: {fault.kind} slows the cores of one host; hosts.cores.shared allows it for "
                    "none"
                )

    def _check_groups(self) -> None:
        """Check that pools have OSDs, and that groups differ in nothing that others on the hosts would notice."""
        check_classes(self.pools, self.device_classes.values(), self.access.kind, self.index is not None)
        absent = [name for name in (self.prices.groups if self.prices else {}) if name not in self.hosts.groups]
        if absent:
            allowed = ", ".join(self.hosts.groups) or "none, as hosts.groups is empty"
            raise ValueError(f"prices.groups.{absent[0]}: there is no such group of hosts; allowed are {allowed}")
        if not self.hosts.groups:
            return
        if not all(any(pool.layout.weights or ()) for pool in self.data_pools):
            raise ValueError("hosts.groups: no OSD has a weight; give one a weight and a reweight above 0")
        if not (self.collocated or self.client.on_storage_hosts):
            return
        who = "gateways" if self.collocated else "clients"
        for name, group in self.hosts.groups.items():
            same = {"nic": (group.nic, self.hosts.nic)}
            if group.cores is not None:
                same["cores.speed"] = group.cores.speed, self.hosts.cores.speed
            for field, (own, common) in same.items():
                if own is not None and own != common:
                    raise ValueError(
                        f"hosts.groups.{name}.{field}: is {own:g}; with {who} on the hosts it must be that of "
                        f"hosts.{field}, {common:g}"
                    )

    def _check_events(self) -> None:
        """Check that all parts named by faults exist."""
        counts = {
            "osd": self.osds,
            "host": self.host_count,
            "gateway": self.gateways.count,
            "bucket": self.workload.total_buckets,
        }
        for number, fault in enumerate(self.faults):
            if isinstance(fault, HostDown) and self.client.on_storage_hosts:
                raise ValueError(
                    f"faults.{number}.kind: host_down also stops the clients, which run on the hosts; it is allowed "
                    "with client.placement: own"
                )
            if isinstance(fault, ReshardEvent | GatewayDown) and not self.access.via_gateways:
                raise ValueError(f"faults.{number}.kind: {fault.kind} requires access s3; it is {self.access.kind}")
            refuse_absent_part(number, fault, counts)
            if isinstance(fault, GatewayDown) or (isinstance(fault, HostDown) and self.collocated):
                refuse_instant_failures(self.workload, self.network.latency, fault.kind)


def _host(spec: CephSpec, quotes: Quotes) -> Quote:
    """Return the price of one of equal OSD hosts, without drives."""
    hosts = spec.hosts
    return quotes.machine(hosts.cores.count, hosts.nic, hosts.cluster_nic or 0.0)

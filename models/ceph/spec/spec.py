"""The spec of a Ceph cluster with RADOS gateways."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from models.ceph.faults.faults import Fault, GatewayDown, HostDown, ReshardEvent
from models.ceph.mechanisms.bluestore import BlueStore
from models.ceph.mechanisms.bucket_index import default_pipelined
from models.ceph.mechanisms.filestore import FileStore
from models.ceph.mechanisms.osd_threads import Workers
from models.ceph.mechanisms.releases import Release, since
from models.ceph.mechanisms.rocksdb import RocksDb
from models.ceph.spec.access import S3, AccessPath
from models.ceph.spec.sections import (
    ASSUMED_NVME,
    Buckets,
    CephPrices,
    Clients,
    Database,
    Gateways,
    Holdings,
    Hosts,
    IndexDrives,
    Ingress,
    Links,
    Osd,
    Pools,
)
from models.devices.devices import PRESETS, DeviceField
from models.devices.processors import ProcessorCores
from models.shared.background import BackgroundWork
from models.shared.faults import refuse_absent_part, refuse_instant_failures
from models.shared.store_spec import FAULTS, PRICES, StoreSpec
from traces.spec.field_notes import Basis


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
    hosts: Hosts = Field(Hosts(), description="OSD hosts: number, drives, cores, NICs.")
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
        """Number of OSDs of the cluster."""
        return self.hosts.count * self.osds_per_host

    @property
    def osds_per_host(self) -> int:
        """Number of OSDs of a host."""
        return self.hosts.drives * self.hosts.osds_per_drive

    @property
    def index_osds_per_host(self) -> int:
        """Number of OSDs of a host that have only bucket indexes."""
        return self.index.drives if self.index else 0

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
        own = self.collocated and not self.shares_cores
        return self.hosts.cores.count - (self.gateways_per_host * self.gateways.cores.count if own else 0)

    @property
    def gateway_cores(self) -> ProcessorCores:
        """The kind of cores that gateways run on; their number is that of `gateways.cores`."""
        return self.hosts.cores if self.collocated else self.gateways.cores

    @property
    def gateway_hosts(self) -> int:
        """Number of hosts with gateways."""
        return min(self.gateways.count, self.hosts.count) if self.collocated else self.gateways.count

    @property
    def has_ingress(self) -> bool:
        """Whether load balancers on the hosts of the gateways pass requests on to any of them."""
        return self.access.via_gateways and self.proxy is not None and self.proxy.on_gateway_hosts

    @property
    def gateways_per_host(self) -> int:
        """Largest number of gateways on one host, if collocated."""
        return -(-self.gateways.count // self.hosts.count)

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
        gateways = self.gateways.count if self.access.via_gateways else 0
        return {
            "gateway": gateways,
            "gateway_core": 0 if self.shares_cores else gateways * self.gateways.cores.count,
            "osd_host": self.hosts.count,
            "drive": self.hosts.count * self.hosts.drives,
            "index_drive": self.hosts.count * self.index_osds_per_host,
            "db_gb": self.osds * self.db.size / 1e9 if self.db else 0.0,
        }

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
        """Number of failure domains: hosts or OSDs."""
        return self.hosts.count if self.pools.failure_domain == "host" else self.osds

    @property
    def index_domains(self) -> int:
        """Number of failure domains of the index pool."""
        if self.index and self.pools.failure_domain == "osd":
            return self.hosts.count * self.index.drives
        return self.failure_domains

    @property
    def index_replicas(self) -> int:
        """Number of replicas of each index shard; without gateways there is no index, so no more than fit."""
        replicas = self.pools.index_replicas
        return replicas if self.access.via_gateways else min(replicas, self.failure_domains)

    @property
    def pipelines_index(self) -> bool:
        """Whether operations on an index shard are pipelined."""
        given = self.buckets.pipelined
        return default_pipelined(self.release) if given is None else given

    @model_validator(mode="after")
    def _fits(self) -> CephSpec:
        self.client.hosts_among(self.hosts.count)
        if self.gateways.cores.shared and not self.gateways.collocated:
            raise ValueError("gateways.cores.shared: requires gateways.collocated: true")
        if self.osd_cores < 1:
            raise ValueError(
                f"gateways.cores: {self.gateways_per_host} gateways of {self.gateways.cores.count} cores each leave no "
                f"core of a host's {self.hosts.cores.count} to OSDs; at most "
                f"{(self.hosts.cores.count - 1) // self.gateways_per_host} are allowed"
            )
        if self.access.kind == "mysql" and self.pools.data.is_ec:
            raise ValueError(
                "pools.data: is an erasure code; access mysql requires replicas, such as 'replica 3' (rbd allows both)"
            )
        if self.client.multipart is not None and not self.access.via_gateways:
            raise ValueError(f"client.multipart: requires access s3; it is {self.access.kind}")
        if self.pools.ec_optimizations and not since(self.release, "tentacle"):
            raise ValueError(f"pools.ec_optimizations: require release tentacle; it is {self.release}")
        if self.index is not None and not self.access.via_gateways:
            raise ValueError(f"index: requires access s3; it is {self.access.kind}, which has no bucket index")
        pools = (
            ("data", self.pools.data.width, self.failure_domains),
            ("index_replicas", self.index_replicas, self.index_domains),
        )
        for name, width, domains in pools:
            if width > domains:
                raise ValueError(
                    f"pools.{name}: requires {width} {self.pools.failure_domain}s, there are {domains}; give more "
                    "hosts, or failure_domain: osd"
                )
        self._check_events()
        return self

    def _check_events(self) -> None:
        """Check that all parts named by faults exist."""
        counts = {
            "osd": self.osds,
            "host": self.hosts.count,
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

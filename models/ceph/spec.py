"""Ceph with RADOS gateways: what an engineer writes of a cluster, and its Network."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from models.background import BackgroundWork, with_background
from models.ceph.access import S3, AccessPath
from models.ceph.demands.cost_functions import Laws
from models.ceph.faults.faults import Event, check_events
from models.ceph.mechanisms.bluestore import BlueStore
from models.ceph.mechanisms.filestore import FileStore
from models.ceph.mechanisms.redundancy import RGW_OBJECT_BYTES
from models.ceph.mechanisms.releases import Release
from models.ceph.mechanisms.rocksdb import RocksDb
from models.ceph.rados_routes import DirectRoutes, MysqlRoutes
from models.ceph.rgw_routes import Kind, Routes
from models.ceph.sections import Buckets, Clients, Database, Gateways, Holdings, Hosts, Links, Osd, Pools
from models.ceph.stations import Stations
from models.devices.devices import PRESETS, DeviceField
from models.network.demand_sheet import Requests
from models.network.network import Network
from models.network.placement import key_hashes
from models.prices import CephPrices
from traces.errors import InputError
from traces.tables import DELETE
from traces.trace import Trace
from traces.workload.distributions import Strict
from traces.workload.workload import Op, Workload

_ROUTES: dict[str, type[Routes]] = {"s3": Routes, "rados": DirectRoutes, "rbd": DirectRoutes, "mysql": MysqlRoutes}
_SIZES = 1000  # quantiles whose mean is that of a workload's object sizes
_MAX_OBJECTS = 64  # RADOS objects of an S3 object that are told apart; of larger ones each is larger


class CephSpec(Strict):
    """A Ceph cluster with RADOS gateways, its clients and what is asked of it."""

    store: Literal["ceph"]
    release: Release = Field("reef", description="of Ceph; defaults go by it")
    workload: Workload
    access: AccessPath = Field(S3(), description="what the clients speak; but for s3 the gateways stand idle")
    client: Clients = Clients()
    network: Links = Links()
    gateways: Gateways = Gateways()
    hosts: Hosts = Hosts()
    osd: Osd = Osd()
    device: DeviceField = PRESETS["nvme"]
    db: Database | None = Field(None, description="a faster device for RocksDB; absent: it lives on the data device")
    bluestore: BlueStore = BlueStore()
    filestore: FileStore = FileStore()
    rocksdb: RocksDb = RocksDb()
    pools: Pools = Pools()
    buckets: Buckets = Buckets()
    stored: Holdings = Holdings()
    background: BackgroundWork = BackgroundWork()
    events: tuple[Event, ...] = Field((), description="what happens while the cluster runs")
    prices: CephPrices | None = Field(None, description="what its parts cost; absent: nobody asks")

    @property
    def osds(self) -> int:
        """OSDs of the cluster."""
        return self.hosts.count * self.hosts.drives

    @property
    def collocated(self) -> bool:
        """Whether gateways work on the OSD hosts."""
        return self.gateways.collocated and self.access.via_gateways

    @property
    def osd_cores(self) -> int:
        """Cores of a host that its OSDs have."""
        taken = self.gateways_per_host * self.gateways.cores if self.collocated else 0
        return self.hosts.cores - taken

    @property
    def gateways_per_host(self) -> int:
        """Gateways on the fullest host, if collocated."""
        return -(-self.gateways.count // self.hosts.count)

    @property
    def gateway_nic(self) -> float:
        """The network interface of a gateway's host, bytes a second."""
        return self.hosts.nic if self.collocated else self.gateways.nic

    @property
    def priced(self) -> dict[str, float]:
        """How much there is of what `prices` names."""
        gateways = self.gateways.count if self.access.via_gateways else 0
        return {
            "gateway": gateways,
            "gateway_core": gateways * self.gateways.cores,
            "osd_host": self.hosts.count,
            "drive": self.osds,
            "db_gb": self.osds * self.db.size / 1e9 if self.db else 0.0,
        }

    @property
    def failure_domains(self) -> int:
        """Hosts, or OSDs, of which each replica or chunk needs its own."""
        return self.hosts.count if self.pools.failure_domain == "host" else self.osds

    @property
    def index_replicas(self) -> int:
        """Replicas of each bucket index shard. Access without gateways has no index, so it never needs more hosts."""
        most = self.pools.index_replicas
        return most if self.access.via_gateways else min(most, self.failure_domains)

    @model_validator(mode="after")
    def _fits(self) -> CephSpec:
        if self.osd_cores < 1:
            raise ValueError(
                f"gateways.cores: {self.gateways_per_host} gateways of {self.gateways.cores} cores leave the OSDs "
                f"nothing of a host's {self.hosts.cores}; at most {(self.hosts.cores - 1) // self.gateways_per_host}"
            )
        if self.access.overwrites and self.pools.data.is_ec:
            raise ValueError(
                f"pools.data: is an erasure code; access {self.access.kind} writes parts of objects, allowed are "
                "replicas, as 'replica 3'"
            )
        domains = self.failure_domains
        for name, width in (("data", self.pools.data.width), ("index_replicas", self.index_replicas)):
            if width > domains:
                raise ValueError(
                    f"pools.{name}: needs {width} {self.pools.failure_domain}s, there are {domains}; more hosts, or "
                    "failure_domain: osd"
                )
        check_events(self)
        return self

    def compile(self, trace: Trace) -> tuple[Network, Requests]:
        """The Network of this cluster, and the requests of a Trace on it.

        Raises:
            InputError: the OSDs do not hold what is stored, or an operation is not one of the access path's.
        """
        laws = Laws(self, self.object_bytes(trace))
        if laws.state.fill_share > 1:
            raise InputError(
                f"stored.objects: {self.stored.objects:g} objects would fill the OSDs to {laws.state.fill_share:.0%}; "
                f"about {self.stored.objects / laws.state.fill_share:.2g} fit"
            )
        stations = Stations(self, laws)
        kinds, route = self._kinds(trace, laws)
        routes = _ROUTES[self.access.kind](self, laws, stations)
        network = Network(
            tuple(stations.all), tuple(routes.route(kind) for kind in kinds), stations.placements,
            stations.groups, tuple(stations.agenda),
        )  # fmt: skip
        issued = slice(trace.issued)
        requests = Requests(
            route[issued], trace.transfer_bytes[issued], key_hashes(trace)[issued], trace.arrival_s[issued],
            trace.think_s[issued], trace.phase[issued], trace.pacing,
        )  # fmt: skip
        return with_background(self.background, network, requests, {"drives": "drive", "cpu": "osd host cpu"})

    def object_bytes(self, trace: Trace) -> float:
        """The mean size of the objects that the cluster holds."""
        if self.stored.object_size is not None:
            return float(self.stored.object_size)
        if self.access.overwrites:
            return float(RGW_OBJECT_BYTES)
        sizes = trace.size_bytes[trace.size_bytes > 0].astype(float)
        if not len(sizes):  # only LISTs, which name no object
            sizes = self.workload.object_size.quantile((np.arange(_SIZES) + 0.5) / _SIZES)
        return float(sizes.mean()) or float(RGW_OBJECT_BYTES)

    def _kinds(self, trace: Trace, laws: Laws) -> tuple[list[Kind], NDArray[np.int32]]:
        """The kinds of requests in a Trace, and the index of each request's kind."""
        size = trace.transfer_bytes
        whole = np.where(trace.op == DELETE, trace.size_bytes, size)
        objects = np.clip(-(-whole // RGW_OBJECT_BYTES), 1, _MAX_OBJECTS if self.access.cuts else 1)
        kinds: list[Kind] = []
        route = np.zeros(len(trace), np.int32)
        for number, op in enumerate(get_args(Op)):
            if op not in self.access.ops and (trace.op == number).any():
                raise InputError(f"{op} is asked for; access {self.access.kind} has {', '.join(self.access.ops)}")
            for count in np.unique(objects[trace.op == number]):
                mine = np.flatnonzero((trace.op == number) & (objects == count))
                deferred = self._deferred(size[mine] / count, laws) if op == "PUT" else np.zeros(len(mine), bool)
                for is_late in np.unique(deferred):
                    these = mine[deferred == is_late]
                    mean = float(size[these].mean())
                    chunk = self.pools.data.chunk_bytes(round(mean / count))
                    route[these] = len(kinds)
                    kinds.append(Kind(op, int(count), bool(is_late), chunk, mean / chunk if chunk else 1.0))
        return kinds, route

    def _deferred(self, object_bytes: NDArray[np.float64], laws: Laws) -> NDArray[np.bool_]:
        """Whether the shards of RADOS objects of these sizes are written after their commit."""
        sizes, index = np.unique(object_bytes, return_inverse=True)
        late = np.array([laws.is_deferred(self.pools.data.chunk_bytes(round(size))) for size in sizes.tolist()])
        result: NDArray[np.bool_] = late[index]
        return result

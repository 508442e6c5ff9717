"""The pools of data and bucket indexes, the indexes, and the objects that a cluster holds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from models.ceph.mechanisms.redundancy import ProtectionField
from models.ceph.mechanisms.resharding import Resharding
from models.ceph.spec.host_groups import DeviceClass
from traces.spec.field_notes import Basis, Unit
from traces.spec.units import Bytes, Fraction, Seconds
from traces.workload.distributions import Strict

_LISTING = Basis(
    "derived from cycles at 1,024 shards: 139 M a page of 5.1 entries a shard, 166 M of 8.2 (ceph pull request 30853, "
    "2019); 3 GHz assumed",
    1e-7,
    1e-3,
)

Numbers = Annotated[tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...], Unit("", "[101, 97]")]
"""A number of each OSD."""


class SecondPool(Strict):
    """A second data pool, on OSDs of another device class: that of another bucket placement or storage class."""

    data: Annotated[
        ProtectionField, Basis("Ceph's default: osd_pool_default_size, src/common/options/global.yaml.in")
    ] = Field("replica 3", validate_default=True, description="Protection of its data, as of the first pool.")
    pg_num: Annotated[int, Basis("assumed: enough to load some dozens of OSDs evenly", 8, 65536)] = Field(
        256, ge=1, le=1 << 18, description="Number of its placement groups."
    )
    device_class: DeviceClass = Field(
        description="Device class of its OSDs; the first pool is on another one, its `device_class`."
    )
    objects: Annotated[Fraction, Basis("assumed: half of them", 0.01, 0.99)] = Field(
        0.5,
        gt=0,
        lt=1,
        description="Fraction of the objects that are in it: of the stored ones, and of those that are requested.",
    )
    object_size: Annotated[Bytes, Field(gt=0)] | None = Field(
        None, description="Mean size of the stored objects in it; absent: as in the first pool."
    )
    groups: tuple[str, ...] = Field(
        (),
        description="Groups of clients (`workload.groups`) that request the objects in it and no others; empty: the "
        "names of the objects decide.",
    )


class Pools(Strict):
    """The pools of data and bucket indexes."""

    data: Annotated[
        ProtectionField, Basis("Ceph's default: osd_pool_default_size, src/common/options/global.yaml.in")
    ] = Field(
        "replica 3", validate_default=True, description="Protection of the data, such as `replica 3` or `ec 4+2`."
    )
    index_replicas: Annotated[
        int, Basis("Ceph's default: osd_pool_default_size, src/common/options/global.yaml.in", 1, 5)
    ] = Field(3, ge=1, le=10, description="Number of replicas of the index pool, which has the bucket indexes.")
    pg_num: Annotated[int, Basis("assumed: enough to load some dozens of OSDs evenly", 8, 65536)] = Field(
        1024,
        ge=1,
        le=1 << 18,
        description="Number of placement groups of the data pool; few of them load OSDs unevenly. Ceph allows 65,536 "
        "unless mon_max_pool_pg_num is raised.",
    )
    balancer: (
        Annotated[bool, Basis("Ceph's default of the release: release notes of Pacific, 'on by default in upmap mode'")]
        | None
    ) = Field(
        None,
        description="Whether the balancer has moved placement groups of the data pool so that OSDs have equally many, "
        "as far as `upmap_max_deviation`; absent: since Pacific.",
    )
    upmap_max_deviation: Annotated[
        int, Basis("Ceph's default: src/pybind/mgr/balancer/module.py; many sites set 1", 1, 5)
    ] = Field(
        5,
        ge=1,
        le=1 << 18,
        description="Placement groups that an OSD may have more or fewer than its weight is worth before the balancer "
        "moves some.",
    )
    device_class: DeviceClass | None = Field(
        None, description="Device class of the OSDs that have data (that of the CRUSH rule); absent: all have."
    )
    index_class: DeviceClass | None = Field(
        None,
        description="Device class of the OSDs that have bucket indexes; absent: all OSDs have, or those in `index`.",
    )
    failure_domain: Literal["host", "osd"] = Field(
        "host",
        description="Failure domain: no two replicas or chunks of an object are on the same host, or on the same OSD.",
    )
    osd_pgs: Numbers = Field(
        (),
        description="Number of placement groups of each OSD, OSD by OSD, as a real cluster has them (`ceph osd df "
        "tree`, PGS); only their proportions count; empty: what CRUSH gives by weight.",
    )
    osd_primaries: Numbers = Field(
        (),
        description="Number of placement groups of which each OSD is the primary, which serves reads (`ceph pg dump`); "
        "only their proportions count; empty: the first ones of CRUSH.",
    )
    fast_read: bool = Field(
        False,
        description="Whether reads of an erasure-coded pool request all chunks and decode from the first that suffice.",
    )
    ec_optimizations: bool = Field(
        False,
        description="Whether reads and writes of an erasure-coded pool access only the chunks that they reach, and "
        "writes update parity (allow_ec_optimizations, since Tentacle).",
    )
    second: SecondPool | None = Field(
        None, description="Pool for data on another device class, besides this one; absent: this one has all objects."
    )

    @property
    def each(self) -> tuple[Pools, ...]:
        """The pools as if each were the only one for data; itself if there is one."""
        if self.second is None:
            return (self,)
        own = {name: getattr(self.second, name) for name in ("data", "pg_num", "device_class")}
        given = {"osd_pgs": (), "osd_primaries": (), "second": None}
        return self.model_copy(update={"second": None}), self.model_copy(update={**given, **own})

    @property
    def fractions(self) -> tuple[float, ...]:
        """Fraction of the objects in each of them."""
        return (1.0,) if self.second is None else (1 - self.second.objects, self.second.objects)


class Buckets(Strict):
    """The bucket indexes; the workload has the number of buckets."""

    shards: Annotated[int, Basis("Ceph's default since Pacific: src/common/options/rgw.yaml.in", 1, 65521)] = Field(
        11, ge=1, le=65521, description="Number of index shards per bucket, each a serial queue of writes."
    )
    pipelined: (
        Annotated[bool, Basis("Ceph's default of the release: PrimaryLogPG::get_rw_locks, src/osd/PrimaryLogPG.cc")]
        | None
    ) = Field(
        None,
        description="Whether an operation on an index shard waits until the commit of the one before begins, not until "
        "all its replicas have committed (16.2.15, 17.2.8, 18.2.2 and later); absent: since Squid.",
    )
    shard_query: Annotated[
        Seconds, Basis("published: 0.09 to 0.12 ms a read without a gateway (EPYC 7742, Reef 2023)", 1e-6, 1e-2)
    ] = Field(0.1e-3, description="CPU time of an OSD per index shard that a LIST queries, without its entries.")
    listed_entry: Annotated[Seconds, Basis("assumed", 1e-7, 1e-3)] = Field(
        4e-6, description="CPU time of an OSD per index entry that a LIST reads."
    )
    gateway_query: Annotated[Seconds, _LISTING] = Field(
        28e-6, description="CPU time of a gateway per index shard that a LIST queries, without its entries."
    )
    gateway_entry: Annotated[Seconds, _LISTING] = Field(
        2.9e-6, description="CPU time of a gateway per index entry that a LIST reads, merges or drops."
    )
    resharding: Resharding = Field(
        Resharding(dynamic=False),
        description="Resharding of buckets as they grow; absent: the number of shards is constant.",
    )


class Holdings(Strict):
    """The objects in the cluster when the run begins."""

    objects: Annotated[float, Unit("", "1e9")] = Field(
        0.0, ge=0, le=1e13, description="Number of objects in the cluster; caches, RocksDB and fill follow from it."
    )
    object_size: Annotated[Bytes, Field(gt=0)] | None = Field(
        None, description="Mean size of the stored objects; absent: that of the workload."
    )
    working_set: Annotated[float, Unit("", "1e6"), Field(gt=0)] | None = Field(
        None, description="Number of the newest objects, to which reads are limited; absent: all objects are read."
    )
    churn: Fraction = Field(
        0.0,
        ge=0,
        le=1,
        description="Fraction of the objects that were written to space which deletes have freed, and of new writes "
        "that go there: seeks, and several extents a chunk.",
    )
    free_extent: (
        Annotated[Bytes, Field(gt=0), Basis("the chunks that are stored, of which deletes leave the space")] | None
    ) = Field(None, description="Mean size of the extents that deletes have freed; absent: a stored object's chunk.")

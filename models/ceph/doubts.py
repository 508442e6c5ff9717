"""What is probably not meant in a valid spec of Ceph, the quantities of fits, and the largest objects."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from models.capabilities import Doubt, ObjectLimits
from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.demands.cost_functions import CostFunctions, pgs_of_osds
from models.ceph.demands.state import FULL_FRACTIONS
from models.ceph.mechanisms.bucket_index import OBJECTS_PER_SHARD
from models.ceph.spec.object_size import first_object_bytes
from models.ceph.spec.spec import CephSpec

_MAY_BE_FULL = 0.4  # of the mean OSD: below, CRUSH fills no OSD, and placing groups takes time


def _threads(spec: CephSpec) -> float:
    """Return the logical cores of a host for each of its OSDs, where they are most; one thread contends with none."""
    own = spec.gateway_cores_on_host
    if spec.hosts.cores.shared:
        return max(1.0, spec.hosts.cores.count / spec.layout.all_osds)
    return max(
        1.0,
        *((part.hosts.cores.count - own) / (part.osds_per_host + part.index_osds_per_host)
          for part in spec.host_groups.values()),
    )  # fmt: skip


CONDITIONS = {"threads for each OSD": _threads, "B for each object": first_object_bytes}
"""Quantities that `FittedAt` notes of the sections name."""


def object_limits(spec: CephSpec) -> ObjectLimits | None:
    """Return the largest objects that gateways accept; None: there are no gateways.

    Defaults of rgw_max_put_size (5 GiB, of a part as well) and rgw_multipart_part_upload_limit (10,000 parts), in
    src/common/options/rgw.yaml.in. A gateway checks the number and the size of parts, not the 5 TiB that were S3's
    largest object (rgw_op.cc, rgw_rest.cc).
    """
    source = "rgw_max_put_size; rgw_multipart_part_upload_limit"
    return ObjectLimits(5 << 30, 10_000 * (5 << 30), source) if spec.access.via_gateways else None


def doubts(spec: CephSpec) -> Iterator[Doubt]:
    """Yield contents that do not fit where they are, and index shards with too many entries."""
    yield from _overfull_db(spec)
    if spec.access.via_gateways:
        yield from _index_shards(spec)
    if spec.pools.osd_pgs or CostFunctions(spec, first_object_bytes(spec)).fullest.state.fill_fraction > _MAY_BE_FULL:
        yield from _fullest_osd(spec)
    if spec.stored.working_set is not None and spec.stored.working_set > spec.stored.objects > 0:
        text = f"{spec.stored.working_set:,.0f} are more than the {spec.stored.objects:,.0f} objects that are stored"
        yield Doubt("stored.working_set", text)


def _reached(fill: float) -> str:
    """Return the name of the highest limit that a fill reaches; empty: none."""
    return next((name for name, fraction in reversed(FULL_FRACTIONS.items()) if fill >= fraction), "")


def _fullest_osd(spec: CephSpec) -> Iterator[Doubt]:
    """Yield the OSD that is the fullest by its number of placement groups, if it reaches a limit."""
    costs, layout = CostFunctions(spec, first_object_bytes(spec)).of_groups, spec.layout
    fills = [each.state.fill_fraction * each.imbalance for each in costs]
    group, fill = int(np.argmax(fills)), max(fills)
    if reached := _reached(fill):
        of_osd = pgs_of_osds(PlacementRows(spec).data(), layout)
        osd = int(np.where(layout.group_of_osd[: layout.data_osds] == group, of_osd, -1).argmax())
        text = f"fills osd {osd}, which has {of_osd[osd]} placement groups, to {fill:.0%}: {reached}"
        yield Doubt("stored.objects", text)


def _overfull_db(spec: CephSpec) -> Iterator[Doubt]:
    if spec.db is None:
        return
    on_host = max((part.osds_per_host for part in spec.host_groups.values() if part.db), default=0)
    osds, capacity = min(spec.db.osds_per_device, on_host), spec.db.device.capacity
    if spec.db.size * osds > capacity:
        text = f"{osds} of {spec.db.size / 1e9:,.4g} GB do not fit on a device of {capacity / 1e9:,.4g} GB"
        yield Doubt("db.size", f"{text}; at most {capacity / osds / 1e9:,.4g} GB do")


def _index_shards(spec: CephSpec) -> Iterator[Doubt]:
    buckets, settings = spec.workload.total_buckets, spec.buckets.resharding
    most = settings.per_shard if settings.dynamic else OBJECTS_PER_SHARD
    entries = spec.stored.objects / buckets / spec.buckets.shards
    if entries <= most:
        return
    least = math.ceil(spec.stored.objects / buckets / most)
    text = f"each index shard has {entries:,.0f} entries, above {most:,}; at least {least:,} shards have fewer"
    if settings.dynamic and spec.buckets.shards < settings.max_shards:
        text += "; dynamic resharding would have increased them"
    elif settings.dynamic:
        return  # Ceph itself goes no further
    yield Doubt("buckets.shards", text)

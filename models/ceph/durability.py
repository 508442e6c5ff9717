"""What the objects of a Ceph cluster survive: all OSDs of a placement group commit before a write is acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.demands.state import FULL_FRACTIONS
from models.ceph.faults.recovery import duration_s, rebuilding
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.redundancy import Protection
from models.ceph.spec.object_size import first_object_bytes
from models.ceph.spec.spec import CephSpec
from models.durability.data_loss import fatal_sets
from models.durability.durability import Durability, Rebuild, Weaker, copied_s
from models.site.options import Hardware, Option, Values, protections

_OUT_S = 600.0  # mon_osd_down_out_interval, src/common/options/mon.yaml.in
_MEMORY = 0.7  # of a host, for its OSDs: mgr/cephadm/autotune_memory_target_ratio
_REASON = "the primary acknowledges when all acting OSDs have committed to their write-ahead logs, synced"
_SOURCE = "doc/architecture.rst; BlueStore::_kv_sync_thread, src/os/bluestore/BlueStore.cc"


def durability(spec: CephSpec) -> Durability:
    """Return how the objects of the data pool are kept; of two, the objects of the one that can lose fewer chunks."""
    pools = spec.data_pools
    number = min(range(len(pools)), key=lambda k: pools[k].pools.data.width - pools[k].pools.data.data_shards)
    whole, spec = spec, pools[number]
    pool = spec.pools.data
    rows, width, domains = PlacementRows(spec), pool.width, spec.failure_domains
    osds, layout = rows.data(), spec.layout
    index = None
    if spec.access.via_gateways:
        index = Weaker("bucket indexes", spec.index_replicas, spec.index_replicas, True)
    return Durability(
        width=width,
        data=pool.data_shards,
        acknowledged=width,
        synced=True,
        on_host=_together(layout.host_of_osd[osds]),
        on_rack=None,
        hosts=spec.host_count,
        fatal=fatal_sets(spec.pools.pg_num, width, width - pool.data_shards, domains, spec.osds // domains),
        rebuild=_rebuild(CostFunctions(whole, first_object_bytes(whole)).of_pools[number], rows),
        is_disk=_with_data(spec).device.rotational,
        reason=_REASON,
        source=_SOURCE,
        settings=" and ".join(_protection(each.pools.data) for each in pools),
        on_drive=_together(layout.drive_of_osd[osds]),
        weaker=index,
    )


def _protection(pool: Protection) -> str:
    return f"EC {pool.data}+{pool.parity}" if pool.is_ec else f"replica {pool.width}"


def _together(places: NDArray[np.int64]) -> int:
    """Return most parts of a placement group in one place."""
    ordered = np.sort(places, axis=1)
    most = np.ones(len(ordered), np.int64)
    run = most.copy()
    for position in range(1, ordered.shape[1]):
        run = np.where(ordered[:, position] == ordered[:, position - 1], run + 1, 1)
        most = np.maximum(most, run)
    return int(most.max())


def _with_data(spec: CephSpec) -> CephSpec:
    """Return the spec with the hosts of the first group that has data; itself, if hosts are equal."""
    parts, weights = list(spec.host_groups.values()), spec.layout.weights
    return next(part for number, part in enumerate(parts) if weights is None or weights[number])


def _drives(spec: CephSpec) -> list[tuple[CephSpec, int]]:
    """Return the spec with the hosts of each group that has data, and the number of its drives."""
    weights = spec.layout.weights
    return [
        (part, part.hosts.count * part.hosts.drives)
        for number, part in enumerate(spec.host_groups.values())
        if weights is None or weights[number]
    ]


def _first_drive(spec: CephSpec) -> frozenset[int]:
    """Return the OSDs of the first drive that has data."""
    layout = spec.layout
    used = np.array([True] if layout.weights is None else [weight > 0 for weight in layout.weights])
    drive = layout.drive_of_osd[int(used[layout.group_of_osd].argmax())]
    return frozenset(np.flatnonzero(layout.drive_of_osd == drive).tolist())


def _rebuild(costs: CostFunctions, rows: PlacementRows) -> Rebuild:
    """Return the recovery of the OSDs of a drive by all others, or on a new drive if there is no place for it.

    `costs`: of the data pool.
    """
    spec, stored = costs.spec, costs.spec.stored
    each = costs.state_inputs.allocated_bytes_per_shard * costs.state_inputs.shards_per_object
    objects = (
        stored.objects or FULL_FRACTIONS["nearfull"] * sum(part.device.capacity * n for part, n in _drives(spec)) / each
    )
    held = spec.model_copy(update={"stored": stored.model_copy(update={"objects": objects})})
    costs = CostFunctions(held, costs.object_bytes, index_osds=costs.index_osds, fraction=costs.fraction)
    lost = _first_drive(spec)
    if not (rows.data(lost) == NO_OSD).any():
        took_s = duration_s(rebuilding(lost, costs), held, costs)
        return Rebuild(took_s, _OUT_S, "recovery by all OSDs during client load, after mon_osd_down_out_interval")
    pieces = objects * costs.state_inputs.shards_per_object / sum(n for _, n in _drives(spec))
    took_s = copied_s(
        pieces, costs.state_inputs.allocated_bytes_per_shard, costs.drive.read, costs.drive.write, spec.osds
    )
    return Rebuild(took_s, None, "no other OSD may have its parts: copied to a new drive")


def options(hardware: Hardware) -> Iterator[Option]:
    """Yield replicas and erasure codes; gateways are on the hosts and share their cores."""
    facts: Values = {"gateways": hardware.hosts, "gateway-cores": hardware.cores, "collocated": True}
    if hardware.memory is not None:
        facts["memory"] = f"{int(_MEMORY * hardware.memory / hardware.drives)}B"
    sets = {"gateways.cores": {"count": hardware.cores, "shared": True}}
    places = hardware.hosts if hardware.hosts >= 3 else hardware.total_drives
    texts = protections(places)
    for text in texts:
        index = {"index-replicas": min(3, places)} if places < 3 else {}
        yield Option(text, {**facts, **index, "protection": text}, sets)

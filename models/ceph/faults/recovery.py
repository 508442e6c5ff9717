"""The data that OSDs move after a failure: lost chunks are rebuilt, and OSDs that are back recover what they missed.

Requests do not wait for the recovery of an object that they need (a real OSD recovers it first), and the objects of the
index pool are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

import numpy as np
from numpy.typing import NDArray

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.faults import HostDown, OsdDown
from models.ceph.faults.osd_map import acting
from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.redundancy import Protection
from models.ceph.mechanisms.releases import Release, default, since
from models.ceph.spec.spec import CephSpec
from models.shared.faults import Slowdown
from traces.operations import ops_that

_RECOVERY_SLEEP_S = {"hdd": 0.1, "hybrid": 0.025, "ssd": 0.0}
"""osd_recovery_sleep_hdd, _hybrid, _ssd (src/common/options/osd.yaml.in); before mclock."""
_RECOVERY_PRIORITY = 3 / (3 + 63)
"""osd_recovery_op_priority against osd_client_op_priority: recovery's fraction of a busy OSD without a sleep."""
_LOG_ENTRIES, _LEAST_ENTRIES, _MOST_ENTRIES = 300_000, 250, 10_000
"""osd_target_pg_log_entries_per_osd, osd_min_pg_log_entries, osd_max_pg_log_entries (defaults, src/common/options)."""

Osds = NDArray[np.int32]
RecoveryWork = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Drive time in s, and number of chunks moved, of each OSD, shape (osds,)."""


def failed_osds(fault: OsdDown | HostDown, spec: CephSpec) -> frozenset[int]:
    """Return the OSDs that fail."""
    if isinstance(fault, OsdDown):
        return frozenset([fault.osd])
    layout = spec.layout
    return frozenset([*layout.osds_on(fault.host), *layout.index_osds_on(fault.host)])


def missed_writes(fault: OsdDown | HostDown, spec: CephSpec) -> float:
    """Return how many objects of the cluster are written or removed while OSDs are down; 0 if they stay down.

    By default, these are the PUTs and DELETEs of open loops at their mean rate.
    """
    if fault.back_at is None:
        return 0.0
    if fault.missed_writes is not None:
        return fault.missed_writes
    per_s = 0.0
    for part in spec.workload.parts.values():
        weights = sum(part.mix.values())
        per_s += (part.rate or 0.0) * sum(part.mix.get(op, 0.0) for op in ops_that("changes")) / weights
    return per_s * (fault.back_at - fault.at)


def is_backfill(written: float, spec: CephSpec) -> bool:
    """Return whether placement groups are backfilled: more objects were written than their logs have entries."""
    return any(
        _outgrows_log(written * fraction, pools.pg_num, pools.pg_num * pools.data.width / spec.osds)
        for pools, fraction in zip(spec.pools.each, spec.pools.fractions, strict=True)
    )


def _outgrows_log(written: float, groups: int, per_osd: float) -> bool:
    return written / groups > min(max(_LOG_ENTRIES / max(1.0, per_osd), _LEAST_ENTRIES), _MOST_ENTRIES)


def rebuilding(lost: frozenset[int], costs: CostFunctions) -> RecoveryWork:
    """Return the work of rebuilding all chunks of lost OSDs on others."""
    return _of_pools(costs, partial(_rebuilding, lost))


def _of_pools(costs: CostFunctions, work: Callable[[CostFunctions, PlacementRows], RecoveryWork]) -> RecoveryWork:
    """Return the work in all data pools."""
    drive_s, moved = zip(*(work(pool, PlacementRows(pool.spec)) for pool in costs.of_pools), strict=True)
    return np.sum(drive_s, axis=0), np.sum(moved, axis=0)


def _rebuilding(lost: frozenset[int], costs: CostFunctions, rows: PlacementRows) -> RecoveryWork:
    spec, groups = costs.spec, rows.data()
    chunks = spec.stored.objects * _chunks_per_object(spec, costs) / len(groups)
    return rebuilding_s(groups, rows.data(lost), lost, spec.pools.data, chunks, _access_s(costs))


def returning(back: frozenset[int], written: float, costs: CostFunctions) -> RecoveryWork:
    """Return the work for OSDs that are back after `written` objects of the cluster were written.

    The chunks that they miss are read from the others and written. Backfill also compares all objects of the placement
    groups, which takes a lookup on each of their OSDs (assumed).
    """
    return _of_pools(costs, partial(_returning, back, written))


def _returning(back: frozenset[int], written: float, costs: CostFunctions, rows: PlacementRows) -> RecoveryWork:
    spec, groups = costs.spec, rows.data()
    protection = spec.pools.data
    if spec.access.overwrites and spec.stored.objects:
        written = min(written, spec.stored.objects)
    chunks = written * _chunks_per_object(spec, costs) / len(groups)
    drive_s, moved = rebuilding_s(groups, groups, back, protection, chunks, _access_s(costs))
    if is_backfill(written * costs.fraction, spec):
        with_missing = groups[np.isin(groups, list(back)).any(axis=1)]
        compared = np.bincount(with_missing[with_missing != NO_OSD], minlength=spec.osds)
        stored = spec.stored.objects * _chunks_per_object(spec, costs) / len(groups)
        drive_s = drive_s + compared * stored * _of_osds(costs, _lookup_s)
    return drive_s, moved


def duration_s(work: RecoveryWork, spec: CephSpec, costs: CostFunctions) -> float:
    """Return how long OSDs move data during client load."""
    drive_s, moved = work
    group = spec.layout.group_of_osd[: len(drive_s)]
    took_s = [
        recovery_s(drive_s[group == number], moved[group == number], spec.release, _media(part), costs.is_filestore)
        for number, part in enumerate(spec.host_groups.values())
    ]
    return max(took_s)


def _media(spec: CephSpec) -> str:
    return ("hybrid" if spec.db else "hdd") if spec.defaults_of_hdd else "ssd"


def slowdowns(work: RecoveryWork, start_s: float, took_s: float) -> list[Slowdown]:
    """Return by how much the work slows each drive down."""
    drive_s, _ = work
    return [(int(o), start_s, start_s + took_s, 1 - float(drive_s[o]) / took_s) for o in np.flatnonzero(drive_s)]


def _chunks_per_object(spec: CephSpec, costs: CostFunctions) -> float:
    return costs.state_inputs.shards_per_object / spec.pools.data.width


def _of_osds(costs: CostFunctions, of: Callable[[CostFunctions], float]) -> NDArray[np.float64]:
    """Return a figure of each OSD with data, which follows from the costs of its group, shape (osds,)."""
    layout = costs.spec.layout
    of_groups = np.array([of(each) for each in costs.of_groups])
    return np.asarray(of_groups[layout.group_of_osd[: layout.data_osds]])


def _access_s(costs: CostFunctions) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the time of each OSD's drive for reading a stored chunk, and for writing it, each of shape (osds,)."""
    return _of_osds(costs, lambda each: _chunk_s(each)[0]), _of_osds(costs, lambda each: _chunk_s(each)[1])


def _chunk_s(costs: CostFunctions) -> tuple[float, float]:
    """Return a drive's time for reading a stored chunk, and for writing it."""
    device, size = costs.drive, np.array([round(costs.state_inputs.allocated_bytes_per_shard)])
    read_s, write_s = (float(demand.mean_s(size)[0]) / device.queue_depth for demand in (device.read, device.write))
    return read_s, write_s


def _lookup_s(costs: CostFunctions) -> float:
    """Return a drive's mean time for finding an object."""
    no_bytes = np.array([0])
    return sum(
        access.fraction * float(access.exclusive.mean_s(no_bytes)[0]) / costs.drive.queue_depth
        for access in costs.metadata_accesses if access.on == "drive"
    )  # fmt: skip


def rebuilding_s(
    placed: Osds, after: Osds, lost: Collection[int], protection: Protection, chunks: float,
    access_s: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Return the drive time for rebuilding the chunks of lost OSDs.

    Args:
        placed, after: the OSDs of each placement group before and afterwards, shape (pgs, width).
        lost: the lost OSDs.
        protection: that of the pool.
        chunks: number of chunks of a placement group on each of its OSDs.
        access_s: time of each OSD's drive for reading a chunk, and for writing one, each of shape (osds,).

    Returns:
        drive time in s, and number of chunks moved, of each OSD, shape (osds,).
    """
    osds = len(access_s[0])
    rebuilt = np.isin(placed, list(lost)) & (after != NO_OSD)
    sources = acting(placed[rebuilt.any(axis=1)], lost)[:, : protection.data_shards]
    reads = np.bincount(sources[sources != NO_OSD], minlength=osds) * chunks
    writes = np.bincount(after[rebuilt], minlength=osds) * chunks
    return reads * access_s[0] + writes * access_s[1], reads + writes


def recovery_s(
    drive_s: NDArray[np.float64], moved: NDArray[np.float64], release: Release, media: str, filestore: bool = False
) -> float:
    """Return the duration of rebuilding during client load, until the OSD with the most work has finished.

    Since Quincy the mclock scheduler reserves a fraction of each OSD for it: a quarter (profile high_client_ops), since
    Reef half (profile balanced). Before, and with FileStore, an OSD sleeps between its accesses, which are in series
    with osd_max_backfills of 1. Published for 2 of 8 nodes with small objects: 80 h on Quincy, 38 h on Reef.

    Args:
        drive_s, moved: result of `rebuilding_s`.
        media: ``hdd``, ``hybrid`` (HDD with a faster block.db), or ``ssd``.
    """
    sleep_s = _RECOVERY_SLEEP_S[media]
    if since(release, "quincy") and not filestore:
        took_s = drive_s / default("osd_mclock_recovery_fraction", release)
    elif sleep_s:
        took_s = drive_s + sleep_s * moved
    else:
        took_s = drive_s / _RECOVERY_PRIORITY
    return float(took_s.max(initial=0.0))

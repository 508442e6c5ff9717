"""The epochs of a run: which OSDs serve a placement group, and which bucket indexes are resharded, from when on.

An OSD that dies stays in the map until that is known and its placement groups have peered; then the others serve them
alone. When it is marked out its chunks are rebuilt elsewhere, and the map changes once they are. Simplifications: an
OSD that is back has nothing to catch up on; rebuilding ends for all placement groups at once, with no peering.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.redundancy import Protection
from models.ceph.mechanisms.releases import Release, since

REPORT_S = 2.0
"""From the end of the grace until a hung OSD is marked down (measured: 8.0 s after it hung with a grace of 6 s)."""

_RECOVERY_SLEEP_S = {"hdd": 0.1, "hybrid": 0.025, "ssd": 0.0}
"""osd_recovery_sleep_hdd, _hybrid, _ssd (src/common/options/osd.yaml.in); before mclock."""
_RECOVERY_PRIORITY = 3 / (3 + 63)
"""osd_recovery_op_priority beside osd_client_op_priority: recovery's share without a sleep, while clients ask."""

Osds = NDArray[np.int32]


@dataclass(frozen=True)
class Outage:
    """OSDs that are down together.

    Attributes:
        at_s: they die.
        seen_s: the others know.
        degraded_s: the others serve their data.
        out_s: rebuilding begins; infinite: it does not.
        rebuilt_s: the others have their data; infinite: they do not.
        back_s, whole_s: they are started again, and serve again; infinite: they do not.
    """

    osds: frozenset[int]
    at_s: float
    seen_s: float
    degraded_s: float
    out_s: float
    rebuilt_s: float = math.inf
    back_s: float = math.inf
    whole_s: float = math.inf


@dataclass(frozen=True)
class Epoch:
    """The map from `at_s` on.

    Attributes:
        down: OSDs that placement groups do without.
        out: OSDs that others have replaced.
        resharded: for each reshard that is over, its number.
    """

    at_s: float = 0.0
    down: frozenset[int] = frozenset()
    out: frozenset[int] = frozenset()
    resharded: tuple[int, ...] = ()


def epochs(outages: Iterable[Outage], resharded_s: Iterable[float]) -> tuple[Epoch, ...]:
    """The epochs of a run, the first at time 0.

    Args:
        resharded_s: when each reshard is over.
    """
    outages, ends = tuple(outages), tuple(resharded_s)
    changes = {t for o in outages for t in (o.degraded_s, o.rebuilt_s, o.whole_s)} | set(ends)
    times = sorted({0.0, *(t for t in changes if t < math.inf)})
    return tuple(
        Epoch(
            t,
            frozenset[int]().union(*(o.osds for o in outages if o.degraded_s <= t < min(o.rebuilt_s, o.whole_s))),
            frozenset[int]().union(*(o.osds for o in outages if o.rebuilt_s <= t < o.whole_s)),
            tuple(number for number, end_s in enumerate(ends) if end_s <= t),
        )
        for t in times
    )


def acting(placed: Osds, down: Collection[int]) -> Osds:
    """The OSDs that serve each placement group: those left of `placed`, in order, then `NO_OSD`; same shape.

    So the first that is left is the primary, and a read of an erasure code asks those that are left.
    """
    gone = np.isin(placed, list(down)) | (placed == NO_OSD)
    order = np.argsort(gone, axis=1, kind="stable")
    left: Osds = np.take_along_axis(np.where(gone, NO_OSD, placed), order, axis=1).astype(np.int32)
    return left


def min_size(protection: Protection) -> int:
    """OSDs without which a placement group serves nobody: osd_pool_default_min_size, and k + 1 of an erasure code."""
    if protection.is_ec:
        return min(protection.data_shards + 1, protection.width)
    return protection.width - protection.width // 2


def rebuilding_s(
    placed: Osds, after: Osds, lost: Collection[int], protection: Protection, chunks: float,
    access_s: tuple[float, float], osds: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """What rebuilding the chunks of lost OSDs takes of each drive.

    Args:
        placed, after: the OSDs of each placement group before and afterwards, shape (pgs, width).
        chunks: chunks that a placement group has on each of its OSDs.
        access_s: a drive's time for reading a chunk, and for writing one.

    Returns:
        drive seconds, and chunks moved, of each OSD, shape (osds,).
    """
    rebuilt = np.isin(placed, list(lost)) & (after != NO_OSD)
    sources = acting(placed[rebuilt.any(axis=1)], lost)[:, : protection.data_shards]
    reads = np.bincount(sources[sources != NO_OSD], minlength=osds) * chunks
    writes = np.bincount(after[rebuilt], minlength=osds) * chunks
    return reads * access_s[0] + writes * access_s[1], reads + writes


def recovery_s(
    drive_s: NDArray[np.float64], moved: NDArray[np.float64], release: Release, media: str, filestore: bool = False
) -> float:
    """How long rebuilding takes while clients ask: until the OSD that has most to do is done.

    Since Quincy the mclock scheduler reserves a share of each OSD for it: a quarter (profile high_client_ops), since
    Reef half (profile balanced); before, and with FileStore, an OSD sleeps between its accesses, with osd_max_backfills
    of 1 one after the other. Published for 2 of 8 nodes with small objects: 80 h on Quincy, 38 h on Reef.

    Args:
        media: ``hdd``, ``hybrid`` (HDD with a faster block.db), or ``ssd``.
    """
    sleep_s = _RECOVERY_SLEEP_S[media]
    if since(release, "quincy") and not filestore:
        took_s = drive_s / (0.5 if since(release, "reef") else 0.25)
    elif sleep_s:
        took_s = drive_s + sleep_s * moved
    else:
        took_s = drive_s / _RECOVERY_PRIORITY
    return float(took_s.max(initial=0.0))

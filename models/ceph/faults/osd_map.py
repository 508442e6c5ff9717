"""The epochs of a run: which OSDs serve a placement group, and which bucket indexes have been resharded.

A failed OSD stays in the map until the failure is detected and its placement groups have peered; then the other OSDs
serve them. When it is marked out its chunks are rebuilt elsewhere, after which the map changes again. Simplifications:
an OSD that is back serves before it has recovered what it missed, and rebuilding ends for all placement groups at the
same time, without peering.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.ceph.mechanisms.crush import NO_OSD
from models.ceph.mechanisms.redundancy import Protection
from models.shared import epochs
from models.shared.epochs import NO_PARTS, Parts, Span

REPORT_S = 2.0
"""Time from the end of the grace until a hung OSD is marked down (measured: 8.0 s in all with a grace of 6 s)."""
STALL_S = 15.0
"""osd_op_thread_timeout: time until an OSD whose drive hangs misses heartbeats (src/common/options/osd.yaml.in)."""

Osds = NDArray[np.int32]


@dataclass(frozen=True)
class Outage:
    """A simultaneous failure of OSDs; times that are never reached are infinite.

    Attributes:
        osds: the failed OSDs.
        at_s: time of the failure.
        seen_s: the failure is detected.
        degraded_s: the other OSDs serve their data.
        out_s: rebuilding begins.
        rebuilt_s: the other OSDs have their data.
        back_s: they are restarted.
        whole_s: they serve again.
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
class Epoch(epochs.Epoch):
    """The OSD map from a time on.

    Attributes:
        down: OSDs missing in their placement groups.
        out: OSDs replaced by others.
        resharded: numbers of the reshards that have ended.
    """

    down: Parts = NO_PARTS
    out: Parts = NO_PARTS
    resharded: Parts = NO_PARTS


def epochs_of(outages: Iterable[Outage], resharded_s: Iterable[float]) -> tuple[Epoch, ...]:
    """Return the epochs of a run, the first at time 0.

    Args:
        outages: of OSDs.
        resharded_s: end of each reshard.
    """
    spans = [Span(end_s, math.inf, "resharded", [number]) for number, end_s in enumerate(resharded_s)]
    for outage in outages:
        spans.append(Span(outage.degraded_s, min(outage.rebuilt_s, outage.whole_s), "down", outage.osds))
        spans.append(Span(outage.rebuilt_s, outage.whole_s, "out", outage.osds))
    return epochs.epochs_of(Epoch, spans)


def acting(placed: Osds, down: Collection[int]) -> Osds:
    """Return the OSDs that serve each placement group: those of `placed` that are up, then `NO_OSD`; same shape.

    The first one that is up is the primary, and reads of an erasure code use those that are up.
    """
    gone = np.isin(placed, list(down)) | (placed == NO_OSD)
    order = np.argsort(gone, axis=1, kind="stable")
    left: Osds = np.take_along_axis(np.where(gone, NO_OSD, placed), order, axis=1).astype(np.int32)
    return left


def min_size(protection: Protection) -> int:
    """Return the OSDs that a placement group needs to serve: osd_pool_default_min_size; k + 1 with an erasure code."""
    if protection.is_ec:
        return min(protection.data_shards + 1, protection.width)
    return protection.width - protection.width // 2

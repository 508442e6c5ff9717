"""The fault timeline of a Ceph run: when OSDs are down, how long reshards take, and which drives are slow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.ceph.demands.cost_functions import CostFunctions
from models.ceph.faults.faults import GatewayDown, HostDown, OsdDown, ReshardEvent, SlowDrive
from models.ceph.faults.osd_map import REPORT_S, STALL_S, Epoch, Outage, epochs_of
from models.ceph.faults.recovery import duration_s, failed_osds, missed_writes, rebuilding, returning, slowdowns
from models.ceph.mechanisms.bucket_index import next_shards
from models.ceph.mechanisms.peering import rejoin_s
from models.ceph.mechanisms.resharding import Reshard, reshard
from models.ceph.spec.spec import CephSpec
from models.network.scenario import Action, ActionKind
from models.shared.faults import Slowdown, outage_actions, slow_parts


@dataclass(frozen=True)
class FaultTimeline:
    """The faults of a spec with their times.

    Attributes:
        reshards: reshards, in the order of their requests.
        outages: outages of OSDs and hosts.
        gateways: outages of gateways, also of those on failed hosts.
        slow: drives that are slow or shared with a neighbour, by number of the drive.
        rebuilding: drives that rebuild lost chunks, or recover what they missed, by OSD.
        cores, links: cores and NICs of OSD hosts that are shared with a neighbour, by host.
    """

    reshards: tuple[Reshard, ...]
    outages: tuple[Outage, ...]
    gateways: tuple[GatewayDown, ...]
    slow: tuple[Slowdown, ...]
    rebuilding: tuple[Slowdown, ...]
    cores: tuple[Slowdown, ...]
    links: tuple[Slowdown, ...]

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """The epochs of the OSD map during the run; one if it does not change."""
        return epochs_of(self.outages, (fault.end_s for fault in self.reshards))


def fault_timeline(spec: CephSpec, costs: CostFunctions) -> FaultTimeline:
    """Return the fault timeline of a spec."""
    outages: list[Outage] = []
    slow: list[Slowdown] = []
    rebuilding: list[Slowdown] = []
    gateways = [fault for fault in spec.faults if isinstance(fault, GatewayDown)]
    for fault in spec.faults:
        if isinstance(fault, OsdDown | HostDown):
            outage, slowed = _outage(fault, spec, costs)
            outages.append(outage)
            rebuilding += slowed
        if isinstance(fault, HostDown) and spec.collocated:
            gateways += [
                GatewayDown(
                    kind="gateway_down",
                    gateway=g,
                    at=fault.at,
                    back_at=fault.back_at,
                    detected_after=fault.gateways_detected_after,
                )
                for g in range(fault.host, spec.gateways.count, spec.host_count)
            ]
        if isinstance(fault, SlowDrive):
            slow.append((int(spec.layout.drive_of_osd[fault.osd]), fault.at, fault.end_s, fault.speed))
    neighbours = slow_parts(spec.faults, spec.layout.first_drive.tolist())
    return FaultTimeline(
        _reshards(spec, costs.commit.constant), tuple(outages), tuple(gateways), (*slow, *neighbours.shared_drives),
        tuple(rebuilding), tuple(neighbours.cores), tuple(neighbours.links),
    )  # fmt: skip


def _reshards(spec: CephSpec, commit_s: float) -> tuple[Reshard, ...]:
    """Return the reshards in the order of their requests; a bucket's next one begins when the last one has ended.

    Args:
        commit_s: time of a commit of an OSD.
    """
    settings, release = spec.buckets.resharding, spec.release
    last: dict[int, Reshard] = {}
    requested = [fault for fault in spec.faults if isinstance(fault, ReshardEvent)]
    result = []
    for fault in sorted(requested, key=lambda fault: fault.at):
        entries = spec.stored.objects / spec.workload.total_buckets if fault.entries is None else fault.entries
        new = fault.shards or next_shards(
            entries, release, settings.rounding, settings.multisite, settings.max_shards, settings.per_shard,
            settings.min_shards,
        )  # fmt: skip
        before = last.get(fault.bucket)
        at_s, shards = (max(fault.at, before.end_s), before.new_shards) if before else (fault.at, spec.buckets.shards)
        last[fault.bucket] = reshard(
            entries, shards, new, settings, release, growth_ops=fault.growth, at_s=at_s, bucket=fault.bucket,
            commit_s=commit_s,
        )  # fmt: skip
        result.append(last[fault.bucket])
    return tuple(result)


def _outage(fault: OsdDown | HostDown, spec: CephSpec, costs: CostFunctions) -> tuple[Outage, list[Slowdown]]:
    osds = failed_osds(fault, spec)
    back_s = fault.back_s
    silent_s = {"refused": 0.0, "heartbeat": fault.grace + REPORT_S, "stalled": STALL_S + fault.grace + REPORT_S}
    seen_s = fault.at + silent_s[fault.detected_by]
    whole_s = back_s + (rejoin_s(costs.commit.constant) if fault.rejoin is None else fault.rejoin)
    detected = seen_s < back_s
    if not detected:  # so nothing peers, and writes wait
        seen_s = whole_s = back_s
    degraded_s, out_s, rebuilt_s = min(seen_s + fault.peering, whole_s), seen_s + fault.out_after, math.inf
    slowed: list[Slowdown] = []
    if out_s < back_s:
        work = rebuilding(osds, costs)
        took_s = duration_s(work, spec, costs)
        slowed = [(osd, start, min(end, back_s), speed) for osd, start, end, speed in slowdowns(work, out_s, took_s)]
        rebuilt_s = out_s + took_s if out_s + took_s < back_s else math.inf
    written = missed_writes(fault, spec) if detected else 0.0
    if written:
        work = returning(osds, written, costs)
        slowed += slowdowns(work, whole_s, duration_s(work, spec, costs))
    return Outage(osds, fault.at, seen_s, degraded_s, out_s, rebuilt_s, back_s, whole_s), slowed


def gateway_outages(
    outages: Iterable[GatewayDown], members: NDArray[np.int32], own_nic: bool, redispatch: bool
) -> list[Action]:
    """Return the failures and restarts of gateways; if all others have failed too, a gateway stays in the group.

    Args:
        outages: of gateways.
        members: the group of the gateways: their cores, NIC up and down, tokens; or their processes.
        own_nic: whether the NIC fails with the gateway, because no OSDs share it.
        redispatch: whether requests that a gateway refuses go to another one at once.
    """
    actions: list[Action] = []
    of_each = _by_gateway(outages)
    spans = [(gateway, fault.at, fault.back_s) for gateway, faults in of_each.items() for fault in faults]
    for gateway, faults in of_each.items():
        parts = [int(station) for station in members[gateway][: 3 if own_nic else 1]]
        actions += outage_actions([(fault.at, fault.back_s) for fault in faults], parts)
        chosen = True
        for fault, later in zip(faults, [*faults[1:], None], strict=True):
            back_s = fault.back_s
            dead = {other for other, start, end in spans if start < back_s and fault.at < end}
            noticed_s = fault.at + (0.0 if redispatch else fault.detected_after)
            if chosen and noticed_s < back_s and len(dead) < len(members):
                actions.append(Action(ActionKind.LEAVE, 0, noticed_s, member=gateway))
                chosen = False
            again_s = back_s + fault.readmitted_after
            if not chosen and again_s < (math.inf if later is None else later.at):
                actions.append(Action(ActionKind.JOIN, 0, again_s, member=gateway))
                chosen = True
    return actions


def _by_gateway(outages: Iterable[GatewayDown]) -> dict[int, list[GatewayDown]]:
    """Return the outages of each gateway in ascending order; those that overlap or touch are one."""
    of_each: dict[int, list[GatewayDown]] = {}
    for fault in sorted(outages, key=lambda fault: fault.at):
        before = of_each.setdefault(fault.gateway, [])
        if before and fault.at <= before[-1].back_s:
            end_s = max(before[-1].back_s, fault.back_s)
            before[-1] = before[-1].model_copy(update={"back_at": None if end_s == math.inf else end_s})
        else:
            before.append(fault)
    return of_each

"""The events of a Ceph run worked out: when OSDs are down, what reshards take, which drives are slow and how much."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.ceph.demands.cost_functions import Laws
from models.ceph.faults.faults import GatewayDown, HostDown, NoisyNeighbourOnHost, OsdDown, ReshardEvent, SlowDrive
from models.ceph.faults.osd_map import REPORT_S, Epoch, Outage, epochs, rebuilding_s, recovery_s
from models.ceph.mechanisms.bucket_index import next_shards
from models.ceph.mechanisms.resharding import Reshard, reshard
from models.ceph.placement_rows import Rows
from models.ceph.spec import CephSpec
from models.faults import Slowdown
from models.network.scenario import Action, Kind


@dataclass(frozen=True)
class Disruptions:
    """The events of a spec, worked out.

    Attributes:
        reshards: in the order they are asked for.
        outages: of OSDs and hosts.
        gateways: outages of gateways, also those of hosts that died.
        slow: drives that are slow, or shared with a neighbour, by OSD.
        rebuilding: drives that also rebuild lost chunks, by OSD.
        cores, links: of OSD hosts that are shared with a neighbour, by host.
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
        """The maps of the run; one where none changes."""
        return epochs(self.outages, (event.end_s for event in self.reshards))


def disruptions(spec: CephSpec, laws: Laws) -> Disruptions:
    """The events of a spec."""
    rows = Rows(spec)
    outages: list[Outage] = []
    slow: list[Slowdown] = []
    rebuilding: list[Slowdown] = []
    gateways = [event for event in spec.events if isinstance(event, GatewayDown)]
    for event in spec.events:
        if isinstance(event, OsdDown | HostDown):
            outage, slowed = _outage(event, spec, laws, rows)
            outages.append(outage)
            rebuilding += slowed
        if isinstance(event, HostDown) and spec.collocated:
            gateways += [
                GatewayDown(kind="gateway_down", gateway=g, at=event.at, back_at=event.back_at)
                for g in range(event.host, spec.gateways.count, spec.hosts.count)
            ]
        if isinstance(event, SlowDrive):
            slow.append((event.osd, event.at, event.end_s, event.speed))
    for host, start_s, end_s, speed in _shared(spec, "drives"):
        first = host * spec.hosts.drives
        slow += [(osd, start_s, end_s, speed) for osd in range(first, first + spec.hosts.drives)]
    cores, links = _shared(spec, "cpu"), _shared(spec, "network")
    return Disruptions(
        _reshards(spec), tuple(outages), tuple(gateways), tuple(slow), tuple(rebuilding), cores, links
    )  # fmt: skip


def _shared(spec: CephSpec, takes: str) -> tuple[Slowdown, ...]:
    """The hosts with neighbours that take a share of something."""
    neighbours = (event for event in spec.events if isinstance(event, NoisyNeighbourOnHost) and event.takes == takes)
    return tuple((event.host, event.at, event.end_s, 1 - event.share) for event in neighbours)


def _reshards(spec: CephSpec) -> tuple[Reshard, ...]:
    """The reshards in the order they are asked for; a bucket's next one begins when the one before is over."""
    settings, release = spec.buckets.resharding, spec.release
    last: dict[int, Reshard] = {}
    asked = [event for event in spec.events if isinstance(event, ReshardEvent)]
    result = []
    for event in sorted(asked, key=lambda event: event.at):
        entries = spec.stored.objects / spec.workload.buckets if event.entries is None else event.entries
        new = event.shards or next_shards(
            entries, release, settings.rounding, settings.multisite, settings.max_shards, settings.per_shard,
            settings.min_shards,
        )  # fmt: skip
        before = last.get(event.bucket)
        at_s, shards = (max(event.at, before.end_s), before.new_shards) if before else (event.at, spec.buckets.shards)
        last[event.bucket] = reshard(
            entries, shards, new, settings, release, growth_ops=event.growth, at_s=at_s, bucket=event.bucket
        )
        result.append(last[event.bucket])
    return tuple(result)


def _outage(event: OsdDown | HostDown, spec: CephSpec, laws: Laws, rows: Rows) -> tuple[Outage, list[Slowdown]]:
    drives = spec.hosts.drives
    osds = (
        frozenset([event.osd]) if isinstance(event, OsdDown)
        else frozenset(range(event.host * drives, (event.host + 1) * drives))
    )  # fmt: skip
    back_s = event.back_s
    seen_s = event.at + (event.grace + REPORT_S if event.detected_by == "heartbeat" else 0.0)
    whole_s = back_s + event.rejoin
    if back_s <= seen_s:  # nobody has noticed, so nothing peers
        seen_s = whole_s = back_s
    degraded_s, out_s, rebuilt_s = min(seen_s + event.peering, whole_s), seen_s + event.out_after, math.inf
    slowed: list[Slowdown] = []
    if out_s < back_s:
        rebuilt_s, slowed = _rebuilding(osds, out_s, spec, laws, rows)
        slowed = [(osd, start, min(end, back_s), speed) for osd, start, end, speed in slowed]
        rebuilt_s = rebuilt_s if rebuilt_s < back_s else math.inf
    return Outage(osds, event.at, seen_s, degraded_s, out_s, rebuilt_s, back_s, whole_s), slowed


def _rebuilding(
    lost: frozenset[int], out_s: float, spec: CephSpec, laws: Laws, rows: Rows
) -> tuple[float, list[Slowdown]]:
    """When lost chunks have been rebuilt, and how much that slows each drive."""
    inputs, device = laws.state_inputs, laws.drive
    protection, groups = spec.pools.data, rows.data()
    chunks = spec.stored.objects * inputs.shards_per_object / protection.width / len(groups)
    size = np.array([round(inputs.allocated_bytes_per_shard)])
    read_s, write_s = (float(law.mean_s(size)[0]) / device.queue_depth for law in (device.read, device.write))
    drive_s, moved = rebuilding_s(
        groups, rows.data(lost), lost, protection, chunks, (read_s, write_s), spec.osds
    )  # fmt: skip
    media = ("hybrid" if spec.db else "hdd") if device.rotational else "ssd"
    took_s = recovery_s(drive_s, moved, spec.release, media, laws.is_filestore)
    busy = np.flatnonzero(drive_s)
    return out_s + took_s, [(int(o), out_s, out_s + took_s, 1 - float(drive_s[o]) / took_s) for o in busy]


def gateway_outages(outages: Iterable[GatewayDown], members: NDArray[np.int32], own_nic: bool) -> list[Action]:
    """Gateways that die and come back. While all others are dead too, one stays in the group: nobody is better.

    Args:
        members: the group of the gateways: their cores, network interface up and down, tokens.
        own_nic: the interface dies with the gateway, as no OSDs share it.
    """
    actions, outages = [], tuple(outages)
    for event in outages:
        parts = [int(station) for station in members[event.gateway][: 3 if own_nic else 1]]
        back_s = event.back_s
        dead = {other.gateway for other in outages if other.at < event.back_s and event.at < other.back_s}
        leave_s = event.at + event.noticed_after if len(dead) < len(members) else math.inf
        actions += [Action(Kind.DOWN, station, event.at) for station in parts]
        if leave_s < back_s:
            actions.append(Action(Kind.LEAVE, 0, leave_s, member=event.gateway))
        if back_s < math.inf:
            actions += [Action(Kind.UP, station, back_s) for station in parts]
            if leave_s < back_s:
                actions.append(Action(Kind.JOIN, 0, back_s + event.trusted_after, member=event.gateway))
    return actions

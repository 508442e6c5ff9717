"""Checks of what a spec says of the OSDs of its pools: device classes, and numbers of placement groups."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from models.ceph.spec.host_groups import Layout
from models.ceph.spec.pools import Pools, SecondPool


def check_classes(pools: Pools, classes: Collection[str], access: str, has_index_drives: bool) -> None:
    """Check that there are OSDs of the device classes of pools.

    Args:
        pools: of the spec.
        classes: device classes of the OSDs with data.
        access: kind of the access path.
        has_index_drives: whether the index pool has drives of its own.

    Raises:
        ValueError: names the field, and what is allowed.
    """
    if has_index_drives and pools.index_class is not None:
        raise ValueError("pools.index_class: index gives the index pool drives of its own; give one of them")
    if pools.index_class is not None and access != "s3":
        raise ValueError(f"pools.index_class: requires access s3; it is {access}")
    wanted_of = {"device_class": pools.device_class, "index_class": pools.index_class}
    if pools.second is not None:
        wanted_of["second.device_class"] = pools.second.device_class
    for field, wanted in wanted_of.items():
        if wanted is not None and wanted not in classes:
            raise ValueError(
                f"pools.{field}: no OSD has the class {wanted}; allowed are {', '.join(sorted(set(classes)))}, or what "
                "groups of hosts have as device_class"
            )


def check_numbers(pools: Pools, layout: Layout) -> None:
    """Check that there are as many numbers of placement groups as OSDs, for at least a whole placement group.

    Raises:
        ValueError: names the field, and what is allowed.
    """
    of_pgs = ("osd_pgs", pools.osd_pgs, pools.data.width), ("osd_primaries", pools.osd_primaries, 1)
    for field, given, least in of_pgs:
        if not given:
            continue
        if len(given) != layout.data_osds:
            raise ValueError(
                f"pools.{field}: has {len(given)} numbers for {layout.data_osds} OSDs; give one for each, or none ([]) "
                "after a change of hosts or drives, when CRUSH distributes anew"
            )
        used = layout.host_of_osd[: layout.data_osds][np.array(given) > 0]
        domains = len(used) if pools.failure_domain == "osd" else len(set(used.tolist()))
        if domains < least:
            raise ValueError(
                f"pools.{field}: numbers above 0 are on {domains} {pools.failure_domain}s; required are at least "
                f"{least}"
            )


def check_second(second: SecondPool, pools: Pools, groups: Collection[str], backend: str) -> None:
    """Check that a second data pool shares no OSDs with the first, and has objects that someone can name.

    Args:
        second: the second pool.
        pools: all pools.
        groups: names of the groups of clients.
        backend: that of the OSDs.

    Raises:
        ValueError: names the field, and what is allowed.
    """
    if pools.device_class in (None, second.device_class):
        raise ValueError(
            f"pools.device_class: is {pools.device_class or 'absent'}; with pools.second the first pool requires a "
            f"device class other than {second.device_class}"
        )
    if backend == "filestore":
        raise ValueError("pools.second: is for osd.backend bluestore; it is filestore")
    for name in second.groups:
        if name not in groups:
            allowed = ", ".join(groups) or "none, as workload.groups is empty"
            raise ValueError(f"pools.second.groups: there is no group of clients {name}; allowed are {allowed}")

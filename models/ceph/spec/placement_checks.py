"""Checks of what a spec says of the OSDs of its pools: device classes, and numbers of placement groups."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from models.ceph.spec.host_groups import Layout
from models.ceph.spec.pools import Pools


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
    for field, wanted in (("device_class", pools.device_class), ("index_class", pools.index_class)):
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

"""Which OSDs have the placement groups of the data pool, and are their primaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from models.site.reader import Found

_NO_OSD = 0x7FFFFFFF  # CRUSH_ITEM_NONE, of a shard that is nowhere


def placed_groups(stats: Sequence[Mapping[str, Any]]) -> Found:
    """Return the numbers of placement groups and primaries of each OSD in the pool with most bytes, the data pool.

    Args:
        stats: the placement groups of all pools, as in the JSON of `ceph pg dump`.

    Raises:
        ValueError: no placement group has OSDs.
    """
    of_pool: dict[str, list[Mapping[str, Any]]] = {}
    for each in stats:
        of_pool.setdefault(str(each["pgid"]).partition(".")[0], []).append(each)

    def weight(pool: str) -> tuple[int, int]:
        placed = of_pool[pool]
        return sum(int(each.get("stat_sum", {}).get("num_bytes", 0)) for each in placed), len(placed)

    pool = max(of_pool, key=weight)
    placed = of_pool[pool]
    pgs, primaries = Counter[int](), Counter[int]()
    for each in placed:
        acting = [int(osd) for osd in each["acting"] if 0 <= int(osd) < _NO_OSD]
        pgs.update(acting)
        primaries.update([int(each.get("acting_primary", acting[0] if acting else -1))])
    if not pgs:
        raise ValueError("no placement group has OSDs")
    osds: list[Mapping[str, object]] = [
        {"osd": osd, "pgs": pgs[osd], "primaries": primaries[osd]} for osd in sorted(pgs)
    ]
    most = "most bytes" if weight(pool)[0] else "most placement groups, as no bytes are given"
    notes = [f"placement groups are those of pool {pool}, which has {most}"] * (len(of_pool) > 1)
    unclean = sum(not str(each.get("state", "active+clean")).startswith("active+clean") for each in placed)
    if unclean:
        notes.append(f"{unclean} of {len(placed)} placement groups are not clean; their OSDs are those of now")
    return Found({"osd-pgs": osds, "placement-groups": len(placed)}, tuple(notes))

"""Hosts and drives that differ, as a spec has them: equal, as near as possible to what there is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from models.site.reader import Facts

_ALIKE = 1.1


def even_hosts(drives: Sequence[int]) -> tuple[Facts, list[str]]:
    """Return facts on equal hosts for the numbers of drives of real ones, and a note on what that changes.

    Raises:
        ValueError: there are no drives.
    """
    if not drives or not sum(drives):
        raise ValueError("it has no drives")
    each = max(1, int(sum(drives) / len(drives) + 0.5))
    notes = []
    if len(set(drives)) > 1:
        counts = Counter(drives)
        many = len(drives) > 8
        has = (
            ", ".join(f"{hosts} with {count}" for count, hosts in sorted(counts.items()))
            if many
            else ", ".join(map(str, drives))
        )
        notes.append(
            f"hosts have {has} drives; a spec has equal hosts: {each} on each, {each * len(drives)} drives instead of "
            f"{sum(drives)}"
        )
    return {"hosts": len(drives), "drives": each}, notes


def mean_capacity(sizes_bytes: Sequence[float]) -> tuple[Facts, list[str]]:
    """Return the mean capacity of drives, and a note if they differ by more than a tenth."""
    if not sizes_bytes:
        return {}, []
    low, high, mean = min(sizes_bytes), max(sizes_bytes), sum(sizes_bytes) / len(sizes_bytes)
    notes = []
    if high > _ALIKE * low:
        notes.append(
            f"drives have {low / 1e9:,.0f} to {high / 1e9:,.0f} GB; a spec has equal ones, of the mean: that larger "
            "ones get more requests is lost"
        )
    return {"drive.capacity": f"{round(mean / 1e9)}GB"}, notes

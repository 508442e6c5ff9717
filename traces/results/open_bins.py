"""Quantiles in the last bin of a histogram, which has no upper end: they are at least its lower one, and no values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from traces.results.schema import Latency, Result

_SUFFIX = "_s_at_least"


def without_open(latency: Latency, names: Collection[str]) -> tuple[Latency, dict[str, float | None]]:
    """Return a latency without quantiles in the open bin, and these as figures ``latency_p99_s_at_least``.

    Args:
        names: of these quantiles; their values are the lower end of the bin.
    """
    quantiles = latency.quantiles_s
    kept = {name: None if name in names else value for name, value in quantiles.items()}
    at_least = {f"latency_{name}{_SUFFIX}": quantiles[name] for name in quantiles if name in names}
    return replace(latency, quantiles_s=kept), at_least


def note_of_open(row: Result, about: str) -> str:
    """Return what to say of the quantiles of a row that are in the open bin; "" if there are none."""
    found = {
        name.removeprefix("latency_").removesuffix(_SUFFIX).replace("_", "."): value
        for name, value in row.more_figures.items()
        if name.startswith("latency_") and name.endswith(_SUFFIX)
    }
    if not found:
        return ""
    least = min(found.values())
    which = next(iter(found)) if len(found) == 1 else f"{', '.join(list(found)[:-1])} and {list(found)[-1]}"
    verb = "is" if len(found) == 1 else "are"
    return f"{about}: {which} {verb} at least {least:.4g} s, where the histogram ends; no values, and left out"

"""Quantities and resources in definitions of Kubernetes (reference/kubernetes-api, common definitions, Quantity)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_UNITS = {
    "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50,
}  # fmt: skip


def quantity(text: Any) -> float:
    """Return a quantity such as ``500m``, ``8Gi`` or ``4`` as a number.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([A-Za-z]{0,2})", str(text).strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{text!r} is no quantity, such as 8Gi")
    return float(match[1]) * _UNITS[match[2]]


def limit(owner: Mapping[str, Any] | None, resource: str) -> float | None:
    """Return the limit of a resource, or what is requested of it, of a part with `resources`; None: there is none."""
    resources = (owner or {}).get("resources") or {}
    for kind in ("limits", "requests"):
        if (found := (resources.get(kind) or {}).get(resource)) is not None:
            return quantity(found)
    return None


def volume_bytes(claim: Mapping[str, Any] | None) -> float | None:
    """Return the size that a template of a volume's claim requests; None: it has none."""
    return limit((claim or {}).get("spec"), "storage")

"""Open and closed loops in the mapping of a spec: which fields of a workload belong to only one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

Loop = Literal["open loop", "closed loop"]

OF_LOOP: dict[str, tuple[Loop, tuple[str, ...]]] = {
    "rate": ("open loop", ("clients", "think_time", "stagger")),
    "clients": ("closed loop", ("rate", "arrivals")),
}
"""The field that makes a workload an open or a closed loop, and the fields that do not apply to it."""


def dropped(path: str, value: Any, workload: Any, assigned: Collection[str] = ()) -> list[str]:
    """Return the fields of a workload that no longer apply when one of its fields gets a value.

    Args:
        path: dotted path of the field in the spec.
        value: the new value; None does not change the loop.
        workload: the section that has the field.
        assigned: paths that are assigned together with it, which stay.
    """
    section, _, name = path.rpartition(".")
    if value is None or name not in OF_LOOP or section.rpartition(".")[2] != "workload":
        return []
    if not isinstance(workload, Mapping):
        return []
    others = [other for other in OF_LOOP[name][1] if workload.get(other) is not None]
    if name == "clients" and "rate" not in others:
        return []  # a closed loop already
    return [other for other in others if f"{section}.{other}" not in assigned]


def loop_note(data: Mapping[str, Any], path: str) -> str | None:
    """Return a note if a new value of a field switches the workload of a spec to the other loop.

    Args:
        data: the spec before.
        path: of the field, which may be abbreviated to its last part.
    """
    workload, name = data.get("workload"), path.rpartition(".")[2]
    if path not in (name, f"workload.{name}") or name not in OF_LOOP or not isinstance(workload, Mapping):
        return None
    others = dropped(f"workload.{name}", 1, workload)
    is_open = workload.get("rate") is not None
    if is_open == (name == "rate"):
        return None
    without = f", without {' and '.join(others)}" if others else ""
    return f"workload.{name} makes the workload {_ARTICLES[OF_LOOP[name][0]]}{without}"


_ARTICLES: dict[Loop, str] = {"open loop": "an open loop", "closed loop": "a closed loop"}


def one_loop(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec recorded by an earlier version, in which a rate takes precedence over clients, with one of them."""
    workload = data.get("workload")
    if not isinstance(workload, Mapping) or workload.get("rate") is None:
        return dict(data)
    kept = {name: value for name, value in workload.items() if name not in OF_LOOP["rate"][1]}
    return {**data, "workload": kept}

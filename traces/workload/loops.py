"""Open and closed loops in the mapping of a spec: which fields of a workload belong to only one of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from traces.errors import InputError
from traces.spec.suggestions import instead

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
    if value is None or name not in OF_LOOP or not _is_workload(section):
        return []
    if not isinstance(workload, Mapping):
        return []
    others = [other for other in OF_LOOP[name][1] if workload.get(other) is not None]
    if name == "clients" and "rate" not in others:
        return []  # a closed loop already
    return [other for other in others if f"{section}.{other}" not in assigned]


def check_group(parts: Sequence[str], data: Mapping[str, Any]) -> None:
    """Refuse the path of a field in a group of clients that a spec does not have.

    Raises:
        InputError: the message names the groups.
    """
    if list(parts[:2]) != ["workload", "groups"] or len(parts) < 4:
        return
    workload = data.get("workload")
    if not isinstance(workload, Mapping):
        return
    groups = workload.get("groups")
    names = [*groups] if isinstance(groups, Mapping) else []
    if parts[2] not in names:
        known = instead(parts[2], names) if names else "the workload has no groups"
        raise InputError(f"{'.'.join(parts)}: there is no group {parts[2]!r}; {known}")


def _is_workload(section: str) -> bool:
    """Whether a path is that of a workload, or of a group of one."""
    parts = section.split(".")
    return parts[-1] == "workload" or parts[-3:-1] == ["workload", "groups"]


def loop_note(data: Mapping[str, Any], path: str) -> str | None:
    """Return a note if a new value of a field switches the workload of a spec to the other loop.

    Args:
        data: the spec before.
        path: of the field, which may be abbreviated to its last part.
    """
    workload, (section, _, name) = data.get("workload"), path.rpartition(".")
    if name not in OF_LOOP or (section and not _is_workload(section)) or not isinstance(workload, Mapping):
        return None
    section = section or "workload"
    if section != "workload":
        groups = workload.get("groups")
        workload = groups.get(section.rpartition(".")[2]) if isinstance(groups, Mapping) else None
        if not isinstance(workload, Mapping):
            return None
    others = dropped(f"{section}.{name}", 1, workload)
    is_open = workload.get("rate") is not None
    if is_open == (name == "rate"):
        return None
    without = f", without {' and '.join(others)}" if others else ""
    what = "workload" if section == "workload" else "group"
    return f"{section}.{name} makes the {what} {_ARTICLES[OF_LOOP[name][0]]}{without}"


_ARTICLES: dict[Loop, str] = {"open loop": "an open loop", "closed loop": "a closed loop"}


def one_loop(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec recorded by an earlier version, in which a rate takes precedence over clients, with one of them."""
    workload = data.get("workload")
    if not isinstance(workload, Mapping) or workload.get("rate") is None:
        return dict(data)
    kept = {name: value for name, value in workload.items() if name not in OF_LOOP["rate"][1]}
    return {**data, "workload": kept}

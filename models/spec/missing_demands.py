"""Refuses a spec that lacks a service demand, because what it describes would seem to take no time."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import BaseModel

from models.devices.presets import presets_of
from models.network.service_demand import ServiceDemand
from models.spec.spec_values import sections_of
from traces.errors import InputError
from traces.operations import Op


def missing_demands(demands: Mapping[str, ServiceDemand | None]) -> list[str]:
    """Return the paths of demands that a spec must give and does not."""
    return [path for path, demand in demands.items() if demand is None]


def refuse_missing_demands(spec: BaseModel, ops: Collection[Op], demands: Mapping[str, ServiceDemand | None]) -> None:
    """Refuse a spec that lacks a demand.

    Args:
        spec: the spec.
        ops: the operations of the workload.
        demands: the demands that these visit, by path; None: not given.

    Raises:
        InputError: the message names the paths that are missing, and the presets that would supply them.
    """
    missing = missing_demands(demands)
    if not missing:
        return
    supplied = _suppliers(spec, missing)
    presets = "; ".join(f"{path}: {', '.join(names)}" for path, names in supplied.items())
    raise InputError(
        f"{', '.join(missing)}: not given; {', '.join(ops)} requests would seem to take no time; give times (0s: none)"
        + (f", or a preset ({presets}; described by 'tailcast presets')" if presets else "")
    )


def _suppliers(spec: BaseModel, missing: Collection[str]) -> dict[str, list[str]]:
    """Return the names of the presets of the sections of missing fields, by the path of the field `preset`."""
    found = {}
    for path in missing:
        parts = path.split(".")
        for depth, section in enumerate(sections_of(spec, path)):
            if offered := presets_of(type(section)):
                found[".".join((*parts[:depth], "preset"))] = list(offered)
    return found

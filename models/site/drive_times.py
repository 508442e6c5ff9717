"""Service times of drives in a new spec: of a preset, with those that follow from measured figures."""

from __future__ import annotations

import numpy as np

from models.devices.data_sheet import BLOCK_BYTES, exclusive
from models.devices.device import Device
from models.network.service_demand import ServiceDemand
from models.site.known import Known
from models.site.setup import Site

_LEAST_CV, _MOST_CV = 0.05, 3.0


def _device(name: str) -> Device:
    from models.devices.devices import DEVICE_PRESETS  # making all of them takes as long as importing pyarrow

    return DEVICE_PRESETS[name].device


def drive(site: Site, name: str = "drive") -> Known:
    """Return the preset of a drive, with the data sheet that its figures are from."""
    from models.devices.devices import DEVICE_PRESETS

    known = site[name]
    return known.noted(f"data sheet: {DEVICE_PRESETS[known.value].source.partition('. ')[0]}")


def capacity_bytes(name: str) -> int:
    """Return the capacity of a preset."""
    return _device(name).capacity


def is_rotational(name: str) -> bool:
    """Return whether a preset is a hard disk."""
    return _device(name).rotational


def drives(site: Site, durable: str, has_capacity: bool = True) -> dict[str, Known]:
    """Return the times and the capacity of the section `drives`: those of a preset, or measured.

    Args:
        site: what is known.
        durable: the section's field for the time of a durable write; empty: it has none.
        has_capacity: whether the section has a capacity.
    """
    return {
        "preset": drive(site),
        **_measured(site),
        **(site.optional(**{durable: "drive.durable"}) if durable else {}),
        **(site.optional(capacity="drive.capacity") if has_capacity else {}),
    }


def array(site: Site) -> dict[str, dict[str, Known]]:
    """Return the array that each drive is, for the section `drives` of a store that has it; empty: drives are none."""
    fields = site.optional(level="raid-level", members="raid-members")
    return {"raid": fields} if fields else {}


def device(site: Site) -> Known | dict[str, Known]:
    """Return a section that is one drive: the name of a preset, or its figures with those that were measured."""
    figures = {**_measured(site), **site.optional(capacity="drive.capacity")}
    return {"preset": drive(site), **figures} if figures else drive(site)


def _measured(site: Site) -> dict[str, Known]:
    """Return the times that follow from measured IOPS, latencies and bandwidths; what was not measured is the preset's.

    As in `models.devices.data_sheet`: an access excludes others for 1 / IOPS, or bytes / bandwidth, and the rest of the
    latency at depth 1 overlaps. A hard disk has no such rest: without IOPS, an access takes its latency.
    """
    preset = _device(site["drive"].value)
    found: dict[str, Known] = {}
    for way in ("read", "write"):
        facts = {name: site.get(f"drive.{way}.{name}") for name in ("iops", "latency", "bandwidth", "cv")}
        known = {name: float(fact.value) for name, fact in facts.items() if fact is not None}
        origins = {fact.origin for fact in facts.values() if fact is not None}
        if not origins:
            continue
        demand: ServiceDemand = getattr(preset, way)
        mean_s = float(demand.mean_s(np.array([BLOCK_BYTES]))[0])
        per_byte_s = 1 / known["bandwidth"] if "bandwidth" in known else demand.per_byte
        exclusive_s = known.get("latency", mean_s) if preset.rotational else mean_s / preset.queue_depth
        if "iops" in known and not (preset.rotational and "latency" in known):
            exclusive_s = 1 / known["iops"]
        origin = f"{'; '.join(sorted(origins))}{_of_preset(known, preset)}"
        found[way] = Known(
            {
                "constant": _us(exclusive(1 / exclusive_s, 1 / per_byte_s).constant),
                "per_byte": f"{per_byte_s * 1e9:.4g}ns",
            },
            origin,
        )
        if "latency" in known and not preset.rotational:
            cv = min(max(known.get("cv", 0.0), _LEAST_CV), _MOST_CV)
            rest = {"constant": _us(max(known["latency"] - exclusive_s, 0.0)),
                    "distribution": {"kind": "lognormal", "cv": round(cv, 3)}}  # fmt: skip
            found[f"{way}_latency"] = Known(rest, origin)
    return found


def _of_preset(known: dict[str, float], preset: Device) -> str:
    needed = ("latency" if preset.rotational else "iops"), "bandwidth"
    missing = [name for name in needed if name not in known]
    return f"; {' and '.join(missing)} of the data sheet" if missing else ""


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4g}us"

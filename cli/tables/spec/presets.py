"""Tables of presets."""

from __future__ import annotations

from collections.abc import Sequence

from cli.quantities import quantity
from cli.tables.grid import Grid
from cli.words import byte_rate, number, seconds, size
from models.basis.preset_list import ListedPreset


def preset_grids(presets: Sequence[ListedPreset]) -> list[Grid]:
    """Tables of all presets: those of hosts, then drives with their figures, and where specs name them."""
    hosts = [preset for preset in presets if preset.drive is None]
    drives = [
        [
            preset.name,
            f"{number(d.read_iops)} / {number(d.write_iops)}",
            f"{seconds(d.read_latency_s)} / {seconds(d.write_latency_s)}",
            f"{byte_rate(d.read_bytes_per_s)} / {byte_rate(d.write_bytes_per_s)}",
            "" if d.capacity_bytes is None else size(d.capacity_bytes),
        ]
        for preset in presets
        if (d := preset.drive) is not None
    ]
    supplied = [[preset.name, _supplies(preset), preset.measured_on] for preset in hosts]
    used = [[preset.name, _used_by(preset), preset.source] for preset in presets]
    return [
        Grid("Hosts", ["preset", "supplies", "measured on"], supplied, labels=3),
        Grid("Drives (read / write; 4 KiB)", ["preset", "IOPS", "latency", "bandwidth", "capacity"], drives),
        Grid("Fields and sources", ["preset", "fields", "source"], used, labels=3),
    ]


def preset_lines(preset: ListedPreset) -> list[str]:
    """Name, use and source of a preset, and the machine that its measurement is limited to."""
    lines = [preset.name, f"  fields: {_used_by(preset)}", f"  source: {preset.source}"]
    return [*lines, f"  measured on: {preset.measured_on}"] if preset.measured_on else lines


def values_grid(preset: ListedPreset) -> Grid:
    """All values of a preset."""
    return Grid("", ["field", "value"], [[v.path, quantity(v.value, v.unit)] for v in preset.values])


def _supplies(preset: ListedPreset) -> str:
    return ", ".join(dict.fromkeys(value.path.partition(".")[0] for value in preset.values))


def _used_by(preset: ListedPreset) -> str:
    return "; ".join(f"{store}: {', '.join(fields)}" for store, fields in preset.used_by.items())

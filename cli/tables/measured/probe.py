"""Table of what `validate.probe` measured."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from cli.tables.grid import Grid
from cli.words import byte_rate, number, seconds
from validate.probe.drive import LEVEL, Figure, Probe


def probe_shown(probe: Probe) -> Iterator[str | Grid]:
    """Yield the figures with their intervals, the section of a spec, the cores, and what the model leaves out."""
    rows = [
        [each.name.replace("_", " "), _text(each, each.mean), f"{_text(each, each.low)} … {_text(each, each.high)}"]
        for each in probe.figures
    ]
    yield Grid("", ["figure", "mean", f"{LEVEL:.0%} interval"], rows)
    cores = probe.cores
    yield (
        f"{cores.count} cores: one hashes {byte_rate(cores.one_bytes_per_s)} (SHA-256), all together "
        f"{byte_rate(cores.all_bytes_per_s)}, {cores.scaling:.0%} of {cores.count} times as much"
    )
    yield from (f"not in the model: {each}" for each in probe.unexplained)
    section = yaml.safe_dump({"data_sheet": probe.data_sheet}, default_flow_style=True, sort_keys=False, width=1000)
    yield f"for a section of drives: {section.strip()}"


def _text(figure: Figure, value: float) -> str:
    if figure.unit == "s":
        return seconds(value)
    return byte_rate(value) if figure.unit == "B/s" else number(value)

"""What is said of imported logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.words import seconds


def import_lines(figures: Mapping[str, Any]) -> list[str]:
    """Return what is said of the result of `traces.logs.importing.import_logs`."""
    origin, rows = figures["origin"], figures["rows"]
    ops = ", ".join(f"{op} {count:,}" for op, count in figures["ops"].items())
    lines = [f"{figures['requests']:,} requests ({ops}) of {rows:,} rows in {', '.join(origin['formats'])}"]
    lines += [f"left out: {count:,} rows: {why}" for why, count in figures["left_out"].items()]
    if figures["joined"]:
        lines.append(f"joined: {figures['joined']:,} rows with the second part of a request")
    if figures["unreadable"]:
        lines.append(f"not readable: {figures['unreadable']:,} rows; the first:")
        lines += [f"  {where}" for where in figures["first_unreadable"]]
    lines += [f"skipped: {path} {why}" for path, why in figures["skipped"].items()]
    lines += [f"{path} is truncated: {why}" for path, why in figures["truncated"].items()]
    if filled := figures["sizes_filled"]:
        lines.append(f"sizes not in the log, taken from other requests for the same object: {filled:,}")
    if unknown := figures["sizes_unknown"]:
        lines.append(f"unknown sizes, set to 0: {unknown:,}")
    lines += [f"note: {note}" for note in figures["notes"]]
    clock = f"clock of {seconds(origin['clock_s'])}{', spread' if origin['spread'] else ''}"
    lines.append(f"from {origin['started_at'] or 'an unknown time'} over {figures['span_s']:,.6g} s; {clock}")
    lines.append(f"trace: {figures['trace']}")
    if figures["run"]:
        without = f", without {n:,} requests that have no latency" if (n := figures["without_latency"]) else ""
        lines.append(f"run: {figures['run']}{without}")
    return lines

"""Warnings about measured Runs, below their tables on terminals and pages."""

from __future__ import annotations

from collections.abc import Sequence

from traces.run import Run


def run_warnings(run: Run) -> list[str]:
    """Return why the figures of a measured Run may mislead, as sentences; none for a simulated one."""
    if run.info["kind"] != "measured":
        return []
    # `simulate` prints the same tables, and need not import what judges measurements.
    from validate.compare.run_quality import check_quality

    return check_quality(run).warnings


def named_warnings(runs: Sequence[tuple[str, Run]]) -> list[str]:
    """Return the warnings about each Run, with its name."""
    return [f"{name}: {text}" for name, run in runs for text in run_warnings(run)]

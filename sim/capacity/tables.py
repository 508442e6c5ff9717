"""Timelines and plans as tables, for programs that read parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sim.capacity.plan import CapacityPlan
from sim.capacity.remedies import Trial
from sim.capacity.timeline import INTERVALS, State, Timeline


def states_table(found: Timeline) -> pa.Table:
    """A row for each state and operation: some of the state's figures, the operation's, and their intervals."""
    return pa.Table.from_pylist([_state_row(state, op, found.columns) for state in found.states for op in state["ops"]])


def _state_row(state: State, op: str, columns: Sequence[str]) -> dict[str, Any]:
    figures = state["ops"][op]
    row = {name: state[name] for name in columns} | {"op": op}
    row |= {name: figures[name] for name in ("count", "errors", "throughput_ops", "throughput_bytes")}
    row |= {f"latency_{name}_s": value for name, value in figures["latency_s"].items()}
    intervals = {"throughput_ops": figures["interval"]["throughput_ops"]}
    intervals |= {f"latency_{name}_s": figures["interval"]["latency_s"][name] for name in INTERVALS}
    for name, (low, high) in intervals.items():
        row |= {f"{name}_low": low, f"{name}_high": high}
    return row | {"busiest": figures["busiest"]["role"], "busiest_utilization": figures["busiest"]["utilization"]}


def changes_table(found: CapacityPlan) -> pa.Table:
    """A row for each change: what it sets (as JSON), its cost, and each objective's figure at the end of the period."""
    return pa.Table.from_pylist([_change_row(found, trial) for trial in found.changes])


def _change_row(found: CapacityPlan, trial: Trial) -> dict[str, Any]:
    end = trial.finding
    row: dict[str, Any] = {"set": json.dumps(dict(trial.change.values)), "cost": trial.change.extra_cost}
    row |= {"holds": trial.holds, "fraction": trial.fraction, "fill_fraction": end.fill_fraction, "reason": end.reason}
    return row | {text: end.slos[text].value if text in end.slos else None for text in found.slos}

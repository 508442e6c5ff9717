"""Tables of Runs and comparisons, as text: one content for the terminal and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from cli.phrases import LABELS, byte_rate, number, percent, percent_between, seconds, share
from traces.run import Run
from traces.statistics import latencies, summarise, tukey_classes
from validate.compare import JUDGED

_WIDEST = 8  # columns that a terminal takes


@dataclass(frozen=True)
class Grid:
    """A table of text: the first `labels` columns are names, the others figures; a title may be empty."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1


def rich_table(grid: Grid) -> Table:
    """The grid for the terminal; one too wide for 80 characters is turned, its columns become rows."""
    if len(grid.columns) > _WIDEST:
        columns, *rows = zip(grid.columns, *grid.rows, strict=True)
        grid = Grid(grid.title, columns, rows)
    # Text, not str: rich takes brackets in a str for markup.
    table = Table(title=Text(grid.title) if grid.title else None, title_justify="left")
    for i, column in enumerate(grid.columns):
        table.add_column(Text(column), justify="left" if i < grid.labels else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def summary_grid(run: Run, title: str = "") -> Grid:
    """The key figures of a Run, a row for each operation."""
    rows = []
    for op, figures in summarise(run)["ops"].items():
        samples, latency = latencies(run, op), figures["latency_s"]
        outliers = tukey_classes(samples)
        mild, severe = (outliers[f"low_{kind}"] + outliers[f"high_{kind}"] for kind in ("mild", "severe"))
        rows.append([
            op,
            f"{figures['count']:,}",
            share(figures["errors"], figures["count"]),
            number(figures["throughput_ops"]),
            byte_rate(figures["throughput_bytes"]),
            *(seconds(latency[name]) for name in ("mean", "p50", "p90", "p99", "p99_9", "max")),
            share(mild, len(samples)),
            share(severe, len(samples)),
        ])  # fmt: skip
    columns = ["op", "requests", "errors", "op/s", "payload", "mean", "p50", "p90", "p99", "p99.9", "max"]
    return Grid(title, [*columns, "mild outliers", "severe outliers"], rows)


def stations_grid(stations: Sequence[dict[str, Any]], title: str = "") -> Grid:
    """Stations with what they served, how busy they were and how many jobs waited, the busiest first."""
    ordered = sorted(stations, key=lambda s: (s["servers"] is None, -s["utilization"]))
    rows = [
        [
            s["name"],
            s["role"],
            "∞" if s["servers"] is None else f"{s['servers']}",
            f"{s['visits']:,}",
            f"{number(s['utilization'])} busy" if s["servers"] is None else f"{s['utilization'] * 100:.1f}%",
            number(s["mean_queue"]),
        ]
        for s in ordered
    ]
    return Grid(title, ["station", "role", "servers", "visits", "utilisation", "mean queue"], rows, labels=2)


def comparison_grid(comparison: dict[str, Any], names: tuple[str, str], title: str = "") -> Grid:
    """A comparison, a row for each measure of each operation; `names` are those of A and B."""
    rows = [row for op, result in comparison["ops"].items() for row in _op_rows(op, result)]
    columns = [
        "op",
        "measure",
        names[0],
        names[1],
        "ratio",
        f"{comparison['confidence'] * 100:g}% interval",
        "verdict",
    ]
    return Grid(title, columns, rows, labels=2)


def _op_rows(op: str, result: dict[str, Any]) -> list[list[str]]:
    def judged(name: str) -> str:
        if name in result["differs_in"]:
            return "differs"
        return "unsure" if name in result["unsure_of"] else "within" if name in JUDGED else ""

    rows = [
        [op, "requests", *(f"{result['count'][side]:,}" for side in "ab"), "", "", judged("count")],
        [op, "errors", *(share(result["errors"][side], result["count"][side]) for side in "ab"), "", "", ""],
    ]
    if "latency_s" not in result:
        return rows
    for name, measure in {"throughput_ops": result["throughput_ops"], **result["latency_s"]}.items():
        write = (lambda value: f"{number(value)} op/s") if name == "throughput_ops" else seconds
        rows.append([
            op, LABELS[name], write(measure["a"]), write(measure["b"]), percent(measure["log_ratio"]),
            percent_between(measure["interval"]), judged(name),
        ])  # fmt: skip
    low, high = result["w1"]["interval"]
    w1 = [f"{result['w1']['value'] * 100:.1f}%", f"{low * 100:.1f} … {high * 100:.1f}%"]
    return [
        *rows,
        [op, "W1 / mean", "", "", *w1, judged("w1")],
        [op, "KS", "", "", f"{result['ks'] * 100:.1f}%", "", ""],
    ]

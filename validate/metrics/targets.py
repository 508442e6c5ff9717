"""The figures of metrics as a table that a calibration fits: a row per operation and part of the window."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from models.store import Spec, store_of
from traces.metrics.series import Histogram
from traces.workload.workload import Workload
from validate.metrics.measured import Measured, OpMeasured
from validate.metrics.workload import workload_fields
from validate.reference.figures import ALL

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
_LEAST_BEYOND = 10
_CPU_ERROR = 0.03  # of a CPU time: processes also do other work than requests; assumed
_MOST_DEVIATION = 0.5  # of a mean time, as a fraction: that of few samples of requests in flight tells nothing
_MOST_REQUESTS = 20_000  # of a row's simulation
_LONGEST_S = 600

Row = dict[str, str]


def target_rows(parts: Sequence[Measured], whole: Measured, spec: Spec) -> list[Row]:
    """Return the rows of parts of a window, by column.

    Sizes are those of the whole window: counters of requests and of bytes are not read at the same instant, which
    matters in a short part.

    A mean time is that of each part if all of them have one: parts without a request in flight when they were sampled
    have none, so those that have one are slow ones. Otherwise it is that of the whole window.

    Figures of the server are those of stores whose model defines its part of a latency; of others, the time at the
    server stands for the latency.
    """
    has_server = store_of(spec).server_part is not None
    mean = "server_mean_ms" if has_server else "latency_mean_ms"
    in_parts = {op for op in whole.ops if all(op in part.ops and _has_mean(part.ops[op]) for part in parts)}
    rows = []
    for number, part in enumerate(parts, 1):
        sizes = {op: each.bytes_each for op, each in whole.ops.items()}
        ops = {op: replace(each, bytes_each=sizes.get(op, each.bytes_each)) for op, each in part.ops.items()}
        part = replace(part, ops=ops)
        about = {"table": f"metrics {number}", "workload": _workload(part, spec.workload)}
        for op, each in part.ops.items():
            figures: Row = {}
            if each.latency_s is not None and op in in_parts:
                figures |= _with_deviation(mean, 1e3 * each.latency_s.value, 1e3 * each.latency_s.sd)
            if each.first_byte is not None and has_server:
                figures |= dict(_quantiles(each.first_byte))
            if figures:
                rows.append({**about, "op": op, **figures})
        if part.cpu_cores and store_of(spec).cpu is not None and has_server:
            each_ms = 1e3 * part.cpu_cores / part.total_ops
            rows.append({**about, "op": ALL, **_with_deviation("server_cpu_ms", each_ms, _CPU_ERROR * each_ms)})
    about = {"table": "metrics", "workload": _workload(whole, spec.workload)}
    for op, each in whole.ops.items():
        if op not in in_parts and each.latency_s is not None and _has_mean(each):
            found = _with_deviation(mean, 1e3 * each.latency_s.value, 1e3 * each.latency_s.sd)
            rows.append({**about, "op": op, **found})
    return rows


def _has_mean(figures: OpMeasured) -> bool:
    """Return whether the mean time of an operation is known well enough."""
    found = figures.latency_s
    return found is not None and found.sd <= _MOST_DEVIATION * found.value


def _with_deviation(name: str, value: float, sd: float) -> Row:
    return {name: f"{value:.5g}", f"{name}_sd": f"{sd:.3g}"} if sd > 0 else {name: f"{value:.5g}"}


def _quantiles(histogram: Histogram) -> Iterator[tuple[str, str]]:
    """Yield the quantiles that lie in a bin with two edges above 0, at its middle.

    Within a bin nothing is known, so its deviation is that of an even distribution, the width over the root of 12.
    """
    count = float(histogram.counts.sum())
    for name, fraction in _QUANTILES.items():
        low, high = histogram.quantile_bin(fraction)
        if low > 0 and math.isfinite(high) and count * (1 - fraction) >= _LEAST_BEYOND:
            figure = f"server_first_byte_{name}_ms"
            yield from _with_deviation(figure, 1e3 * (low + high) / 2, 1e3 * (high - low) / math.sqrt(12)).items()


def _workload(part: Measured, like: Workload) -> str:
    """Return a part's workload as YAML on a line: at its mean rate, with the requests that a row needs."""
    fields = workload_fields(part, like)
    fields.pop("arrivals", None)
    fields["duration"] = f"{min(_LONGEST_S, _MOST_REQUESTS / part.total_ops):.6g}s"
    return json.dumps(fields)


def table_text(rows: Sequence[Row]) -> str:
    """Return rows as CSV; columns in the order in which rows have them first."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

"""Numbers and Runs in words: the same in tables on the terminal and in reports."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any

from traces.run import EARLIER_ATTEMPTS, Run
from traces.statistics.bootstrap import interval, resample
from traces.statistics.critical_path import CLIENT_LAG
from traces.statistics.summary import QUANTILES, ops_of, summarise
from validate.compare.compare import Comparison

LABELS = {
    "throughput_ops": "throughput",
    "mean": "mean",
    "min": "min",
    **{name: name.replace("_", ".") for name in QUANTILES},
    "max": "max",
    "w1": "Wasserstein",
    "count": "request count",
}
"""What the names of measures are called in text."""

ATTRIBUTION = (
    "Means over the requests whose latency is nearest to each quantile; where branches ran side by side, the one that "
    "was waited for longest counts."
)
"""What the parts of a latency are means of."""

_NONE = "–"
_MOST, _NAMED_PARTS = 2 / 3, 3  # a sentence names the parts that are most of the tail, but not all of many


def seconds(value: float | None) -> str:
    """``1.23 ms``: three digits and the unit that suits; less than a nanosecond is what rounding left of nothing."""
    if value is None or not math.isfinite(value):
        return _NONE
    if abs(value) < 1e-9:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if abs(value) * scale >= 0.9995:
            return f"{_digits(value * scale)} {unit}"
    return f"{_digits(value * 1e6)} µs"


def number(value: float | None) -> str:
    """``12,345`` or ``1.23``: three digits at least."""
    return _NONE if value is None or not math.isfinite(value) else _digits(value)


def byte_rate(value: float | None) -> str:
    """``1.23 MB/s``, in powers of 1000."""
    return _NONE if value is None or not math.isfinite(value) else f"{size(value)}/s"


def size(value: float) -> str:
    """``1.23 MB``, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 999.5:
            return f"{_digits(value)} {unit}"
        value /= 1000
    return f"{_digits(value)} TB"


def percent(log_ratio: float) -> str:
    """``+12.3%`` from the logarithm of a ratio; ``×4.56`` where it is more than a doubling."""
    if log_ratio > math.log(2):
        return f"×{_digits(math.exp(min(log_ratio, 700.0)))}"
    return f"{math.expm1(log_ratio) * 100:+.1f}%"


def percent_between(between: Sequence[float]) -> str:
    """An interval of log-ratios as percentages."""
    low, high = map(percent, between)
    return f"{low.removesuffix('%')} … {high}" if high.endswith("%") else f"{low} … {high}"


def _digits(value: float) -> str:
    if 0 < abs(value) < 0.995:
        return f"{value:.2g}"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def fraction(part: int, whole: int) -> str:
    """A count with its percentage."""
    return f"{part:,} ({_digits(part / whole * 100)}%)" if part and whole else f"{part:,}"


def requested(run: Run) -> str:
    """What the Run's requests were, where they went and when."""
    if not len(run):
        return f"No request was made; this {_origin(run)}."
    counts = {op: figures["count"] for op, figures in summarise(run)["ops"].items()}
    mix = ", ".join(f"{op} {count / len(run) * 100:.3g}%" for op, count in counts.items())
    clients = len(set(run.column("client").tolist()))
    moved = size(float(run.column("transfer_bytes").sum()))
    who = "1 client" if clients == 1 else f"{clients:,} clients"
    what = f"{len(run):,} requests ({mix}; {moved} of payload) from {who} in {seconds(run.duration_s)}"
    return f"{what}; this {_origin(run)}."


def _origin(run: Run) -> str:
    if run.info["kind"] == "measured":
        how = "was read from a real store's log" if "origin" in run.info else "is a measurement of a real store"
        return f"{how}, begun {run.info.get('started_at', 'at an unknown time')}"
    return f"is a simulation with seed {run.info.get('seed', 'unknown')}"


def found(run: Run) -> str:
    """Throughput, median and tail of each operation."""
    parts = []
    for op, figures in summarise(run)["ops"].items():
        latency = figures["latency_s"]
        parts.append(
            f"{op} at {number(figures['throughput_ops'])} op/s took {seconds(latency['p50'])} in the median, "
            f"{seconds(latency['p99'])} at p99, {seconds(latency['max'])} at worst"
        )
    return "; ".join(parts) + "." if parts else "There is nothing to find."


def sure(run: Run) -> str:
    """How far chance, failures and a late client limit what was found."""
    parts = []
    for op in ops_of(run):
        done = summarise(run)["ops"][op]
        if (done["count"] - done["errors"]) * 0.01 < 10:
            parts.append(f"too few {op}s succeeded to tell p99")
            continue
        low, high = interval(resample(run, op, ["p99"]).latency_s["p99"], 0.95)
        parts.append(f"{op} p99 lies in {seconds(low)} – {seconds(high)} with 95% confidence")
    failed = int(run.failed.sum())
    parts.append(f"{fraction(failed, len(run))} requests failed" if failed else "no request failed")
    if run.info["kind"] == "measured" and len(run) and "origin" not in run.info:
        parts.append(f"the client ran at most {seconds(float(run.lag_s.max()))} behind its schedule")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def tail_of(quantiles: Container[str]) -> str:
    """The quantile that stands for the tail, of those whose latency is attributed."""
    return "p99" if "p99" in quantiles else "p90"


def part(role: str, kind: str) -> str:
    """What a part of a latency is called; `kind` is ``waiting_s`` or ``service_s``."""
    if role in (CLIENT_LAG, EARLIER_ATTEMPTS):
        return role
    return f"waiting for {role}" if kind == "waiting_s" else f"service at {role}"


def tail_parts(op: str, bands: dict[str, Any]) -> str:
    """What an operation's tail mostly consists of, and how much of its median that is.

    `bands` are what `traces.statistics.critical_path.attribution` found of the operation.
    """
    tail = tail_of(bands)
    of_median, of_tail = _shares(bands["p50"]), _shares(bands[tail])
    if not of_tail:
        return f"{op} takes no time."
    largest = sorted(of_tail, key=lambda key: -of_tail[key])[:_NAMED_PARTS]
    named = [key for i, key in enumerate(largest) if sum(of_tail[k] for k in largest[:i]) < _MOST]
    parts = ", ".join(f"{of_tail[key]:.0%} {part(*key)}" for key in named)
    *others, last = (f"{of_median[key]:.0%}" for key in named)
    at_median = f"they are {', '.join(others)} and {last}" if others else f"it is {last}"
    return f"{LABELS[tail]} of {op}: {parts}; at p50 {at_median}."


def _shares(band: dict[str, Any]) -> dict[tuple[str, str], float]:
    """How much of a band's mean latency each part is, by role and kind."""
    whole_s = band["latency_s"]["mean"] or 1.0
    return {(role, kind): s / whole_s for role, spent in band["roles"].items() for kind, s in spent.items()}


def verdict(comparison: Comparison, names: tuple[str, str]) -> str:
    """What a comparison found, in a sentence."""
    limit = f"within ±{comparison.tolerance * 100:g}%"
    if comparison.verdict == "agree":
        return f"{names[0]} agrees with {names[1]} {limit}."
    where = "; ".join(
        f"{op} in {', '.join(LABELS[name] for name in result.differs_in)}"
        for op, result in comparison.ops.items()
        if result.differs_in
    )
    return f"{names[0]} differs from {names[1]} by more than {limit.removeprefix('within ')}: {where}."


def doubt(comparison: Comparison) -> str:
    """What a comparison could not tell, in a sentence."""
    where = "; ".join(
        f"{op} {', '.join(LABELS[name] for name in result.unsure_of)}"
        for op, result in comparison.ops.items()
        if result.unsure_of
    )
    intervals = f"{comparison.confidence * 100:g}% intervals reach both sides of the tolerance"
    if where:
        return f"Some {intervals}, so more requests could change the verdict, in: {where}."
    return f"None of the {intervals}: more requests of this kind would not change the verdict."

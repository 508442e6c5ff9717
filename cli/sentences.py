"""Sentences about Runs, their tails and comparisons, for terminals and pages."""

from __future__ import annotations

import re
from collections.abc import Container

from cli.words import LABELS, fraction, number, seconds, size
from traces.run import EARLIER_ATTEMPTS, Run
from traces.statistics.bootstrap import interval, resample
from traces.statistics.critical_path import CLIENT_LAG, AttributedBand
from traces.statistics.summary import subjects_of, summarise, too_few
from validate.compare.compare import Comparison

ATTRIBUTION = (
    "Means over the requests whose latency is nearest to each quantile. Of parallel branches, only the one that ended "
    "last counts."
)
"""Explanation of a tail attribution."""

_MOST, _NAMED_PARTS = 2 / 3, 3  # a sentence names parts up to this fraction of the tail, and at most this number


def requested(run: Run) -> str:
    """Describe the requests of a Run and their origin."""
    if not len(run):
        return f"No requests; this {_origin(run)}."
    counts = {op: figures["count"] for op, figures in summarise(run)["ops"].items()}
    mix = ", ".join(f"{op} {count / len(run) * 100:.3g}%" for op, count in counts.items())
    clients = len(set(run.column("client").tolist()))
    moved = size(float(run.column("transfer_bytes").sum()))
    who = " from 1 client" if clients == 1 else f" from {clients:,} clients"
    if clients == 1 and run.trace is not None and run.trace.pacing.loop == "open":
        who = ""  # arrivals are generated without clients
    what = f"{len(run):,} requests ({mix}; {moved} of payload){who} in {seconds(run.duration_s)}"
    return f"{what}; this {_origin(run)}."


def _origin(run: Run) -> str:
    if run.info["kind"] == "measured":
        how = (
            "was imported from the log of a real store" if "origin" in run.info else "is a measurement of a real store"
        )
        started = re.sub(r"\.\d+", "", str(run.info.get("started_at", "at an unknown time")))  # whole seconds
        return f"{how}, started {started}"
    return f"is a simulation with seed {run.info.get('seed', 'unknown')}"


def found(run: Run) -> str:
    """State throughput, median and tail of each operation."""
    parts = []
    for op, figures in summarise(run)["ops"].items():
        latency, few = figures["latency_s"], too_few(figures["count"] - figures["errors"])
        p50, p99 = (f"{seconds(latency[name])}{' (few)' if name in few else ''}" for name in ("p50", "p99"))
        parts.append(
            f"{op} at {number(figures['throughput_ops'])} op/s had a median of {p50}, a p99 of {p99} and a maximum of "
            f"{seconds(latency['max'])}"
        )
    return "; ".join(parts) + "." if parts else "There are no results."


def sure(run: Run, overloaded: bool = False) -> str:
    """State the uncertainty due to chance, failed requests and a late client; an overloaded store has no intervals."""
    parts = ["latency depends on how long the overload lasts, so it has no interval"] if overloaded else []
    for op in () if overloaded else subjects_of(run):
        done = summarise(run)["ops"][op]
        if (done["count"] - done["errors"]) * 0.01 < 10:
            parts.append(f"too few {op}s succeeded to estimate p99")
            continue
        low, high = interval(resample(run, op, ["p99"]).latency_s["p99"], 0.95)
        parts.append(f"the 95% interval of {op} p99 is {seconds(low)} – {seconds(high)}")
    failed = int(run.failed.sum())
    parts.append(f"{fraction(failed, len(run))} requests failed" if failed else "no request failed")
    if run.info["kind"] == "measured" and len(run) and "origin" not in run.info:
        parts.append(f"the client ran at most {seconds(float(run.lag_s.max()))} behind its schedule")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def tail_of(quantiles: Container[str]) -> str:
    """Return the quantile that represents the tail, of those with an attribution."""
    return "p99" if "p99" in quantiles else "p90"


def part(role: str, kind: str) -> str:
    """Return the label of a part of a latency; `kind` is ``waiting_s`` or ``service_s``."""
    if role in (CLIENT_LAG, EARLIER_ATTEMPTS):
        return role
    return f"waiting for {role}" if kind == "waiting_s" else f"service at {role}"


def tail_parts(op: str, bands: dict[str, AttributedBand]) -> str:
    """State the largest parts of an operation's tail, and their fractions of its median.

    `bands`: the result of `traces.statistics.critical_path.attribution` for the operation.
    """
    tail = tail_of(bands)
    of_median, of_tail = _fractions(bands["p50"]), _fractions(bands[tail])
    if not of_tail:
        return f"{op} takes no time."
    largest = sorted(of_tail, key=lambda key: -of_tail[key])[:_NAMED_PARTS]
    named = [key for i, key in enumerate(largest) if sum(of_tail[k] for k in largest[:i]) < _MOST]
    parts = ", ".join(f"{of_tail[key]:.0%} {part(*key)}" for key in named)
    *others, last = (f"{of_median[key]:.0%}" for key in named)
    at_median = f"they are {', '.join(others)} and {last}" if others else f"it is {last}"
    return f"{LABELS[tail]} of {op}: {parts}; at p50 {at_median}."


def _fractions(band: AttributedBand) -> dict[tuple[str, str], float]:
    """Return the fraction of a band's mean latency that each part is, by role and kind."""
    whole_s = band["latency_s"]["mean"] or 1.0
    return {(role, kind): s / whole_s for role, spent in band["roles"].items() for kind, s in spent.items()}


def verdict(comparison: Comparison, names: tuple[str, str]) -> str:
    """State the verdict of a comparison."""
    limit = f"within ±{comparison.tolerance * 100:g}%"
    if comparison.verdict == "agree":
        unsure = sum(len(result.unsure_of) for result in comparison.ops.values())
        if not unsure:
            return f"{names[0]} agrees with {names[1]} {limit}."
        doubtful = "1 is" if unsure == 1 else f"{unsure} are"
        return f"{names[0]} may agree with {names[1]} {limit}: no figure differs for sure, {doubtful} unsure."
    where = "; ".join(
        f"{op} in {', '.join(LABELS[name] for name in result.differs_in)}"
        for op, result in comparison.ops.items()
        if result.differs_in
    )
    return f"{names[0]} differs from {names[1]} by more than {limit.removeprefix('within ')}: {where}."


def doubt(comparison: Comparison) -> str:
    """State for which measures more requests could change the verdict."""
    where = "; ".join(
        f"{op} {', '.join(LABELS[name] for name in result.unsure_of)}"
        for op, result in comparison.ops.items()
        if result.unsure_of
    )
    intervals = f"{comparison.confidence * 100:g}% intervals include the tolerance"
    if where:
        return f"Some {intervals}, so more requests could change the verdict, in: {where}."
    return f"None of the {intervals}: more requests of this kind would not change the verdict."

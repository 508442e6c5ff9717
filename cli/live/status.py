"""How a replay is doing, as a sentence and a table."""

from __future__ import annotations

from typing import Literal, NamedTuple

from cli.live.history import RECENT_S, History, Window, served
from cli.tables.grid import Grid
from cli.words import number, seconds
from validate.replay.schedule import LATE_S, LEAST_RATE
from validate.replay.seconds import Second, quantile_s

_FEW = 10  # open requests that say nothing about the store
_LEAST = 100  # requests of a p99


class Status(NamedTuple):
    """A state with its sentence.

    Attributes:
        mark: ``good``, ``unsure`` or ``bad``.
        sentence: begins with the state.
        meaning: what follows from a state that is not good.
    """

    mark: Literal["good", "unsure", "bad"]
    sentence: str
    meaning: str = ""


def status_of(history: History) -> Status:
    """Return how a replay has been doing in its last seconds."""
    recent, subject = history.recent(), history.subject
    if recent is None:
        return Status("unsure", "Starting: the first figures come after two seconds.")
    counts = recent.counts
    failed, ended = counts.failed.total(), counts.served + counts.failed.total()
    open_now = _open(history) if subject.open_loop else 0
    lag_s = quantile_s(counts.lag, 0.99) if counts.lag else 0.0
    said = f"{_rates(recent, subject.open_loop)}; starts are {seconds(lag_s)} late at p99; {_failures(counts)}"
    said += f" (last {recent.span_s:g} s)."
    behind = subject.open_loop and ended < LEAST_RATE * counts.due and open_now > _FEW
    if failed:
        return Status("bad", f"Failing: {said}", f"Most frequent reason: {_most_frequent(counts)}.")
    if behind:
        return Status("bad", f"Behind: {said}", f"{open_now:,} requests were due and have not ended.")
    if lag_s > LATE_S:
        limit = f"The limit is {seconds(LATE_S)}"
        return Status("unsure", f"Late: {said}", f"{limit}. Latencies include the delay.")
    return Status("good", f"{'Keeping up' if subject.open_loop else 'Running'}: {said}")


def _open(history: History) -> int:
    """Return how many requests were due and have not ended."""
    whole = history.whole
    return max(0, whole.due - whole.served - whole.failed.total())


def _rates(recent: Window, open_loop: bool) -> str:
    rate = number(recent.counts.served / recent.span_s)
    of = f" of {number(recent.counts.due / recent.span_s)}" if open_loop else ""
    return f"{rate}{of} op/s are served"


def _failures(counts: Second) -> str:
    failed = counts.failed.total()
    return f"{failed:,} of {failed + counts.served:,} requests failed" if failed else "no request failed"


def _most_frequent(counts: Second) -> str:
    return counts.errors.most_common(1)[0][0]


def elapsed(history: History) -> tuple[float, str]:
    """Return which fraction of a replay is over, and how much, in words."""
    subject, whole = history.subject, history.whole
    if subject.length_s:
        done = min(1.0, history.now_s / subject.length_s)
        over = history.now_s > subject.length_s + 1.0
        text = f"{history.now_s:,.0f} s of {subject.length_s:,.0f} s"
        return done, f"{text}: the last requests take their time" if over else text
    ended = whole.served + whole.failed.total()
    return min(1.0, ended / max(subject.requests, 1)), f"{ended:,} of {subject.requests:,} requests"


def table_of(history: History) -> Grid:
    """Return the figures of each operation, of the last seconds and of the whole replay until now."""
    recent, whole = history.recent(), history.whole
    last, span_s = (recent.counts, recent.span_s) if recent is not None else (Second(), 1.0)
    columns = ["operation", "op/s now", "p50 now", "p99 now", "p50 so far", "p99 so far", "requests", "failed"]
    rows = []
    for op in operations(whole):
        rate = number(last.latency[op].total() / span_s) if op in last.latency else "0"
        issued = served(whole).get(op, 0) + whole.failed[op]
        figures = [*_quantiles(last, op), *_quantiles(whole, op)]
        rows.append([op, rate, *figures, f"{issued:,}", f"{whole.failed[op]:,}"])
    return Grid("", columns, rows)


def operations(counts: Second) -> list[str]:
    """Return the operations that were issued, the most frequent first."""
    done = served(counts)
    return sorted({*done, *counts.failed}, key=lambda op: (-done.get(op, 0) - counts.failed[op], op))


def _quantiles(counts: Second, op: str) -> list[str]:
    bins = counts.latency.get(op)
    if not bins:
        return ["–", "–"]
    return [seconds(quantile_s(bins, 0.5)), seconds(quantile_s(bins, 0.99)) if bins.total() >= _LEAST else "–"]


def errors_of(history: History) -> Grid:
    """Return the reasons of failed requests, the most frequent first."""
    rows = [[reason, f"{count:,}"] for reason, count in history.whole.errors.most_common()]
    return Grid("Failed requests", ["reason", "requests"], rows)


NOTE = (
    f"Now: the last {RECENT_S} s. Latency is that of successful requests, from their intended start; a p99 needs "
    f"{_LEAST} of them."
)
"""What the figures are."""

"""Whether runs are long enough for what is read from them: they have settled, and have enough independent requests.

A run begins with an empty store. Its response times and, in a closed loop, its rate are those of a start until queues
have reached their usual lengths. Figures are means over all of a run, so the start biases them; and confidence
intervals, which show by how much replications differ from each other, do not show a bias that all have in common. For
each operation, the `PARTS` consecutive parts of all replications are compared:

- *Start*. The first parts of all replications are compared with those of the second half by the rank sum test of Mann
  and Whitney (Annals of Mathematical Statistics 18(1), 1947), for several lengths of the start; the tests of all
  operations together have the level `FALSE_ALARMS` (Bonferroni). That compares the start of a run with its end, as
  Schruben's tests of initialization bias do ("Detecting initialization bias in simulation output", Operations Research
  30(3), 1982).
- *Caches*. Those that are empty at first fill; the expected service times of the requests tell (`sim.demands`).
- *Correlation*. The parts of a long run are independent. The number of independent ones is n / (1 + 2 Σ ρ), with
  Geyer's initial positive sequence of autocorrelations ρ ("Practical Markov chain Monte Carlo", Statistical Science
  7(4), 1992), pooled over all replications. A start takes about as long as parts are correlated.
- *Tail*. Slow requests come in bursts. Their number over its dispersion (variance over mean of the number in a
  part, times n over the number of independent parts) is that of independent ones.
- *Clients*. Those of a closed loop begin together and end one after the other. The error of the rate is up to one
  request of each.
- *Responses*. In an open loop that is hardly longer than a response takes, few requests meet the queues of a store in
  use, and the last responses come long after the last arrival, so rates of the run are too low.
- *Cycle*. A run of few cycles of periodic work, such as garbage collections, has more or less of it than on average.

The limits follow from coverage (`benchmarks/interval_coverage.py`, figures in the CSV file of the same name): where no
warning is printed, 95 % intervals contain the long-run value in about 95 % of cases. What is warned of depends on the
same random numbers as the figures: runs of nearly the length needed that are not warned of have a calm tail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from sim.replication.rank_sum import rank_sum_p
from sim.replication.run_parts import PARTS, RunParts
from traces.statistics.summary import Floats, requests_for

Cause = Literal["start", "correlation", "cycle", "tail", "clients", "responses"]

FALSE_ALARMS = 0.01
"""Probability that runs that have settled are said to be in their start."""
LEAST_INDEPENDENT, LEAST_OF_FEW = 40, 30
"""Least number of independent parts of a run, out of `PARTS`; of one or two runs, whose autocorrelations are noisy."""
LEAST_CYCLES = 3
"""Least number of cycles of periodic work in a run."""
_LEAST_RESPONSES = 10
"""Least length of an open loop in mean response times, so that its rate is within a tenth of that of arrivals."""
_LEAST_TAIL, _MOST_TAIL, _TAIL_EACH = 10, 25, 5
"""Least number of independent requests beyond p99: 5 for each replication, at least 10, at most 25 of all."""
_STARTS = ((1, 1), (4, 1), (16, 2), (32, 4))
"""Parts of a start, and of the blocks in which it is compared with the second half."""
_BEYOND = "requests beyond p99"
_EACH_CLIENT, _EACH_CLIENT_OF_FEW = 300, 100
"""Least number of requests of a client, whose rate has an error of up to one request; of few replications."""
_FEW = 3
"""Number of replications below which a start of one part is found by a t test of square roots."""
_RELEVANT, _RELEVANT_OF_FEW = 0.001, 0.01
"""Error of a mean, as a fraction of it, that is relevant; less in that of several replications."""
_LONGER = 4.0
"""Factor by which a run that is in its start should be longer."""


@dataclass(frozen=True)
class Unsettled:
    """Why runs are too short.

    Attributes:
        cause: ``start``: the beginning differs from the rest; ``correlation``: queues fill and drain in a time that is
            not much shorter than the run; ``cycle``: so is a cycle of periodic work; ``tail``: slow requests are few,
            or come in few bursts; ``clients``: those of a closed loop, which begin together and end one after the
            other, have few requests each; ``responses``: arrivals last for few response times.
        longer: factor by which a run should be longer, at least.
        op: the operation; None: all.
        figure: ``start``, ``correlation``: ``response time``, ``op/s``, or ``requests beyond p99``; ``start``: also
            ``service time``, if caches are empty at first.
        ratio: ``start``: mean of the figure in the first parts over that in the second half.
        work, period_s: ``cycle``: the periodic work, and the time from one beginning to the next.
        independent: ``tail``: number of independent slow requests; ``correlation``: of independent parts; ``clients``:
            of requests of a client; ``responses``: mean response times in the time of the arrivals.
    """

    cause: Cause
    longer: float
    op: str | None = None
    figure: str | None = None
    ratio: float | None = None
    work: str | None = None
    period_s: float | None = None
    independent: float | None = None


def unsettled(
    parts: Sequence[Mapping[str, RunParts]],
    *,
    closed: bool,
    cycles_s: Mapping[str, float],
    each_client: float = math.inf,
    starts: Mapping[str, float] | None = None,
) -> list[Unsettled]:
    """Return why runs of one spec are too short, what needs the longest run first; empty if they are long enough.

    Args:
        parts: of each replication, by operation.
        closed: whether the store determines the rate, as in a closed loop.
        cycles_s: mean time between two beginnings of periodic work, by its name.
        each_client: number of requests of a client of a closed loop.
        starts: mean work of the first half of a run over that of the second, of operations where they differ.
    """
    ops = dict.fromkeys(op for each in parts for op in each)
    runs = {op: [each[op] for each in parts if op in each] for op in ops}
    figures = {op: _figures(mine, closed) for op, mine in runs.items()}
    level = FALSE_ALARMS / (len(_STARTS) * max(1, sum(map(len, figures.values()))))
    found = [each for op, of_op in figures.items() for each in _starts(op, of_op, level)]
    found += [each for op, of_op in figures.items() for each in _correlations(op, of_op)]
    found += [each for op, mine in runs.items() for each in _tails(op, mine)]
    found += [] if closed else [each for op, mine in runs.items() for each in _responses(op, mine)]
    span_s = max((run.span_s for mine in runs.values() for run in mine), default=math.inf)
    for work, period_s in cycles_s.items():
        if span_s < LEAST_CYCLES * period_s:
            found.append(Unsettled("cycle", LEAST_CYCLES * period_s / span_s, work=work, period_s=period_s))
    found += [Unsettled("start", _LONGER, op, "service time", ratio) for op, ratio in (starts or {}).items()]
    least = _EACH_CLIENT if len(parts) >= _FEW else _EACH_CLIENT_OF_FEW
    if each_client < least:
        found.append(Unsettled("clients", least / each_client, independent=each_client))
    return sorted(found, key=lambda each: -each.longer)


def _figures(runs: Sequence[RunParts], closed: bool) -> dict[str, Floats]:
    """Return the series of parts that are compared, by their names, shape (replications, `PARTS`)."""
    response_s, count = np.array([run.response_s for run in runs]), np.array([run.count for run in runs])
    mean_s = np.where(count > 0, response_s / np.maximum(count, 1), response_s.sum() / count.sum())
    return (
        {"response time": mean_s}
        | ({"op/s": np.array([run.ended for run in runs])} if closed else {})
        | {_BEYOND: _beyond(runs)}
    )


def _beyond(runs: Sequence[RunParts]) -> Floats:
    return np.array([run.beyond for run in runs])


def _starts(op: str, figures: Mapping[str, Floats], level: float) -> Iterator[Unsettled]:
    for figure, values in figures.items():
        rest = values[:, PARTS // 2 :]
        for length, block in _STARTS:
            first, others = (each.reshape(-1, block).mean(axis=1) for each in (values[:, :length], rest))
            if not others.any():
                continue
            ratio = float(first.mean() / others.mean())
            is_relevant = length / PARTS * abs(ratio - 1) > _relevant(values)
            if is_relevant and _differ(first, others, len(values), level):
                yield Unsettled("start", _LONGER, op, figure, ratio)
                break


def _relevant(values: Floats) -> float:
    return _RELEVANT if len(values) >= _FEW else _RELEVANT_OF_FEW


def _differ(first: Floats, others: Floats, replications: int, level: float) -> bool:
    """Return whether the blocks of a start differ from others."""
    if rank_sum_p(first, others) < level:
        return True
    roots = np.sqrt(first), np.sqrt(others)
    if replications >= _FEW or np.ptp(roots[1]) == 0:
        return False
    error = float(roots[1].std(ddof=1)) * math.sqrt(1 / len(first) + 1 / len(others))
    t = abs(float(roots[0].mean() - roots[1].mean())) / error
    return bool(2 * scipy.special.stdtr(len(others) - 1, -t) < level)


def _correlations(op: str, figures: Mapping[str, Floats]) -> Iterator[Unsettled]:
    for figure, values in figures.items():
        independent, least = independent_parts(values), LEAST_INDEPENDENT if len(values) >= _FEW else LEAST_OF_FEW
        error = float(values.std() / values.mean()) / math.sqrt(independent) if values.any() else 0.0
        if figure != _BEYOND and independent < least and error > _relevant(values):
            yield Unsettled("correlation", 2 * least / independent, op, figure, independent=independent)


def independent_parts(values: Floats) -> float:
    """Return the number of independent parts of a run, given series of shape (replications, `PARTS`).

    The sequence ends with the first pair of autocorrelations that is below its standard error.
    """
    centred = values - values.mean()
    variance = float((centred**2).mean())
    if not variance:
        return float(PARTS)
    rho = [float((centred[:, lag:] * centred[:, :-lag]).mean()) / variance for lag in range(1, PARTS // 2)]
    total, error = 0.0, math.sqrt(2 / values.size)
    for pair in zip(rho[::2], rho[1::2], strict=False):
        if sum(pair) <= error:
            break
        total += sum(pair)
    return PARTS / (1 + 2 * total)


def _tails(op: str, runs: Sequence[RunParts]) -> Iterator[Unsettled]:
    beyond = _beyond(runs)
    if sum(float(run.count.sum()) for run in runs) < requests_for("p99"):
        return  # too few requests, which is said elsewhere
    if not beyond.any():
        return  # p99 is the longest latency, that of many requests that do not wait
    dispersion = float(beyond.var() / beyond.mean()) * PARTS / independent_parts(beyond)
    independent = float(beyond.sum()) / max(1.0, dispersion)
    least = max(_LEAST_TAIL, min(_MOST_TAIL, _TAIL_EACH * len(runs)))
    if independent < least:
        yield Unsettled("tail", 1.5 * least / max(independent, 1.0), op, independent=independent)


def _responses(op: str, runs: Sequence[RunParts]) -> Iterator[Unsettled]:
    response_s = sum(float(run.response_s.sum()) for run in runs) / sum(float(run.count.sum()) for run in runs)
    responses = min(run.span_s for run in runs) / response_s
    if responses < _LEAST_RESPONSES:
        yield Unsettled("responses", 2 * _LEAST_RESPONSES / responses, op, independent=responses)


def needed(ends: Mapping[str, float], longer: float) -> dict[str, float]:
    """Return the ends, by field, of a workload that is longer by a factor, rounded up to two digits."""
    return {name: _rounded_up(value * longer) for name, value in ends.items()}


def _rounded_up(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    result = math.ceil(value / unit - 1e-9) * unit
    return round(result) if result >= 10 else round(result, 12)

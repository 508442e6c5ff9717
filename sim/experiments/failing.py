"""What a failure makes of the requests: which of them fail, what would help, and whether objectives are met."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.store import Spec, spec_of
from sim.experiments.failure_kinds import Failure
from sim.experiments.measures import ERRORS, Measures
from sim.replication.slo import UTILIZATION, Slo, SloResult
from sim.simulate import simulate
from traces.errors import InputError
from traces.spec.spec_file import replaced
from traces.statistics.summary import QUANTILES

_MOST_REFUSED = 3_000_000  # requests that may fail in a run
_RETRIES = {"client.retry.retries": 2}
_HELPS = 0.5
"""A change helps if it leaves at most this fraction of the failed requests."""


@dataclass(frozen=True)
class Remedy:
    """A change of a spec, and the fraction of the requests that fail with it while the failure lasts."""

    set: dict[str, Any]
    errors: float


def evaluated(slo: Slo, measures: Measures) -> SloResult:
    """Evaluate an objective during a failure; the latency of a failed request counts as infinite."""
    result = slo.evaluate(measures)
    if slo.figure == UTILIZATION:
        return result
    allowed = 0.0 if slo.figure == "max" else 1 - QUANTILES.get(slo.figure, 0.0)
    if measures.interval(str(slo.subject), ERRORS).value > allowed:
        return SloResult("fail", math.inf, math.inf, math.inf)
    return result


def refuse_instant_retries(spec: Spec, failure: Failure, lasts_s: float | None) -> None:
    """Refuse a closed loop whose clients would issue one refused request after the other without a pause.

    Args:
        lasts_s: duration of the failure; None: the requests of the run are limited by their number.

    Raises:
        InputError: more requests would fail than a run may have.
    """
    closed = [part for part in spec.workload.parts.values() if part.rate is None]
    if lasts_s is None or not failure.fault(spec).refuses or not closed or spec.client.retry.retries:
        return
    again_s = [2 * spec.network.latency + part.think_time.mean for part in closed]
    most = sum(part.clients / (s or 1.0) for part, s in zip(closed, again_s, strict=True)) * lasts_s
    if most > _MOST_REFUSED:
        raise InputError(
            f"failure {failure.text}: clients of a closed loop issue the next request at once when one is refused, "
            f"up to {most:,.0f} times; set client.retry.retries (with pauses), workload.think_time or workload.rate"
        )


def remedies(
    data: Mapping[str, Any], source: str, failure: Failure, errors: float, window_s: tuple[float, float], seed: int
) -> list[Remedy]:
    """Return the changes with which fewer requests fail, by one simulation of each, the best first.

    Retries are tried in any store, further changes are those of the failure (`FaultKind.helps`).

    Args:
        data: the contents of a spec file, with the failure among its faults.
        source: name of the spec in messages.
        errors: fraction of the requests that fail in the window without a change.
        window_s: beginning and end of the failure; a request belongs to the time at which it arrives.
        seed: of the simulations.
    """
    spec, found = spec_of(dict(data), source), []
    for change in (*failure.fault(spec).helps, _RETRIES):
        if change is _RETRIES and spec.client.retry.retries:
            continue
        try:
            changed = spec_of(replaced(data, change), source)
            if changed == spec:
                continue
            left = _errors(changed, window_s, seed)
        except InputError:  # the store cannot have it
            continue
        if left <= _HELPS * errors:
            found.append(Remedy(dict(change), left))
    return sorted(found, key=lambda remedy: remedy.errors)


def _errors(spec: Spec, window_s: tuple[float, float], seed: int) -> float:
    """Return the fraction of the requests that arrive in a window and fail."""
    run = simulate(spec, seed=seed)
    arrival_s = run.requests["arrival_s"].to_numpy()
    mine = (arrival_s >= window_s[0]) & (arrival_s < window_s[1])
    return float(run.failed[mine].mean()) if mine.any() else 0.0

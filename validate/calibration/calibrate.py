"""Calibration: fits a spec's parameters to measured Runs and to published tables, with confidence intervals.

Its three steps are staged estimates without simulation (`initial_estimates`); a global fit of simulated to measured
log-quantiles, log-throughputs and CPU times (`fit`); intervals of the values (`uncertainty`). It returns a `Profile`.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.shared.client_policy import ClientPolicies
from models.spec.spec_values import fit_at, value_at
from models.store import Spec
from traces.errors import InputError
from traces.provenance import code_version, hash_of_spec, release
from traces.run import Run
from traces.trace import Trace
from validate.calibration.fit import SEEDS, Linear, Problem
from validate.calibration.initial_estimates import staged_estimates
from validate.calibration.parameters import (
    PER_BYTE,
    Parameter,
    check,
    has_several_sizes,
    matters,
    parameters_of,
    told_apart,
)
from validate.calibration.profile import Estimate, FittedRow, FittedRun, Profile, Residual
from validate.calibration.published import PublishedRow
from validate.calibration.simulations import SimulatedWorkload, simulated_trace, simulations
from validate.calibration.targets import Targets, targets_of
from validate.calibration.uncertainty import (
    discrepancy,
    identified,
    indistinguishable,
    intervals,
    joined,
    together,
    total_noise,
)
from validate.compare.figures import Floats, Label
from validate.compare.measured import Measured
from validate.compare.repetitions import repetition_warnings
from validate.forecast.configurations import labels_of
from validate.replay.cpu_usage import measured_cpu_s, models_cpu

_SAME_START = 0.1  # largest difference of log-values that are the same starting point
_FIRST_DISCREPANCY = 0.03  # model discrepancy before it is estimated
_FAR = 20.0  # excess of weighted squares beyond which the end of a search is no solution


def calibrate(
    spec: Spec,
    runs: Sequence[tuple[str, Run]],
    parameters: Sequence[Parameter] | None = None,
    *,
    source: str = "spec",
    seed: int = 0,
    confidence: float = 0.95,
    workers: int = 1,
    anyway: bool = False,
    leave_out: bool = False,
    server_s: Mapping[str, Floats] | None = None,
    published: Sequence[PublishedRow] = (),
    progress: Callable[[float], None] = lambda done: None,
) -> Profile:
    """Fit the parameters so that simulated Runs are closest to the measured ones.

    The same input and seed give the same profile, whatever the number of workers.

    Args:
        spec: the store; its workload is ignored, as the trace of each Run is simulated, with its recorded timeouts,
            retries and hedging if any.
        runs: the Runs to fit, by name; failed requests are left out.
        parameters: the parameters to fit, as far as the Runs depend on them; None: `parameters_of` the spec.
        source: the file of the spec.
        seed: seed of all simulations and of the bootstrap.
        confidence: confidence level of the intervals.
        workers: number of processes for the simulations.
        anyway: also fit Runs that fail the run-quality check (`validate.compare.run_quality`); the profile lists them.
        leave_out: fit the others instead of refusing Runs that fail it; the profile lists them.
        server_s: seconds that each request took at the server (`server_trace.matched`), by name of the Run; quantiles
            of these, and of the rest of the latency, are fitted too.
        published: rows of published tables, whose figures are fitted together with those of the Runs; each is simulated
            with its settings and the spec's workload.
        progress: called with the approximate fraction done.

    Raises:
        InputError: there is nothing to fit, a parameter or its bounds do not suit the spec, or a Run cannot be fitted.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    parameters = parameters_of(spec) if parameters is None else list(parameters)
    if not (runs or published) or not parameters:
        raise InputError("a fit needs at least one Run or published row, and one parameter")
    check(spec, parameters, source)
    with_cpu = models_cpu(spec)
    measured = [Measured(name, run, (server_s or {}).get(name), with_cpu) for name, run in runs]
    measured, left_out = _usable(measured, anyway, leave_out)
    _check_workloads(measured)
    targets = targets_of(measured, seed, published)
    workloads = [_workload(spec, measured, published, members[0]) for members in targets.configurations]
    sizes = np.concatenate([workload.trace.transfer_bytes for workload in workloads])
    relevant, matter = _relevant(parameters, workloads)
    parameters = told_apart(spec, relevant, sizes)
    matter = matter[:, [parameter in parameters for parameter in relevant]]
    per_byte = [p.path for p in relevant if p.path.endswith(PER_BYTE)]
    first = staged_estimates(spec, parameters, measured)
    guess = np.log([first.values[p.path] for p in parameters])
    requested = [
        _requested(measured, published, members, targets.of(c)) for c, members in enumerate(targets.configurations)
    ]
    starts = _starting_points(spec, parameters, guess)
    expected = _expected(matter, len(starts))
    with simulations(spec, requested, workers, lambda n: progress(min(0.99, n / expected))) as simulated:
        simulated_requests = np.array([len(a.trace) for a in requested])[targets.configuration]
        # A published row is of many requests.
        requests = np.array([*(len(m.run) for m in measured), *(math.inf for _ in published)])
        lengths = simulated_requests / requests[targets.run]
        problem = Problem(simulated, parameters, guess, matter, targets, lengths, seed)
        solution = _solve(problem, starts, confidence)
    notes = [
        *first.notes,
        *left_out,
        *_ignored_issues(measured),
        *_of_one_size(per_byte, {p.path for p in parameters}, sizes),
    ]
    for members in _of_runs(targets, measured):
        notes += repetition_warnings([(measured[i].name, measured[i].run) for i in members])
    if not with_cpu and any(measured_cpu_s(run) for _, run in runs):
        notes.append(f"CPU times were not fitted: the model of {spec.store} has no CPU times of its processes")
    names = [*(m.name for m in measured), *(row.name for row in published)]
    return Profile(
        store=spec.store,
        spec=Path(source).name,
        confidence=confidence,
        parameters=_estimates(problem, solution),
        runs=_fitted_runs(measured, targets),
        rows=tuple(FittedRow(name=row.name, settings=row.settings) for row in published),
        residuals=tuple(_residuals(names, targets, solution.near)),
        noise=targets.noise,
        discrepancy=solution.discrepancy,
        rms_log_error=float(np.sqrt(np.mean((solution.near.figures - targets.values) ** 2))),
        notes=tuple(notes),
        together=together(problem, solution.near, solution.variance),
        seed=seed,
        simulations=simulated.count,
        versions={"python": platform.python_version(), "tailcast": release()}
        | {name: metadata.version(name) for name in ("numpy", "scipy")},
        tailcast=code_version(),
        spec_hash=hash_of_spec(spec.model_dump(mode="json", exclude_unset=True)),
    )


@dataclass(frozen=True)
class _Solution:
    """The solution of the problem.

    Attributes:
        near: the problem, linearised at the solution.
        variance: variance of the log-errors, from which the weights are derived, shape (figures,).
        discrepancy: as in a `Profile`.
        low, high: intervals of the log-parameters, shape (parameters,).
    """

    near: Linear
    variance: Floats
    discrepancy: float
    low: Floats
    high: Floats


def _expected(matter: NDArray[np.bool_], starts: int) -> float:
    """Return the approximate number of simulations of a fit, for the progress bar."""
    centre, slopes = len(matter), sum(2 << int(n).bit_length() for n in matter.sum(axis=1))
    return starts * 1.5 * (6 * (2 * centre + slopes) + 3 * (SEEDS * centre + 2 * slopes))


def _usable(measured: Sequence[Measured], anyway: bool, leave_out: bool) -> tuple[list[Measured], list[str]]:
    """Return the Runs to fit, and a sentence on each that is left out.

    Raises:
        InputError: a Run has no successful request, or fails the run-quality check and is neither fitted anyway nor
            left out; or all are left out.
    """
    if anyway and leave_out:
        raise InputError("Runs that fail the run-quality check are either fitted anyway or left out, not both")
    for m in measured:
        if not m.succeeded and not leave_out:
            raise InputError(f"{m.name}: has no successful request; there is nothing to fit")
    used = [m for m in measured if anyway or m.quality.usable]
    failed = [] if anyway else [m for m in measured if not m.quality.usable]
    reasons = [f"{m.name}: {'; '.join(m.quality.reasons)}" for m in failed]
    if failed and not (leave_out and used):
        which = "it" if len(failed) == 1 else "them"
        instead = f"leave {which} out" if used else "measure again"
        reasons[-1] += f"; {instead}, or fit {which} anyway"
        raise InputError(*reasons)
    return used, [f"{m.name} was left out: {'; '.join(m.quality.reasons)}" for m in failed]


def _check_workloads(measured: Sequence[Measured]) -> None:
    """Check that the workloads of all Runs are known.

    Raises:
        InputError: some are not; a line for each.
    """
    unknown = []
    for m in measured:
        try:
            m.requested  # noqa: B018 - found here, so that the message has the Run's name
        except InputError as error:
            unknown.append(f"{m.name}: {error}")
    if unknown:
        raise InputError(*unknown)


def _ignored_issues(measured: Sequence[Measured]) -> list[str]:
    return [f"{m.name} was fitted although {'; '.join(m.quality.reasons)}" for m in measured if not m.quality.usable]


def _of_one_size(per_byte: Sequence[str], fitted: Set[str], size_bytes: NDArray[np.int64]) -> list[str]:
    """Return a note on times per byte if objects have about one size: that they are not fitted, or fitted all the same.

    Args:
        per_byte: paths of those that the Runs depend on.
        fitted: paths of the fitted parameters.
        size_bytes: sizes of the objects that are transferred; 0 is none.
    """
    if not per_byte or not np.any(size_bytes > 0) or has_several_sizes(size_bytes):
        return []
    size_kib = size_bytes[size_bytes > 0].mean() / 1024
    about = f"All objects have about {size_kib:,.0f} KiB, so times per byte cannot be told from constant ones"
    notes = []
    if kept := [path for path in per_byte if path not in fitted]:
        notes.append(f"{about}; {', '.join(kept)} keeps the value of the spec: add Runs of objects of another size")
    if len(kept) < len(per_byte):
        notes.append(f"{about}, and forecasts of other sizes may be far off: add Runs of objects of another size")
    return notes


def _starting_points(spec: Spec, parameters: Sequence[Parameter], guess: Floats) -> list[Floats]:
    """Return the starting points of the search: the staged estimates, and the same with the spec's slow modes.

    The staged estimate of a tail with few requests may be too far off for the search to leave it.
    """
    tail = np.array([(fit := fit_at(spec, p.path)) is not None and fit.tail for p in parameters])
    given = np.log([value_at(spec, p.path) for p in parameters])
    return [guess, np.where(tail, given, guess)] if np.any(np.abs(given - guess)[tail] > _SAME_START) else [guess]


def _solve(problem: Problem, starts: Sequence[Floats], confidence: float) -> _Solution:
    """Search from each starting point, estimate the model discrepancy at the best end, and continue with its weights.

    If several ends fit about equally well, the intervals contain them all.
    """
    noise = problem.targets.covariance
    variance = np.diag(noise) + _FIRST_DISCREPANCY**2
    ends = [problem.polish(problem.search(start, variance), variance) for start in starts]
    least = min(ends, key=_cost)
    variance = np.diag(noise) + discrepancy(problem, least, noise) ** 2
    near_best = (end for end in ends if end.cost < least.cost + _FAR)
    ends = sorted((problem.polish(end.point, variance) for end in near_best), key=_cost)
    good = indistinguishable([end.cost for end in ends], confidence)
    ends = [problem.sharpened(end, variance) for end, ok in zip(ends, good, strict=True) if ok]
    near = ends[0]
    noise = total_noise(problem, near)
    missed = discrepancy(problem, near, noise)
    covariance = noise + missed**2 * problem.targets.same_figure
    each = [intervals(problem, end, covariance, variance, confidence) for end in ends]
    return _Solution(near, variance, missed, *joined(each))


def _cost(end: Linear) -> float:
    return end.cost


@dataclass(frozen=True)
class _Workload:
    """What a configuration simulates: the spec, the requests, and the policies of clients (None: the spec's)."""

    name: str
    spec: Spec
    trace: Trace
    policies: ClientPolicies | None


def _workload(spec: Spec, measured: Sequence[Measured], published: Sequence[PublishedRow], i: int) -> _Workload:
    if i < len(measured):
        return _Workload(measured[i].name, spec, measured[i].trace, measured[i].policies)
    row = published[i - len(measured)]
    return _Workload(row.name, row.spec, row.trace, None)


def _requested(
    measured: Sequence[Measured], published: Sequence[PublishedRow], members: Sequence[int], labels: tuple[Label, ...]
) -> SimulatedWorkload:
    if members[0] >= len(measured):
        row = published[members[0] - len(measured)]
        return SimulatedWorkload(row.trace, labels, None, published=row)
    first, requests = measured[members[0]], max(len(measured[i].run) for i in members)
    return SimulatedWorkload(simulated_trace(first.trace, requests), labels, first.policies, first.faults)


def _of_runs(targets: Targets, measured: Sequence[Measured]) -> list[tuple[int, ...]]:
    """Return the configurations that are of Runs, not of published rows."""
    return [members for members in targets.configurations if members[0] < len(measured)]


def _relevant(
    parameters: Sequence[Parameter], workloads: Sequence[_Workload]
) -> tuple[list[Parameter], NDArray[np.bool_]]:
    """Return the parameters on which any workload depends, and which depends on which, shape (workloads, parameters).

    Raises:
        InputError: a workload depends on no parameter.
    """
    matter = np.array([matters(w.spec, parameters, w.trace, w.policies) for w in workloads])
    for workload, own in zip(workloads, matter, strict=True):
        if not np.any(own):
            raise InputError(f"{workload.name}: its workload depends on none of the parameters to fit; leave it out")
    used: list[bool] = np.any(matter, axis=0).tolist()
    return [p for p, use in zip(parameters, used, strict=True) if use], matter[:, used]


def _estimates(problem: Problem, solution: _Solution) -> dict[str, Estimate]:
    identifiable = identified(problem, solution.low, solution.high)
    return {
        p.path: Estimate(
            value=float(np.clip(np.exp(solution.near.point[i]), p.low, p.high)),
            low=float(np.clip(np.exp(solution.low[i]), p.low, p.high)),
            high=float(np.clip(np.exp(solution.high[i]), p.low, p.high)),
            identified=identifiable[i],
            guess=float(np.exp(problem.guess[i])),
            bounds=(p.low, p.high),
        )
        for i, p in enumerate(problem.parameters)
    }


def _fitted_runs(measured: Sequence[Measured], targets: Targets) -> tuple[FittedRun, ...]:
    configurations = _of_runs(targets, measured)
    labels = labels_of([measured[members[0]].requested for members in configurations])
    label_of = {i: label for label, members in zip(labels, configurations, strict=True) for i in members}
    return tuple(
        FittedRun(
            name=m.name,
            configuration=label_of[i],
            started_at=str(m.run.info.get("started_at", "")),
            requests=len(m.run),
        )
        for i, m in enumerate(measured)
    )


def _residuals(names: Sequence[str], targets: Targets, near: Linear) -> list[Residual]:
    noise = np.sqrt(np.diag(targets.covariance))
    return [
        Residual(
            run=names[run],
            op=op,
            figure=figure,
            measured=float(np.exp(targets.values[i])),
            fitted=float(np.exp(near.figures[i])),
            log_ratio=float(near.figures[i] - targets.values[i]),
            noise=float(noise[i]),
        )
        for i, (run, (op, figure)) in enumerate(zip(targets.run, targets.labels, strict=True))
    ]

"""Fits a spec's parameters to measured Runs and says how sure the values are.

Three steps: staged estimates without simulation (`initial_estimates`); a global fit of simulated to measured
log-quantiles, log-throughputs and CPU times (`fit`); intervals of the values (`uncertainty`). The result
is a `Profile`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.spec_values import fit_at, value_at
from models.store import Spec
from traces.errors import InputError
from traces.run import Run
from validate.calibration.fit import SEEDS, Linear, Problem
from validate.calibration.initial_estimates import staged_estimates
from validate.calibration.parameters import Parameter, check, matters, parameters_of
from validate.calibration.profile import Estimate, FittedRun, Profile, Residual
from validate.calibration.simulations import Requested, simulated_trace, simulations
from validate.calibration.targets import Targets, targets_of
from validate.calibration.uncertainty import as_good, discrepancy, identified, intervals, joined, total_noise, untold
from validate.compare.figures import Floats
from validate.compare.measured import Measured
from validate.forecast.configurations import labels_of
from validate.replay.cpu_usage import measured_cpu_s, tells_cpu

_ALIKE = 0.1  # log-values that begin a search at the same place
_FIRST_DISCREPANCY = 0.03  # of the model, as long as nothing is known of it
_FAR = 20.0  # by so much more in weighted squares, the end of a search is no solution


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
    server_s: Mapping[str, Floats] | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Profile:
    """The values of the parameters with which simulated Runs come nearest to the measured ones.

    The same input and seed give the same profile, whatever the number of workers.

    Args:
        spec: the store; its workload plays no part, each Run's own trace is simulated, and what its clients did about
            late and failed answers, where the Run says so.
        runs: what to fit, by name; failed requests are left out.
        parameters: what may change; None: what `parameters_of` finds in the spec. Of these, those that matter for the
            Runs are fitted.
        source: the spec's file.
        seed: of all simulations, and of the bootstrap.
        confidence: of the intervals.
        workers: processes for the simulations.
        anyway: fit also Runs that were judged unfit (`validate.compare.run_quality`); the profile says so.
        server_s: by the names of Runs, how long each request took at the server (`server_trace.matched`); its
            quantiles, and those of the rest of the latency, are fitted too.
        progress: told about which share is done.

    Raises:
        InputError: nothing to fit, a parameter or a bound of it does not suit the spec, or a Run cannot be fitted.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    parameters = parameters_of(spec) if parameters is None else list(parameters)
    if not runs or not parameters:
        raise InputError("a fit needs at least one Run and one parameter")
    check(spec, parameters, source)
    with_cpu = tells_cpu(spec)
    measured = [Measured(name, run, (server_s or {}).get(name), with_cpu) for name, run in runs]
    for m in measured:
        _check_run(m, anyway)
    targets = targets_of(measured, seed)
    parameters, matter = _that_matter(spec, parameters, [measured[members[0]] for members in targets.cells])
    first = staged_estimates(spec, parameters, measured)
    guess = np.log([first.values[p.path] for p in parameters])
    requests = np.array([len(m.run) for m in measured])
    requested = [
        Requested(simulated_trace(first_of.trace, requests[list(members)].max()), targets.of(c), first_of.policies)
        for c, members in enumerate(targets.cells)
        for first_of in [measured[members[0]]]
    ]
    begins = _begins(spec, parameters, guess)
    expected = _expected(matter, len(begins))
    with simulations(spec, requested, workers, lambda n: progress(min(0.99, n / expected))) as simulated:
        lengths = np.array([len(a.trace) for a in requested])[targets.cell] / requests[targets.run]
        problem = Problem(simulated, parameters, guess, matter, targets, lengths, seed)
        solution = _solve(problem, begins, confidence)
    findings = [*first.findings, *_unfit(measured)]
    if not with_cpu and any(measured_cpu_s(run) for _, run in runs):
        findings.append(f"CPU times were not fitted: a {spec.store}'s model does not say what its processes take")
    return Profile(
        store=spec.store,
        spec=Path(source).name,
        confidence=confidence,
        parameters=_estimates(problem, solution),
        runs=_fitted_runs(measured, targets),
        residuals=tuple(_residuals(measured, targets, solution.near)),
        noise=targets.noise,
        discrepancy=solution.discrepancy,
        rms_log_error=float(np.sqrt(np.mean((solution.near.figures - targets.values) ** 2))),
        findings=(*findings, *untold(problem, solution.near, solution.variance)),
        seed=seed,
        simulations=simulated.count,
        versions={"python": platform.python_version()}
        | {name: metadata.version(name) for name in ("tailcast", "numpy", "scipy")},
    )


@dataclass(frozen=True)
class _Solution:
    """The problem at its solution.

    Attributes:
        near: the solution.
        variance: of the log-errors, which its weights were made from, shape (figures,).
        misfit: as in a `Profile`.
        low, high: intervals of the log-parameters, shape (parameters,).
    """

    near: Linear
    variance: Floats
    discrepancy: float
    low: Floats
    high: Floats


def _expected(matter: NDArray[np.bool_], begins: int) -> float:
    """About how many simulations a fit takes, for a bar of progress."""
    centre, slopes = len(matter), sum(2 << int(n).bit_length() for n in matter.sum(axis=1))
    return begins * 1.5 * (6 * (2 * centre + slopes) + 3 * (SEEDS * centre + 2 * slopes))


def _check_run(m: Measured, anyway: bool) -> None:
    """Check that a Run can be fitted; `anyway`: though it was judged unfit.

    Raises:
        InputError: it was judged unfit, nothing succeeded, or nobody knows what it was asked.
    """
    if not m.succeeded:
        raise InputError(f"{m.name}: has no successful request; there is nothing to fit")
    if not (m.judgement.usable or anyway):
        raise InputError(f"{m.name}: {'; '.join(m.judgement.reasons)}; leave it out, or fit it anyway")
    try:
        m.requested  # noqa: B018 - found here, so that the message has the Run's name
    except InputError as error:
        raise InputError(f"{m.name}: {error}") from error


def _unfit(measured: Sequence[Measured]) -> list[str]:
    return [
        f"{m.name} was fitted although {'; '.join(m.judgement.reasons)}" for m in measured if not m.judgement.usable
    ]


def _begins(spec: Spec, parameters: Sequence[Parameter], guess: Floats) -> list[Floats]:
    """Where to search from: the staged estimates, and the same with the spec's slow modes.

    Of a tail that few requests are in, staged estimates may be so far off that no slope leads back.
    """
    tail = np.array([(fit := fit_at(spec, p.path)) is not None and fit.tail for p in parameters])
    given = np.log([value_at(spec, p.path) for p in parameters])
    return [guess, np.where(tail, given, guess)] if np.any(np.abs(given - guess)[tail] > _ALIKE) else [guess]


def _solve(problem: Problem, begins: Sequence[Floats], confidence: float) -> _Solution:
    """Search from each beginning, see how far the model misses at the best end, and go on with weights for that.

    Where the ends fit about equally well, the intervals hold them all.
    """
    noise = problem.targets.covariance
    variance = np.diag(noise) + _FIRST_DISCREPANCY**2
    ends = [problem.polish(problem.search(begin, variance), variance) for begin in begins]
    least = min(ends, key=_cost)
    variance = np.diag(noise) + discrepancy(problem, least, noise) ** 2
    near_best = (end for end in ends if end.cost < least.cost + _FAR)
    ends = sorted((problem.polish(end.point, variance) for end in near_best), key=_cost)
    good = as_good([end.cost for end in ends], confidence)
    ends = [problem.sharpened(end, variance) for end, ok in zip(ends, good, strict=True) if ok]
    near = ends[0]
    noise = total_noise(problem, near)
    missed = discrepancy(problem, near, noise)
    covariance = noise + missed**2 * problem.targets.alike
    each = [intervals(problem, end, covariance, variance, confidence) for end in ends]
    return _Solution(near, variance, missed, *joined(each))


def _cost(end: Linear) -> float:
    return end.cost


def _that_matter(
    spec: Spec, parameters: Sequence[Parameter], measured: Sequence[Measured]
) -> tuple[list[Parameter], NDArray[np.bool_]]:
    """The parameters that any Run depends on, and which of the Runs do on which of them, shape (runs, parameters).

    Raises:
        InputError: a Run depends on none.
    """
    matter = np.array([matters(spec, parameters, m.trace, m.policies) for m in measured])
    for m, own in zip(measured, matter, strict=True):
        if not np.any(own):
            raise InputError(f"{m.name}: nothing that may be fitted matters for what it was asked; leave it out")
    kept: list[bool] = np.any(matter, axis=0).tolist()
    return [p for p, keep in zip(parameters, kept, strict=True) if keep], matter[:, kept]


def _estimates(problem: Problem, solution: _Solution) -> dict[str, Estimate]:
    told = identified(problem, solution.low, solution.high)
    return {
        p.path: Estimate(
            value=float(np.clip(np.exp(solution.near.point[i]), p.low, p.high)),
            low=float(np.clip(np.exp(solution.low[i]), p.low, p.high)),
            high=float(np.clip(np.exp(solution.high[i]), p.low, p.high)),
            identified=told[i],
            guess=float(np.exp(problem.guess[i])),
            bounds=(p.low, p.high),
        )
        for i, p in enumerate(problem.parameters)
    }


def _fitted_runs(measured: Sequence[Measured], targets: Targets) -> tuple[FittedRun, ...]:
    labels = labels_of([measured[members[0]].requested for members in targets.cells])
    label_of = {i: label for label, members in zip(labels, targets.cells, strict=True) for i in members}
    return tuple(
        FittedRun(name=m.name, cell=label_of[i], started_at=str(m.run.info.get("started_at", "")), requests=len(m.run))
        for i, m in enumerate(measured)
    )


def _residuals(measured: Sequence[Measured], targets: Targets, near: Linear) -> list[Residual]:
    noise = np.sqrt(np.diag(targets.covariance))
    return [
        Residual(
            run=measured[run].name,
            op=op,
            figure=figure,
            measured=float(np.exp(targets.values[i])),
            fitted=float(np.exp(near.figures[i])),
            log_ratio=float(near.figures[i] - targets.values[i]),
            noise=float(noise[i]),
        )
        for i, (run, (op, figure)) in enumerate(zip(targets.run, targets.labels, strict=True))
    ]

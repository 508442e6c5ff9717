"""Predicts the rows of a reference case and compares them with the published figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.basis.uncertainty import Unknown, uncertain
from models.spec.origins import Written, origins_of
from models.store import Spec, spec_of
from sim.experiments.probability import band_with
from sim.parallel.process_pool import process_map
from sim.replication.replicate import seed_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.spec.spec_file import load_mapping, override
from validate.reference.by_case import statements_of
from validate.reference.case_forecast import (
    BandCoverage,
    CaseErrors,
    CaseForecast,
    CheckedStatement,
    RowErrors,
    RowForecast,
)
from validate.reference.cases import Case, UserTable, spec_file
from validate.reference.deviations import with_deviations
from validate.reference.figures import figure, figures_of_spec, first_half, is_tail, of_server
from validate.reference.nic_limits import nic_notes
from validate.reference.rows import DURATION, Row, is_steady
from validate.reference.server import server_times
from validate.reference.statements import Statement, Variant

RANGE = (0.05, 0.95)
"""Quantiles over the replications that are the ends of a figure's range."""

_REPLICATIONS = 20
"""Number of simulations per row of a store that is not settled."""

_DRAWS = 20
"""Number of draws of the values that are not known."""

_DRAWN_REQUESTS = 200_000
"""A draw simulates at most this many requests. Figures that grow with the length of a run are multiplied by the ratio
of the figures of both lengths with the assumed values."""

LEAST = 1e-12
"""Anything less counts as this, so that every logarithm is finite."""

Samples = dict[str, list[float]]


def forecast(
    case: Case | UserTable,
    *,
    assignments: Sequence[str] = (),
    seed: int = 0,
    replications: int | None = None,
    uncertainty: float | None = None,
    draws: int | None = None,
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> CaseForecast:
    """Predict all rows of a case, or of a user's table.

    Args:
        case: the rows to predict, with their spec.
        assignments: changes of the spec in addition to each row's settings.
        seed: seed of all simulations.
        replications: number of simulations per row, with different seeds; None: 20, or one of a settled store.
        uncertainty: fraction of the draws of the values that are not known, and of the model's deviation, that a band
            contains; None: no draws. The k-th draw of a value is the same in all rows.
        draws: number of draws, each of a simulation of at most 200,000 requests; None: 20. Figures of shorter draws
            are multiplied by the ratio of both lengths with the assumed values.
        workers: number of processes.
        progress: called with the fraction done.

    Raises:
        InputError: the spec is missing, or an assignment is invalid.
    """
    if uncertainty is not None and not 0 < uncertainty < 1:
        raise InputError(f"uncertainty is {uncertainty:g}; it must be between 0 and 1, for example 80%")
    count = replications or (1 if is_steady(case.rows) else _REPLICATIONS)
    drawn = draws or _DRAWS
    seeds = tuple(seed_of(seed, k) for k in range(count))
    wanted = [Variant(row.assignments, row.op, tuple(row.measured)) for row in case.rows]
    statements = statements_of(case.name) if isinstance(case, Case) else ()
    wanted += [variant for statement in statements for variant in statement.variants.values()]
    of_values = _Draws(seed, 0 if uncertainty is None else drawn)
    samples, unknowns = _samples(case, wanted, tuple(assignments), seeds, of_values, workers, progress)
    rows = [_row_forecast(row, each, uncertainty) for row, each in zip(case.rows, samples, strict=False)]
    pairs = list(zip(case.rows, rows, strict=True))
    found = iter(each.nominal.values for each in samples[len(case.rows) :])
    evaluated = {name for row in case.rows for name in row.evaluated}
    error = CaseErrors(
        evaluated.pop() if len(evaluated) == 1 else None,
        _errors(pairs),
        _errors([(row, result) for row, result in pairs if row.used_in_fit]),
        _errors([(row, result) for row, result in pairs if not row.used_in_fit]),
    )
    return CaseForecast(
        case.name,
        case.source,
        case.spec.name,
        count,
        rows,
        error,
        [_checked(statement, found) for statement in statements],
        nic_notes(case.data, str(case.spec), case.rows, assignments, [row.predicted for row in rows]),
        None if uncertainty is None else _coverage(pairs, uncertainty, drawn, unknowns),
    )


def _coverage(
    pairs: Sequence[tuple[Row, RowForecast]], level: float, draws: int, unknowns: list[Unknown]
) -> BandCoverage:
    held_out = [(row, result.covered) for row, result in pairs if not row.used_in_fit and result.covered is not None]
    covered = [of_row[name] for row, of_row in held_out for name in row.evaluated]
    return BandCoverage(level, draws, sum(covered), len(covered), unknowns)


@dataclass(frozen=True)
class _Draws:
    """Seed and number of the draws of values that are not known."""

    seed: int
    count: int


@dataclass(frozen=True)
class _Sampled:
    """Figures of simulations, a value for each: of all their requests, and of the first half; and their lengths."""

    values: Samples
    halves: Samples
    simulated_s: list[float]


@dataclass(frozen=True)
class _Figures:
    """The figures of simulations with the assumed values, and of draws of them, with their deviations."""

    nominal: _Sampled
    drawn: Samples


@dataclass(frozen=True)
class _Job:
    """Figures from the same simulations, and the seeds of those; `known`: paths whose values are published or set."""

    data: Mapping[str, Any]
    source: str
    written: tuple[Written, ...]
    known: tuple[str, ...]
    seeds: tuple[int, ...]
    draws: _Draws
    steady: bool
    wanted: tuple[Variant, ...]


def _samples(
    case: Case | UserTable,
    wanted: Sequence[Variant],
    assignments: tuple[str, ...],
    seeds: tuple[int, ...],
    draws: _Draws,
    workers: int,
    progress: Callable[[float], None] | None,
) -> tuple[list[_Figures], list[Unknown]]:
    """Return the wanted figures in order, and what is not known; equal settings are simulated once."""
    same_settings: dict[tuple[str | None, tuple[str, ...]], list[int]] = {}
    for i, one in enumerate(wanted):
        same_settings.setdefault((one.spec_name, (*one.assignments, *assignments)), []).append(i)
    files = {name: case.spec if name is None else spec_file(name) for name, _ in same_settings}
    data = {name: case.data if name is None else load_mapping(file) for name, file in files.items()}
    steady, rows = is_steady(case.rows), set(range(len(case.rows)))
    jobs = []
    for (name, given), mine in same_settings.items():
        known = tuple(assignment.partition("=")[0] for assignment in given)
        written = tuple(each for each in case.written if each.path not in known)
        own_draws = draws if rows & set(mine) else _Draws(0, 0)
        whole, source = override(data[name], given), str(files[name])
        jobs.append(_Job(whole, source, written, known, seeds, own_draws, steady, tuple(wanted[i] for i in mine)))
    found: dict[int, _Figures] = {}
    unknowns: dict[str, Unknown] = {}
    with process_map(min(workers, len(jobs))) as mapping:
        for mine, (samples, of_job) in zip(same_settings.values(), mapping(_predicted, jobs), strict=True):
            found.update(zip(mine, samples, strict=True))
            unknowns = {unknown.path: unknown for unknown in of_job} | unknowns
            if progress:
                progress(len(found) / len(wanted))
    return [found[i] for i in range(len(wanted))], list(unknowns.values())


def _predicted(job: _Job) -> tuple[list[_Figures], tuple[Unknown, ...]]:
    """Return the figures of each simulation for each of the job's requests, and what is not known."""
    spec = spec_of(job.data, job.source)
    nominal = _simulated(job, spec, job.seeds)
    if not job.draws.count:
        return [_Figures(sampled, {}) for sampled in nominal], ()
    origins = origins_of(spec, job.data, job.source, job.written)
    unknown = uncertain(spec, job.data, job.source, origins, job.known)
    short = _shortened(spec)
    growth = [{} for _ in job.wanted] if short is spec else _growth(nominal, _simulated(job, short, job.seeds))
    drawn: list[Samples] = [{} for _ in job.wanted]
    for k in range(job.draws.count):
        try:
            other = _shortened(unknown.drawn(k, job.draws.count, job.draws.seed))
        except InputError:
            continue  # the values do not fit together
        sampled = _simulated(job, other, (seed_of(job.draws.seed, k),))
        for samples, more, times in zip(drawn, sampled, growth, strict=True):
            for name, values in more.values.items():
                samples.setdefault(name, []).extend(value * times.get(name, 1.0) for value in values)
    if not all(drawn):
        raise InputError(f"{job.source}: no draw of the values that are not known is possible")
    is_closed = spec.workload.total_rate is None
    deviating = [
        {name: with_deviations(name, values, is_closed, job.draws.seed) for name, values in samples.items()}
        for samples in drawn
    ]
    return [_Figures(*pair) for pair in zip(nominal, deviating, strict=True)], unknown.unknowns


def _growth(whole: Sequence[_Sampled], short: Sequence[_Sampled]) -> list[dict[str, float]]:
    """Return the ratio of each figure of whole runs to that of shorter ones with the same seeds, the median over these.

    Figures that are 0 have none.
    """
    return [
        {
            name: float(np.median(np.divide(values, other.values[name])))
            for name, values in one.values.items()
            if all(other.values[name])
        }
        for one, other in zip(whole, short, strict=True)
    ]


def _shortened(spec: Spec) -> Spec:
    workload = spec.workload
    if (workload.operations or 0) <= _DRAWN_REQUESTS:
        return spec
    return spec.model_copy(update={"workload": workload.limited(_DRAWN_REQUESTS)})


def _simulated(job: _Job, spec: Spec, seeds: Sequence[int]) -> list[_Sampled]:
    """Return the figures of a spec in a simulation for each seed."""
    result = [
        _Sampled({name: [value] for name, value in figures_of_spec(spec, one.figures).items()}, {}, [])
        for one in job.wanted
    ]
    requested = [
        [name for name in one.figures if name not in known.values]
        for one, known in zip(job.wanted, result, strict=True)
    ]
    for seed in seeds if any(requested) else ():
        run = simulate(spec, seed=seed)
        server = None
        if any(map(of_server, (name for names in requested for name in names))):
            assert run.trace is not None
            server = server_times(spec, run.trace, seed)
        for one, names, sampled in zip(job.wanted, requested, result, strict=True):
            sampled.simulated_s.append(run.duration_s)
            for name in names:
                sampled.values.setdefault(name, []).append(figure(run, one.op, name, job.steady, server))
                if is_tail(name):
                    half = first_half(run, one.op)
                    sampled.halves.setdefault(name, []).append(figure(half, one.op, name, job.steady))
    return result


def _checked(statement: Statement, found: Iterator[Samples]) -> CheckedStatement:
    values = {}
    for label, variant in statement.variants.items():
        samples = next(found)
        values[label] = float(np.median(samples[variant.figures[0]]))
    holds, evidence = statement.check(values)
    return CheckedStatement(statement.text, statement.part, holds, evidence)


def _row_forecast(row: Row, figures: _Figures, level: float | None) -> RowForecast:
    """Return the prediction of a row, with bands that contain a fraction `level` of its draws, if it has any."""
    nominal, samples = figures.nominal, figures.nominal.values
    predicted = {name: float(np.median(samples[name])) for name in row.measured}
    simulated_s = float(np.median(nominal.simulated_s)) if nominal.simulated_s else None
    doubling = {name: predicted[name] / float(np.median(half)) for name, half in nominal.halves.items()}
    band = covered = None
    if level is not None and figures.drawn:
        band = {name: band_with(figures.drawn[name], level, predicted[name]) for name in row.measured}
        for name, factor in doubling.items():
            low, high = band[name]
            band[name] = low, high * further_growth(factor, row.measured.get(DURATION, row.measured_s), simulated_s)
        covered = {name: is_inside(value, band[name], row.resolution(name)) for name, value in row.measured.items()}
    return RowForecast(
        table=row.table,
        op=row.op,
        set=dict(row.settings),
        used_in_fit=row.used_in_fit,
        unseen=row.unseen,
        remark=row.remark,
        measured=dict(row.measured),
        predicted=predicted,
        range={name: np.quantile(samples[name], RANGE).tolist() for name in row.measured},
        noise={name: noise_of(samples[name]) for name in row.measured},
        ratio={name: predicted[name] / value for name, value in row.measured.items()},
        measured_s=row.measured_s,
        simulated_s=simulated_s,
        doubling=doubling,
        band=band,
        covered=covered,
    )


def is_inside(measured: float, band: tuple[float, float], resolution: float = 0.0) -> bool:
    """Whether a band has a value that is rounded to the measured one.

    `resolution`: distance of rounded values; 0: it is not rounded.
    """
    return band[0] - resolution / 2 <= measured <= band[1] + resolution / 2


def further_growth(doubling: float, measured_s: float | None, simulated_s: float | None) -> float:
    """Return how much more a figure may grow in a longer measurement, at most as in the last doubling of the length.

    The queue of the fullest server grows until all clients wait there, so how long it doubles on is not known.

    Args:
        doubling: as of a `RowForecast`.
        measured_s, simulated_s: lengths; None: not known.
    """
    if not measured_s or not simulated_s or measured_s <= simulated_s:
        return 1.0
    return math.pow(max(doubling, 1.0), min(math.log2(measured_s / simulated_s), 1.0))


def noise_of(samples: Sequence[float]) -> float | None:
    """Return the standard error of the logarithm of a figure over replications; None if there is only one."""
    if len(samples) < 2:
        return None
    return float(np.std(np.log(np.maximum(samples, LEAST)), ddof=1)) / math.sqrt(len(samples))


def _errors(pairs: Sequence[tuple[Row, RowForecast]]) -> RowErrors:
    ratios = [result.ratio[name] for row, result in pairs for name in row.evaluated]
    if not ratios:
        return RowErrors(0, None, None)
    errors = np.expm1(np.abs(np.log(np.maximum(ratios, LEAST))))
    return RowErrors(len(pairs), float(np.median(errors)), float(errors.max()))

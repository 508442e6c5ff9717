"""What-if analysis: varies some values of a spec and simulates each point with the same random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from models.basis.described import DescribedSpec
from models.basis.uncertainty import Unknown
from models.shared.prices import cost
from models.spec.field_paths import resolved
from models.store import Spec, compile_spec, levels, spec_of
from sim.experiments.measures import Measures, difference, extra_attempts_of
from sim.experiments.probability import Draws, MetProbability
from sim.experiments.sweep import Point, PointTask, Settings, sweep
from sim.experiments.variation import Assignments, Variation, grid, sampled
from sim.parallel.result_cache import ResultFolder
from sim.replication.objectives import require_requested
from sim.replication.slo import UTILIZATION, ObjectiveVerdict, Slo, overall
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import CONFIDENCE, RATES, Differences, EngineWork, Figure, Interval
from sim.verdict.extra_attempts import ExtraAttempts
from sim.verdict.same_stations import needs_same
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError
from traces.spec.spec_file import override
from traces.statistics.summary import QUANTILES
from traces.workload.kept_traces import generated

_TAIL = "p99"  # figure of the Pareto front for an operation without a latency objective


@dataclass(frozen=True)
class WhatIfExperiment:
    """A spec, variations of it, and objectives.

    Attributes:
        data: the contents of the spec file.
        source: name of the spec in messages.
        variations: paths may be abbreviated (`models.spec.field_paths`).
        slos: objectives.
        samples: number of points of a Latin hypercube; None: the whole grid.
        base: values by path of the base point, with which all others are compared; empty: the first point.
        settings: of each simulation.
        draws: of the values that are not known, for the probability that the objectives are met; None: there are none.
    """

    data: Mapping[str, Any]
    source: str
    variations: Sequence[Variation]
    slos: Sequence[Slo] = ()
    samples: int | None = None
    base: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    draws: Draws | None = None


@dataclass(frozen=True)
class OpEnds:
    """The ends ``[low, high]`` of the intervals of an operation's figures."""

    throughput_ops: list[float]
    throughput_bytes: list[float]
    latency_s: dict[str, list[float]]


@dataclass(frozen=True)
class OpFigures:
    """The figures of an operation, like those of `traces.statistics.summary.summarise`, with intervals.

    Attributes:
        count, errors, left_out: numbers of requests, failed requests, and requests excluded as warm-up.
        throughput_ops, throughput_bytes: per second.
        latency_s: ``mean``, ``min``, quantiles and ``max``.
        interval: of those figures that have one; NaN for latencies of an overloaded store, and for `few`.
        few: quantiles that too few successful requests support.
    """

    count: int
    errors: int
    left_out: int
    throughput_ops: float
    throughput_bytes: float
    latency_s: dict[str, float]
    interval: OpEnds
    few: list[str]


@dataclass(frozen=True)
class RoleLoad:
    """The busiest station of a role, its utilisation, and the ends of the interval of its utilisation."""

    busiest: str
    utilization: float
    interval: list[float]


@dataclass(frozen=True)
class SimulatedPoint:
    """A point of a sweep.

    Attributes:
        set: the varied values, by path.
        load: the verdict on its load; None: not determined.
        extra: what retries and hedges cost; None: there are none, or the store is overloaded.
        ops: the figures of each operation.
        slo, slo_figures: the verdict on each objective, and its figure, by text.
        verdict: on all objectives together.
        replications: number of replications.
        precise: whether they reached the precision; None: none was required.
        roles: the busiest station of each role.
        difference: this point minus the base.
        cost: None without prices.
        met: the probability that the objectives are met; None: values that are not known are not drawn.
        unsettled: why its runs are too short; empty if they are not, or if the store is overloaded.
        no_gain: operations whose p99 hedges do not shorten beyond chance, compared with a base without them; with the
            role of the stations that saturate first if all attempts of a request need the same ones, or else nothing.
    """

    set: dict[str, Any]
    load: LoadVerdict | None
    extra: ExtraAttempts | None
    ops: dict[str, OpFigures]
    slo: dict[str, ObjectiveVerdict]
    slo_figures: dict[str, Interval]
    verdict: ObjectiveVerdict
    replications: int
    precise: bool | None
    roles: dict[str, RoleLoad]
    difference: Differences
    cost: float | None
    met: MetProbability | None
    unsettled: list[Unsettled] = field(default_factory=list)
    no_gain: dict[str, str] = field(default_factory=dict)

    @property
    def overloaded(self) -> bool:
        """Whether more requests arrive than the store can serve."""
        return self.load is not None and self.load.overloaded

    def has_too_few(self, slo: Slo) -> bool:
        """Whether an objective is on a quantile that too few requests support."""
        figures = self.ops.get(slo.subject or "")
        return figures is not None and slo.figure in figures.few


@dataclass(frozen=True)
class InfeasiblePoint:
    """A point that is infeasible, and why; it has no figures."""

    set: dict[str, Any]
    ops: dict[str, OpFigures]
    slo: dict[str, ObjectiveVerdict]
    error: str


@dataclass(frozen=True)
class Front:
    """Indices of the Pareto-optimal points in cost and a figure, the cheapest first."""

    figure: str
    points: list[int]


@dataclass(frozen=True)
class WhatIf:
    """The result of a what-if analysis.

    Attributes:
        spec: name of the spec.
        vary: the values of each path.
        slos: the objectives.
        base: index of the base point.
        seed, replications, steady: settings of each simulation.
        precision: the required relative precision; None: none.
        confidence: confidence level of the intervals.
        points: in the order of the grid or the sample.
        pareto: by operation; empty without prices.
        engine: the cost of all simulations.
        unknowns: the values that are drawn for the probability that the objectives are met.
    """

    spec: str
    vary: dict[str, list[Any]]
    slos: list[Slo]
    base: int
    seed: int
    replications: int
    precision: float | None
    steady: bool
    confidence: float
    points: list[SimulatedPoint | InfeasiblePoint]
    pareto: dict[str, Front]
    engine: EngineWork
    unknowns: tuple[Unknown, ...] = ()

    @property
    def simulated(self) -> list[SimulatedPoint]:
        """The feasible points."""
        return [point for point in self.points if isinstance(point, SimulatedPoint)]


def whatif(
    experiment: WhatIfExperiment,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    cache: ResultFolder | None = None,
    progress: Callable[[int, int], None] = lambda done, points: None,
) -> WhatIf:
    """Simulate all points and evaluate the objectives.

    Args:
        experiment: the spec and its variations.
        workers, scheduler, cache: as for `sim.experiments.sweep.sweep`.
        progress: called with the number of points done and the number of points.

    Raises:
        InputError: a path, a value or an objective is wrong, or no point is feasible.
    """
    spec = spec_of(dict(experiment.data), experiment.source)
    variations = _with_full_paths(spec, experiment.variations)
    points = _points(variations, experiment)
    wanted = _wanted_base(spec, points, experiment.base)
    specs = [_variant(experiment, point) for point in points]
    jobs = [PointTask(spec, experiment.settings) for spec in specs if not isinstance(spec, InputError)]
    if not jobs:
        raise _first_error(specs)
    _check(experiment.slos, jobs)
    drawn = _drawn(experiment, points, specs)
    jobs += [job for jobs_of_point in drawn for job in jobs_of_point.values()]
    impossible = sum(isinstance(each, InputError) for each in specs)
    found = sweep(
        jobs,
        workers=workers,
        scheduler=scheduler,
        cache=cache,
        progress=lambda done: progress(done + impossible, len(jobs) + impossible),
    )
    remaining = iter(found)
    results: list[Point] = [spec if isinstance(spec, InputError) else next(remaining) for spec in specs]
    base, measures = _base(results, wanted)
    rows = []
    for point, variant, result, jobs_of_point in zip(points, specs, results, drawn, strict=True):
        draws = {k: next(remaining) for k in jobs_of_point}
        row = _row(point, variant, result, experiment, measures, draws)
        is_alike = _apart_from_hedges(point) == _apart_from_hedges(points[base])
        if is_alike and isinstance(row, SimulatedPoint) and not isinstance(variant, InputError):
            row = replace(row, no_gain=_no_gain(row, variant, specs[base]))
        rows.append(row)
    settings = experiment.settings
    return WhatIf(
        experiment.source,
        {v.path: [_value(text) for text in dict.fromkeys(point[v.path] for point in points)] for v in variations},
        list(experiment.slos),
        base,
        settings.seed,
        settings.replications,
        None if settings.precision is None else settings.precision.relative,
        settings.steady,
        CONFIDENCE,
        rows,
        _pareto(rows, experiment.slos),
        EngineWork.total(settings.engine, (result.engine for result in found if isinstance(result, Measures))),
        () if experiment.draws is None else experiment.draws.unknowns,
    )


def variants(experiment: WhatIfExperiment, described: DescribedSpec) -> list[DescribedSpec]:
    """Return the feasible points, with what their values come from.

    Raises:
        InputError: a path or a value is wrong.
    """
    spec = spec_of(dict(experiment.data), experiment.source)
    points = _points(_with_full_paths(spec, experiment.variations), experiment)
    feasible = [point for point in points if not isinstance(_variant(experiment, point), InputError)]
    return [described.variant(_mapping(experiment, point), _assignments(point)) for point in feasible]


def _drawn(
    experiment: WhatIfExperiment, points: Sequence[Assignments], specs: Sequence[Spec | InputError]
) -> list[dict[int, PointTask]]:
    """Return the jobs of the draws of each point, by number of the draw; none of what is infeasible."""
    draws, settings = experiment.draws, experiment.settings
    if draws is None:
        return [{} for _ in points]
    draws.check(experiment.slos)
    found = []
    for point, spec in zip(points, specs, strict=True):
        feasible = not isinstance(spec, InputError)
        each = draws.specs(_mapping(experiment, point), _assignments(point), settings.seed) if feasible else []
        found.append({k: PointTask(one, draws.settings(k, settings)) for k, one in enumerate(each) if one is not None})
    return found


def _with_full_paths(spec: Spec, variations: Sequence[Variation]) -> list[Variation]:
    if not variations:
        raise InputError("nothing is varied; name a field and its values, as in gateways.count=1..14")
    full = [replace(v, path=_full_path(spec, "vary", v.path, v.counts)) for v in variations]
    paths = [v.path for v in full]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise InputError(f"vary {twice}: is given twice; list all its values in one place")
    return full


def _full_path(spec: Spec, name: str, path: str, counted: bool) -> str:
    try:
        return resolved(spec, path, counted)
    except InputError as error:
        raise InputError(f"{name} {error}") from error


def _points(variations: Sequence[Variation], experiment: WhatIfExperiment) -> list[Assignments]:
    if experiment.samples is None:
        return grid(variations)
    return sampled(variations, experiment.samples, experiment.settings.seed)


def _variant(experiment: WhatIfExperiment, point: Assignments) -> Spec | InputError:
    try:
        return spec_of(_mapping(experiment, point), experiment.source)
    except InputError as error:
        return error


def _mapping(experiment: WhatIfExperiment, point: Assignments) -> dict[str, Any]:
    return override(experiment.data, _assignments(point))


def _assignments(point: Assignments) -> list[str]:
    return [f"{path}={value}" for path, value in point.items()]


def _first_error(results: Sequence[object]) -> InputError:
    return next(result for result in results if isinstance(result, InputError))


def _wanted_base(spec: Spec, points: Sequence[Assignments], base: Mapping[str, str]) -> int | None:
    """Return the index of the first point with the values of the base; None: no base is given."""
    if not base:
        return None
    wanted = {}
    for path, value in base.items():
        wanted[_full_path(spec, "base", path, value.strip().isdecimal())] = _value(value)
    for i, point in enumerate(points):
        if all(path in point and _value(point[path]) == value for path, value in wanted.items()):
            return i
    written = " ".join(map("=".join, base.items()))
    raise InputError(f"base {written}: no point has these values; use paths and values that are varied")


def _base(results: Sequence[Point], wanted: int | None) -> tuple[int, Measures]:
    """Return the base point: the requested one, or the first feasible one."""
    for i, result in enumerate(results):
        if wanted in (None, i) and isinstance(result, Measures):
            return i, result
    raise _first_error(results if wanted is None else results[wanted:])


def _check(slos: Sequence[Slo], jobs: Sequence[PointTask]) -> None:
    """Refuse objectives of operations that no point has, and of roles that do not exist, before the simulations."""
    require_requested(slos, sorted({op for job in jobs for op in job.spec.workload.subjects}))
    named = [slo for slo in slos if slo.figure == UTILIZATION and slo.subject is not None]
    if named:
        spec = jobs[0].spec
        network, _ = compile_spec(spec, generated(spec.workload, jobs[0].settings.seed))
        roles = dict.fromkeys(station.role for station in network.stations if station.servers is not None)
        for slo in named:
            if slo.subject not in roles:
                raise InputError(
                    f"slo {slo.text}: no station has the role {slo.subject!r}; allowed are {', '.join(roles)}"
                )


def _row(
    point: Assignments,
    spec: Spec | InputError,
    result: Point,
    experiment: WhatIfExperiment,
    base: Measures,
    drawn: Mapping[int, Point],
) -> SimulatedPoint | InfeasiblePoint:
    values = {path: _value(text) for path, text in point.items()}
    if isinstance(spec, InputError) or isinstance(result, InputError):
        return InfeasiblePoint(values, {}, {}, str(result))
    results = {slo.text: slo.evaluate(result) for slo in experiment.slos}
    precision, draws = experiment.settings.precision, experiment.draws
    return SimulatedPoint(
        values,
        result.verdict,
        extra_attempts_of(result, spec.client),
        {op: op_figures(result, op) for op in result.ops},
        {text: of_slo.verdict for text, of_slo in results.items()},
        {text: of_slo.interval for text, of_slo in results.items()},
        overall([of_slo.verdict for of_slo in results.values()]),
        len(result),
        None if precision is None else precision.verdict(result).reached,
        {role: RoleLoad(result.busiest[role], figure.value, _ends(figure)) for role, figure in result.roles.items()},
        difference(base, result),
        cost(*levels(spec).values()),
        None
        if draws is None
        else draws.probability([drawn.get(k) for k in range(draws.count)], experiment.slos, experiment.settings.seed),
        [] if result.overloaded else result.unsettled,
    )


def _apart_from_hedges(point: Assignments) -> dict[str, str]:
    return {path: value for path, value in point.items() if not path.startswith("client.hedge")}


def _no_gain(row: SimulatedPoint, spec: Spec, base: Spec | InputError) -> dict[str, str]:
    """Return the operations whose p99 hedges do not shorten, and the role that all attempts need (`SimulatedPoint`)."""
    if row.extra is None or not row.extra.hedges or row.load is None or isinstance(base, InputError):
        return {}
    role, found = "" if row.load.saturates_first is None else row.load.saturates_first.role, {}
    for op, of_op in row.difference.ops.items():
        name = op.rpartition(".")[2]
        hedged, before = (each.client.policy(name).second for each in (spec, base))
        if hedged and not before and of_op.latency_s["p99"].high >= 0:
            found[op] = role if role and needs_same(spec, op, role) else ""
    return found


def _value(text: str) -> Any:
    return override({}, [f"value={text}"])["value"]


def op_figures(result: Measures, op: str) -> OpFigures:
    """Return the figures of an operation."""
    of_op, figures = result.ops[op], result.figures[op]
    latency = {name: figures[name].value for name in ("mean", *QUANTILES)}
    ends = {name: _ends(figure) for name, figure in figures.items()}
    if result.overloaded:
        ends |= {name: [math.nan, math.nan] for name in ends if name not in RATES}
    ends |= {name: [math.nan, math.nan] for name in of_op.few if name in ends}
    return OpFigures(
        of_op.count,
        of_op.errors,
        of_op.left_out,
        figures["throughput_ops"].value,
        figures["throughput_bytes"].value,
        {"mean": latency.pop("mean"), "min": of_op.least_s, **latency, "max": of_op.greatest_s},
        OpEnds(ends.pop("throughput_ops"), ends.pop("throughput_bytes"), ends),
        of_op.few,
    )


def _ends(figure: Figure) -> list[float]:
    interval = figure.interval()
    return [interval.low, interval.high]


def _pareto(rows: Sequence[SimulatedPoint | InfeasiblePoint], slos: Sequence[Slo]) -> dict[str, Front]:
    """Return the Pareto front of cost and latency for each operation, the cheapest point first."""
    priced = {i: row.cost for i, row in enumerate(rows) if isinstance(row, SimulatedPoint) and row.cost is not None}
    fronts = {}
    for op in dict.fromkeys(op for i in priced for op in rows[i].ops):
        figure = next((s.figure for s in slos if s.subject == op and s.figure in QUANTILES), _TAIL)
        at = {i: rows[i].ops[op].latency_s[figure] for i in priced if op in rows[i].ops}
        front: list[int] = []
        for i in sorted((i for i in at if math.isfinite(at[i])), key=lambda i: (priced[i], at[i])):
            if not front or at[i] < at[front[-1]]:
                front.append(i)
        fronts[op] = Front(figure, front)
    return fronts

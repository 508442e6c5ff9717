"""What-if: a spec with some values varied, each point simulated with the same random numbers, and what that says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel

from models.field_paths import resolved
from models.prices import cost
from models.store import Spec, spec_of
from sim.experiments.measures import Measures, difference
from sim.experiments.sweep import Cache, Job, Point, Settings, sweep
from sim.experiments.variation import Assignments, Variation, grid, sampled
from sim.replication.slo import UTILIZATION, Slo, overall
from sim.replication.summaries import CONFIDENCE, RATES, Figure
from traces.errors import InputError
from traces.spec_file import override
from traces.statistics.summary import QUANTILES
from traces.workload.generate import generate
from traces.workload.keys import WriteOnceReadOnce

_TAIL = "p99"  # of an operation without an objective of latency, what the cost is held against


@dataclass(frozen=True)
class Question:
    """What is asked: a spec, what varies, and what must hold.

    Attributes:
        data: the spec as its file has it.
        source: what to call it in a message.
        variations: paths may be short (`models.field_paths`).
        slos: objectives.
        samples: points of a Latin hypercube; None: the whole grid.
        base: values of the point that all others are compared with, by path; empty: the first.
        settings: how each point is simulated.
    """

    data: Mapping[str, Any]
    source: str
    variations: Sequence[Variation]
    slos: Sequence[Slo] = ()
    samples: int | None = None
    base: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)


def whatif(
    question: Question,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    cache: Cache | None = None,
    progress: Callable[[int, int], None] = lambda done, points: None,
) -> dict[str, Any]:
    """The points of a sweep, and what they say of the objectives.

    Args:
        question: what is asked.
        workers, scheduler, cache: as for `sim.experiments.sweep.sweep`.
        progress: told how many points are done, of how many.

    Returns:
        ``{"spec", "vary": {path: [value, …]}, "slos": [text, …], "base", "seed", "replications", "precision", "steady",
        "confidence", "points": […], "pareto": {op: {"figure", "points": [index, …]}}, "engine": {"name", "wall_s",
        "visits"}}``. `base` is the index of the base point. `pareto` has the points that no other is both cheaper and
        better than, the cheapest first; it is empty without prices. A point is

        ``{"set": {path: value}, "ops": {"GET": {"count", "errors", "left_out", "throughput_ops", "throughput_bytes",
        "latency_s": {"mean", "min", "p25", …, "max"}, "interval": {"throughput_ops": [low, high], "throughput_bytes",
        "latency_s": {"mean", …}}}, …}, "slo": {text: "pass" | "fail" | "unsure"}, "slo_figures": {text: {"value",
        "low", "high"}}, "verdict", "replications", "precise", "roles": {role: {"busiest", "utilization", "interval"}},
        "difference", "cost"}``.

        `verdict` is that of all objectives together, `difference` what `measures.difference` says of it and the
        base; `cost` is None without prices, and `precise` without a precision. A point that cannot be has ``"error"``
        and no figures.

    Raises:
        InputError: a path, a value or an objective is wrong, or no point can be.
    """
    model = type(spec_of(dict(question.data), question.source))
    variations = _with_full_paths(model, question.variations)
    points = _points(variations, question)
    wanted = _wanted_base(model, points, question.base)
    specs = [_variant(question, point) for point in points]
    jobs = [Job(spec, question.settings) for spec in specs if not isinstance(spec, InputError)]
    if not jobs:
        raise _first_error(specs)
    _check(question.slos, jobs)
    impossible = len(points) - len(jobs)
    found = sweep(
        jobs,
        workers=workers,
        scheduler=scheduler,
        cache=cache,
        progress=lambda done: progress(done + impossible, len(points)),
    )
    remaining = iter(found)
    results: list[Point] = [spec if isinstance(spec, InputError) else next(remaining) for spec in specs]
    base, measures = _base(results, wanted)
    rows = [
        _row(point, spec, result, question, measures)
        for point, spec, result in zip(points, specs, results, strict=True)
    ]
    engines = [result.engine for result in found if isinstance(result, Measures)]
    settings = question.settings
    return {
        "spec": question.source,
        "vary": {
            v.path: [_value(text) for text in dict.fromkeys(point[v.path] for point in points)] for v in variations
        },
        "slos": [slo.text for slo in question.slos],
        "base": base,
        "seed": settings.seed,
        "replications": settings.replications,
        "precision": None if settings.precision is None else settings.precision.relative,
        "steady": settings.steady,
        "confidence": CONFIDENCE,
        "points": rows,
        "pareto": _pareto(rows, question.slos),
        "engine": {"name": settings.engine, **{k: sum(e[k] for e in engines) for k in ("wall_s", "visits")}},
    }


def _with_full_paths(model: type[BaseModel], variations: Sequence[Variation]) -> list[Variation]:
    if not variations:
        raise InputError("nothing varies; name a field and its values, as in gateways.count=1..14")
    full = [replace(v, path=_full_path(model, "vary", v.path, v.counts)) for v in variations]
    paths = [v.path for v in full]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise InputError(f"vary {twice}: is there twice; give all its values in one")
    return full


def _full_path(model: type[BaseModel], name: str, path: str, counted: bool) -> str:
    try:
        return resolved(model, path, counted)
    except InputError as error:
        raise InputError(f"{name} {error}") from error


def _points(variations: Sequence[Variation], question: Question) -> list[Assignments]:
    if question.samples is None:
        return grid(variations)
    return sampled(variations, question.samples, question.settings.seed)


def _variant(question: Question, point: Assignments) -> Spec | InputError:
    try:
        return spec_of(override(question.data, [f"{path}={value}" for path, value in point.items()]), question.source)
    except InputError as error:
        return error


def _first_error(results: Sequence[object]) -> InputError:
    return next(result for result in results if isinstance(result, InputError))


def _wanted_base(model: type[BaseModel], points: Sequence[Assignments], base: Mapping[str, str]) -> int | None:
    """The first point with the values of the base; None: none was asked for."""
    if not base:
        return None
    wanted = {}
    for path, value in base.items():
        wanted[_full_path(model, "base", path, value.strip().isdecimal())] = _value(value)
    for i, point in enumerate(points):
        if all(path in point and _value(point[path]) == value for path, value in wanted.items()):
            return i
    written = " ".join(map("=".join, base.items()))
    raise InputError(f"base {written}: no point has these values; give paths and values that are varied")


def _base(results: Sequence[Point], wanted: int | None) -> tuple[int, Measures]:
    """The base point: the one that is wanted, or the first that can be."""
    for i, result in enumerate(results):
        if wanted in (None, i) and isinstance(result, Measures):
            return i, result
    raise _first_error(results if wanted is None else results[wanted:])


def _check(slos: Sequence[Slo], jobs: Sequence[Job]) -> None:
    """Refuse, before the work, objectives of operations that no point asks for, and of roles that there are not."""
    asked = {op for job in jobs for op in asked_ops(job.spec)}
    for slo in slos:
        if slo.figure != UTILIZATION and slo.subject not in asked:
            raise InputError(f"slo {slo.text}: the workload has no {slo.subject}; it has {', '.join(sorted(asked))}")
    named = [slo for slo in slos if slo.figure == UTILIZATION and slo.subject is not None]
    if named:
        spec = jobs[0].spec
        network, _ = spec.compile(generate(spec.workload, jobs[0].settings.seed))
        roles = dict.fromkeys(station.role for station in network.stations if station.servers is not None)
        for slo in named:
            if slo.subject not in roles:
                raise InputError(f"slo {slo.text}: no station is a {slo.subject!r}; there are {', '.join(roles)}")


def asked_ops(spec: Spec) -> list[str]:
    """The operations that a workload asks for."""
    if isinstance(spec.workload.keys, WriteOnceReadOnce):
        return ["PUT", "GET"]
    return [op for op, weight in spec.workload.mix.items() if weight]


def _row(
    point: Assignments, spec: Spec | InputError, result: Point, question: Question, base: Measures
) -> dict[str, Any]:
    values = {path: _value(text) for path, text in point.items()}
    if isinstance(spec, InputError) or isinstance(result, InputError):
        return {"set": values, "ops": {}, "slo": {}, "error": str(result)}
    judgements = {slo.text: slo.judge(result) for slo in question.slos}
    precision = question.settings.precision
    return {
        "set": values,
        "ops": {op: op_figures(result, op) for op in result.ops},
        "slo": {text: judgement.verdict for text, judgement in judgements.items()},
        "slo_figures": {text: {k: vars(j)[k] for k in ("value", "low", "high")} for text, j in judgements.items()},
        "verdict": overall([judgement.verdict for judgement in judgements.values()]),
        "replications": len(result),
        "precise": None if precision is None else precision.verdict(result)["reached"],
        "roles": {
            role: {"busiest": result.busiest[role], "utilization": figure.value, "interval": _ends(figure)}
            for role, figure in result.roles.items()
        },
        "difference": difference(base, result),
        "cost": cost(spec),
    }


def _value(text: str) -> Any:
    return override({}, [f"value={text}"])["value"]


def op_figures(result: Measures, op: str) -> dict[str, Any]:
    """The figures of an operation, shaped as `summary.summarise` shapes those of a Run, with intervals."""
    of_op, figures = result.ops[op], result.figures[op]
    latency = {name: figures[name].value for name in ("mean", *QUANTILES)}
    ends = {name: _ends(figure) for name, figure in figures.items()}
    return {
        "count": of_op.count,
        "errors": of_op.errors,
        "left_out": of_op.left_out,
        **{name: figures[name].value for name in RATES},
        "latency_s": {"mean": latency.pop("mean"), "min": of_op.least_s, **latency, "max": of_op.greatest_s},
        "interval": {name: ends.pop(name) for name in RATES} | {"latency_s": ends},
    }


def _ends(figure: Figure) -> list[float]:
    interval = figure.interval()
    return [interval["low"], interval["high"]]


def _pareto(rows: Sequence[dict[str, Any]], slos: Sequence[Slo]) -> dict[str, Any]:
    """Of each operation the points that no other is both cheaper and faster than, from the cheapest on."""
    priced = [i for i, row in enumerate(rows) if row.get("cost") is not None]
    fronts = {}
    for op in dict.fromkeys(op for i in priced for op in rows[i]["ops"]):
        figure = next((s.figure for s in slos if s.subject == op and s.figure in QUANTILES), _TAIL)
        at = {i: rows[i]["ops"][op]["latency_s"][figure] for i in priced if op in rows[i]["ops"]}
        front: list[int] = []
        for i in sorted((i for i in at if math.isfinite(at[i])), key=lambda i: (rows[i]["cost"], at[i])):
            if not front or at[i] < at[front[-1]]:
                front.append(i)
        fronts[op] = {"figure": figure, "points": front}
    return fronts

"""The API: what the commands do, as functions of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cli.answers.calibration import profile_answer
from cli.answers.failures import failures_answer
from cli.answers.find import best_answer, limit_answer
from cli.answers.forecast import forecast_answer
from cli.answers.imported import import_answer
from cli.answers.plan import plan_answer
from cli.answers.runs import comparison_answer, run_answer
from cli.answers.whatif import whatif_answer
from cli.doubts import say_basis, say_doubts, say_implausible
from cli.draws import draws_of
from cli.made import Made
from cli.parse.failure import parse_failure
from cli.parse.goal import parse_goal, parse_target
from cli.parse.option import seconds_of
from cli.parse.slo import parse_slos
from cli.parse.spec import Described, described_mapping
from cli.parse.vary import parse_base, parse_variation
from models.spec.field_paths import resolved
from sim.capacity.growth import read_growth
from sim.capacity.plan import CapacityPlan
from sim.capacity.plan import plan as planned
from sim.experiments.failure_result import Failures
from sim.experiments.failures import FailureExperiment
from sim.experiments.failures import failures as with_failures
from sim.experiments.find.find_best import Best, find_best
from sim.experiments.find.find_limit import FoundLimit, find_limit
from sim.experiments.sweep import Settings
from sim.experiments.variants import Variants
from sim.experiments.variation import Variation
from sim.experiments.whatif import WhatIf, WhatIfExperiment, variants
from sim.experiments.whatif import whatif as varied
from sim.forecast import Forecast, forecast_of_replications, forecast_of_run
from sim.parallel.result_cache import ResultFolder
from sim.replication.replicate import Precision
from sim.simulate import EngineName
from tailcast.result import Result
from traces.errors import InputError
from traces.logs.columns import Columns
from traces.logs.importing import import_logs
from traces.run import Run
from traces.run_folders import run_folders, run_names
from traces.spec.spec_file import load_mapping
from validate.calibration.calibrate import calibrate as fitted
from validate.calibration.parameters import Parameter, chosen
from validate.calibration.profile import Profile
from validate.calibration.published import doubts_of, published_rows
from validate.compare.compare import Comparison
from validate.compare.compare import compare as compared
from validate.compare.server_trace import IN_RUN, matched

__all__ = ["InputError", "Result", "Spec", "calibrate", "compare", "failures", "find", "import_trace", "load_spec"]
__all__ += ["plan", "read_run", "simulate", "whatif"]

AnyPath = str | Path
_BATCH = 10  # replications at a time if only a precision is given


@dataclass(frozen=True)
class Spec:
    """A spec of a store and its workload, with the values that were set.

    Attributes:
        path: of its file; of a mapping, its name.
        notes: on what was set.
    """

    path: Path
    notes: tuple[str, ...]
    _read: Described = field(repr=False)

    def to_yaml(self) -> str:
        """Return the spec as the text of a file, with what was set."""
        text: str = yaml.safe_dump(dict(self._read.whole), sort_keys=False)
        return text


AnySpec = AnyPath | Mapping[str, Any] | Spec


def load_spec(
    spec: AnySpec,
    *,
    set: Mapping[str, Any] | Sequence[str] = (),
    profile: AnyPath | None = None,
    trace: AnyPath | None = None,
) -> Spec:
    """Read a spec.

    Args:
        spec: its file, or its contents as nested mappings.
        set: values by path, such as ``{"workload.clients": 32, "network.latency": "0.2ms"}``; also texts
            ``path=value``.
        profile: of `calibrate`, whose values replace those of the spec.
        trace: its requests replace the workload in `simulate`.

    Raises:
        InputError: a file cannot be read, or a field is wrong; the message names it and what is allowed.
    """
    if isinstance(spec, Spec):
        if profile is not None or trace is not None:
            raise InputError("spec: is loaded; give profile and trace with its file")
        path, spec = spec.path, spec._read.whole
    elif isinstance(spec, Mapping):
        path = Path("spec")
    else:
        path = Path(spec)
        spec = load_mapping(path)
    notes: list[str] = []
    assignments = [f"{name}={_text(value)}" for name, value in set.items()] if isinstance(set, Mapping) else [*set]
    read = described_mapping(
        spec,
        path,
        None if trace is None else Path(trace),
        None if profile is None else Path(profile),
        assignments,
        notes.append,
    )
    return Spec(path, tuple(notes), read)


def simulate(
    spec: AnySpec,
    *,
    slos: Sequence[str] = (),
    replications: int | None = None,
    precision: float | None = None,
    steady: bool = False,
    seed: int = 0,
    engine: EngineName = "compiled",
    workers: int = 1,
) -> Result[Forecast]:
    """Forecast latencies and throughput; the table has a row for each operation.

    Args:
        spec: a spec, or what `load_spec` takes.
        slos: objectives, such as ``GET.p99<50ms``, ``PUT.throughput>500/s``, ``GET.errors<0.1%``.
        replications: number of replications, for confidence intervals; None: one run, whose `Run` is ``value.run``.
        precision: continue until every p99 is known to this fraction, such as 0.05; None: it need not be.
        steady: whether to leave out the warm-up of each replication.
        seed: of all random numbers.
        engine: both give the same result, ``compiled`` is faster.
        workers: number of threads or processes for replications.

    Raises:
        InputError: the spec cannot be simulated, or an argument is wrong.
    """
    known = _known(spec)
    read, objectives, notes = known._read, parse_slos(slos), [*known.notes]
    say_doubts(read, known.path, notes.append)
    if replications is not None or precision is not None:
        wanted = None if precision is None else Precision(precision)
        found = forecast_of_replications(
            read.spec,
            read.trace,
            replications=replications or _BATCH,
            seed=seed,
            engine=engine,
            precision=wanted,
            steady=steady,
            slos=objectives,
            workers=workers,
        )
    else:
        found = forecast_of_run(read.spec, read.trace, seed=seed, engine=engine, slos=objectives)
    return Result(found, tuple(notes), forecast_answer(found, Made.of(read.spec, seed, read)))


def whatif(
    spec: AnySpec,
    vary: Mapping[str, Sequence[Any] | str] | Sequence[str],
    *,
    slos: Sequence[str] = (),
    base: Mapping[str, Any] | None = None,
    samples: int | None = None,
    replications: int | None = None,
    precision: float | None = None,
    uncertainty: float | None = None,
    steady: bool = False,
    seed: int = 0,
    workers: int = 1,
    out: AnyPath | None = None,
) -> Result[WhatIf]:
    """Simulate variants of a spec with common random numbers; the table has a row for each point and operation.

    Args:
        spec: a spec, or what `load_spec` takes.
        vary: values by path, such as ``{"workload.clients": [8, 16, 32], "network.latency": "0.1ms..1ms/4"}``; also
            texts as of ``--vary``.
        slos: objectives, as of `simulate`.
        base: point with which the others are compared; None: the first.
        samples: number of points of a Latin hypercube; None: the whole grid.
        replications: of each point; None: 5, and 20 draws with `uncertainty`.
        precision, steady, seed, workers: as of `simulate`.
        uncertainty: probability with which the objectives must be met if the assumed values are drawn from their
            ranges; None: they are not drawn.
        out: folder of finished points, from which the same call continues; None: they are not kept.

    Raises:
        InputError: a variant cannot be simulated, or an argument is wrong.
    """
    known = _known(spec)
    read, objectives, notes = known._read, parse_slos(slos), [*known.notes]
    assigned = [f"{path}={_text(value)}" for path, value in (base or {}).items()]
    experiment = WhatIfExperiment(
        read.whole,
        str(known.path),
        _variations(vary),
        objectives,
        samples,
        parse_base(assigned),
        _settings(seed, replications, precision, steady),
        draws_of(read, uncertainty, replications, objectives),
    )
    points = variants(experiment, read)
    say_implausible(points, notes.append)
    found = varied(experiment, workers=workers, cache=None if out is None else ResultFolder(Path(out)))
    say_basis(points[0], known.path, notes.append)
    return Result(found, tuple(notes), whatif_answer(found, Made.of(read.spec, seed, read)))


def find(
    spec: AnySpec,
    goal: str,
    *,
    slos: Sequence[str] = (),
    target: str | None = None,
    extra_load: float | None = None,
    with_failure: str | None = None,
    replications: int | None = None,
    uncertainty: float | None = None,
    steady: bool = False,
    seed: int = 0,
    workers: int = 1,
) -> Result[FoundLimit] | Result[Best]:
    """Search for the value of one field; the table has a row for each value tried and operation.

    Args:
        spec: a spec, or what `load_spec` takes.
        goal: ``max workload.rate in 50..2000``, ``min …`` or ``best …``.
        slos: objectives of ``max`` and ``min``, as of `simulate`.
        target: latency that ``best`` minimises, such as ``GET.p99``.
        extra_load: greatest fraction of additional attempts that ``best`` allows; None: any.
        with_failure: failure that lasts during all simulations, such as ``drive:3``; None: there is none.
        replications, uncertainty, steady, seed, workers: as of `whatif`.

    Raises:
        InputError: the goal does not fit the spec, or an argument is wrong.
    """
    known, search, objectives = _known(spec), parse_goal(goal), parse_slos(slos)
    read, notes = known._read, [*known.notes]
    if (search.kind == "best") != (target is not None) or (search.kind == "best") == bool(objectives):
        raise InputError(f"goal {goal!r}: 'best' takes a target such as GET.p99; 'max' and 'min' take slos")
    searched = read.knowing(resolved(read.spec, search.path, counted=True))
    draws = None if target is not None else draws_of(searched, uncertainty, replications, objectives)
    failure = None if with_failure is None else parse_failure(with_failure)
    settings = _settings(seed, replications, None, steady)
    tried = Variants(read.whole, str(known.path), settings, workers, failure, draws)
    say_implausible([searched], notes.append)
    say_basis(searched, known.path, notes.append)
    made = Made.of(tried.spec(), seed, searched)
    if target is not None:
        best = find_best(tried, search, parse_target(target), most_extra_load=extra_load)
        return Result(best, tuple(notes), best_answer(best, known.path.name, made))
    limit = find_limit(tried, search, objectives)
    return Result(limit, tuple(notes), limit_answer(limit, known.path.name, made))


def failures(
    spec: AnySpec,
    kinds: str | Sequence[str],
    *,
    at: str | None = None,
    lasts: str | None = None,
    slos: Sequence[str] = (),
    replications: int | None = None,
    precision: float | None = None,
    uncertainty: float | None = None,
    seed: int = 0,
    workers: int = 1,
) -> Result[Failures]:
    """Compare each operation before, during and after failures with a healthy store.

    The table has a row for each failure, window and operation.

    Args:
        spec: a spec, or what `load_spec` takes.
        kinds: failures, each simulated by itself, such as ``drive``, ``host:1`` or ``slow-drive=10``.
        at, lasts: beginning and duration, such as ``2s``; None: defaults of the command.
        slos, replications, precision, uncertainty, seed, workers: as of `whatif`.

    Raises:
        InputError: the store cannot have the failure, or an argument is wrong.
    """
    known, objectives = _known(spec), parse_slos(slos)
    read, notes = known._read, [*known.notes]
    experiment = FailureExperiment(
        read.whole,
        str(known.path),
        [parse_failure(text) for text in ([kinds] if isinstance(kinds, str) else kinds)],
        None if at is None else seconds_of("at", at),
        None if lasts is None else seconds_of("lasts", lasts),
        objectives,
        _settings(seed, replications, precision, False),
        draws_of(read, uncertainty, replications, objectives),
    )
    say_implausible([read], notes.append)
    found = with_failures(experiment, workers=workers)
    say_basis(read, known.path, notes.append)
    return Result(found, tuple(notes), failures_answer(found, Made.of(read.spec, seed, read)))


def plan(
    spec: AnySpec,
    growth: AnyPath,
    *,
    slos: Sequence[str] = (),
    window: str = "2s",
    replications: int = 3,
    seed: int = 0,
    workers: int = 1,
) -> Result[CapacityPlan]:
    """Find when a growing store reaches its limits, and the cheapest change; the table has a row for each change.

    Args:
        spec: a spec, or what `load_spec` takes.
        growth: YAML file with the growth of objects and requests.
        slos: objectives, as of `simulate`.
        window: simulated time per window.
        replications: simulated windows per month.
        seed, workers: as of `simulate`.

    Raises:
        InputError: the store does not grow, or an argument is wrong.
    """
    known, objectives = _known(spec), parse_slos(slos)
    read, notes = known._read, [*known.notes]
    say_implausible([read], notes.append)
    found = planned(
        read.whole,
        read_growth(Path(growth)),
        objectives,
        source=str(known.path),
        seed=seed,
        window_s=seconds_of("window", window),
        replications=replications,
        workers=workers,
    )
    say_basis(read, known.path, notes.append)
    return Result(found, tuple(notes), plan_answer(found, known.path.stem, Made.of(read.spec, seed, read)))


def read_run(folder: AnyPath) -> Result[Run]:
    """Read the folder of a Run, measured or simulated; the table has a row for each request.

    Raises:
        InputError: there is no Run, or its files are changed.
    """
    run = Run.read(Path(folder))
    return Result(run, (), run_answer(run, run_names([Path(folder)])[0]))


AnyRun = AnyPath | Run | Result[Run] | Result[Forecast]


def _run_of(run: AnyRun) -> Run:
    value = run.value if isinstance(run, Result) else run
    if not isinstance(value, Forecast):
        return value if isinstance(value, Run) else Run.read(Path(value))
    if value.run is None:
        raise InputError("a forecast of several replications has no Run of its own; compare those of one run")
    return value.run


def compare(a: AnyRun, b: AnyRun, *, tolerance: float = 0.15, seed: int = 0) -> Result[Comparison]:
    """Compare two Runs quantile by quantile; the table has a row for each operation and measure.

    Args:
        a: a Run, or the forecast of one run.
        b: the reference.
        tolerance: the relative difference that is allowed.
        seed: of the resamples.

    Raises:
        InputError: there is no Run.
    """
    runs = [_run_of(each) for each in (a, b)]
    folders = [Path(each if isinstance(each, str | Path) else name) for each, name in zip((a, b), "ab", strict=True)]
    found = compared(runs[0], runs[1], tolerance=tolerance, seed=seed)
    return Result(found, (), comparison_answer(found, list(zip(run_names(folders), runs, strict=True))))


def calibrate(
    spec: AnySpec,
    runs: AnyPath | Sequence[AnyPath] = (),
    *,
    tables: Sequence[AnyPath] = (),
    parameters: Sequence[str] = (),
    fix: Sequence[str] = (),
    anyway: bool = False,
    leave_out: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    workers: int = 1,
    out: AnyPath | None = None,
) -> Result[Profile]:
    """Fit a model to measured Runs or published tables; the table has a row for each parameter.

    Args:
        spec: a spec, or what `load_spec` takes.
        runs: folders of measured Runs under light load, or folders that contain such.
        tables: CSV files of published figures.
        parameters: further values to fit, such as ``network.latency=0.05ms..1ms``.
        fix: paths of values that are not fitted.
        anyway, leave_out: whether to fit, or to leave out, Runs that fail the run-quality check; they are refused by
            default.
        confidence: of the intervals.
        seed, workers: as of `simulate`.
        out: file of the profile, for `load_spec`; None: it is not written.

    Raises:
        InputError: there is nothing to fit, a Run fails the run-quality check, or an argument is wrong.
    """
    known = _known(spec)
    read, notes = known._read, [*known.notes]
    folders = run_folders([Path(each) for each in ([runs] if isinstance(runs, str | Path) else runs)])
    if not folders and not tables:
        raise InputError("there is nothing to fit; give folders of Runs, or tables")
    published = published_rows([Path(each) for each in tables], read.whole, read.spec, str(known.path))
    notes += [f"warning: {doubt}" for doubt in doubts_of(published)]
    named = list(zip(run_names(folders), [Run.read(folder) for folder in folders], strict=True))
    profile = fitted(
        read.spec,
        named,
        chosen(read.spec, [Parameter.parse(text) for text in parameters], fix),
        source=str(known.path),
        seed=seed,
        confidence=confidence,
        workers=workers,
        anyway=anyway,
        leave_out=leave_out,
        server_s=matched(named, [path for folder in folders if (path := folder / IN_RUN).exists()]),
        published=published,
    )
    if out is not None:
        profile.write(Path(out))
    return Result(profile, tuple(notes), profile_answer(profile, read))


def import_trace(
    files: AnyPath | Sequence[AnyPath],
    out: AnyPath,
    *,
    run: AnyPath | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    pattern: str | None = None,
    time_zone: str = "UTC",
    strict: bool = False,
    anonymise: bool = False,
    salt: str | None = None,
    spread: bool = False,
    seed: int = 0,
) -> Result[dict[str, Any]]:
    """Import logs as a trace; the table has a row for each request. What exists is overwritten.

    Args:
        files: logs (plain or packed), folders or archives of them.
        out: trace file to write: parquet, or CSV by its ending.
        run: folder of the Run of logs that have latencies; None: none is written.
        format: of all files; None: detected.
        columns: of any other table, such as ``{"time": "ts", "op": "verb", "key": "path", "latency": "dur:ms"}``.
        delimiter, pattern: of such a table: character between columns, or regular expression of a line.
        time_zone: of times without one.
        strict: whether a line that cannot be read is an error.
        anonymise: whether to replace names by hashes; `salt`: their key.
        spread: whether to spread arrivals over the tick of a coarse clock.
        seed: of random numbers.

    Raises:
        InputError: a file cannot be read.
    """
    found = import_logs(
        [Path(each) for each in ([files] if isinstance(files, str | Path) else files)],
        Path(out),
        format=format,
        columns=None if columns is None else Columns(dict(columns), delimiter, pattern),
        zone=time_zone,
        strict=strict,
        anonymise=anonymise,
        salt=salt,
        spread=spread,
        seed=seed,
        run_out=None if run is None else Path(run),
    )
    return Result(found, tuple(found["notes"]), import_answer(found))


def _known(spec: AnySpec) -> Spec:
    return spec if isinstance(spec, Spec) else load_spec(spec)


def _settings(seed: int, replications: int | None, precision: float | None, steady: bool) -> Settings:
    wanted = None if precision is None else Precision(precision)
    return Settings(seed, Settings().replications if replications is None else replications, wanted, steady)


def _variations(vary: Mapping[str, Sequence[Any] | str] | Sequence[str]) -> list[Variation]:
    if not isinstance(vary, Mapping):
        return [parse_variation(text) for text in vary]
    return [
        parse_variation(f"{path}={values}")
        if isinstance(values, str)
        else Variation(path, tuple(_text(value) for value in values))
        for path, values in vary.items()
    ]


def _text(value: Any) -> str:
    """Return a value as a spec has it: a text with its unit as it is, others as JSON, which is YAML."""
    return value if isinstance(value, str) else json.dumps(value)

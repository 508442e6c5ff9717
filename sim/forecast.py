"""What simulations of one spec forecast: its figures, the verdict on its load, and whether it meets its objectives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from models.store import Spec
from sim.experiments.measures import Measures
from sim.replication.lengthening import Longer, Simulation, settling
from sim.replication.objectives import ObjectiveOutcome, outcomes, require_requested
from sim.replication.replicate import Precision, PrecisionVerdict, replicate
from sim.replication.slo import Slo
from sim.replication.steadiness import Unsettled
from sim.replication.summaries import Replication, Replications, Summary
from sim.saturation.capacity import capacity_of
from sim.simulate import EngineName, simulate
from sim.tally.simulated import simulate_figures
from sim.verdict.extra_attempts import ExtraAttempts, extra_attempts
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.verdict import LoadVerdict
from traces.errors import InputError
from traces.run import Run
from traces.trace import Trace
from traces.workload.kept_traces import generated


@dataclass(frozen=True)
class Forecast:
    """What simulations of one spec found.

    Attributes:
        spec: the simulated one.
        replications: the figures of each run.
        verdict: on the load; None: it was not determined.
        objectives: whether each is met.
        ends: when the workload ends, by the field that says so; empty for a recorded trace.
        run: of a forecast of one run; None: there are several, or its requests are not kept.
        precision: whether it was reached; None: none was required.
    """

    spec: Spec
    replications: Replications
    verdict: LoadVerdict | None
    objectives: Sequence[ObjectiveOutcome]
    ends: Mapping[str, float]
    run: Run | None = None
    precision: PrecisionVerdict | None = None

    @property
    def overloaded(self) -> bool:
        """Whether more requests arrive than the store can serve."""
        return self.verdict is not None and self.verdict.overloaded

    @property
    def missed(self) -> bool:
        """Whether an objective is missed."""
        return any(each.status == "missed" for each in self.objectives)

    @property
    def unsettled(self) -> list[Unsettled]:
        """Why the runs are too short; none if the store is overloaded."""
        return [] if self.overloaded else self.replications.unsettled

    @property
    def summary(self) -> Summary:
        """The figures with their intervals, and the stations that are visited."""
        visited = {row["name"] for run in self.replications.runs for row in run.stations if row["visits"]}
        summary = self.replications.summary()
        summary = replace(summary, stations=[station for station in summary.stations if station.name in visited])
        return summary.overloaded if self.overloaded else summary

    @property
    def extra(self) -> ExtraAttempts | None:
        """What retries and hedges cost; None: there are none, or the store is overloaded."""
        runs = self.replications.runs
        counts: dict[str, int] = {}
        for run in runs:
            for op, figures in run.summary["ops"].items():
                counts[op] = counts.get(op, 0) + figures["count"]
        attempts = math.fsum(run.attempts for run in runs) / len(runs) if counts else 1.0
        return extra_attempts(attempts - 1, counts, self.spec.client, self.verdict)


def _refuse_silence(trace: Trace, is_generated: bool) -> None:
    """Refuse requests that are none, of which nothing can be forecast."""
    if len(trace):
        return
    if not is_generated:
        raise InputError("the trace has no requests")
    lasts_s = trace.pacing.duration_s
    within = "" if lasts_s is None else f" within {lasts_s:g} s"
    raise InputError(f"workload: no request arrives{within}; give a longer duration, or a higher rate")


def forecast_of_run(
    spec: Spec,
    trace: Trace | None = None,
    *,
    seed: int = 0,
    engine: EngineName = "compiled",
    keeps_requests: bool = True,
    slos: Sequence[Slo] = (),
    said: Callable[[int], None] = lambda factor: None,
    progress: Callable[[int], None] | None = None,
) -> Forecast:
    """Simulate one run; with objectives and without a trace, a longer one until it has settled.

    Args:
        spec: of the store.
        trace: the requests; None: they are generated from the workload.
        seed: of all random numbers.
        engine: both give the same result.
        keeps_requests: if not, memory does not grow with the number of requests, and quantiles have a relative error
            of at most `traces.statistics.latency_sketch.ERROR`.
        slos: objectives.
        said: called with a factor before a run that is longer by it.
        progress: called with the number of requests that have ended.

    Raises:
        InputError: the spec cannot be simulated, or an objective names an operation that does not occur.
    """
    runs: list[Run] = []
    if trace is None:
        require_requested(slos, spec.workload.subjects)

    def once(simulation: Simulation, *, try_length: bool) -> Replications:
        found = simulation(seed=seed)
        if isinstance(found, Replication):
            return Replications((found,))
        runs[:] = [found]
        return Replications((Replication.of(found, seed, load_of(found)),))

    def of(factor: int) -> Simulation:
        longer = lengthened(spec, factor)
        if not keeps_requests:
            return partial(simulate_figures, longer, trace, engine=engine, progress=progress)
        return partial(simulate, longer, trace, engine=engine, critical_path=True, progress=progress)

    done = settling(once, Longer(of, said)) if slos and trace is None else once(of(1), try_length=False)
    run = runs[0] if runs else None
    issued = generated(spec.workload, seed) if trace is None and run is None else trace if run is None else run.trace
    capacity = None
    if issued is not None:
        _refuse_silence(issued, trace is None)
        capacity = capacity_of(spec, issued, trace is None, last_end_s(each.load for each in done.runs))
    found = outcomes(slos, Measures.of(done, None, capacity)) if slos else []
    ends = {} if trace is not None else spec.workload.ends
    return Forecast(spec, done, done.verdict(capacity), found, ends, run)


def forecast_of_replications(
    spec: Spec,
    trace: Trace | None = None,
    *,
    replications: int,
    seed: int = 0,
    engine: EngineName = "compiled",
    precision: Precision | None = None,
    steady: bool = False,
    keeps_requests: bool = True,
    slos: Sequence[Slo] = (),
    workers: int = 1,
    said: Callable[[int], None] = lambda factor: None,
    progress: Callable[[int], None] = lambda done: None,
) -> Forecast:
    """Simulate independent replications, until the precision is reached if there is one.

    With a precision, objectives or `steady`, and without a trace, they are lengthened until they have settled.

    Args:
        spec, trace, seed, engine, keeps_requests, slos, said: as of `forecast_of_run`.
        replications: number of replications; with a precision, the batch size.
        precision: of every p99; None: none is required.
        steady: whether to leave out the warm-up.
        workers: number of threads or processes.
        progress: called with the number of replications done.

    Raises:
        InputError: as of `forecast_of_run`, or a count is out of range.
    """
    goes_on = trace is None and bool(precision or steady or slos)
    of_spec: Callable[..., Run | Replication] = simulate if keeps_requests else simulate_figures
    issued = generated(spec.workload, seed) if trace is None else trace
    _refuse_silence(issued, trace is None)
    if trace is None:
        require_requested(slos, spec.workload.subjects)
    done = replicate(
        partial(of_spec, spec, trace, engine=engine),
        seed=seed,
        replications=replications,
        precision=precision,
        steady=steady,
        longer=Longer(lambda factor: partial(of_spec, lengthened(spec, factor), engine=engine), said)
        if goes_on
        else None,
        workers=workers,
        progress=progress,
    )
    capacity = capacity_of(spec, issued, trace is None, last_end_s(run.load for run in done.runs))
    found = outcomes(slos, Measures.of(done, None, capacity)) if slos else []
    return Forecast(
        spec,
        done,
        done.verdict(capacity),
        found,
        {} if trace is not None else spec.workload.ends,
        precision=None if precision is None else precision.verdict(done),
    )


def lengthened(spec: Spec, factor: int) -> Spec:
    """Return a spec whose workload ends later by a factor."""
    return spec if factor == 1 else spec.model_copy(update={"workload": spec.workload.longer(factor)})

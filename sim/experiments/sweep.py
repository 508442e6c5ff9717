"""Simulations of many specs with the same seeds, so that differences are precise; each is simulated at most once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from models.store import Spec
from sim.experiments.measures import Measures
from sim.parallel.dask_pool import completed_on
from sim.parallel.result_cache import ResultFolder, content_key
from sim.parallel.worker_map import WorkerMap
from sim.replication.replicate import Precision, replicate_over, seed_of
from sim.saturation.capacity import capacity_of
from sim.simulate import EngineName, simulate
from sim.verdict.offered_load import last_end_s
from traces.errors import InputError
from traces.run import Run
from traces.trace import Trace
from traces.workload.kept_traces import generated

REPLICATIONS = 5


@dataclass(frozen=True)
class Settings:
    """Settings of the simulation of each point, as for `sim.replication.replicate.replicate`."""

    seed: int = 0
    replications: int = REPLICATIONS
    precision: Precision | None = None
    steady: bool = False
    engine: EngineName = "compiled"


@dataclass(frozen=True)
class PointTask:
    """A point to simulate: everything that its result depends on."""

    spec: Spec
    settings: Settings

    @property
    def key(self) -> str:
        """A hash of the job, without what affects no simulation, and of the source code."""
        return content_key((self.spec.model_dump_json(exclude={"prices", "assumed"}), self.settings))


Point = Measures | InputError
"""The result of a job; the error is that of an infeasible store, for example one that is too full."""


def sweep(
    jobs: Sequence[PointTask],
    *,
    workers: int = 1,
    scheduler: str | None = None,
    cache: ResultFolder | None = None,
    progress: Callable[[int], None] = lambda done: None,
    started: WorkerMap | None = None,
) -> list[Point]:
    """Return the results of all jobs, in order; they do not depend on the workers.

    Args:
        workers: number of threads or processes on this machine, see `WorkerMap`.
        scheduler: address of the scheduler of a dask cluster to use instead, for example ``tcp://10.0.0.1:8786``.
        cache: searched before a job is run; stores each result at once.
        progress: called with the number of jobs done.
        started: workers to use; None: `workers` are started.

    Raises:
        InputError: a worker was killed, or there is no such cluster.
    """
    keys = [job.key for job in jobs]
    distinct = dict(zip(keys, jobs, strict=True))
    results = {key: found for key in distinct if cache and (found := cache.find(key)) is not None}
    missing = [key for key in distinct if key not in results]
    progress(sum(key in results for key in keys))
    to_run = [distinct[key] for key in missing]
    done = _completed(to_run, missing, workers, scheduler) if started is None else started.completed(simulated, to_run)
    for i, result in done:
        results[missing[i]] = result
        if cache:
            cache.keep(missing[i], result)
        progress(sum(key in results for key in keys))
    return [_point(results[key]) for key in keys]


def _completed(
    jobs: Sequence[PointTask], keys: Sequence[str], workers: int, scheduler: str | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    if scheduler is not None:
        yield from completed_on(scheduler, simulated, jobs, keys)
        return
    with WorkerMap(workers) as mapping:
        yield from mapping.completed(simulated, jobs)


def _point(result: dict[str, Any]) -> Point:
    return InputError(result["error"]) if "error" in result else Measures.from_json(result)


def measured(job: PointTask, mapping: Callable[..., Iterator[Any]], cache: ResultFolder | None = None) -> Point:
    """Return the result of one job, with replications in parallel on a `WorkerMap`; uses the cache as `sweep` does."""
    result = cache.find(job.key) if cache else None
    if result is None:
        result = simulated(job, mapping)
        if cache:
            cache.keep(job.key, result)
    return _point(result)


def simulated(job: PointTask, mapping: Callable[..., Iterator[Any]] = map) -> dict[str, Any]:
    """Run a job; returns its `Measures` as JSON values, or ``{"error"}``."""
    settings = job.settings
    try:
        replications = replicate_over(
            mapping,
            partial(_run, job.spec, settings.engine),
            seed=settings.seed,
            replications=settings.replications,
            precision=settings.precision,
            steady=settings.steady,
        )
        trace = first_trace(job.spec, settings.seed)
        end_s = last_end_s(run.load for run in replications.runs)
        capacity = None if end_s is None else capacity_of(job.spec, trace, end_s=end_s)
    except InputError as error:
        return {"error": str(error)}
    return Measures.of(replications, settings.replications, capacity).to_json()


def first_trace(spec: Spec, seed: int) -> Trace:
    """Return the trace of the first replication of a job, from which its verdict has the capacity."""
    return generated(spec.workload, seed_of(seed, 0))


def _run(spec: Spec, engine: EngineName, *, seed: int) -> Run:
    return simulate(spec, generated(spec.workload, seed), seed=seed, engine=engine)

"""Simulations with their verdict and results as JSON and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cli.common import progress, say
from cli.tables.forecast.extra_attempts import extra_attempts_line
from cli.tables.forecast.runs import (
    attribution_grid,
    few_in,
    mean_attempts,
    replications_grid,
    station_intervals_grid,
    stations_grid,
    summary_grid,
)
from cli.tables.forecast.steadiness import unsettled_lines
from cli.tables.forecast.uncertainty import band_grid, band_notes, load_line, unknowns_grid
from cli.tables.forecast.verdict import backlog_grid, few_note, objective_lines, verdict_line
from cli.tables.grid import Grid
from cli.tables.operations import ordered
from models.basis.uncertainty import Uncertain
from models.shared.client_policy import ClientPolicies
from models.store import Spec, spec_of
from sim.experiments.measures import Measures
from sim.experiments.sweep import Settings
from sim.experiments.uncertainty import uncertainty_band
from sim.json_form import to_json
from sim.replication.lengthening import Longer, Simulation, settling
from sim.replication.objectives import ObjectiveOutcome, outcomes
from sim.replication.replicate import Precision, replicate
from sim.replication.slo import Slo
from sim.replication.summaries import Replication, Replications
from sim.saturation.capacity import Capacity, capacity_of
from sim.simulate import EngineName, simulate
from sim.verdict.extra_attempts import ExtraAttempts, extra_attempts
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.verdict import LoadVerdict, verdict_on_run
from traces.errors import InputError
from traces.run import Run
from traces.statistics.critical_path import attribution
from traces.statistics.summary import summarise, too_few
from traces.trace import Trace


@dataclass(frozen=True)
class Simulated:
    """What a simulation found: all of it as JSON, lines and tables; `missed`: an objective is."""

    result: dict[str, Any]
    shown: Sequence[str | Grid]
    missed: bool = False


def result_of(run: Run, verdict: LoadVerdict | None = None) -> dict[str, Any]:
    """Return the summary of a simulated Run, with its verdict, attempts per request, stations and engine.

    A Run with critical paths also has the result of `critical_path.attribution`: the mean waiting time for the host's
    CPU around the p99 of GETs is ``["attribution"]["GET"]["p99"]["roles"]["host cpu"]["waiting_s"]``.
    """
    assert run.stations is not None
    summary = summarise(run)
    ops = {
        op: figures | {"attempts": mean_attempts(run, op), "few": too_few(figures["count"] - figures["errors"])}
        for op, figures in summary["ops"].items()
    }
    stations = [s for s in run.station_rows if s["visits"]]
    parts = {} if run.critical_path is None else {"attribution": attribution(run)}
    first = {"verdict": to_json(verdict)}
    return {**first, **summary, "ops": ops, "stations": stations, **parts, "engine": run.info["engine"]}


def recorded_verdict(run: Run) -> LoadVerdict | None:
    """Return the verdict on a simulated Run that was read from a folder; None: it was measured, or there is none."""
    if run.info["kind"] != "simulated" or run.trace is None or not len(run.trace):
        return None
    try:
        end_s = last_end_s([load_of(run)])
        capacity = capacity_of(spec_of(run.info["spec"], "its spec"), run.trace, generated=None, end_s=end_s)
    except (InputError, KeyError):  # the Run has a spec of an earlier version, or none
        capacity = None
    return verdict_on_run(run, capacity)


def recorded_extra(run: Run, verdict: LoadVerdict | None) -> ExtraAttempts | None:
    """Return what retries and hedges cost in a simulated Run that was read from a folder; None: there are none."""
    if run.info["kind"] != "simulated" or not len(run):
        return None
    try:
        client = spec_of(run.info["spec"], "its spec").client
    except (InputError, KeyError):  # the Run has a spec of an earlier version, or none
        return None
    counts = {op: figures["count"] for op, figures in summarise(run)["ops"].items()}
    return extra_attempts(float(run.column("attempts").mean()) - 1, counts, client, verdict)


def simulated_run(
    spec: Spec, trace: Trace | None, seed: int, engine: EngineName, out: Path | None, slos: Sequence[Slo] = ()
) -> Simulated:
    """Simulate one Run, and write it to `out` if given; with objectives, a longer one until it has settled."""
    runs: list[Run] = []
    with progress("simulating", len(trace) if trace is not None else spec.workload.operations) as update:

        def once(simulation: Simulation, *, try_length: bool) -> Replications:
            runs[:] = [simulation(seed=seed)]
            return Replications((Replication.of(runs[0], seed, load_of(runs[0])),))

        def of(factor: int) -> Simulation:
            longer = lengthened(spec, factor)
            return partial(simulate, longer, trace, engine=engine, critical_path=True, progress=update)

        done = settling(once, Longer(of, _say_longer)) if slos and trace is None else once(of(1), try_length=False)
    run = runs[0]
    if out is not None:
        run.write(out)
        say(f"Run written to {out}")
    capacity = None
    if run.trace is not None:
        capacity = capacity_of(spec, run.trace, trace is None, last_end_s(each.load for each in done.runs))
    found = _outcomes(slos, done, capacity) if slos else []
    verdict = verdict_on_run(run, capacity)
    result = _with_slos(result_of(run, verdict), found)
    counts = {op: figures["count"] for op, figures in result["ops"].items()}
    grids = [summary_grid(run, slos=slos), stations_grid(result["stations"])]
    if result.get("attribution"):
        grids.append(attribution_grid(result["attribution"], "Tail attribution", ordered(counts, slos)))
    few = few_in(figures["count"] - figures["errors"] for figures in result["ops"].values())
    extra = extra_attempts(float(run.column("attempts").mean()) - 1 if counts else 0.0, counts, spec.client, verdict)
    return _simulated(result, verdict, extra, found, grids, few, done, {} if trace is not None else spec.workload.ends)


def lengthened(spec: Spec, factor: int) -> Spec:
    """Return a spec whose workload ends later by a factor."""
    return spec if factor == 1 else spec.model_copy(update={"workload": spec.workload.longer(factor)})


def _say_longer(factor: int) -> None:
    say(f"has not settled; simulating {factor} times the length")


def replicated_runs(
    simulation: Simulation,
    seed: int,
    replications: int,
    precision: Precision | None,
    steady: bool,
    workers: int,
    capacity: Callable[[float | None], Capacity],
    client: ClientPolicies,
    slos: Sequence[Slo] = (),
    longer: Callable[[int], Simulation] | None = None,
    ends: Mapping[str, float] | None = None,
) -> Simulated:
    """Simulate and summarise independent replications of a store with these client policies.

    `capacity` returns that of the store, given the time in s of the last response. With `longer`, the simulation with a
    workload that is longer by a factor, they are lengthened until they have settled. `ends` are those of the workload.
    """
    with progress("replicating", replications if precision is None else None) as update:
        done = replicate(
            simulation,
            seed=seed,
            replications=replications,
            precision=precision,
            steady=steady,
            longer=None if longer is None else Longer(longer, _say_longer),
            workers=workers,
            progress=update,
        )
    summary, reached = done.summary(), None if precision is None else precision.verdict(done)
    visited = {row["name"] for run in done.runs for row in run.stations if row["visits"]}
    summary = replace(summary, stations=[station for station in summary.stations if station.name in visited])
    known = capacity(last_end_s(run.load for run in done.runs))
    verdict = done.verdict(known)
    if verdict is not None and verdict.overloaded:
        summary = summary.overloaded
    found = _outcomes(slos, done, known) if slos else []
    result = _with_slos({"verdict": to_json(verdict), **to_json(summary), "engine": done.work}, found)
    result |= {} if reached is None else {"precision": reached}
    grids = [replications_grid(summary, reached, slos), station_intervals_grid(summary.stations)]
    extra = extra_attempts(
        math.fsum(run.attempts for run in done.runs) / len(done) - 1,
        {op: figures.count for op, figures in summary.ops.items()},
        client,
        verdict,
    )
    few = few_in(op.count - op.errors for op in summary.ops.values())
    return _simulated(result, verdict, extra, found, grids, few, done, ends or {})


def drawn_runs(uncertain: Uncertain, settings: Settings, level: float, workers: int) -> Simulated:
    """Simulate draws of the values of a spec that are not known; the band has a fraction `level` of the results."""
    with progress("drawing", settings.replications + 1) as update:
        band = uncertainty_band(uncertain, settings, level, workers=workers, progress=update)
    short = unsettled_lines(band.unsettled, uncertain.spec({}).workload.ends)
    grids = [band_grid(band), unknowns_grid(band.unknowns)]
    return Simulated(to_json(band), [*load_line(band.load), *short, *grids, *band_notes(band)])


def _outcomes(slos: Sequence[Slo], replications: Replications, capacity: Capacity | None) -> list[ObjectiveOutcome]:
    return outcomes(slos, Measures.of(replications, None, capacity))


def _with_slos(result: dict[str, Any], found: Sequence[ObjectiveOutcome]) -> dict[str, Any]:
    return result | ({"slo": {each.slo.text: to_json(each) for each in found}} if found else {})


def _simulated(
    result: dict[str, Any],
    verdict: LoadVerdict | None,
    extra: ExtraAttempts | None,
    found: Sequence[ObjectiveOutcome],
    grids: list[Grid],
    few: Sequence[str],
    done: Replications,
    ends: Mapping[str, float],
) -> Simulated:
    opening = [] if verdict is None else [verdict_line(verdict)]
    unsettled = [] if verdict is not None and verdict.overloaded else done.unsettled
    result |= {"unsettled": to_json(unsettled), "longer": done.longer}
    opening += unsettled_lines(unsettled, ends, done.longer)
    if extra is not None:
        opening.append(f"Of this load, {extra_attempts_line(extra)}")
        result |= {"extra_attempts": to_json(extra)}
    opening += objective_lines(found)
    if verdict is not None and verdict.overloaded:
        grids = [backlog_grid(verdict), *grids]
    shown: list[str | Grid] = [*opening, *grids, *few_note(few)]
    return Simulated(result, shown, any(each.status == "missed" for each in found))

"""Simulations with their verdict and results as JSON and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
from models.store import spec_of
from sim.experiments.uncertainty import UncertaintyBand
from sim.forecast import Forecast
from sim.json_form import to_json
from sim.replication.objectives import ObjectiveOutcome
from sim.run_tables import visited_stations
from sim.saturation.capacity import capacity_of
from sim.verdict.extra_attempts import ExtraAttempts, extra_attempts
from sim.verdict.offered_load import last_end_s, load_of
from sim.verdict.verdict import LoadVerdict, verdict_on_run
from traces.errors import InputError
from traces.run import Run
from traces.statistics.critical_path import attribution
from traces.statistics.summary import summarise, too_few


@dataclass(frozen=True)
class Simulated:
    """What a simulation found: all of it as JSON, and as lines and tables."""

    result: dict[str, Any]
    shown: Sequence[str | Grid]


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
    stations = visited_stations(run)
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


def simulated(found: Forecast) -> Simulated:
    """Return a forecast of one run, or of replications, as JSON, lines and tables."""
    return _of_run(found, found.run) if found.run is not None else _of_replications(found)


def _of_run(found: Forecast, run: Run) -> Simulated:
    slos = [each.slo for each in found.objectives]
    result = _with_slos(result_of(run, found.verdict), found.objectives)
    counts = {op: figures["count"] for op, figures in result["ops"].items()}
    grids = [summary_grid(run, slos=slos), stations_grid(result["stations"])]
    if result.get("attribution"):
        grids.append(attribution_grid(result["attribution"], "Tail attribution", ordered(counts, slos)))
    few = few_in(figures["count"] - figures["errors"] for figures in result["ops"].values())
    return _shown(found, result, grids, few)


def _of_replications(found: Forecast) -> Simulated:
    slos = [each.slo for each in found.objectives]
    summary, reached = found.summary, found.precision
    result = {"verdict": to_json(found.verdict), **to_json(summary), "engine": found.replications.work}
    result = _with_slos(result, found.objectives) | ({} if reached is None else {"precision": reached})
    grids = [replications_grid(summary, reached, slos), station_intervals_grid(summary.stations)]
    return _shown(found, result, grids, few_in(op.count - op.errors for op in summary.ops.values()))


def band_shown(band: UncertaintyBand, ends: Mapping[str, float]) -> list[str | Grid]:
    """Return the lines and tables of simulations of draws; `ends`: of the workload."""
    short = unsettled_lines(band.unsettled, ends)
    return [*load_line(band.load), *short, band_grid(band), unknowns_grid(band.unknowns), *band_notes(band)]


def _with_slos(result: dict[str, Any], found: Sequence[ObjectiveOutcome]) -> dict[str, Any]:
    return result | ({"slo": {each.slo.text: to_json(each) for each in found}} if found else {})


def _shown(found: Forecast, result: dict[str, Any], grids: list[Grid], few: Sequence[str]) -> Simulated:
    verdict, extra, longer = found.verdict, found.extra, found.replications.longer
    result |= {"unsettled": to_json(found.unsettled), "longer": longer}
    opening = [] if verdict is None else [verdict_line(verdict)]
    opening += unsettled_lines(found.unsettled, found.ends, longer)
    if extra is not None:
        opening.append(f"Of this load, {extra_attempts_line(extra)}")
        result |= {"extra_attempts": to_json(extra)}
    opening += objective_lines(found.objectives)
    if verdict is not None and verdict.overloaded:
        grids = [backlog_grid(verdict), *grids]
    return Simulated(result, [*opening, *grids, *few_note(few)])

"""Lines of the scoreboard from recorded Runs of real stores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from models.basis.uncertainty import uncertain
from models.capabilities import SIDES
from models.spec.origins import Written, origins_of
from models.store import Spec, compile_spec, spec_of
from sim.experiments.probability import band_with
from sim.parallel.process_pool import process_map
from sim.replication.replicate import seed_of
from sim.simulate import simulate
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import load_mapping
from traces.statistics.summary import latencies, ops_of
from validate.compare.measured import Measured
from validate.reference.deviations import with_deviations
from validate.reference.figures import ALL, figure, first_half, is_tail
from validate.reference.forecast import noise_of
from validate.reference.rows import Row
from validate.replay.cpu_usage import measured_cpu_s, modelled_cpu_s
from validate.replay.recorded_faults import with_faults
from validate.replay.recorded_policies import as_recorded
from validate.scoreboard.baselines import baseline, straight_lines
from validate.scoreboard.lines import FITTED, KNOWN, Line
from validate.scoreboard.published import BoardSettings
from validate.scoreboard.recordings import Recording

_QUANTILES = {"latency_p50_ms": 0.5, "latency_p90_ms": 0.9, "latency_p99_ms": 0.99, "latency_p99_9_ms": 0.999}
_BEYOND = 10
"""A quantile is evaluated if at least this many measured requests lie beyond it."""

_CPU = "{}_cpu_ms"
"""CPU time per request of a side, without an operation."""

_Figures = dict[tuple[str, str], float]
"""Figures of a Run, by operation and name."""


def recorded_lines(
    recording: Recording,
    settings: BoardSettings,
    names: Sequence[str],
    progress: Callable[[float], None] | None = None,
) -> list[Line]:
    """Predict the Runs of a recording and return their lines.

    Clients have the recorded timeouts, retries and hedging, and the store the faults that were staged.

    Args:
        recording: the Runs.
        settings: of the board.
        names: of the Runs to predict.
        progress: called with the fraction done.

    Raises:
        InputError: a Run, the spec or the profile is not valid.
    """
    profile, data = recording.profile, load_mapping(recording.spec)
    written: tuple[Written, ...] = ()
    fitted: set[tuple[str, int]] = set()
    if profile is not None:
        data = profile.applied_to(data, str(recording.spec))
        written = profile.written(str(recording.profile_name))
        fitted = {(run.started_at, run.requests) for run in profile.runs}
    jobs = [_Job(recording, data, written, run, settings) for run in recording.runs if run.name in names]
    found: list[_Predicted] = []
    with process_map(min(settings.workers, len(jobs))) as mapping:
        for one in mapping(partial(_predicted, fitted=frozenset(fitted)), jobs):
            found.append(one)
            if progress:
                progress(len(found) / len(jobs))
    return _with_straight_lines(found)


@dataclass(frozen=True)
class _Predicted:
    """The lines of a Run, and what identifies its workload: its clients, and the rest."""

    lines: list[Line]
    settings: Mapping[str, str]


def _with_straight_lines(found: Sequence[_Predicted]) -> list[Line]:
    """Return the lines of Runs with the straight lines through Runs of the same workload with fewer clients."""
    lines = [(line, one.settings) for one in found for line in one.lines]
    for name in dict.fromkeys(line.figure for line, _ in lines):
        mine = [i for i, (line, _) in enumerate(lines) if line.figure == name]
        rows = [Row("", lines[i][0].op, lines[i][1], False, {name: lines[i][0].measured}) for i in mine]
        for i, value in zip(mine, straight_lines(rows, name), strict=True):
            lines[i] = replace(lines[i][0], line=value), lines[i][1]
    return [line for line, _ in lines]


def _series(measured: Measured) -> dict[str, str]:
    """Return the clients of a Run, and the operations and sizes of its workload."""
    clients, _, rest = measured.requested.label.partition(", ")
    return {"clients": clients.split()[0], "workload": re.sub(r" \d+%", "", rest)}


@dataclass(frozen=True)
class _Job:
    """A Run to predict with the mapping of its spec, and the values that a profile wrote into it."""

    recording: Recording
    data: Mapping[str, Any]
    written: tuple[Written, ...]
    folder: Path
    settings: BoardSettings


def _predicted(job: _Job, fitted: frozenset[tuple[str, int]]) -> _Predicted:
    settings, source, name = job.settings, str(job.recording.spec), job.folder.name
    spec = spec_of(job.data, source)
    measured = Measured(name, Run.read(job.folder))
    wanted = _wanted(measured.run)
    modelled = modelled_cpu_s(spec, *compile_spec(spec, measured.trace))
    wanted |= {
        ("", _CPU.format(side)): 1e3 * s for side, s in measured_cpu_s(measured.run).items() if modelled.get(side)
    }
    seeds = [seed_of(settings.seed, k) for k in range(settings.replications)]
    found = [_simulated(_as_measured(spec, measured), measured, wanted, seed) for seed in seeds]
    forecasts = {key: float(np.median([figures[key] for figures, _, _ in found])) for key in wanted}
    bands = _bands(job, spec, measured, forecasts)
    known = FITTED if measured.identity in fitted or name in job.recording.fitted else KNOWN
    simple = baseline(_as_measured(spec, measured), ALL, measured.trace)
    lines = []
    for (op, figure_name), value in wanted.items():
        samples = [figures[op, figure_name] for figures, _, _ in found]
        halves = [half[op, figure_name] for _, half, _ in found if (op, figure_name) in half]
        predicted = forecasts[op, figure_name]
        low, high = bands.get((op, figure_name), (None, None))
        lines.append(
            Line(
                job.recording.name,
                name,
                op,
                figure_name,
                known,
                value,
                predicted,
                noise_of(samples),
                low,
                high,
                simple.figure(simple.bounds, op, figure_name),
                simple.figure(simple.mva, op, figure_name),
                None,
                measured.run.duration_s,
                float(np.median([simulated_s for _, _, simulated_s in found])),
                predicted / float(np.median(halves)) if halves else None,
                settings.model,
                settings.seed,
            )
        )
    return _Predicted(lines, _series(measured))


def _as_measured(spec: Spec, measured: Measured) -> Spec:
    """Return the spec with the client policies and the faults of a Run."""
    return with_faults(as_recorded(spec, measured.policies), measured.faults, measured.name)


def _wanted(run: Run) -> _Figures:
    """Return the measured figures: throughput of closed loops, and latencies as far as they are known."""
    found: _Figures = {}
    closed = run.trace is not None and run.trace.pacing.loop == "closed"
    for op in ops_of(run):
        count = len(latencies(run, op))
        if not count:
            continue
        if closed:
            found[op, "throughput_ops"] = figure(run, op, "throughput_ops")
        found[op, "latency_mean_ms"] = figure(run, op, "latency_mean_ms")
        for name, quantile in _QUANTILES.items():
            if count * (1 - quantile) >= _BEYOND - 1e-9:
                found[op, name] = figure(run, op, name)
    return found


def _simulated(spec: Spec, measured: Measured, wanted: _Figures, seed: int) -> tuple[_Figures, _Figures, float]:
    """Return the wanted figures of a simulation, of its first half, and its length in s."""
    trace = measured.trace
    run = simulate(spec, trace, seed=seed)
    cpu_s = modelled_cpu_s(spec, *compile_spec(spec, trace))
    figures: _Figures = {("", _CPU.format(side)): 1e3 * cpu_s.get(side, 0.0) for side in SIDES}
    halves: _Figures = {}
    for op, name in wanted:
        if op:
            succeeds = bool(len(latencies(run, op)))
            figures[op, name] = figure(run, op, name) if succeeds else 0.0
            if is_tail(name) and succeeds:
                halves[op, name] = figure(first_half(run, op), op, name)
    return figures, halves, run.duration_s


def _bands(
    job: _Job, spec: Spec, measured: Measured, forecasts: _Figures
) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the band of each figure over draws of the values that are not known; empty without draws."""
    settings, source = job.settings, str(job.recording.spec)
    if settings.uncertainty is None:
        return {}
    origins = origins_of(spec, job.data, source, job.written)
    unknown = uncertain(spec, job.data, source, origins)
    if not unknown.unknowns:
        return {}
    drawn: dict[tuple[str, str], list[float]] = {}
    for k in range(settings.draws):
        try:
            other = _as_measured(unknown.drawn(k, settings.draws, settings.seed), measured)
        except InputError:
            continue  # the values do not fit together
        figures, _, _ = _simulated(other, measured, forecasts, seed_of(settings.seed, k))
        for key in forecasts:
            drawn.setdefault(key, []).append(figures[key])
    is_closed = measured.trace.pacing.loop == "closed"
    return {
        (op, name): band_with(
            with_deviations(name, values, is_closed, settings.seed), settings.uncertainty, forecasts[op, name]
        )
        for (op, name), values in drawn.items()
    }

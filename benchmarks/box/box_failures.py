"""Stages failures on stores in boxes, and tables of their measured and predicted phases: what all stores share."""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from failure_cases import Case, figures, phases

from cli.parse.lab_fault import parse_lab_fault
from models.store import Spec
from sim.simulate import simulate
from traces.run import Run
from traces.trace import Trace
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import Shape
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.store import Form, Store
from validate.replay.plan import Options
from validate.replay.recorded_faults import recorded_faults, with_faults
from validate.replay.recorded_policies import as_recorded, recorded_policies
from validate.replay.replay import Faults, replay

_FITS, _LEAST_CPU_S = 3, 1e-4


class Staged(Faults, Protocol):
    """Faults of a replay.

    Attributes:
        problems: what went wrong.
    """

    problems: list[str]


def schedule_of(case: Case, store: Store) -> Staged:
    """Return the faults of a case on a store."""
    return FaultSchedule(store, [parse_lab_fault(text) for text in case.faults])


def measure(
    case: Case, repeat: int, folder: Path, name: str, form: Form, shape: Shape,
    staged: Callable[[Case, Store], Staged] = schedule_of,
) -> None:  # fmt: skip
    """Measure a case on a box of its own, and write its Run."""
    began_s = time.monotonic()
    store = lab.up(name, form_of(case, form), say, shape, seed=repeat, options=dict(case.options))
    up_s = time.monotonic() - began_s
    try:
        schedule = staged(case, store)
        options = Options(policies=case.client, max_in_flight=1024, timeout_s=120, keep=True)
        run = replay(case.trace(repeat), store.target, options, faults=schedule)
        if run.info["aborted"]:
            raise KeyboardInterrupt
        assert store.box is not None
        run = with_accesses(store.box, run)
        for problem in schedule.problems:
            say(f"warning: {problem}")
    finally:
        began_s = time.monotonic()
        lab.down(name)
        down_s = time.monotonic() - began_s
    facts = case.facts() | {"repeat": repeat, "up_s": up_s, "down_s": down_s}
    folder.parent.mkdir(parents=True, exist_ok=True)
    replace(run, info=run.info | {"failure_case": facts}).write(folder)
    cpu = run.info["cpu"]
    say(
        f"{case.name}/{repeat}: {len(run)} requests, {int(run.failed.sum())} errors, box up in {up_s:.1f} s, "
        f"busy {cpu['busy_share']:.0%}, others {cpu['other_share']:.0%}"
    )


def form_of(case: Case, form: Form) -> Form:
    """Return the form of a case's store."""
    given = {"hosts": case.hosts, "drives": case.drives, "gateways": case.gateways, "balancers": case.balancers}
    return form._replace(**{name: count for name, count in given.items() if count})


def sized(case: Case, size: float) -> Case:
    """Return a case with a fraction of its duration, and of the time until and of the fault."""
    return replace(case, begin_s=size * case.begin_s, for_s=size * case.for_s, length_s=size * case.length_s)


def predicted(
    spec: Spec, run: Run, seeds: int, trace_of: Callable[[Run, int], Trace] = lambda run, seed: run.trace
) -> dict[str, Any]:
    """Return the figures of a simulation with the faults and policies of a Run: the means over several seeds.

    Args:
        trace_of: the requests for a seed.
    """
    source = str(run.info["failure_case"]["name"])
    spec = as_recorded(with_faults(spec, recorded_faults(run, source), source), recorded_policies(run, source))
    return mean_figures(spec, run, seeds, trace_of)


def mean_figures(
    spec: Spec, run: Run, seeds: int, trace_of: Callable[[Run, int], Trace] = lambda run, seed: run.trace
) -> dict[str, Any]:
    """Return the means of the figures of several simulations of a Run's requests."""
    found = [figures(simulate(spec, trace_of(run, seed), seed=seed), phases(run)) for seed in range(1, seeds + 1)]
    result: dict[str, Any] = _mean(found)
    return result


def _mean(found: Sequence[Any]) -> Any:
    if isinstance(found[0], dict):
        return {name: _mean([each[name] for each in found if name in each]) for name in found[0]}
    return float(np.mean(found))


def quietest(folders: Sequence[Path]) -> Run | None:
    """Return the Run that was least disturbed without the fault; None if there is none."""
    runs = [Run.read(folder) for folder in folders]
    return min(runs, key=_undisturbed_s) if runs else None


def _undisturbed_s(run: Run) -> float:
    """Return the greatest p50 of GETs (or PUTs) of the phases without the fault."""
    found = [of for name, of in figures(run, phases(run)).items() if name != "during"]
    return max(float((of.get("GET") or of["PUT"])["p50"]) for of in found)


Fit = Callable[[dict[str, Run]], Callable[[Case, Run], Spec]]
"""From light Runs by operation to the spec that predicts the Run of a case."""


def stage_and_predict(
    given: argparse.Namespace, cases: Sequence[Case], light: Sequence[Case], stage: Callable[[Case, int, Path], None],
    fit: Fit, predict: Callable[[Spec, Run, int], dict[str, Any]] = predicted,
) -> None:  # fmt: skip
    """Measure what is missing, predict all, and print both.

    Args:
        cases: all, with the light ones.
        light: those that CPU times are taken from.
        stage: measures a case, and writes its Run to a folder.
    """
    chosen = [c for c in cases if not given.only or any(fnmatch.fnmatchcase(c.name, glob) for glob in given.only)]
    for repeat in range(1, given.repeats + 1):
        for case in () if given.predict_only else chosen:
            folder = given.out / case.name / str(repeat)
            if not folder.is_dir():
                stage(sized(case, given.size), repeat, folder)
    if given.measure_only:
        return
    measured = {case.name: quietest(sorted((given.out / case.name).glob("[0-9]*"))) for case in cases}
    spec_for = fit({next(iter(dict(case.mix))): run for case in light if (run := measured[case.name]) is not None})
    runs = [(case, run) for case in chosen if (run := measured[case.name]) is not None]
    rows = [
        (case.name, figures(run, phases(run)), predict(spec_for(case, run), run, given.seeds)) for case, run in runs
    ]
    print(
        json.dumps([dict(zip(("case", "measured", "predicted"), row, strict=True)) for row in rows], indent=1)
        if given.json
        else "\n".join(table(rows))
    )


def table(rows: Sequence[tuple[str, dict[str, Any], dict[str, Any]]]) -> list[str]:
    """Return the lines of a Markdown table: measured | predicted."""
    names = (
        "case",
        "phase",
        "op/s",
        "errors",
        "longest stall s",
        "GET p50 ms",
        "GET p95 ms",
        "PUT p50 ms",
        "PUT p95 ms",
    )
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for name, measured, forecast in rows:
        for phase, ours in measured.items():
            theirs = forecast[phase]
            cells = [
                f"{ours[k]:.{d}f} \\| {theirs[k]:.{d}f}"
                for k, d in (("throughput_ops", 1), ("errors", 0), ("stall_s", 1))
            ]
            for op in ("GET", "PUT"):
                for quantile in ("p50", "p95"):
                    both = [1000 * each[op][quantile] if op in each else float("nan") for each in (ours, theirs)]
                    cells.append(f"{both[0]:.0f} \\| {both[1]:.0f}")
            lines.append(f"| {name} | {phase} | {' | '.join(cells)} |")
    return lines


def arguments(doc: str | None, shape: Path | None = None) -> argparse.Namespace:
    """Return the arguments of a benchmark of failures; `shape` is the default if there may be another one."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="GLOB", help="cases by name; repeatable (default: all)")
    parser.add_argument("--repeats", type=int, default=1, help="Runs of each case (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="simulations of each case (default: %(default)s)")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument("--measure-only", action="store_true", help="predict nothing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full duration of each case (default: %(default)s)"
    )
    if shape is not None:
        parser.add_argument("--shape", type=Path, default=shape, help=f"shape of the box (default: {shape.name})")
    return parser.parse_args()


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


def fitted(
    light: Mapping[str, Run], first: Mapping[str, float], spec: Callable[[dict[str, float]], Spec]
) -> dict[str, float]:
    """Return the CPU times in s, by operation, at which the p50 of each light Run is the measured one.

    Args:
        light: Runs of one client, by operation.
        first: CPU times to begin with.
        spec: from CPU times to the spec of the light loads.
    """
    cpu = dict(first)
    for op, run in light.items():
        for _ in range(_FITS):  # the latency is nearly linear in the CPU time
            off_s = float(np.median(run.latency_s) - np.median(simulate(spec(cpu), run.trace, seed=1).latency_s))
            cpu[op] = max(_LEAST_CPU_S, cpu[op] + off_s)
    say(f"CPU times from the light Runs: {json.dumps(cpu)}")
    return cpu

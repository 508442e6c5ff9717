"""Stages failures on a MinIO in a box, and predicts each from hardware alone: before, during and after the fault.

    python benchmarks/minio_failures.py --out OUT [--only 'drive-*'] [--repeats N] [--predict-only] [--json]

Each case is measured on a box of its own, so that nothing is left of the case before. Its Run is ``OUT/CASE/REPEAT``;
Runs that are there are not measured again. The prediction takes drives and links from the shape, the CPU time of a GET
and of a PUT from the light Runs, and the faults from what each Run recorded. Of several repetitions, the table has the
one whose phases before and after the fault were least disturbed, by the p50 of their GETs.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from failure_cases import CASES, LIGHT, Case, figures, phases

from cli.parse.lab_fault import parse_lab_fault
from models.minio.maintenance_sections import Stored
from models.store import Spec, spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec_file import load_mapping
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import read_shape
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.store import Form
from validate.replay.plan import Options
from validate.replay.recorded_faults import recorded_faults, with_faults
from validate.replay.recorded_policies import as_recorded, recorded_policies
from validate.replay.replay import replay

FORM = Form(drives=2, hosts=4)
EXAMPLES = Path(__file__).parent.parent / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "hdd.yaml", EXAMPLES / "recorded-box" / "minio.yaml"
_FITS, _LEAST_CPU_S, _LONGEST_PAUSE_S = 4, 1e-4, 0.35
_LATE_S = 0.08
"""A PUT whose lock was refused is later than the lower quartile by more than this."""


def measure(case: Case, repeat: int, folder: Path) -> None:
    """Measure a case on a box of its own, and write its Run."""
    began_s = time.monotonic()
    store = lab.up("minio", FORM, say, read_shape(SHAPE), seed=repeat)
    up_s = time.monotonic() - began_s
    try:
        schedule = FaultSchedule(store, [parse_lab_fault(text) for text in case.faults])
        options = Options(policies=case.client, max_in_flight=1024, timeout_s=120)
        run = replay(case.trace(repeat), store.target, options, faults=schedule)
        if run.info["aborted"]:
            raise KeyboardInterrupt
        assert store.box is not None
        run = with_accesses(store.box, run)
        for problem in schedule.problems:
            say(f"warning: {problem}")
    finally:
        began_s = time.monotonic()
        lab.down("minio")
        down_s = time.monotonic() - began_s
    facts = case.facts() | {"repeat": repeat, "up_s": up_s, "down_s": down_s}
    folder.parent.mkdir(parents=True, exist_ok=True)
    replace(run, info=run.info | {"failure_case": facts}).write(folder)
    cpu = run.info["cpu"]
    say(
        f"{case.name}/{repeat}: {len(run)} requests, {int(run.failed.sum())} errors, box up in {up_s:.1f} s, "
        f"busy {cpu['busy_share']:.0%}, others {cpu['other_share']:.0%}"
    )


def fitted(light: dict[str, Run], data: dict[str, Any]) -> dict[str, Any]:
    """Return the spec with the CPU time of each operation at which the quantile of its light Run is the measured one.

    Of a PUT it is the lower quartile, as locks that are refused delay others; their fraction is that of late PUTs.
    """
    cpu, client = dict(data["hosts"]["cpu"]), dict(data["client"]["cpu"])
    internode = dict(data["hosts"]["internode"])
    for op, run in light.items():
        at, latency_s = (0.25 if op == "PUT" else 0.5), run.latency_s[~run.failed]
        target_s = float(np.quantile(latency_s, at))
        client[op] = run.info["cpu"]["client_per_op_s"]
        if op == "PUT":
            late = float((latency_s > target_s + _LATE_S).mean())
            internode["lock_conflict_fraction"] = min(0.95, late / (1 - _LATE_S / _LONGEST_PAUSE_S))
        cpu[op] = _LEAST_CPU_S
        for _ in range(_FITS):  # the latency is nearly linear in the CPU time
            hosts = data["hosts"] | {"cpu": cpu, "internode": internode}
            spec = spec_of(data | {"hosts": hosts, "client": data["client"] | {"cpu": client}}, str(SPEC))
            predicted_s = float(np.quantile(simulate(spec, run.trace, seed=1).latency_s, at))
            cpu[op] = max(_LEAST_CPU_S, cpu[op] + target_s - predicted_s)
    hosts = data["hosts"] | {"cpu": cpu, "internode": internode}
    return data | {"hosts": hosts, "client": data["client"] | {"cpu": client}}


def predicted(spec: Spec, run: Run, seeds: int) -> dict[str, Any]:
    """Return the figures of a simulation with the faults of a Run: the means over several seeds."""
    source = str(run.info["failure_case"]["name"])
    stored = Stored(objects=max(run.info["preload_objects"], 1), bytes_each=int(run.column("size_bytes").max()))
    spec = spec.model_copy(update={"stored": stored})  # a replaced drive gets them back
    spec = as_recorded(with_faults(spec, recorded_faults(run, source), source), recorded_policies(run, source))
    # MinIO does not withdraw the accesses of a request whose client hangs up.
    hedge = spec.client.hedge.model_copy(update={"cancel": False})
    spec = spec.model_copy(update={"client": spec.client.model_copy(update={"hedge": hedge})})
    found = [figures(simulate(spec, run.trace, seed=seed), phases(run)) for seed in range(1, seeds + 1)]
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


def main() -> int:
    """Measure what is missing, predict all, and print both."""
    given = _arguments()
    chosen = [c for c in CASES if not given.only or any(fnmatch.fnmatchcase(c.name, glob) for glob in given.only)]
    for repeat in range(1, given.repeats + 1):
        for case in () if given.predict_only else chosen:
            folder = given.out / case.name / str(repeat)
            if not folder.is_dir():
                measure(case, repeat, folder)
    measured = {case.name: quietest(sorted((given.out / case.name).glob("[0-9]*"))) for case in CASES}
    light = {next(iter(dict(case.mix))): run for case in LIGHT if (run := measured[case.name]) is not None}
    data = fitted(light, load_mapping(SPEC))
    found = {"hosts.cpu": data["hosts"]["cpu"], "client.cpu": data["client"]["cpu"], **data["hosts"]["internode"]}
    say(f"from the light Runs: {json.dumps(found)}")
    spec = spec_of(data, str(SPEC))
    runs = {case.name: run for case in chosen if (run := measured[case.name]) is not None}
    rows = [(name, figures(run, phases(run)), predicted(spec, run, given.seeds)) for name, run in runs.items()]
    print(
        json.dumps([dict(zip(("case", "measured", "predicted"), row, strict=True)) for row in rows], indent=1)
        if given.json
        else "\n".join(table(rows))
    )
    return 0


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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="GLOB", help="cases by name; repeatable")
    parser.add_argument("--repeats", type=int, default=1, help="Runs of each case")
    parser.add_argument("--seeds", type=int, default=3, help="simulations of each case")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args()


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

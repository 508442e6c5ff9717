"""Healing of a replaced drive on a MinIO in a box, measured and predicted: duration, accesses, requests meanwhile.

    python benchmarks/box/minio_failures.py --measure-only --repeats 3 --out RUNS [--shape SHAPE] \
        --only 'light-*' --only drive-kept --only 'drive-replaced*'
    python benchmarks/box/minio_healing.py RUNS

The times of healing are those of the new drive's access log: from its first access to the last rename of an object's
metadata by no PUT. The simulation begins to heal when MinIO did (`found_after`), and knows the objects that were
there by then; drives and links are those of the shape, CPU times of requests are from the light Runs. The CPU time of
healing an object, on all hosts together, is what the store needed more than for the same requests without a fault
(`drive-kept`), unless it is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from failure_cases import figures
from minio_failures import LIGHT, SPEC, fitted

from models.minio.background.maintenance import healed_s
from models.minio.spec.spec import MinioSpec
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine
from sim.engine.outcome import Program
from sim.simulate import simulate
from traces.operations import PUT
from traces.run import Run
from traces.spec.spec_file import load_mapping
from validate.replay.recorded_faults import recorded_faults, with_faults

_OVER_S = 3.0
_SETTLED_S = 2.0
"""After the first connections, and after healing, until requests are those of the phase."""

_QUANTILES = ("p50", "p95", "p99")


@dataclass(frozen=True)
class Healing:
    """How a drive was healed.

    Attributes:
        begin_s, end_s: first read of an object for it, and the end of the last one that was healed.
        objects: that were healed.
        written_bytes: to the new drive for them.
        reads: of each other drive for a healed object, whatever made them that was no request.
        writes, fsyncs: on the new drive for a healed object.
    """

    begin_s: float
    end_s: float
    objects: int
    written_bytes: int
    reads: float
    writes: float
    fsyncs: float

    @property
    def took_s(self) -> float:
        """Duration of the healing."""
        return self.end_s - self.begin_s


def measured(run: Run) -> Healing:
    """Return what the access logs of a Run show."""
    assert run.drive_accesses is not None
    fault = run.info["faults"][0]
    log, per_host = run.drive_accesses.to_pandas(), int(run.info["lab"]["drives_per_host"])
    log["number"] = log["host"] * per_host + log["drive"]
    puts = np.flatnonzero(run.op == PUT)
    own = log[(log["arrival_s"] > fault["back_at"]) & ~log["request"].isin(puts)]
    on_new = own["number"] == fault["drive"]
    healed = own[on_new & (own["kind"] == "rename") & (own["file"] == "xl.meta")].sort_values("arrival_s")
    pauses = np.flatnonzero(np.diff(healed["arrival_s"]) > _OVER_S)  # what comes later is the work of the scanner
    healed = healed.iloc[: pauses[0] + 1 if len(pauses) else None]
    begin_s, end_s = float(healed["arrival_s"].min()), float(healed["end_s"].max())
    within = own[(own["arrival_s"] >= begin_s) & (own["end_s"] <= end_s)]
    count = max(len(healed), 1)
    new, others = (within[(within["number"] == fault["drive"]) == is_new] for is_new in (True, False))
    drives = int(run.info["lab"]["hosts"]) * per_host
    per_object = {kind: float((new["kind"] == kind).sum()) / count for kind in ("write", "fsync")}
    written_bytes = int(new.loc[new["kind"] == "write", "size_bytes"].sum())
    others = others[others["request"].isna()]
    reads = float((others["kind"] == "read").sum()) / count / (drives - 1)
    return Healing(begin_s, end_s, len(healed), written_bytes, reads, *per_object.values())


def cpu_s_of(replaced: Sequence[Run], kept: Sequence[Run]) -> float:
    """Return the CPU time in s for each healed object: the difference to Runs of the same requests without healing."""
    if not (replaced and kept):
        return 0.0
    healing_s, without_s = (np.mean([run.info["cpu"]["server_s"] for run in runs]) for runs in (replaced, kept))
    return max(0.0, float(healing_s - without_s)) / float(np.mean([measured(run).objects for run in replaced]))


def spec_for(data: dict[str, Any], run: Run, found_s: float) -> MinioSpec:
    """Return the spec of the box with the fault of a Run, and the objects that were there when the drive was found."""
    (fault,) = recorded_faults(run, "the Run")
    written = (run.op == PUT) & ~run.failed & (run.column("end_s") < fault["back_at"] + found_s)
    sizes = run.column("size_bytes")
    stored = {"objects": run.info["preload_objects"] + int(written.sum()), "object_size": int(sizes.max())}
    spec = spec_of(data | {"stored": stored}, str(SPEC))
    spec = with_faults(spec, [fault | {"found_after": max(0.0, found_s)}], "the Run")
    assert isinstance(spec, MinioSpec)
    return spec


def predicted(spec: MinioSpec, run: Run, seed: int) -> tuple[int, float, dict[str, Any]]:
    """Return the objects that were healed in a simulation of a Run, how long it took in s, and figures by phase."""
    (fault,) = spec.faults
    begin_s = fault.back_s + fault.found_after  # type: ignore[union-attr]
    outcome = engine.run(Program.of(*compile_spec(spec, run.trace), seed))
    ends_s = outcome.background_end_s[np.isfinite(outcome.background_end_s)]
    end_s = float(ends_s.max())
    return len(ends_s), end_s - begin_s, by_phase(simulate(spec, run.trace, seed=seed), begin_s, end_s, fault.at)


def by_phase(run: Run, begin_s: float, end_s: float, at_s: float) -> dict[str, Any]:
    """Return the figures of a Run before the fault, while the drive is healed, and after."""
    last_s = float(np.nanmax(run.column("arrival_s")))
    periods = {"before": (_SETTLED_S, at_s), "healed": (begin_s, end_s), "after": (end_s + _SETTLED_S, last_s)}
    return figures(run, periods)


def _latencies(measured: dict[str, Any], simulated: Sequence[dict[str, Any]], op: str, phase: str) -> str:
    """Return the quantiles in ms, measured and predicted; those with fewer than two requests beyond are left out."""
    count = round(measured[phase]["requests"] * (0.7 if op == "GET" else 0.3))
    cells = []
    for name in _QUANTILES:
        if count * (100 - int(name[1:])) < 200 and name != "p50":
            continue
        of = [each[phase][op][name] for each in simulated if op in each[phase]]
        cells.append(f"{name} {1e3 * measured[phase][op][name]:.0f} \\| {1e3 * np.mean(of):.0f}")
    return ", ".join(cells)


def main() -> int:
    """Print a row for each Run, and one for its requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder of the Runs")
    parser.add_argument("--seeds", type=int, default=3, help="simulations of each Run (default: %(default)s)")
    parser.add_argument("--cpu", type=float, help="CPU time in s of healing an object (default: from the Runs)")
    given = parser.parse_args()
    light = {next(iter(dict(case.mix))): Run.read(given.runs / case.name / "1") for case in LIGHT}
    data = fitted(light, load_mapping(SPEC))
    replaced, kept = (
        [Run.read(path) for path in sorted(given.runs.glob(f"{name}/*"))] for name in ("drive-replaced", "drive-kept")
    )
    cpu_s = cpu_s_of(replaced, kept) if given.cpu is None else given.cpu
    conflicts = data["hosts"]["internode"]["lock_conflict_fraction"]
    requests = ", ".join(f"{op} {1e3 * each:.1f} ms" for op, each in data["hosts"]["cpu"].items())
    print(f"CPU: healing an object {1e3 * cpu_s:.1f} ms, {requests}; {conflicts:.2f} of PUTs have a lock refused\n")
    data = data | {"healing": {"cpu": cpu_s}}
    names = ("Run", "found after s", "objects", "MB written", "took s", "reads of each other drive", "writes, fsyncs")
    rows = []
    print(f"| {' | '.join(names)} | predicted | idle s |\n|---{'|---:' * (len(names) + 1)}|")
    for folder in sorted(given.runs.glob("drive-replaced*/*")):
        run, name = Run.read(folder), f"{folder.parent.name}/{folder.name}"
        found = measured(run)
        back_s = run.info["faults"][0]["back_at"]
        spec = spec_for(data, run, found.begin_s - back_s)
        simulated = [predicted(spec, run, seed) for seed in range(1, given.seeds + 1)]
        objects, took_s = np.mean([each[:2] for each in simulated], axis=0)
        (fault,) = spec.faults
        idle_s = healed_s(spec)[fault.drive] - fault.back_s - fault.found_after  # type: ignore[union-attr]
        cells = [
            name, f"{found.begin_s - back_s:.1f}", str(found.objects), f"{found.written_bytes / 1e6:.1f}",
            f"{found.took_s:.1f}", f"{found.reads:.2f}", f"{found.writes:.2f}, {found.fsyncs:.2f}",
            f"{objects:.0f} in {took_s:.1f} s",
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} | {idle_s:.1f} |", flush=True)
        ours = by_phase(run, found.begin_s, found.end_s, fault.at)
        for op in ("GET", "PUT"):
            phases = [_latencies(ours, [each[2] for each in simulated], op, phase) for phase in ours]
            rows.append(f"| {name} | {op} | {' | '.join(phases)} |")
    print(
        "\nMeasured \\| predicted, in ms:\n\n| Run | op | before | while it is healed | after |\n|---|---|---|---|---|"
    )
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

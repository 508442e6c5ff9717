"""Healing of a replaced drive, measured on a MinIO in a box and predicted: duration, rate, accesses of each object.

    python benchmarks/minio_failures.py --out RUNS --only 'light-*' --only 'drive-replaced*'
    python benchmarks/minio_healing.py RUNS

The times of healing are those of the new drive's access log: from its first access to the last rename of an object's
metadata by no PUT. The simulation begins to heal when MinIO did (`found_after`), and knows the objects that were
there by then; CPU times are from the light Runs.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from minio_failures import LIGHT, SPEC, fitted

from models.minio.maintenance import healed_s
from models.minio.spec import MinioSpec
from models.store import compile_spec, spec_of
from sim.engine.compiled import engine
from sim.engine.outcome import Program
from traces.run import Run
from traces.spec_file import load_mapping
from traces.tables import PUT
from validate.replay.recorded_faults import recorded_faults, with_faults

_OVER_S = 3.0


@dataclass(frozen=True)
class Healing:
    """How a drive was healed.

    Attributes:
        found_s: from the return of the drive to the first read of an object for it.
        objects: that were healed.
        took_s: from then until the last of them was healed.
        reads: of each other drive for a healed object, whatever made them that was no request.
        writes, fsyncs: on the new drive for a healed object.
    """

    found_s: float
    objects: int
    took_s: float
    reads: float
    writes: float
    fsyncs: float


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
    others = others[others["request"].isna()]
    reads = float((others["kind"] == "read").sum()) / count / (drives - 1)
    return Healing(begin_s - fault["back_at"], len(healed), end_s - begin_s, reads, *per_object.values())


def spec_for(data: dict[str, Any], run: Run, found_s: float) -> MinioSpec:
    """Return the spec of the box with the fault of a Run, and the objects that were there when the drive was found."""
    (fault,) = recorded_faults(run, "the Run")
    written = (run.op == PUT) & ~run.failed & (run.column("end_s") < fault["back_at"] + found_s)
    sizes = run.column("size_bytes")
    stored = {"objects": run.info["preload_objects"] + int(written.sum()), "bytes_each": int(sizes.max())}
    spec = spec_of(data | {"stored": stored}, str(SPEC))
    spec = with_faults(spec, [fault | {"found_after": max(0.0, found_s)}], "the Run")
    assert isinstance(spec, MinioSpec)
    return spec


def predicted(spec: MinioSpec, run: Run, seed: int) -> tuple[int, float]:
    """Return the objects that were healed in a simulation of a Run, and from their beginning how long it took, in s."""
    (fault,) = spec.faults
    begin_s = fault.back_s + fault.found_after  # type: ignore[union-attr]
    outcome = engine.run(Program.of(*compile_spec(spec, run.trace), seed))
    ends_s = outcome.background_end_s[np.isfinite(outcome.background_end_s)]
    return len(ends_s), float(ends_s.max() - begin_s)


def main() -> int:
    """Print a row for each Run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("runs", type=Path, help="folder of the Runs")
    parser.add_argument("--seeds", type=int, default=3, help="simulations of each Run")
    given = parser.parse_args()
    light = {next(iter(dict(case.mix))): Run.read(given.runs / case.name / "1") for case in LIGHT}
    data = fitted(light, load_mapping(SPEC))
    names = ("Run", "found after s", "objects", "took s", "reads of each other drive", "writes, fsyncs", "predicted")
    print(f"| {' | '.join(names)} | idle s |\n|---{'|---:' * len(names)}|")
    for folder in sorted(given.runs.glob("drive-replaced*/*")):
        run = Run.read(folder)
        found = measured(run)
        spec = spec_for(data, run, found.found_s)
        simulated = [predicted(spec, run, seed) for seed in range(1, given.seeds + 1)]
        objects, took_s = np.mean(simulated, axis=0)
        (fault,) = spec.faults
        idle_s = healed_s(spec)[fault.drive] - fault.back_s - fault.found_after  # type: ignore[union-attr]
        cells = [
            f"{folder.parent.name}/{folder.name}", f"{found.found_s:.1f}", str(found.objects), f"{found.took_s:.1f}",
            f"{found.reads:.2f}", f"{found.writes:.2f}, {found.fsyncs:.2f}", f"{objects:.0f} in {took_s:.1f} s",
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} | {idle_s:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

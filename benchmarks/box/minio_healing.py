"""Healing of a replaced drive on a MinIO in a box, measured and predicted: duration, accesses, requests meanwhile.

    tailcast lab campaign examples/campaigns/minio-failures.yaml --measure-only --repeats 3 --out RUNS \
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from models.minio.background.maintenance import healed_s
from models.minio.spec.spec import MinioSpec
from models.store import compile_spec
from sim.engine.compiled import engine
from sim.engine.outcome import Program
from sim.simulate import simulate
from traces.operations import PUT
from traces.run import Run
from validate.campaign.campaign import read_campaign
from validate.campaign.cells import cells_of
from validate.campaign.phases import PhaseFigures, figures_of
from validate.campaign.predict import fitted_values
from validate.campaign.predict import spec_for as predicting
from validate.replay.recorded_faults import recorded_faults

_OVER_S = 3.0
_SETTLED_S = 2.0
"""After the first connections, and after healing, until requests are those of the phase."""

_QUANTILES = (0.5, 0.95, 0.99)

CAMPAIGN = read_campaign(Path(__file__).parents[2] / "examples" / "campaigns" / "minio-failures.yaml")
CELLS = cells_of(CAMPAIGN)


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


def spec_for(values: Mapping[str, float], healing_cpu_s: float, name: str, run: Run, found_s: float) -> MinioSpec:
    """Return the spec of the box with the fault of a Run, and the objects that were there when the drive was found.

    Args:
        values: values that follow from the light loads, by path.
        name: of the load.
        found_s: time from the replacement of the drive until MinIO began to heal it.
    """
    (fault,) = recorded_faults(run, name)
    written = (run.op == PUT) & ~run.failed & (run.column("end_s") < fault["back_at"] + found_s)
    sizes = run.column("size_bytes")
    stored = {"objects": run.info["preload_objects"] + int(written.sum()), "object_size": int(sizes.max())}
    changes = {"stored": stored, "healing": {"cpu": healing_cpu_s}, "faults.0.found_after": max(0.0, found_s)}
    cell = CELLS[name]
    load = cell.load.model_copy(update={"set": changes})
    spec = predicting(CAMPAIGN, replace(cell, load=load), run, values)
    assert isinstance(spec, MinioSpec)
    return spec


def predicted(spec: MinioSpec, run: Run, seed: int) -> tuple[int, float, dict[str, PhaseFigures]]:
    """Return the objects that were healed in a simulation of a Run, how long it took in s, and figures by phase."""
    (fault,) = spec.faults
    begin_s = fault.back_s + fault.found_after  # type: ignore[union-attr]
    outcome = engine.run(Program.of(*compile_spec(spec, run.trace), seed))
    ends_s = outcome.background_end_s[np.isfinite(outcome.background_end_s)]
    end_s = float(ends_s.max())
    return len(ends_s), end_s - begin_s, by_phase(simulate(spec, run.trace, seed=seed), begin_s, end_s, fault.at)


def by_phase(run: Run, begin_s: float, end_s: float, at_s: float) -> dict[str, PhaseFigures]:
    """Return the figures of a Run before the fault, while the drive is healed, and after."""
    last_s = float(np.nanmax(run.column("arrival_s")))
    return figures_of(
        run, {"before": (_SETTLED_S, at_s), "healed": (begin_s, end_s), "after": (end_s + _SETTLED_S, last_s)}
    )


def _latencies(
    measured: Mapping[str, PhaseFigures], simulated: Sequence[Mapping[str, PhaseFigures]], op: str, phase: str
) -> str:
    """Return the quantiles in ms, measured and predicted; those with fewer than two requests beyond are left out."""
    ours = measured[phase].ops.get(op)
    theirs = [each[phase].ops[op].latency_s for each in simulated if op in each[phase].ops]
    if ours is None or not theirs:
        return "-"
    cells = []
    for q in _QUANTILES:
        if q == 0.5 or ours.requests * (1 - q) >= 2:
            both = (float(np.quantile(latency_s, q)) for latency_s in (ours.latency_s, np.concatenate(theirs)))
            cells.append(f"p{100 * q:.0f} " + " \\| ".join(f"{1e3 * each:.0f}" for each in both))
    return ", ".join(cells)


def main() -> int:
    """Print a row for each Run, and one for its requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, help="folder of the Runs")
    parser.add_argument("--seeds", type=int, default=3, help="simulations of each Run (default: %(default)s)")
    parser.add_argument("--cpu", type=float, help="CPU time in s of healing an object (default: from the Runs)")
    given = parser.parse_args()
    light = {name: Run.read(given.runs / name / "1") for name in ("light-get", "light-put")}
    values = fitted_values(CAMPAIGN, CELLS, light)
    healed, kept = (
        [Run.read(path) for path in sorted(given.runs.glob(f"{name}/*"))] for name in ("drive-replaced", "drive-kept")
    )
    cpu_s = cpu_s_of(healed, kept) if given.cpu is None else given.cpu
    fitted = ", ".join(f"{path} {value:.4g}" for path, value in values.items())
    print(f"CPU time of healing an object: {1e3 * cpu_s:.1f} ms; {fitted}\n")
    names = ("Run", "found after s", "objects", "MB written", "took s", "reads of each other drive", "writes, fsyncs")
    rows = []
    print(f"| {' | '.join(names)} | predicted | idle s |\n|---{'|---:' * (len(names) + 1)}|")
    for folder in sorted(given.runs.glob("drive-replaced*/*")):
        run, name = Run.read(folder), f"{folder.parent.name}/{folder.name}"
        found = measured(run)
        back_s = run.info["faults"][0]["back_at"]
        spec = spec_for(values, cpu_s, folder.parent.name, run, found.begin_s - back_s)
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

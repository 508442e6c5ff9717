"""Measures large objects on a Ceph in a box, uploaded in parts, and predicts each load from light ones.

    python benchmarks/box/ceph_multipart.py --out OUT [--only 'put-*'] [--predict-only | --measure-only]

Objects of 32 MiB are uploaded in four parts at the same time. The Runs of the light loads, from which the CPU times of
a gateway per request are taken, are those of `ceph_failures.py`: OUT is its folder. Times per byte are the defaults of
the model. Drives take 8 ms an access.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from box_failures import arguments, fitted, measure, quietest, sized
from ceph_failures import FORM, LIGHT, SHAPE, SPEC, _ceph, spec_data
from failure_cases import Case

from models.ceph.spec.sections import Gateways
from models.store import Spec, spec_of
from sim.simulate import simulate
from traces.run import Run
from validate.lab.box.shape import read_shape
from validate.replay.recorded_policies import as_recorded, recorded_policies

_SIZE = "32MiB"
_POLICIES = json.dumps({"multipart": {"threshold": "8MiB", "part_size": "8MiB", "parallel": 4}})

CASES = tuple(
    _ceph(
        f"{op.lower()}-{_SIZE}-c{clients}", clients=clients, length_s=50, size=_SIZE, objects=6, mix=((op, 1.0),),
        policies=_POLICIES,
    )
    for op in ("PUT", "GET")
    for clients in (1, 4)
)  # fmt: skip


def spec_for(case: Case, constant_s: dict[str, float]) -> Spec:
    """Return the spec of a case with the CPU times of a gateway per request; those per byte are the model's."""
    data = spec_data(case, constant_s)
    default = Gateways().cpu
    cpu = {op: {"constant": each, "per_byte": default[op].per_byte} for op, each in constant_s.items()}  # type: ignore[index]
    return spec_of(data | {"gateways": data["gateways"] | {"cpu": cpu}}, str(SPEC))


def row(case: Case, run: Run, forecast: Run) -> str:
    """Return a line of the table: requests, and op/s and latencies in s, measured | predicted."""
    both = [figures(each) for each in (run, forecast)]
    cells = [f"{ours:.3g} \\| {theirs:.3g}" for ours, theirs in zip(*both, strict=True)]
    return f"| {case.name} | {int((~run.failed).sum())} | {int(run.failed.sum())} | {' | '.join(cells)} |"


def figures(run: Run) -> tuple[float, ...]:
    """Return op/s, p50 and p90 in s."""
    ok = ~run.failed
    quantiles = np.quantile(run.latency_s[ok], (0.5, 0.9)).tolist()
    return ok.sum() / np.nanmax(run.column("end_s")), *quantiles


def main() -> int:
    """Measure what is missing, predict all, and print both."""
    given = arguments(__doc__)
    shape = read_shape(SHAPE)
    chosen = [c for c in CASES if not given.only or any(Path(c.name).match(glob) for glob in given.only)]
    for case in () if given.predict_only else chosen:
        if not (given.out / case.name / "1").is_dir():
            measure(sized(case, given.size), 1, given.out / case.name / "1", "ceph", FORM, shape)
    if given.measure_only:
        return 0
    runs = {c.name: quietest(sorted((given.out / c.name).glob("[0-9]*"))) for c in (*LIGHT, *chosen)}
    light = {next(iter(dict(c.mix))): run for c in LIGHT if (run := runs[c.name]) is not None}
    cpu = fitted(light, {"GET": 2e-3, "PUT": 4e-3}, lambda times: spec_for(LIGHT[0], times))
    print("| case | requests | errors | op/s | p50 s | p90 s |\n|---|---:|---:|---|---|---|")
    for case in chosen:
        if (run := runs[case.name]) is not None:
            spec = as_recorded(spec_for(case, cpu), recorded_policies(run, case.name))
            print(row(case, run, simulate(spec, run.trace, seed=1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Stages failures on a MinIO in a box, and predicts each from hardware alone: before, during and after the fault.

    python benchmarks/box/minio_failures.py --out OUT [--only 'drive-*'] [--repeats N] [--predict-only] [--json]

Each case is measured on a box of its own, so that nothing is left of the case before. Its Run is ``OUT/CASE/REPEAT``;
Runs that are there are not measured again. The prediction takes drives and links from the shape, the CPU time of a GET
and of a PUT from the light Runs, and the faults from what each Run recorded. Of several repetitions, the table has the
one whose phases before and after the fault were least disturbed, by the p50 of their GETs.

The load is well below capacity: a drive is busy for 0.12 of the time, and one that is five times slower for 0.6.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from box_failures import arguments, mean_figures, measure, say, stage_and_predict
from failure_cases import Case

from models.minio.spec.maintenance_sections import Stored
from models.store import Spec, spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec.spec_file import load_mapping
from validate.lab.box.shape import read_shape
from validate.lab.store import Form
from validate.replay.recorded_faults import recorded_faults, with_faults
from validate.replay.recorded_policies import as_recorded, recorded_policies

FORM = Form(drives=2, hosts=4)
EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "hdd.yaml", EXAMPLES / "recorded-box" / "minio.yaml"
_FITS, _LEAST_CPU_S, _LONGEST_PAUSE_S = 4, 1e-4, 0.35
_LATE_S = 0.08
"""A PUT whose lock was refused is later than the lower quartile by more than this."""

_HEDGE = json.dumps({"hedge": {"after": "60ms", "budget": None}})
_RETRY = json.dumps({"retry": {"retries": 2}})

LIGHT = (
    Case("light-get", clients=1, length_s=20, mix=(("GET", 1.0),)),
    Case("light-put", clients=1, length_s=30, mix=(("PUT", 1.0),)),
)
"""Loads that CPU times are taken from."""

CASES = (
    *LIGHT,
    Case("none"),
    Case("drive-errors", "drive 3 errors"),
    Case("drive-x5", "drive 3 x5"),
    Case("drive-x5-hedged", "drive 3 x5", policies=_HEDGE),
    Case("drive-frozen", "drive 3 frozen", for_s=60, length_s=120),
    Case("host-killed", "host 1 killed"),
    Case("host-killed-retried", "host 1 killed", policies=_RETRY),
    Case("link-cut", "link 1 cut", for_s=60, length_s=120),
    Case("nic-tenth", "link 1 10%"),
    Case("drive-replaced", "drive 3 replaced", for_s=5, length_s=120, rate_ops=4, objects=400),
    Case("drive-kept", length_s=120, rate_ops=4, objects=400),
    Case("drive-replaced-1MiB", "drive 3 replaced", for_s=5, length_s=120, rate_ops=2, size="1MiB", objects=200),
)


def fitted(light: dict[str, Run], data: dict[str, Any]) -> dict[str, Any]:
    """Return the spec with the CPU time of each operation at which the quantile of its light Run is the measured one.

    Drives and links are those of the shape.

    Of a PUT it is the lower quartile, as locks that are refused delay others; their fraction is that of late PUTs.
    """
    data = _of_shape(data, next(iter(light.values())).info["lab"]["shape"])
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


def _of_shape(data: dict[str, Any], shape: dict[str, Any]) -> dict[str, Any]:
    """Return the spec with the drives and links of a shape."""
    of, nic = shape["drives"], {"nic": shape["nic"]["rate"]}
    drives = data["drives"] | {"read": of["read"], "write": of["write"], "commit": of["fsync"]}
    return data | {"drives": drives, "hosts": data["hosts"] | nic, "client": data["client"] | nic}


def predicted(spec: Spec, run: Run, seeds: int) -> dict[str, Any]:
    """Return the figures of a simulation with the faults of a Run: the means over several seeds."""
    source = str(run.info["failure_case"]["name"])
    stored = Stored(objects=max(run.info["preload_objects"], 1), object_size=int(run.column("size_bytes").max()))
    spec = spec.model_copy(update={"stored": stored})  # a replaced drive gets them back
    spec = as_recorded(with_faults(spec, recorded_faults(run, source), source), recorded_policies(run, source))
    # MinIO does not withdraw the accesses of a request whose client hangs up.
    hedge = spec.client.hedge.model_copy(update={"cancel": False})
    spec = spec.model_copy(update={"client": spec.client.model_copy(update={"hedge": hedge})})
    return mean_figures(spec, run, seeds)


def _fit(light: dict[str, Run]) -> Callable[[Case, Run], Spec]:
    data = fitted(light, load_mapping(SPEC))
    found = {"hosts.cpu": data["hosts"]["cpu"], "client.cpu": data["client"]["cpu"], **data["hosts"]["internode"]}
    say(f"from the light Runs: {json.dumps(found)}")
    spec = spec_of(data, str(SPEC))
    return lambda case, run: spec


def main() -> int:
    """Measure what is missing, predict all, and print both."""
    given = arguments(__doc__, SHAPE)
    shape = read_shape(given.shape)
    stage_and_predict(
        given, CASES, LIGHT,
        lambda case, repeat, folder: measure(case, repeat, folder, "minio", FORM, shape), _fit, predicted,
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

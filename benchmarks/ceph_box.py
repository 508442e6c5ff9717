"""Measures a Ceph in a box, light loads and held-out ones with their failures, and predicts each.

    python benchmarks/ceph_box.py --out OUT [--only 'get-*'] [--repeats 2] [--predict-only]

The Run of a load is ``OUT/LOAD``; Runs that are there are not measured again. The prediction is
``examples/ceph/box.yaml`` with the CPU times of the gateway for GET and PUT, per request and per byte, at which the p50
of the light loads (one client) is the measured one. Everything else is that spec; faults are those that each Run
recorded. Figures of a load with a fault are those of requests during the fault.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from box_loads import Cpu, Load, calibrated, chosen, folders, measure, print_table, say

from models.network.service_demand import ServiceDemand
from models.store import spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec_file import load_mapping
from validate.lab import lab
from validate.lab.box.shape import read_shape
from validate.lab.store import Form
from validate.replay.recorded_faults import recorded_faults, with_faults

EXAMPLES = Path(__file__).parent.parent / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "ceph" / "box.yaml"
FORM = Form(1, 3, gateways=1, monitors=1)
_ACCESS_S = 0.024
_FIRST_CPU = {"GET": {"constant": 1e-3, "per_byte": 1e-9}, "PUT": {"constant": 2e-3, "per_byte": 1e-9}}

LIGHT = (
    Load("get-4KiB-c1", clients=1),
    Load("get-1MiB-c1", "1MiB", clients=1, duration_s=12.0, keys=20),
    Load("put-4KiB-c1", gets=0.0, clients=1, duration_s=15.0),
    Load("put-1MiB-c1", "1MiB", 0.0, 1, duration_s=20.0),
)
HELD_OUT = (
    Load("put-4KiB-c2", gets=0.0, clients=2, duration_s=15.0),
    Load("put-4KiB-c4", gets=0.0, clients=4, duration_s=15.0),
    Load("put-4KiB-c8", gets=0.0, clients=8, duration_s=15.0),
    Load("put-4KiB-c16", gets=0.0, clients=16, duration_s=15.0),
    Load("put-64KiB-c1", "64KiB", 0.0, 1, duration_s=15.0),
    Load("put-64KiB-c4", "64KiB", 0.0, 4, duration_s=15.0),
    Load("put-256KiB-c2", "256KiB", 0.0, 2, duration_s=15.0),
    Load("put-1MiB-c4", "1MiB", 0.0, 4, duration_s=20.0),
    Load("get-64KiB-c1", "64KiB", clients=1, duration_s=12.0),
    Load("get-64KiB-c4", "64KiB", clients=4, duration_s=12.0),
    Load("get-256KiB-c2", "256KiB", clients=2, duration_s=12.0),
    Load("get-1MiB-c2", "1MiB", clients=2, duration_s=20.0, keys=20),
    Load("get-1MiB-c4", "1MiB", clients=4, duration_s=20.0, keys=20),
    Load("get-1MiB-c8", "1MiB", clients=8, duration_s=20.0, keys=20),
    Load("mix-4KiB-c4", gets=0.5, clients=4, duration_s=15.0),
    Load("mix-64KiB-c4", "64KiB", 0.7, 4, duration_s=15.0),
    Load("mix-1MiB-c4", "1MiB", 0.7, 4, duration_s=20.0, keys=20),
    Load("open-put-4KiB-30", gets=0.0, rate_ops=4.0, duration_s=20.0),
    Load("open-put-4KiB-60", gets=0.0, rate_ops=8.0, duration_s=20.0),
    Load("open-get-64KiB", "64KiB", rate_ops=30.0, duration_s=15.0),
    Load("open-mix-64KiB", "64KiB", 0.8, rate_ops=20.0, duration_s=20.0),
    Load("open-mix-64KiB-slow", "64KiB", 0.8, rate_ops=8.0, duration_s=24.0, fault="drive 1 x4 at 0s"),
    Load("open-mix-64KiB-killed", "64KiB", 0.8, rate_ops=20.0, duration_s=24.0, fault="host 1 killed at 6s"),
)


def predicted(cpu: Cpu, load: Load, run: Run) -> Run:
    """Return a simulation with the faults of a Run."""
    data: dict[str, Any] = load_mapping(SPEC)
    # What was deferred has stayed in the buffers of its OSD.
    warm = {"stored": {"warm": 1.0}, "osd": {**data["osd"], "cache": {}}} if load.size == "4KiB" else {}
    spec = spec_of(data | {"gateways": data["gateways"] | {"cpu": cpu}} | warm, str(SPEC))
    return simulate(with_faults(spec, recorded_faults(run, load.name), load.name), run.trace, seed=1)


def main() -> int:
    """Measure what is missing, predict all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="GLOB", help="loads by name; repeatable")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument("--repeats", type=int, default=1, help="times that each load is measured")
    given = parser.parse_args()
    loads = {load.name: load for load in (*LIGHT, *HELD_OUT)}
    names = chosen(loads, given.only)
    if not given.predict_only:
        shape, each = read_shape(SHAPE), ServiceDemand(constant=_ACCESS_S)
        drives = shape.drives.model_copy(update=dict.fromkeys(("read", "write", "fsync"), each))
        store = lab.up("ceph", FORM, say, shape.model_copy(update={"drives": drives}))
        try:
            for folder, name in folders(names, given.repeats):
                if not (given.out / folder).is_dir():
                    measure(loads[name], lab.refreshed(store), given.out / folder)
        finally:
            lab.down("ceph")
    light = [load.name for load in LIGHT]
    cpu = calibrated({load: Run.read(given.out / load.name) for load in LIGHT}, predicted, _FIRST_CPU)
    there = [name for name in names if (given.out / name).is_dir()]
    print_table(there, given.out, lambda name, run: predicted(cpu, loads[name], run), light)
    return 0


if __name__ == "__main__":
    sys.exit(main())

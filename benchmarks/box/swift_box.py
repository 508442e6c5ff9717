"""Measures a Swift in a box, light loads and held-out ones, and predicts each.

    python benchmarks/box/swift_box.py --out OUT [--only 'get-*'] [--repeats 2] [--predict-only | --measure-only]

The Run of a load is ``OUT/LOAD``; Runs that are there are not measured again. The prediction is
``examples/swift/box.yaml`` on slower drives, with the times of an object server for GET and PUT, per request and per
byte, at which the p50 of the light loads (one client) is the measured one: besides its CPU time a process waits for the
calls of the FUSE file system (open, attributes). Everything else is that spec.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from box_loads import Cpu, Load, arguments, calibrated, chosen, folders, measure, print_table, say, sized, unshaped

from models.network.service_demand import ServiceDemand
from models.store import spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec.spec_file import load_mapping
from validate.lab import lab
from validate.lab.box.shape import read_shape
from validate.lab.store import Form

EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "swift" / "box.yaml"
FORM = Form(1, 3, gateways=1)
ACCESS_S = 0.024
_FIRST_CPU = {"GET": {"constant": 2.9e-3, "per_byte": 4e-9}, "PUT": {"constant": 5e-3, "per_byte": 5.7e-9}}

LIGHT = (
    Load("get-4KiB-c1", clients=1, duration_s=10.0),
    Load("get-1MiB-c1", "1MiB", clients=1, duration_s=15.0, keys=20),
    Load("put-4KiB-c1", gets=0.0, clients=1, duration_s=15.0),
    Load("put-1MiB-c1", "1MiB", 0.0, 1, duration_s=15.0),
)
HELD_OUT = (
    Load("put-4KiB-c2", gets=0.0, clients=2, duration_s=15.0),
    Load("put-4KiB-c4", gets=0.0, clients=4, duration_s=15.0),
    Load("put-4KiB-c8", gets=0.0, clients=8, duration_s=15.0),
    Load("put-64KiB-c1", "64KiB", 0.0, 1, duration_s=15.0),
    Load("put-64KiB-c4", "64KiB", 0.0, 4, duration_s=15.0),
    Load("put-64KiB-c8", "64KiB", 0.0, 8, duration_s=15.0),
    Load("put-1MiB-c2", "1MiB", 0.0, 2, duration_s=15.0),
    Load("put-1MiB-c4", "1MiB", 0.0, 4, duration_s=15.0),
    Load("get-4KiB-c2", clients=2, duration_s=10.0, keys=20),
    Load("get-4KiB-c4", clients=4, duration_s=10.0, keys=20),
    Load("get-4KiB-c8", clients=8, duration_s=10.0, keys=20),
    Load("get-64KiB-c1", "64KiB", clients=1, duration_s=10.0, keys=20),
    Load("get-64KiB-c4", "64KiB", clients=4, duration_s=10.0, keys=20),
    Load("get-64KiB-c8", "64KiB", clients=8, duration_s=10.0, keys=20),
    Load("get-1MiB-c2", "1MiB", clients=2, duration_s=15.0, keys=12),
    Load("get-1MiB-c4", "1MiB", clients=4, duration_s=15.0, keys=12),
    Load("get-1MiB-c8", "1MiB", clients=8, duration_s=15.0, keys=12),
    Load("mix-4KiB-c2", gets=0.7, clients=2, duration_s=15.0, keys=20),
    Load("mix-4KiB-c4", gets=0.7, clients=4, duration_s=15.0, keys=20),
    Load("mix-4KiB-c8", gets=0.7, clients=8, duration_s=15.0, keys=20),
    Load("mix-64KiB-c4", "64KiB", 0.7, 4, duration_s=15.0, keys=20),
    Load("mix-64KiB-c8", "64KiB", 0.7, 8, duration_s=15.0, keys=20),
    Load("mix-1MiB-c2", "1MiB", 0.7, 2, duration_s=15.0, keys=12),
    Load("mix-1MiB-c4", "1MiB", 0.7, 4, duration_s=15.0, keys=12),
    Load("open-get-64KiB-30", "64KiB", rate_ops=33.0, duration_s=12.0, keys=20),
    Load("open-get-64KiB-60", "64KiB", rate_ops=66.0, duration_s=12.0, keys=20),
    Load("open-put-4KiB-30", gets=0.0, rate_ops=2.0, duration_s=20.0),
    Load("open-put-4KiB-60", gets=0.0, rate_ops=4.0, duration_s=20.0),
    Load("open-put-4KiB-80", gets=0.0, rate_ops=5.5, duration_s=20.0),
    Load("open-mix-64KiB-30", "64KiB", 0.7, rate_ops=5.0, duration_s=20.0, keys=20),
    Load("open-mix-64KiB-60", "64KiB", 0.7, rate_ops=10.0, duration_s=20.0, keys=20),
    Load("open-mix-64KiB-80", "64KiB", 0.7, rate_ops=14.0, duration_s=20.0, keys=20),
)
"""Rates of open loops are fractions of a capacity that was estimated beforehand from the accesses of each operation:
6.9 PUT/s of 4 KiB, 110 GET/s and 17 mixed requests/s of 64 KiB."""


def spec_data(cpu: Cpu, size: str) -> dict[str, Any]:
    """Return the spec with drives of `ACCESS_S` and the times of an object server."""
    data = unshaped(load_mapping(SPEC), size, ("client", "hosts", "proxies"))
    drives = data["drives"] | dict.fromkeys(("read", "write", "sync"), ACCESS_S)
    return data | {"drives": drives, "hosts": data["hosts"] | {"cpu": cpu}}


def predicted(cpu: Cpu, load: Load, run: Run) -> Run:
    """Return a simulation of the requests of a Run."""
    return simulate(spec_of(spec_data(cpu, load.size), str(SPEC)), run.trace, seed=1)


def main() -> int:
    """Measure what is missing, predict all, and print a table."""
    given = arguments(
        argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    )
    loads = {load.name: sized(load, given.size) for load in (*LIGHT, *HELD_OUT)}
    names = chosen(loads, given.only)
    if not given.predict_only:
        shape, each = read_shape(SHAPE), ServiceDemand(constant=ACCESS_S)
        drives = shape.drives.model_copy(update=dict.fromkeys(("read", "write", "fsync"), each))
        store = lab.up("swift", FORM, say, shape.model_copy(update={"drives": drives}))
        try:
            for folder, name in folders(names, given.repeats):
                if not (given.out / folder).is_dir():
                    measure(loads[name], lab.refreshed(store), given.out / folder)
        finally:
            lab.down("swift")
    if given.measure_only:
        return 0
    light = [load.name for load in LIGHT]
    cpu = calibrated(
        {load: Run.read(path) for load in LIGHT if (path := given.out / load.name).is_dir()}, predicted, _FIRST_CPU
    )
    there = [name for name in names if (given.out / name).is_dir()]
    print_table(there, given.out, lambda name, run: predicted(cpu, loads[name], run), light)
    return 0


if __name__ == "__main__":
    sys.exit(main())

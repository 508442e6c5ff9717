"""Measures a Ceph in a box, light loads and held-out ones, and predicts each.

    python benchmarks/box/ceph_box.py --out OUT [--only 'get-*'] [--repeats 2] [--predict-only | --measure-only]

The Run of a load is ``OUT/LOAD``; Runs that are there are not measured again. The prediction is
``examples/ceph/box.yaml`` with the CPU times of the gateway for GET and PUT, per request and per byte, at which the p50
of the light loads (one client) is the measured one, and the OSDs that each Run recorded for the objects that it read.
Everything else is that spec.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from box_loads import Cpu, Load, arguments, calibrated, chosen, folders, measure, print_table, say, sized, unshaped

from models.ceph.cluster.placement_rows import PlacementRows
from models.ceph.faults.osd_map import Epoch
from models.ceph.spec.spec import CephSpec
from models.network.placement import key_hashes
from models.network.service_demand import ServiceDemand
from models.store import spec_of
from sim.simulate import simulate
from traces.operations import OPS
from traces.run import Run
from traces.spec.spec_file import load_mapping
from traces.trace import Trace
from validate.lab import lab
from validate.lab.box.shape import read_shape
from validate.lab.ceph import program
from validate.lab.ceph.configuration import ceph_conf
from validate.lab.store import Form, Store

EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "ceph" / "box.yaml"
FORM = Form(1, 3, gateways=1, monitors=1)
_ACCESS_S = 0.024
_FIRST_CPU = {"GET": {"constant": 1e-3, "per_byte": 1e-9}, "PUT": {"constant": 2e-3, "per_byte": 1e-9}}

OPTIONS = {"osd.bluestore_default_buffered_read": "false"}
"""So each GET of 64 KiB or more reads its drive, as from a store that is larger than its caches."""

LIGHT = (
    Load("get-4KiB-c1", clients=1, duration_s=10.0),
    Load("get-1MiB-c1", "1MiB", clients=1, duration_s=15.0, keys=20),
    Load("put-4KiB-c1", gets=0.0, clients=1, duration_s=15.0),
    Load("put-1MiB-c1", "1MiB", 0.0, 1, duration_s=20.0),
)
HELD_OUT = (
    Load("put-4KiB-c2", gets=0.0, clients=2, duration_s=15.0),
    Load("put-4KiB-c4", gets=0.0, clients=4, duration_s=15.0),
    Load("put-4KiB-c8", gets=0.0, clients=8, duration_s=20.0),
    Load("put-64KiB-c1", "64KiB", 0.0, 1, duration_s=15.0),
    Load("put-64KiB-c4", "64KiB", 0.0, 4, duration_s=15.0),
    Load("put-4KiB-c16", gets=0.0, clients=16, duration_s=15.0),
    Load("put-256KiB-c2", "256KiB", 0.0, 2, duration_s=15.0),
    Load("put-64KiB-c8", "64KiB", 0.0, 8, duration_s=20.0),
    Load("put-1MiB-c2", "1MiB", 0.0, 2, duration_s=15.0),
    Load("put-1MiB-c4", "1MiB", 0.0, 4, duration_s=15.0),
    Load("put-1MiB-c8", "1MiB", 0.0, 8, duration_s=20.0),
    Load("get-64KiB-c1", "64KiB", clients=1, duration_s=10.0, keys=30),
    Load("get-64KiB-c2", "64KiB", clients=2, duration_s=10.0, keys=30),
    Load("get-64KiB-c4", "64KiB", clients=4, duration_s=10.0, keys=30),
    Load("get-64KiB-c8", "64KiB", clients=8, duration_s=10.0, keys=30),
    Load("get-1MiB-c2", "1MiB", clients=2, duration_s=15.0, keys=20),
    Load("get-1MiB-c4", "1MiB", clients=4, duration_s=15.0, keys=20),
    Load("get-1MiB-c8", "1MiB", clients=8, duration_s=15.0, keys=20),
    Load("mix-4KiB-c2", gets=0.5, clients=2, duration_s=15.0, keys=30),
    Load("mix-4KiB-c8", gets=0.5, clients=8, duration_s=15.0, keys=30),
    Load("mix-64KiB-c2", "64KiB", 0.7, 2, duration_s=15.0, keys=30),
    Load("mix-64KiB-c4", "64KiB", 0.7, 4, duration_s=15.0, keys=30),
    Load("mix-64KiB-c8", "64KiB", 0.7, 8, duration_s=15.0, keys=30),
    Load("mix-1MiB-c2", "1MiB", 0.7, 2, duration_s=15.0, keys=20),
    Load("mix-1MiB-c4", "1MiB", 0.7, 4, duration_s=20.0, keys=20),
    Load("open-put-4KiB-30", gets=0.0, rate_ops=4.0, duration_s=20.0),
    Load("open-put-4KiB-60", gets=0.0, rate_ops=8.0, duration_s=20.0),
    Load("open-put-4KiB-80", gets=0.0, rate_ops=10.5, duration_s=20.0),
    Load("open-get-64KiB-30", "64KiB", rate_ops=27.0, duration_s=12.0, keys=30),
    Load("open-get-64KiB-60", "64KiB", rate_ops=54.0, duration_s=12.0, keys=30),
    Load("open-get-64KiB-80", "64KiB", rate_ops=72.0, duration_s=12.0, keys=30),
    Load("open-mix-64KiB-30", "64KiB", 0.7, rate_ops=5.0, duration_s=20.0, keys=30),
    Load("open-mix-64KiB-60", "64KiB", 0.7, rate_ops=10.0, duration_s=20.0, keys=30),
    Load("open-mix-64KiB-80", "64KiB", 0.7, rate_ops=13.0, duration_s=20.0, keys=30),
)
"""Rates of open loops are fractions of a capacity that was estimated beforehand: 13 PUT/s of 4 KiB, 90 GET/s and 16
mixed requests/s of 64 KiB."""


_PLACES = """
import json, sys, time, rados
cluster = rados.Rados(conffile=sys.argv[1], name="client.admin")
cluster.connect(timeout=50)
objects = cluster.open_ioctx("default.rgw.buckets.data")
until, found = time.monotonic() + float(sys.argv[3]), []
while len(found) < int(sys.argv[2]) and time.monotonic() < until:
    time.sleep(1)
    found = [each.key for each in objects.list_objects()]
places = {}
for name in found:
    asked = {"prefix": "osd map", "pool": "default.rgw.buckets.data", "object": name, "format": "json"}
    places[name.split("_", 1)[1]] = json.loads(cluster.mon_command(json.dumps(asked), b"")[1])["acting"]
print(json.dumps(places))
"""
_PREPARED_WITHIN_S = 45.0
_NAMES = 60  # tried for each key, of which there are six orders of three OSDs


def places(store: Store, load: Load) -> dict[str, Any]:
    """Return the OSDs of each object that a load reads, the primary first, as soon as all of them have been written."""
    trace = load.trace()
    read = {key for key, op in zip(trace.table.column("key").to_pylist(), trace.op, strict=True) if OPS[op] == "GET"}
    arguments = [str(ceph_conf(store)), str(len(read)), repr(_PREPARED_WITHIN_S)]
    return {"places": json.loads(program.run_python(_PLACES, arguments, 2 * _PREPARED_WITHIN_S)) if read else {}}


def placed(trace: Trace, places: Mapping[str, Sequence[int]], spec: CephSpec) -> Trace:
    """Return a trace whose keys the model places on the OSDs where the store has those of the trace given.

    Keys are renamed, which changes nothing else: places depend on names only.
    """
    keys = trace.table.column("key").combine_chunks()
    names = [f"{key}-{n}" for key in keys.dictionary.to_pylist() for n in range(_NAMES)]
    first = trace.table.take([0] * len(names))
    at = trace.table.column_names.index("key")
    renamed = first.set_column(at, "key", pa.array(names).dictionary_encode())
    rows = key_hashes(Trace.of(renamed, trace.pacing, "")) % PlacementRows(spec).count
    osds = PlacementRows(spec).stream(0, Epoch())[rows].tolist()
    chosen = []
    for number, key in enumerate(keys.dictionary.to_pylist()):
        tried = range(number * _NAMES, (number + 1) * _NAMES)
        chosen.append(names[next((n for n in tried if osds[n] == places.get(key, osds[n])), tried[0])])
    column = pa.DictionaryArray.from_arrays(keys.indices, pa.array(chosen))
    return Trace.of(trace.table.set_column(at, "key", column), trace.pacing, "")


def predicted(cpu: Cpu, load: Load, run: Run) -> Run:
    """Return a simulation with the faults of a Run."""
    data = unshaped(load_mapping(SPEC), load.size, ("hosts", "gateways"))
    # What was deferred stays in the buffers of its OSD until the next writes.
    stored = {"warm": 1.0} if load.size == "4KiB" and load.gets == 1 else {}
    changes = {"stored": stored, "osd": data["osd"] | {"cache": {}}}
    spec = spec_of(data | {"gateways": data["gateways"] | {"cpu": cpu}} | changes, str(SPEC))
    assert isinstance(spec, CephSpec)
    return simulate(spec, placed(run.trace, run.info.get("places", {}), spec), seed=1)


def main() -> int:
    """Measure what is missing, predict all, and print a table."""
    given = arguments(
        argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    )
    loads = {load.name: sized(load, given.size) for load in (*LIGHT, *HELD_OUT)}
    names = chosen(loads, given.only)
    if not given.predict_only:
        shape, each = read_shape(SHAPE), ServiceDemand(constant=_ACCESS_S)
        drives = shape.drives.model_copy(update=dict.fromkeys(("read", "write", "fsync"), each))
        store = lab.up("ceph", FORM, say, shape.model_copy(update={"drives": drives}), options=OPTIONS)
        try:
            for folder, name in folders(names, given.repeats):
                if not (given.out / folder).is_dir():
                    store, load = lab.refreshed(store), loads[name]
                    measure(load, store, given.out / folder, partial(places, store, load))
        finally:
            lab.down("ceph")
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

"""Fills the block.db of a live Ceph's OSDs until it spills, next to the model's levels, and PUTs before and after.

    python benchmarks/box/ceph_spill.py --out OUT [--predict-only | --measure-only]

Drives take 8 ms an access, those for block.db 1 ms, and block.db has 256 MiB. RocksDB's files and levels are smaller by
16 than its defaults, so that three levels fit. Keys of 1 KB are written to the omaps of an index pool while the drives
are fast; after each step, the OSDs say what BlueFS has on each device. ``OUT/before`` and ``OUT/after`` are Runs of one
client's PUTs of 4 KiB, ``OUT/steps.json`` has the steps.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from models.ceph.mechanisms.rocksdb import RocksDb, place
from models.ceph.spec.spec import CephSpec
from models.store import spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec.spec_file import load_mapping, replaced
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.lab import lab
from validate.lab.box.set_up import drives_of
from validate.lab.box.shape import Shape
from validate.lab.ceph import program
from validate.lab.ceph.configuration import ceph_conf
from validate.lab.store import Form, Store
from validate.replay.plan import Options
from validate.replay.replay import replay

SPEC = Path(__file__).parents[2] / "examples" / "ceph" / "box.yaml"
FORM = Form(1, 3, gateways=1, monitors=1)
_MIB = 1 << 20
_ACCESS_S, _DB_ACCESS_S, _COMMIT_ACCESSES = 0.008, 0.001, 3  # after the write of the log
_DB_BYTES, _MEMTABLE_BYTES, _LEVEL_BYTES, _WAL_BYTES, _MULTIPLIER = 256 * _MIB, 4 * _MIB, 16 * _MIB, 16 * _MIB, 4
_ROCKSDB = (
    "compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,recycle_log_file_num=4,"
    "writable_file_max_buffer_size=0,compaction_readahead_size=2097152,max_background_compactions=2,"
    f"write_buffer_size={_MEMTABLE_BYTES},target_file_size_base={_MEMTABLE_BYTES},max_total_wal_size={_WAL_BYTES},"
    f"max_bytes_for_level_base={_LEVEL_BYTES},max_bytes_for_level_multiplier={_MULTIPLIER}"
)
_OPTIONS = {"osd.bluestore_rocksdb_options": _ROCKSDB, "osd.bluestore_block_db_size": str(_DB_BYTES)}
_OF_MODEL = RocksDb(
    memtables=4, memtable_bytes=_MEMTABLE_BYTES, level_base_bytes=_LEVEL_BYTES, level_multiplier=_MULTIPLIER,
    wal_bytes=_WAL_BYTES, compression_ratio=1,
)  # fmt: skip
_OBJECTS = 1000  # few, whose metadata are as large as the tables
_STEPS, _OPERATIONS, _KEYS, _VALUE_BYTES, _COMPACTS_S = 10, 330, 100, 1000, 3.0
_FILLED_WITHIN_S, _FAST = 120.0, 1e-3
_PUTS = {"clients": 1, "duration": 12.0, "object_size": "4KiB", "mix": {"PUT": 1}, "keys": "sequential"}
_FIRST_CPU_S, _FITS = 2e-3, 4

_FILL = """
import os, sys, rados
cluster = rados.Rados(conffile=sys.argv[1], name="client.admin")
cluster.connect(timeout=50)
pool = cluster.open_ioctx("default.rgw.buckets.index")
first, operations, keys, value_bytes = map(int, sys.argv[2:])
waiting = []
for number in range(first, first + operations):
    with rados.WriteOpCtx() as operation:
        names = tuple("%032x" % (number * keys + key) for key in range(keys))
        pool.set_omap(operation, names, tuple(os.urandom(value_bytes) for _ in names))
        waiting.append(pool.operate_aio_write_op(operation, "fill-%d" % (number % 64)))
    if len(waiting) > 16:
        waiting.pop(0).wait_for_complete()
for each in waiting:
    each.wait_for_complete()
"""


def bluefs(text: str) -> dict[str, float]:
    """Return the bytes of RocksDB's tables, and of all of BlueFS on the slow device, from an OSD's ``bluefs stats``.

    The rows of its matrix are kinds of files, the columns where they are, then their real size.
    """
    rows: dict[str, list[float]] = {}
    for line in text.split("MAXIMUMS")[0].splitlines():
        if match := re.match(r"(LOG|WAL|DB|SLOW|TOTAL) ", line):
            rows[match[1]] = [_bytes(*cell) for cell in re.findall(r"([\d.]+) (B|KiB|MiB|GiB)", line)]
    return {"tables": rows["DB"][5] + rows["SLOW"][5], "slow": rows["TOTAL"][2], "wal_slow": rows["WAL"][2]}


def _bytes(number: str, unit: str) -> float:
    return float(number) * 1024.0 ** ("B", "KiB", "MiB", "GiB").index(unit)


def _step(store: Store) -> list[dict[str, float]]:
    """Return what each OSD says."""
    sockets = (store.folder / "run" / f"osd.{osd}.asok" for osd in range(store.form.drive_count))
    return [
        bluefs(program.PROGRAMS.run(["ceph", "daemon", str(socket), "bluefs", "stats"], 30.0)) for socket in sockets
    ]


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


def _measure(puts: Trace, store: Store, folder: Path) -> None:
    """Measure PUTs, and write their Run; the objects stay, as deletes would go on."""
    run = replay(puts, store.target, Options(keep=True))
    folder.parent.mkdir(parents=True, exist_ok=True)
    run.write(folder)
    say(f"{folder.name}: {len(run)} PUTs, {run.failed.sum()} errors")


def fill(out: Path, size: float) -> None:
    """Measure PUTs, fill block.db, and measure PUTs again."""
    each, of_db = (dict.fromkeys(("read", "write", "fsync"), time_s) for time_s in (_ACCESS_S, _DB_ACCESS_S))
    shape = Shape.model_validate({"drives": each, "db_drives": of_db, "nic": {"rate": "200Mbit/s", "burst": "64KiB"}})
    puts = generate(Workload.model_validate(_PUTS | {"duration": 12.0 * size}), 1)
    store = lab.up("ceph", FORM, say, shape, options=_OPTIONS)
    try:
        _measure(puts, store, out / "before")
        steps = [_step(store)]
        assert store.box is not None
        for drive in drives_of(store.box):
            drive.control(f"slower {_FAST!r}")
        for step in range(max(1, int(_STEPS * size))):
            arguments = [str(ceph_conf(store)), *map(str, (step * _OPERATIONS, _OPERATIONS, _KEYS, _VALUE_BYTES))]
            program.run_python(_FILL, arguments, _FILLED_WITHIN_S)
            time.sleep(_COMPACTS_S)
            steps.append(_step(store))
        for drive in drives_of(store.box):
            drive.control("slower 1")
        _measure(puts, lab.refreshed(store), out / "after")
        (out / "steps.json").write_text(json.dumps(steps, indent=1) + "\n")
    finally:
        lab.down("ceph")


def spec(cpu_s: float, tables_bytes: float = 0.0) -> CephSpec:
    """Return the spec of the box with block.db, with bytes of tables, and a CPU time of the gateway for a PUT."""
    # The token bucket of a link passes small objects at once.
    data: dict[str, Any] = replaced(load_mapping(SPEC), {"hosts.nic": "10GB/s", "gateways.nic": "10GB/s"})

    def device(access_s: float) -> dict[str, float]:
        return {"read": access_s, "write": access_s, "flush": _COMMIT_ACCESSES * access_s}

    made = spec_of(
        data
        | {
            "device": data["device"] | device(_ACCESS_S),
            "db": {"device": device(_DB_ACCESS_S) | {"capacity": _DB_BYTES}, "size": _DB_BYTES},
            "gateways": data["gateways"] | {"cpu": {"PUT": {"constant": cpu_s}}},
            "rocksdb": _OF_MODEL.model_dump(exclude_none=True)
            | {"metadata_bytes_per_object": max(1, round(tables_bytes / _OBJECTS))},
            "stored": {"objects": _OBJECTS, "object_size": "4KiB"},
        },
        str(SPEC),
    )
    assert isinstance(made, CephSpec)
    return made


def print_tables(out: Path) -> None:
    """Print measured | predicted: spilled bytes by bytes of tables, and PUTs before and after."""
    options = _OF_MODEL.options("pacific")
    print("| tables MiB | on the slow device MiB | of that, write-ahead log |\n|---:|---|---:|")
    tables = 0.0
    for osds in json.loads((out / "steps.json").read_text()):
        tables, slow, wal = (np.mean([osd[name] for osd in osds]) for name in ("tables", "slow", "wal_slow"))
        predicted = place(options, tables, _DB_BYTES).spilled_bytes
        print(f"| {tables / _MIB:.0f} | {slow / _MIB:.0f} \\| {predicted / _MIB:.0f} | {wal / _MIB:.0f} |")
    runs = {name: Run.read(out / name) for name in ("before", "after")}
    cpu_s = _FIRST_CPU_S
    for _ in range(_FITS):
        off_s = np.median(runs["before"].latency_s) - np.median(_forecast(cpu_s, runs["before"]).latency_s)
        cpu_s = max(1e-4, cpu_s + float(off_s))
    print(f"\nCPU time of a PUT at which the p50 before is the measured one: {1000 * cpu_s:.2f} ms")
    print("\n| PUT 4 KiB | op/s | p50 ms | p95 ms |\n|---|---|---|---|")
    for name, run in runs.items():
        both = [_figures(each) for each in (run, _forecast(cpu_s, run, tables if name == "after" else 0.0))]
        print(f"| {name} | " + " | ".join(f"{a:.3g} \\| {b:.3g}" for a, b in zip(*both, strict=True)) + " |")


def _forecast(cpu_s: float, run: Run, tables_bytes: float = 0.0) -> Run:
    return simulate(spec(cpu_s, tables_bytes), run.trace, seed=1)


def _figures(run: Run) -> tuple[float, float, float]:
    p50, p95 = (1000 * float(np.quantile(run.latency_s, at)) for at in (0.5, 0.95))
    return len(run) / run.duration_s, p50, p95


def main() -> int:
    """Measure unless that was done, predict, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--predict-only", action="store_true", help="measure nothing")
    only.add_argument("--measure-only", action="store_true", help="predict nothing")
    parser.add_argument(
        "--size",
        type=float,
        default=1.0,
        help="fraction of the full number of steps and of the durations (default: %(default)s)",
    )
    given = parser.parse_args()
    if not given.predict_only and not (given.out / "steps.json").is_file():
        fill(given.out, given.size)
    if not given.measure_only:
        print_tables(given.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures a Swift in a box, light loads and held-out ones with their failures, and predicts each.

    python benchmarks/swift_box.py --out OUT [--only 'get-*'] [--slower 10 --seconds 40] [--predict-only]

The Run of a case is ``OUT/CASE``; Runs that are there are not measured again. The prediction is
``examples/swift/box.yaml`` with the CPU times of a proxy for GET and PUT, per request and per byte, at which the p50 of
the light loads (one client) is the measured one. Everything else is that spec, and faults and options are those that
each Run recorded. Figures of a case with a fault are those of requests during the fault.
On a machine that others use, drives that are slower, with rates that are lower by the same factor, make the CPU matter
less; only requests of 4 KiB are then measured.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cli.parse.lab_fault import parse_lab_fault
from models.network.service_demand import ServiceDemand
from models.store import spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec_file import load_mapping, validated
from traces.tables import OPS
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.keys import UniformKeys
from traces.workload.workload import Workload
from validate.lab import lab
from validate.lab.box.shape import read_shape
from validate.lab.fault_schedule import FaultSchedule
from validate.lab.store import Form
from validate.replay.plan import Options
from validate.replay.recorded_faults import recorded_faults, with_faults
from validate.replay.replay import replay

EXAMPLES = Path(__file__).parent.parent / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "swift" / "box.yaml"
FORM = Form(1, 3, gateways=1)
_ACCESS_S, _HEDGE_AFTER_S = 0.008, 0.05
_FITS, _LEAST_S = 3, 1e-5
_QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Case:
    """A load.

    Attributes:
        gets: fraction of GETs; the others are PUTs of new names.
        clients: of a closed loop; 0: an open loop.
        rate_ops: of an open loop.
        fault: with its time, as `tailcast replay` takes it; empty: none.
        hedged: whether the proxies hedge GETs.
        slower: factor on the times of drives and of the hedge, and on the time between requests.
    """

    name: str
    size: str = "4KiB"
    gets: float = 1.0
    clients: int = 0
    rate_ops: float = 20.0
    duration_s: float = 8.0
    fault: str = ""
    hedged: bool = False
    slower: float = 1.0

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the store."""
        after = {"proxy.concurrent_gets": "true", "proxy.concurrency_timeout": f"{_HEDGE_AFTER_S * self.slower:g}"}
        return after if self.hedged else {}

    @property
    def spec(self) -> dict[str, Any]:
        """The spec, with the drives of the case."""
        data, each_s = load_mapping(SPEC), _ACCESS_S * self.slower
        hedge = {"concurrent_gets": True, "concurrency_timeout": _HEDGE_AFTER_S * self.slower} if self.hedged else {}
        drives = data["drives"] | dict.fromkeys(("read", "write", "sync"), each_s)
        return data | {"drives": drives, "proxies": data["proxies"] | hedge}

    def trace(self) -> Trace:
        """Return the requests."""
        pace: dict[str, Any] = (
            {"clients": self.clients, "operations": 2000} if self.clients else {"rate": self.rate_ops / self.slower}
        )
        mix = {op: fraction for op, fraction in (("GET", self.gets), ("PUT", 1 - self.gets)) if fraction}
        keys = UniformKeys(count=20 if self.size == "1MiB" or self.slower > 1 else 60)
        requested = {"object_size": self.size, "mix": mix, "keys": keys, "duration": self.duration_s}
        trace = generate(validated(Workload, requested | pace, self.name), 1)
        names = trace.table.column("key").to_pylist()
        for n, row in enumerate(np.flatnonzero(trace.op == OPS.index("PUT")).tolist()):
            names[row] = f"written-{n:05d}"
        column = trace.table.column_names.index("key")
        table = trace.table.set_column(column, "key", pa.array(names).dictionary_encode())
        return Trace.of(table, replace(trace.pacing, repeat=False), self.name)


LIGHT = tuple(
    Case(f"{op}-{size}-c1", size, gets, 1)
    for op, gets in (("get", 1.0), ("put", 0.0))
    for size in ("4KiB", "1MiB")
)  # fmt: skip
HELD_OUT = (
    Case("put-4KiB-c4", gets=0.0, clients=4),
    Case("put-4KiB-c8", gets=0.0, clients=8),
    Case("get-4KiB-c4", clients=4),
    Case("mix-4KiB-c3", gets=0.67, clients=3),
    Case("get-64KiB-c2", "64KiB", clients=2),
    Case("put-64KiB-c2", "64KiB", 0.0, 2),
    Case("get-1MiB-c4", "1MiB", clients=4),
    Case("put-1MiB-c4", "1MiB", 0.0, 4),
    Case("open-get-4KiB", duration_s=12.0),
    Case("open-mix-4KiB", gets=0.7, rate_ops=12.0, duration_s=12.0),
    Case("open-mix-4KiB-killed", gets=0.7, rate_ops=12.0, duration_s=16.0, fault="host 1 killed at 4s"),
    Case("open-get-4KiB-slow", duration_s=20.0, fault="drive 1 x10 at 0s"),
    Case("open-get-4KiB-hedged", duration_s=12.0, hedged=True),
    Case("open-get-4KiB-slow-hedged", duration_s=20.0, fault="drive 1 x10 at 0s", hedged=True),
)


def measure(case: Case, folder: Path) -> None:
    """Measure a case, and write its Run."""
    up = lab.running()
    if up is not None and up.options != case.options:
        lab.down("swift")
    shape, each = read_shape(SHAPE), ServiceDemand(constant=_ACCESS_S * case.slower)
    drives = shape.drives.model_copy(update=dict.fromkeys(("read", "write", "fsync"), each))
    store = lab.up("swift", FORM, say, shape.model_copy(update={"drives": drives}), options=case.options)
    schedule = FaultSchedule(store, [parse_lab_fault(case.fault)] if case.fault else [])
    run = replay(case.trace(), store.target, Options(max_in_flight=512), faults=schedule)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run.write(folder)
    cpu = run.info["cpu"]
    say(f"{case.name}: {len(run)} requests, {run.failed.sum()} errors, busy {cpu['busy_share']:.0%}, "
        f"others {cpu['other_share']:.0%}")  # fmt: skip


def calibrated(light: Mapping[Case, Run]) -> dict[str, Any]:
    """Return the CPU times of a proxy at which light loads have the measured p50."""
    cpu = {op: {"constant": constant, "per_byte": 5e-9} for op, constant in (("GET", 3.7e-3), ("PUT", 6.5e-3))}
    for _ in range(_FITS):
        for case, run in light.items():
            op = "GET" if case.gets else "PUT"
            name, bytes_ = ("constant", 1) if case.size == "4KiB" else ("per_byte", 1 << 20)
            forecast = simulate(spec_of(_with_cpu(case.spec, cpu), str(SPEC)), run.trace, seed=1)
            off_s = float(np.median(run.latency_s) - np.median(forecast.latency_s))
            cpu[op][name] = max(_LEAST_S / bytes_, cpu[op][name] + off_s / bytes_)
    say(f"CPU times of a proxy from the light loads: {json.dumps(cpu)}")
    return cpu


def _with_cpu(data: dict[str, Any], cpu: dict[str, Any]) -> dict[str, Any]:
    return data | {"proxies": data["proxies"] | {"cpu": cpu}}


def predicted(cpu: dict[str, Any], case: Case, run: Run) -> dict[str, list[float]]:
    """Return the figures of a simulation with the options and faults of a Run."""
    spec = spec_of(_with_cpu(case.spec, cpu), str(SPEC))
    spec = with_faults(spec, recorded_faults(run, case.name), case.name)
    return figures(simulate(spec, run.trace, seed=1), run)


def figures(run: Run, measured: Run) -> dict[str, list[float]]:
    """Return op/s and the p50, p90 and p99 in ms of each operation, of requests during the fault if there is one."""
    from_s = max((fault["at"] for fault in measured.info.get("lab_faults", ())), default=0.0)
    arrival_s, end_s = run.column("arrival_s"), run.column("end_s")
    ops, found = np.array(run.requests.column("op").to_pylist()), {}
    for op in sorted(set(ops)):
        rows = (ops == op) & ~run.failed & (arrival_s >= from_s)
        ms = 1000 * run.latency_s[rows]
        found[str(op)] = [rows.sum() / (end_s[rows].max() - from_s), *(np.quantile(ms, q) for q in _QUANTILES)]
    return found


def main() -> int:
    """Measure what is missing, predict all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="GLOB", help="cases by name; repeatable")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument("--slower", type=float, default=1.0, help="factor on the times of the drives")
    parser.add_argument("--seconds", type=float, help="length of each load (default: its own)")
    given = parser.parse_args()
    cases = [replace(c, slower=given.slower) for c in (*LIGHT, *HELD_OUT) if given.slower == 1 or c.size == "4KiB"]
    if given.seconds is not None:
        cases = [replace(case, duration_s=given.seconds) for case in cases]
    chosen = [c for c in cases if not given.only or any(fnmatch.fnmatch(c.name, g) for g in given.only)]
    if not given.predict_only:
        try:
            for case in chosen:
                if not (given.out / case.name).is_dir():
                    measure(case, given.out / case.name)
        finally:
            lab.down("swift")
    light = {one.name for one in LIGHT}
    cpu = calibrated({case: Run.read(given.out / case.name) for case in cases if case.name in light})
    print("| case | op | measured op/s, p50, p90, p99 in ms | predicted | other load |\n|---|---|---|---|---|")
    for case in (case for case in chosen if (given.out / case.name).is_dir()):
        run = Run.read(given.out / case.name)
        forecast = predicted(cpu, case, run)
        for op, ours in figures(run, run).items():
            both = (", ".join(f"{value:.3g}" for value in each) for each in (ours, forecast[op]))
            print(f"| {case.name} | {op} | {' | '.join(both)} | {run.info['cpu']['other_share']:.0%} |")
    return 0


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

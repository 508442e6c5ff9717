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
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from box_loads import Load, calibrated, chosen, folders, measure, print_table, say

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
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "swift" / "box.yaml"
FORM = Form(1, 3, gateways=1)
_ACCESS_S, _HEDGE_AFTER_S = 0.008, 0.05
_FIRST_CPU = {"GET": {"constant": 3.7e-3, "per_byte": 5e-9}, "PUT": {"constant": 6.5e-3, "per_byte": 5e-9}}


@dataclass(frozen=True)
class Case(Load):
    """A load of a Swift.

    Attributes:
        hedged: whether the proxies hedge GETs.
        slower: factor on the times of drives and of the hedge, and on the time between requests.
    """

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

    def at(self, slower: float, duration_s: float | None) -> Case:
        """Return the case with slower drives, and with another duration."""
        keys = 20 if self.size == "1MiB" or slower > 1 else 60
        given = duration_s or self.duration_s
        return replace(self, slower=slower, keys=keys, rate_ops=self.rate_ops / slower, duration_s=given)


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
    Case("open-get-4KiB-slow", duration_s=20.0, fault="drive 1 x10 at 0s"),
    # Proxies avoid the host for a minute after it is back; the next case has other options, so a new store.
    Case("open-mix-4KiB-killed", gets=0.7, rate_ops=12.0, duration_s=16.0, fault="host 1 killed at 4s"),
    Case("open-get-4KiB-hedged", duration_s=12.0, hedged=True),
    Case("open-get-4KiB-slow-hedged", duration_s=20.0, fault="drive 1 x10 at 0s", hedged=True),
)


def measured(case: Case, folder: Path) -> None:
    """Measure a case, and write its Run."""
    up = lab.running()
    if up is not None and up.options != case.options:
        lab.down("swift")
    shape, each = read_shape(SHAPE), ServiceDemand(constant=_ACCESS_S * case.slower)
    drives = shape.drives.model_copy(update=dict.fromkeys(("read", "write", "fsync"), each))
    store = lab.up("swift", FORM, say, shape.model_copy(update={"drives": drives}), options=case.options)
    measure(case, store, folder)


def _with_cpu(data: dict[str, Any], cpu: dict[str, Any]) -> dict[str, Any]:
    return data | {"proxies": data["proxies"] | {"cpu": cpu}}


def predicted(cpu: dict[str, Any], case: Case, run: Run) -> Run:
    """Return a simulation with the options and faults of a Run."""
    spec = spec_of(_with_cpu(case.spec, cpu), str(SPEC))
    return simulate(with_faults(spec, recorded_faults(run, case.name), case.name), run.trace, seed=1)


def main() -> int:
    """Measure what is missing, predict all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--only", action="append", metavar="GLOB", help="cases by name; repeatable")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument("--slower", type=float, default=1.0, help="factor on the times of the drives")
    parser.add_argument("--seconds", type=float, help="length of each load (default: its own)")
    parser.add_argument("--repeats", type=int, default=1, help="times that each load is measured")
    given = parser.parse_args()
    cases = {
        case.name: case.at(given.slower, given.seconds)
        for case in (*LIGHT, *HELD_OUT)
        if given.slower == 1 or case.size == "4KiB"
    }
    names = chosen(cases, given.only)
    if not given.predict_only:
        try:
            for folder, name in folders(names, given.repeats):
                if not (given.out / folder).is_dir():
                    measured(cases[name], given.out / folder)
        finally:
            lab.down("swift")
    light = [case.name for case in LIGHT if case.name in cases]
    cpu = calibrated({cases[name]: Run.read(given.out / name) for name in light}, predicted, _FIRST_CPU)
    there = [name for name in names if (given.out / name).is_dir()]
    print_table(there, given.out, lambda name, run: predicted(cpu, cases[name], run), light)
    return 0


if __name__ == "__main__":
    sys.exit(main())

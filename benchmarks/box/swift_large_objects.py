"""Measures large objects on a Swift in a box next to their predictions: latencies, and accesses to the drives.

    python benchmarks/box/swift_large_objects.py --out OUT [--predict-only] [--size F]

Objects of 12 MiB in parts of 5 MiB, one client. The Run of an operation is ``OUT/NAME``; Runs that are there are not
measured again. The prediction is ``examples/swift/box.yaml`` with the times of an object server that `swift_box.py` and
`swift_failures.py` find.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from models.shared.client_policy import ClientPolicies
from models.store import spec_of
from sim.simulate import simulate
from traces.run import Run
from traces.spec.spec_file import load_mapping, validated
from traces.trace import Trace
from traces.workload.generate import generate
from traces.workload.workload import Workload
from validate.lab import lab
from validate.lab.box.set_up import with_accesses
from validate.lab.box.shape import read_shape
from validate.lab.store import Form
from validate.replay.plan import Options
from validate.replay.replay import replay

EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "swift" / "box.yaml"
CPU = {"GET": {"constant": 6.1e-3, "per_byte": 1.5e-8}, "PUT": {"constant": 1.81e-2, "per_byte": 1.46e-8}}
CASES = {
    "PUT": ("PUT", 6, 1), "PUT-4": ("PUT", 6, 4), "GET": ("GET", 10, 1), "HEAD": ("HEAD", 20, 1),
    "DELETE": ("DELETE", 6, 1),
}  # fmt: skip
"""Operation, number of requests, and parts at a time."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def trace(op: str, count: int) -> Trace:
    """Return the requests, each for another object if it writes or deletes."""
    keys: dict[str, Any] = {"kind": "uniform", "count": count}
    requested = {"object_size": "12MiB", "mix": {op: 1}, "keys": keys, "clients": 1, "operations": count}
    found = generate(validated(Workload, requested, op), 1)
    if op in ("GET", "HEAD"):
        return found
    column = found.table.column_names.index("key")
    names = pa.array([f"object-{n}" for n in range(count)]).dictionary_encode()
    return Trace.of(found.table.set_column(column, "key", names), replace(found.pacing, repeat=False), op)


def multipart(parallel: int) -> dict[str, Any]:
    """Return how objects are uploaded."""
    return {"multipart": {"part_size": "5MiB", "threshold": "5MiB", "parallel": parallel}}


def predicted(run: Run, parallel: int) -> Run:
    """Return a simulation of the requests of a Run."""
    data = load_mapping(SPEC)
    sections = {"client": data["client"] | multipart(parallel), "hosts": data["hosts"] | {"cpu": _cpu(data)}}
    return simulate(spec_of(data | sections, str(SPEC)), run.trace, seed=1)


def _cpu(data: dict[str, Any]) -> dict[str, Any]:
    hosts = spec_of(data, str(SPEC)).model_dump()["hosts"]["cpu"]
    return {op: {"constant": hosts[op]["constant"]} for op in ("HEAD", "DELETE")} | CPU


def main() -> int:
    """Measure what is missing, predict all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the Runs")
    parser.add_argument("--predict-only", action="store_true", help="measure nothing")
    parser.add_argument(
        "--size", type=float, default=1.0, help="fraction of the full number of requests (default: %(default)s)"
    )
    given = parser.parse_args()
    if not given.predict_only:
        store = lab.up("swift", Form(1, 3, gateways=1), _say, read_shape(SHAPE))
        try:
            assert store.box is not None
            for name, (op, count, parallel) in CASES.items():
                if not (given.out / name).is_dir():
                    policies = validated(ClientPolicies, multipart(parallel), name)
                    options = Options(policies=policies, keep=True, timeout_s=120)
                    with_accesses(
                        store.box, replay(trace(op, max(2, int(count * given.size))), store.target, options)
                    ).write(given.out / name)
        finally:
            lab.down("swift")
    print("| case | requests | measured p50 s | predicted | accesses of all drives |\n|---|---:|---|---|---|")
    for name, (_, _, parallel) in CASES.items():
        if not (given.out / name).is_dir():
            continue
        run = Run.read(given.out / name)
        assert run.drive_accesses is not None
        served = run.drive_accesses.filter(pa.compute.greater(run.drive_accesses.column("served_s"), 0))
        kinds = Counter(served.column("kind").to_pylist())
        accesses = ", ".join(f"{n / len(run):.4g} {kind}" for kind, n in sorted(kinds.items()))
        both = [float(np.median(each.latency_s[~each.failed])) for each in (run, predicted(run, parallel))]
        print(f"| {name} | {len(run)} | {both[0]:.3g} | {both[1]:.3g} | {accesses or 'none'} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

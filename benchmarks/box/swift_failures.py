"""Stages failures on a Swift in a box, and predicts each from hardware alone: before, during and after the fault.

    python benchmarks/box/swift_failures.py --out OUT [--only 'drive-*'] [--repeats N] [--predict-only | --measure-only]

Each case is measured on a box of its own, as a proxy remembers errors. Four hosts for three replicas, so that there is
a handoff. The prediction is ``examples/swift/box.yaml`` with four hosts, the times of an object server at which the p50
of the light Runs is the measured one, and the options and faults of each Run. Where objects are depends on the name of
a Run's bucket: predictions are means over several placements (``--seeds``).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from box_failures import arguments, fitted, measure, predicted, stage_and_predict
from box_loads import unshaped
from failure_cases import Case

from models.store import Spec, spec_of
from traces.run import Run
from traces.spec.spec_file import load_mapping
from traces.trace import Trace
from validate.lab.box.shape import read_shape
from validate.lab.store import Form

EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "swift" / "box.yaml"
FORM = Form(1, 4, gateways=1)

_swift = partial(Case, rate_ops=12.0, size="4KiB", objects=60, begin_s=10.0, mix=(("GET", 0.8), ("PUT", 0.2)))


def _hedged(after_s: float) -> tuple[tuple[str, str], ...]:
    return ("proxy.concurrent_gets", "true"), ("proxy.concurrency_timeout", f"{after_s:g}")


LIGHT = (
    _swift("light-get", clients=1, length_s=10, mix=(("GET", 1.0),)),
    _swift("light-put", clients=1, length_s=12, mix=(("PUT", 1.0),)),
)
CASES = (
    *LIGHT,
    _swift("server-killed", "host 1 killed", for_s=25, length_s=45),
    _swift("drive-x10", "drive 1 x10", for_s=25, length_s=45),
    _swift("drive-x10-hedged", "drive 1 x10", for_s=25, length_s=45, options=_hedged(0.05)),
    _swift("drive-x10-hedged-early", "drive 1 x10", for_s=25, length_s=45, options=_hedged(0.02)),
    _swift("link-cut", "link 1 cut", for_s=30, length_s=55),
    _swift("drive-frozen", "drive 1 frozen", for_s=40, length_s=65),
    _swift("drive-frozen-hedged", "drive 1 frozen", for_s=40, length_s=65, options=_hedged(0.05)),
)


def spec_data(case: Case, cpu: dict[str, float]) -> dict[str, Any]:
    """Return the spec of a case: its hosts and options, and the times of an object server in s."""
    data, options = unshaped(load_mapping(SPEC), case.size, ("client", "hosts", "proxies")), dict(case.options)
    own = {name.removeprefix("proxy."): json.loads(value) for name, value in options.items()}
    times = {op: {"constant": each} for op, each in cpu.items()}
    hosts = {"count": FORM.hosts, "zones": FORM.hosts, "cpu": times}
    return data | {"proxies": data["proxies"] | own, "hosts": data["hosts"] | hosts}


def _fit(light: dict[str, Run]) -> Callable[[Case, Run], Spec]:
    def spec(case: Case, cpu: dict[str, float]) -> Spec:
        return spec_of(spec_data(case, cpu), str(SPEC))

    cpu = fitted(light, {"GET": 6e-3, "PUT": 15e-3}, partial(spec, LIGHT[0]))
    return lambda case, run: spec(case, cpu)


def _placed(run: Run, number: int) -> Trace:
    """Return the requests of a Run with keys of other names, and so another placement."""
    table = run.trace.table
    keys = pa.array([f"{number}/{key}" for key in table.column("key").to_pylist()]).dictionary_encode()
    column = table.column_names.index("key")
    return Trace.of(table.set_column(column, "key", keys), run.trace.pacing, f"placement {number}")


def main() -> int:
    """Measure what is missing, predict all, and print both."""
    shape = read_shape(SHAPE)
    stage_and_predict(
        arguments(__doc__), CASES, LIGHT,
        lambda case, repeat, folder: measure(case, repeat, folder, "swift", FORM, shape), _fit,
        partial(predicted, trace_of=_placed),
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

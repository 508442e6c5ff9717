"""Stages failures on a Ceph in a box, and predicts each from hardware alone: before, during and after the fault.

    python benchmarks/box/ceph_failures.py --out OUT [--only 'drive-*'] [--repeats N] [--predict-only | --measure-only]

Each case is measured on a box of its own. The prediction is ``examples/ceph/box.yaml`` on drives of 8 ms, with the CPU
times of a gateway at which the p50 of the light Runs is the measured one, and the faults that each Run recorded.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from box_failures import Staged, arguments, fitted, measure, schedule_of, stage_and_predict
from box_loads import unshaped
from failure_cases import Case

from models.store import Spec, spec_of
from traces.run import Run
from traces.spec.spec_file import load_mapping
from validate.lab.box.shape import read_shape
from validate.lab.ceph.reshard import ReshardAt
from validate.lab.store import Form, Store

EXAMPLES = Path(__file__).parents[2] / "examples"
SHAPE, SPEC = EXAMPLES / "lab" / "slow-syncs.yaml", EXAMPLES / "ceph" / "box.yaml"
FORM = Form(1, 3, gateways=1, monitors=1)
_ACCESS_S, _COMMIT_ACCESSES = 0.008, 3  # after the write of the log
_NEW_SHARDS = 23
_OPTIONS = (("osd.bluestore_default_buffered_read", "false"),)
"""So each GET reads its drive."""

_ceph = partial(Case, rate_ops=10.0, objects=60, begin_s=10.0, options=_OPTIONS)

LIGHT = (
    _ceph("light-get", clients=1, length_s=12, mix=(("GET", 1.0),)),
    _ceph("light-put", clients=1, length_s=15, mix=(("PUT", 1.0),)),
)
CASES = (
    *LIGHT,
    _ceph("osd-killed", "host 1 killed", for_s=25, length_s=55),
    _ceph("host-killed", "host 1 killed", for_s=25, length_s=55, drives=2),
    _ceph("drive-x5", "drive 1 x5", for_s=25, length_s=50),
    _ceph("link-cut", "link 1 cut", for_s=45, length_s=75),
    _ceph("drive-frozen", "drive 1 frozen", for_s=60, length_s=95),
    _ceph("gateway-killed", "host 3 killed", for_s=20, length_s=45, gateways=2),
    _ceph(
        "gateway-killed-retried", "host 3 killed", for_s=20, length_s=45, gateways=2,
        policies=json.dumps({"retry": {"retries": 2}}),
    ),
    _ceph("reshard", clients=8, size="4KiB", mix=(("PUT", 1.0),), begin_s=3.0, length_s=60),
    _ceph("gateway-killed-balanced", "host 3 killed", for_s=20, length_s=45, gateways=2, balancers=1),
)  # fmt: skip


def spec_data(case: Case, cpu: dict[str, float]) -> dict[str, Any]:
    """Return the spec of a case: its hosts, drives and gateways, and the CPU times of a gateway in s."""
    data = unshaped(load_mapping(SPEC), case.size, ("hosts", "gateways"))
    device = {"read": _ACCESS_S, "write": _ACCESS_S, "flush": _COMMIT_ACCESSES * _ACCESS_S}
    times = {op: {"constant": each} for op, each in cpu.items()}
    gateways = {"count": case.gateways or FORM.gateways, "cpu": times, "redispatch": bool(case.balancers)}
    clients = {"clients": case.clients} if case.clients else {}
    return data | {
        "workload": data["workload"] | clients,
        "device": data["device"] | device,
        "gateways": data["gateways"] | gateways,
        "hosts": data["hosts"] | {"drives": case.drives or FORM.drives},
        "osd": data["osd"] | {"cache": {}},
        **({"proxy": {"cores": 2}} if case.balancers else {}),
    }


def _staged(case: Case, store: Store) -> Staged:
    """Return the reshard of the case of that name, or the faults of another one."""
    return ReshardAt(store, case.begin_s, _NEW_SHARDS) if case.name == "reshard" else schedule_of(case, store)


def _fit(light: dict[str, Run]) -> Callable[[Case, Run], Spec]:
    def spec(case: Case, cpu: dict[str, float]) -> Spec:
        return spec_of(spec_data(case, cpu), str(SPEC))

    cpu = fitted(light, {"GET": 2e-3, "PUT": 4e-3}, partial(spec, LIGHT[0]))
    return lambda case, run: spec(case, cpu)


def main() -> int:
    """Measure what is missing, predict all, and print both."""
    shape = read_shape(SHAPE)
    stage_and_predict(
        arguments(__doc__), CASES, LIGHT,
        lambda case, repeat, folder: measure(case, repeat, folder, "ceph", FORM, shape, _staged), _fit,
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

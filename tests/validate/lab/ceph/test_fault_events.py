from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.store import load_spec
from tests.paths import ROOT
from validate.lab.ceph.fault_events import fault_event
from validate.lab.faults import LabFault
from validate.lab.store import Form, Node, Store
from validate.replay.recorded_faults import with_faults

NODES = tuple(Node(f"http://10.77.1.{100 + host}:9000") for host in range(5))
STORE = Store("ceph", Form(1, 3, gateways=1, monitors=1), "", Path("/lab"), NODES)
DOWN = {"at": 1.0, "back_at": 4.0}
SILENT = {"detected_by": "heartbeat", **DOWN}


@pytest.mark.parametrize(
    ("fault", "event"),
    [
        (
            LabFault("drive", 1, "slow", factor=5.0),
            {"kind": "slow_drive", "osd": 1, "speed": 0.2, "at": 1.0, "until": 4},
        ),
        (LabFault("drive", 2, "frozen"), {"kind": "osd_down", "osd": 2, "detected_by": "stalled", **DOWN}),
        (LabFault("host", 2, "killed"), {"kind": "host_down", "host": 2, "detected_by": "refused", **DOWN}),
        (LabFault("host", 1, "paused"), {"kind": "host_down", "host": 1, **SILENT}),
        (LabFault("link", 0, "cut"), {"kind": "host_down", "host": 0, **SILENT}),
        (LabFault("host", 3, "killed"), {"kind": "gateway_down", "gateway": 0, "detected_after": 3.0, **DOWN}),
    ],
)
def test_faults_in_the_words_of_a_spec_which_takes_them(fault, event):
    assert fault_event(STORE, fault, 1.0, 4.0) == event
    spec = with_faults(load_spec(ROOT / "examples" / "ceph" / "box.yaml"), [event], "a Run")
    assert spec.faults[-1].model_dump(exclude_unset=True) == event


def test_a_load_balancer_notices_that_a_gateway_is_down():
    form = STORE.form._replace(balancers=1)
    assert fault_event(replace(STORE, form=form), LabFault("host", 3, "killed"), 1.0, 4.0) == {
        "kind": "gateway_down", "gateway": 0, **DOWN
    }  # fmt: skip


@pytest.mark.parametrize(
    "fault",
    [
        LabFault("drive", 0, "full"),
        LabFault("drive", 0, "errors"),
        LabFault("link", 1, "limited", fraction=0.1),
        LabFault("link", 3, "cut"),
        LabFault("host", 4, "killed"),
    ],
)
def test_faults_that_the_model_does_not_have(fault):
    assert fault_event(STORE, fault, 1.0, 4.0) is None

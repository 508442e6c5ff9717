from __future__ import annotations

from pathlib import Path

import pytest

from models.store import spec_of
from tests.paths import ROOT
from traces.spec.spec_file import load_mapping
from validate.lab.faults import LabFault
from validate.lab.store import Form, Node, Store
from validate.lab.swift.fault_events import fault_event
from validate.replay.recorded_faults import with_faults

NODES = tuple(Node(f"http://10.77.1.{100 + host}:9000") for host in range(5))
STORE = Store("swift", Form(1, 3, gateways=2), "", Path("/lab"), NODES)
DOWN = {"at": 1.0, "back_at": 4.0}

EVENTS = [
    (LabFault("drive", 1, "slow", factor=5.0), {"kind": "slow_drive", "drive": 1, "speed": 0.2, "at": 1.0, "until": 4}),
    (LabFault("drive", 1, "frozen"), {"kind": "drive_frozen", "drive": 1, **DOWN}),
    (LabFault("drive", 1, "errors"), {"kind": "drive_down", "drive": 1, **DOWN}),
    (LabFault("host", 2, "killed"), {"kind": "host_down", "host": 2, **DOWN}),
    (LabFault("host", 2, "paused"), {"kind": "drive_frozen", "drive": 2, **DOWN}),
    (LabFault("link", 0, "cut"), {"kind": "link_down", "host": 0, **DOWN}),
    (LabFault("host", 4, "killed"), {"kind": "proxy_down", "proxy": 1, **DOWN}),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "event"), EVENTS)
def test_faults_in_the_words_of_a_spec_which_takes_them(fault, event):
    assert fault_event(STORE, fault, 1.0, 4.0) == event
    data = load_mapping(ROOT / "examples" / "swift" / "box.yaml")
    data["proxies"]["count"] = 2
    spec = with_faults(spec_of(data, "spec"), [event], "a Run")
    assert spec.faults[-1].model_dump(exclude_unset=True) == event


@pytest.mark.parametrize(
    "fault",
    [
        LabFault("drive", 0, "full"),
        LabFault("link", 1, "limited", fraction=0.1),
        LabFault("link", 3, "cut"),
        LabFault("host", 3, "paused"),
    ],
)
def test_faults_that_the_model_does_not_have(fault):
    assert fault_event(STORE, fault, 1.0, 4.0) is None

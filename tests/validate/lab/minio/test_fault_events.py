from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.store import spec_of
from tests.specs import minio
from validate.lab.box.box import Box
from validate.lab.box.network import Network
from validate.lab.box.shape import Shape
from validate.lab.faults import LabFault
from validate.lab.minio.fault_events import DRIVE_TIMEOUT_S, fault_event
from validate.lab.store import Form, Node, Store
from validate.replay.recorded_faults import with_faults

SHAPE = Shape.model_validate({"drives": {"read": "1ms", "write": "1ms"}, "nic": {"rate": "100Mbit/s"}})
BOX = Box(Path("/lab"), Network("tc00000000", 1, 2), SHAPE, 2)
STORE = Store("minio", Form(2, 2), "", Path("/lab"), (Node("http://a:9000"), Node("http://b:9000")), BOX)
ALONE = replace(STORE, form=Form(4, 1), nodes=STORE.nodes[:1])


@pytest.mark.parametrize(
    ("fault", "event"),
    [
        (
            LabFault("drive", 3, "slow", factor=5.0),
            {"kind": "slow_drive", "drive": 3, "speed": 0.2, "at": 1.0, "until": 4.0},
        ),
        (LabFault("drive", 3, "errors"), {"kind": "drive_down", "drive": 3, "at": 1.0, "back_at": 4.0}),
        (LabFault("drive", 3, "replaced"), {"kind": "drive_replaced", "drive": 3, "at": 1.0, "back_at": 4.0}),
        (
            LabFault("drive", 0, "frozen"),
            {"kind": "drive_down", "drive": 0, "detected_after": DRIVE_TIMEOUT_S, "at": 1.0, "back_at": 4.0},
        ),
        (LabFault("link", 1, "cut"), {"kind": "link_down", "host": 1, "at": 1.0, "back_at": 4.0}),
        (
            LabFault("host", 1, "paused"),
            {"kind": "link_down", "host": 1, "at": 1.0, "back_at": 4.0, "accepts": True},
        ),
        (
            LabFault("link", 1, "limited", fraction=0.1),
            {"kind": "slow_link", "host": 1, "speed": 0.1, "at": 1.0, "until": 4.0},
        ),
        (
            LabFault("link", 1, "limited", bytes_per_s=2.5e6),
            {"kind": "slow_link", "host": 1, "speed": 0.2, "at": 1.0, "until": 4.0},
        ),
        (LabFault("host", 1, "killed"), {"kind": "host_down", "host": 1, "at": 1.0, "back_at": 4.0}),
        (LabFault("host", 1, "restarted"), {"kind": "host_down", "host": 1, "at": 1.0, "back_at": 4.0}),
        (LabFault("drive", 3, "full"), None),
    ],
)  # fmt: skip
def test_faults_in_the_words_of_a_spec(fault, event):
    assert fault_event(STORE, fault, 1.0, 4.0) == event


def test_a_fault_that_lasts_has_no_end():
    assert fault_event(STORE, LabFault("host", 1, "killed"), 1.0, None) == {"kind": "host_down", "host": 1, "at": 1.0}
    assert fault_event(STORE, LabFault("drive", 1, "errors"), 1.0, None) == {
        "kind": "drive_down",
        "drive": 1,
        "at": 1.0,
    }


def test_a_limit_without_a_rate_has_no_event():
    box = replace(BOX, shape=SHAPE.model_copy(update={"nic": None}))
    assert fault_event(replace(STORE, box=box), LabFault("link", 0, "limited", bytes_per_s=1e6), 0.0, None) is None


@pytest.mark.parametrize("fault", [LabFault("drive", 3, "slow", factor=5.0), LabFault("drive", 3, "frozen")])
def test_a_spec_of_one_host_takes_the_events(fault):
    spec = spec_of(minio("drives.count=4", "network.latency=0.1ms"), "spec")
    event = fault_event(ALONE, fault, 1.0, 4.0)
    assert event is not None
    assert with_faults(spec, [event], "a Run").faults[-1].model_dump(exclude_unset=True) == event


@pytest.mark.parametrize(
    "fault",
    [
        LabFault("drive", 3, "slow", factor=5.0),
        LabFault("drive", 3, "errors"),
        LabFault("drive", 3, "frozen"),
        LabFault("drive", 3, "replaced"),
        LabFault("link", 1, "cut"),
        LabFault("link", 1, "limited", fraction=0.1),
        LabFault("host", 1, "paused"),
        LabFault("host", 1, "killed"),
    ],
)
def test_a_spec_of_a_cluster_takes_the_events(fault):
    hosts = ("hosts.count=2", "drives.count=2", "hosts.nic=12.5MB/s")
    stored = "stored={objects: 100, object_size: 1MiB}"
    spec = spec_of(minio(*hosts, stored, "client.placement=own", "network.latency=0.1ms"), "spec")
    event = fault_event(STORE, fault, 1.0, 4.0)
    assert event is not None
    assert with_faults(spec, [event], "a Run").faults[-1].model_dump(exclude_unset=True) == event

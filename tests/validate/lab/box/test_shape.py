"""The shape of a box."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.paths import ROOT
from traces.errors import InputError
from traces.spec.spec_file import validated
from validate.lab.box.shape import Shape, read_shape

DRIVES = {"read": "5ms", "write": {"constant": "4ms", "distribution": {"kind": "gamma", "cv": 0.5}}}
DISK = {
    "read_seek": {"track": "0.2ms", "average": "8ms", "full_stroke": "18ms"},
    "write_seek": {"track": "0.3ms", "average": "8ms", "full_stroke": "18ms"},
    "rpm": 7200,
    "outer": "175MB/s",
    "inner": "83MB/s",
    "capacity": "4TB",
}


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "lab").glob("*.yaml")), ids=lambda path: path.stem)
def test_examples_are_shapes(path: Path) -> None:
    shape = read_shape(path)
    assert shape.nic is not None
    assert shape.drives.demands()["fsync"].takes_time


def test_a_shape_has_demands_of_the_models() -> None:
    shape = validated(Shape, {"drives": DRIVES | {"metadata": {"rename": "1ms"}}, "delay": "0.1ms"}, "shape")
    demands = shape.drives.demands()
    assert (demands["read"].constant, demands["write"].distribution.scv, demands["rename"].constant) == (
        0.005,
        0.25,
        0.001,
    )
    assert not demands["fsync"].takes_time and not demands["mkdir"].takes_time
    assert shape.nic is None and shape.delay == 0.0001


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, ["drives"]),
        ({"drives": {"read": "5ms"}}, ["drives", "write", "disk"]),
        ({"drives": {"read": "5ms", "wirte": "5ms"}}, ["drives.wirte", "write"]),
        ({"drives": DRIVES | {"metadata": {"renmae": "1ms"}}}, ["drives.metadata.renmae", "rename"]),
        ({"drives": DRIVES | {"max_read": "3kB"}}, ["max_read", "3000", "4 KiB", "1 MiB"]),
        ({"drives": DRIVES | {"max_write": "2MiB"}}, ["max_write", "1 MiB"]),
        ({"drives": DRIVES | {"queue_depth": 0}}, ["drives.queue_depth", "1"]),
        ({"drives": DRIVES | {"disk": DISK}}, ["read and write", "disk"]),
        ({"drives": {"disk": DISK, "queue_depth": 4}}, ["queue_depth", "disk.depth"]),
        ({"drives": {"disk": DISK | {"depth": 2.5}}}, ["disk.depth is 2.5", "whole"]),
        ({"drives": DRIVES, "nic": {}}, ["nic.rate"]),
        ({"drives": DRIVES, "nic": {"rate": "200"}, "delay": "-1ms"}, ["delay", "negative"]),
    ],
)
def test_a_mistake_gets_one_line(data: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        validated(Shape, data, "box.yaml", named="a shape")
    (message,) = caught.value.messages
    assert all(word in message for word in ["box.yaml", *words]), message

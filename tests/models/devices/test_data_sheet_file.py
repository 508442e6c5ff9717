"""A data sheet in a file of its own, such as one of `tailcast probe`, that specs of any store name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.store import spec_of
from traces.errors import InputError

SHEET = {
    "read_iops": 50_000,
    "write_iops": 20_000,
    "read_bandwidth": "2GB/s",
    "write_bandwidth": "1GB/s",
    "flush": "1ms",
}
WORKLOAD = {"rate": 10, "duration": "1s", "object_size": "1MiB", "mix": {"GET": 1}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Work in a folder with the files."""
    monkeypatch.chdir(tmp_path)
    Path("drive.yaml").write_text(f"data_sheet: {json.dumps(SHEET)}\n")
    Path("probe.json").write_text(json.dumps({"jobs": [], "probe": {"data_sheet": SHEET, "figures": []}}))
    Path("other.yaml").write_text("read_iops: 5\n")
    Path("wrong.yaml").write_text("data_sheet: {read_iops: 5}\n")
    Path("broken.json").write_text("{")
    return tmp_path


def minio(sheet: object) -> object:
    return spec_of({"store": "minio", "workload": WORKLOAD, "drives": {"count": 2, "data_sheet": sheet}}, "spec")


@pytest.mark.parametrize("name", ["drive.yaml", "probe.json"])
def test_a_file_gives_the_times_of_its_figures(name):
    assert minio(name).model_dump() == minio(SHEET).model_dump()


def test_a_device_may_name_one_too():
    data = {"store": "ceph", "workload": WORKLOAD, "device": {"data_sheet": "probe.json", "capacity": "4TB"}}
    named = spec_of(data, "spec")
    given = spec_of({**data, "device": {"data_sheet": SHEET, "capacity": "4TB"}}, "spec")
    assert named.device == given.device
    assert named.device.flush == 1e-3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent.yaml", "absent.yaml"),
        ("other.yaml", "other.yaml: has no section data_sheet; name a file that tailcast probe has written"),
        ("wrong.yaml", "write_iops"),
        ("broken.json", "broken.json: is no JSON"),
    ],
)
def test_mistakes(name, says):
    with pytest.raises(InputError) as refused:
        minio(name)
    assert says in "; ".join(refused.value.messages)
    assert "drives" in refused.value.messages[0]

"""Campaigns of the examples on a live MinIO in a box, and on a live Ceph, which records where its objects are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import main
from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.run import Run
from validate.lab.box.requirements import require
from validate.lab.ceph.program import PROGRAMS as CEPH
from validate.lab.minio import program as minio

pytestmark = [pytest.mark.live, pytest.mark.clock]


def needed(*, missing: bool) -> None:
    """Skip the test if a program of the store, or of a box, is missing."""
    if missing:
        pytest.skip("the store is not installed; tailcast lab install builds or fetches it")
    try:
        require()
    except InputError as error:
        pytest.skip(f"{error}")


def campaign(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> dict[str, object]:
    with pytest.raises(SystemExit) as ended:
        main(["lab", "campaign", str(EXAMPLES / "campaigns" / f"{name}.yaml"), *arguments, "--json"])
    assert not ended.value.code
    return dict(json.loads(capsys.readouterr().out))


def test_a_fault_is_staged_and_predicted(lab_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needed(missing=minio.find() is None)
    loads = ("--only", "light-get", "--only", "host-killed")
    found = campaign(capsys, "minio-failures", "--out", str(tmp_path), *loads, "--size", "0.2")
    assert set(found["fitted"]) == {"client.cpu.GET.constant", "hosts.cpu.GET.constant"}
    run = Run.read(tmp_path / "host-killed" / "1")
    assert [fault["kind"] for fault in run.info["faults"]] == ["host_down"]
    phases = {row["phase"] for row in found["rows"] if row["load"] == "host-killed"}
    assert phases == {"before", "during", "after"}


def test_places_of_objects_are_recorded(lab_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needed(missing=bool(CEPH.missing()))
    campaign(capsys, "ceph-loads", "--out", str(tmp_path), "--only", "get-64KiB-c2", "--size", "0.2")
    run = Run.read(tmp_path / "get-64KiB-c2" / "1")
    placement = run.info["campaign"]["placement"]
    assert run.trace is not None
    assert set(placement) == set(run.trace.table.column("key").to_pylist())
    assert all(sorted(osds) == [0, 1, 2] for osds in placement.values())
    assert len({osds[0] for osds in placement.values()}) > 1

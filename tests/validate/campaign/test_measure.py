"""Measurements of a campaign on a stub that the lab starts: what is there is kept, what was disturbed is repeated."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from cli.main import main
from tests.validate.lab.test_second_store import StubS3
from traces.errors import InputError
from traces.run import Run
from validate.campaign.campaign import read_campaign
from validate.campaign.cells import cells_of
from validate.campaign.measure import measure, measured, windows_of
from validate.lab import lab
from validate.lab.registry import STORES
from validate.lab.store import Store

CAMPAIGN = {
    "store": "stub-s3",
    "keep": False,
    "spec": "spec.yaml",
    "workload": {"duration": "0.4s", "object_size": "1KiB", "mix": {"GET": 1}, "keys": {"kind": "uniform", "count": 4}},
    "loads": [
        {"name": "closed", "workload": {"clients": 2}},
        {"name": "open", "of": "closed", "fraction": "50%"},
        {"name": "two", "form": {"hosts": 2}, "workload": {"rate": 20}},
    ],
}


@pytest.fixture
def file(tmp_path: Path, lab_state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(STORES, "stub-s3", StubS3())
    (tmp_path / "spec.yaml").write_text("store: stub-s3\n")
    path = tmp_path / "campaign.yaml"
    path.write_text(yaml.safe_dump(CAMPAIGN))
    return path


def test_loads_are_measured_once_and_kept(file: Path, tmp_path: Path) -> None:
    campaign, out, lines = read_campaign(file), tmp_path / "runs", []
    windows = windows_of(list(cells_of(campaign).values()), 2, out)
    assert measure(campaign, windows[:2], out, 1.0, lines.append) == 0
    assert [line.partition(":")[0] for line in lines] == ["[1/2] closed/1", "[2/2] open/1"]
    closed, half = (Run.read(out / name / "1") for name in ("closed", "open"))
    rate_ops = (~closed.failed).sum() / closed.duration_s
    assert len(half) == pytest.approx(0.5 * rate_ops * 0.4, rel=0.35)
    assert {"load": "closed", "repeat": 1, "size": 1.0, "discarded": []}.items() <= closed.info["campaign"].items()
    lines.clear()
    assert measure(campaign, windows, out, 1.0, lines.append) == 0
    assert [line.partition(":")[0] for line in lines] == [
        f"[{n}/4] {name}" for n, name in enumerate(("two/1", "closed/2", "open/2", "two/2"), start=1)
    ]
    assert Run.read(out / "two" / "2").info["lab"]["hosts"] == 2
    assert lab.running() is None and len(measured(out, "closed")) == 2


def test_a_store_settles_between_what_it_holds_and_the_requests(file: Path, tmp_path: Path) -> None:
    class Settling(StubS3):
        @staticmethod
        def settle(store: Store) -> None:
            for path in ("_put", "_read"):
                with urlopen(f"{store.endpoint_url}/{path}", timeout=5.0) as response:
                    held.append(json.load(response))

    held: list[object] = []
    STORES["stub-s3"] = Settling()
    campaign = read_campaign(file)
    measure(campaign, windows_of([cells_of(campaign)["closed"]], 1, tmp_path), tmp_path, 1.0, lambda line: None)
    assert len(held) == 2 and held[0] and held[1] == [], "objects are written, and none is read yet"
    assert len(measured(tmp_path, "closed")[0])


def test_a_run_of_another_size_or_load_is_not_taken_for_this_one(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "runs"

    def measured_with(size: float, *changes: str) -> None:
        campaign = read_campaign(file, changes)
        measure(campaign, windows_of([cells_of(campaign)["closed"]], 1, out), out, size, lambda line: None)

    measured_with(1.0)
    measured_with(1.0)
    with pytest.raises(InputError, match=r"size is 1\.0, not 0\.5"):
        measured_with(0.5)
    with pytest.raises(InputError, match="workload is"):
        measured_with(1.0, "workload.object_size=2KiB")


def test_a_running_store_is_not_stopped(file: Path, tmp_path: Path) -> None:
    lab.up("stub-s3")
    campaign = read_campaign(file)
    with pytest.raises(InputError, match="stub-s3 is up"):
        measure(campaign, windows_of([cells_of(campaign)["closed"]], 1, tmp_path), tmp_path, 1.0, lambda line: None)
    assert lab.running() is not None


def test_disturbed_measurements_are_left_out(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lab", "campaign", str(file), "--out", str(tmp_path / "runs"), "--measure-only", "--only", "closed",
              "--set", "limits.other=0.000000001"])  # fmt: skip
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert "left out: discarded 3 times (others" in said and "1 measurements were left out" in said
    assert not (tmp_path / "runs" / "closed" / "1").exists()


def test_an_open_load_needs_the_throughput_of_its_closed_one(file: Path, tmp_path: Path) -> None:
    campaign, lines = read_campaign(file), []
    windows = windows_of([cells_of(campaign)["open"]], 1, tmp_path / "runs")
    assert measure(campaign, windows, tmp_path / "runs", 1.0, lines.append) == 1
    assert "the throughput of closed is not known" in lines[0]


def test_predictions_of_recorded_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.paths import EXAMPLES

    for op in ("get", "put"):
        (tmp_path / f"light-{op}").mkdir()
        (tmp_path / f"light-{op}" / "1").symlink_to(EXAMPLES / "recorded-swift" / f"light-{op}")
    path = EXAMPLES / "campaigns" / "swift-failures.yaml"
    with pytest.raises(SystemExit) as ended:
        main(["lab", "campaign", str(path), "--out", str(tmp_path), "--predict-only", "--json"])
    assert not ended.value.code
    found = json.loads(capsys.readouterr().out)
    # examples/recorded-swift/swift.yaml has the values that were fitted to these Runs by hand.
    assert found["fitted"]["hosts.cpu.GET.constant"] == pytest.approx(6.1e-3, rel=0.05)
    assert found["fitted"]["hosts.cpu.PUT.constant"] == pytest.approx(18.1e-3, rel=0.05)
    assert [(row["load"], list(row["deviation"]), row["fitted"]) for row in found["rows"]] == [
        ("light-get", ["GET"], True), ("light-put", ["PUT"], True)
    ]  # fmt: skip
    assert all(abs(of_op["p50"]) < 0.02 for row in found["rows"] for of_op in row["deviation"].values())

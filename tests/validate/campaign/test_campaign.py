"""Campaigns: which loads a file stands for, what is fitted, and which figures the phases of a Run have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from sim.simulate import simulate
from tests.paths import EXAMPLES
from tests.runs import MEASURED
from traces.errors import InputError
from traces.operations import OPS
from traces.run import Run
from validate.campaign.campaign import Campaign, read_campaign
from validate.campaign.cells import cells_of, chosen
from validate.campaign.phases import figures_of, phases_of
from validate.campaign.predict import fitted_values, rows_of, spec_for, summary_of

FILES = sorted((EXAMPLES / "campaigns").glob("*.yaml"))
MINIO = {
    "store": "minio",
    "form": {"hosts": 4, "drives": 2},
    "spec": str(EXAMPLES / "recorded-box" / "minio.yaml"),
    "set": {"hosts.cpu": {"GET": {"constant": "2ms"}, "PUT": {"constant": "2ms"}}, "client.cpu": {}},
    "fit": {"hosts.cpu.GET.constant": {"load": "get-c1"}},
    "workload": {"duration": "4s", "object_size": "64KiB", "mix": {"GET": 1}, "keys": {"kind": "uniform", "count": 30}},
    "loads": [{"name": "get-c{clients}", "vary": {"workload.clients": [1, 4]}}],
}


def campaign(folder: Path, **changes: object) -> Campaign:
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(MINIO | changes, sort_keys=False))
    return read_campaign(path)


def as_measured(run: Run, **info: object) -> Run:
    facts = {**MEASURED, "cpu": {"busy_share": 0.2, "other_share": 0.05, "client_per_op_s": 1e-3}, **info}
    return replace(run, info=run.info | facts)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_examples_have_loads_and_specs(path: Path) -> None:
    found = read_campaign(path)
    cells = cells_of(found)
    assert len(cells) > 4
    run = Run.read(EXAMPLES / "recorded-box" / "light-get")
    for cell in cells.values():
        rate_ops = 10.0 if cell.load.of else None
        assert len(cell.trace(1, rate_ops, 0.05)) > 0
        spec = spec_for(found, cell, replace(run, info={}), {})
        assert spec.store == found.file.store


def test_varied_values_are_all_combined(tmp_path: Path) -> None:
    loads = [
        {
            "name": "{object_size}-c{clients}",
            "vary": {"workload.object_size": ["4KiB", "1MiB"], "workload.clients": [1, 8]},
        },
        {"name": "open{fraction}", "of": "4KiB-c8", "vary": {"fraction": ["30%", "80%"]}},
    ]
    cells = cells_of(campaign(tmp_path, loads=loads, fit={}))
    assert list(cells) == ["4KiB-c1", "4KiB-c8", "1MiB-c1", "1MiB-c8", "open30%", "open80%"]
    assert cells["1MiB-c8"].workload["clients"] == 8 and cells["open80%"].load.fraction == 0.8
    assert chosen(list(cells), ["*-c8", "open30*"]) == ["4KiB-c8", "1MiB-c8", "open30%"]
    trace = cells["1MiB-c1"].trace(1)
    assert set(trace.size_bytes.tolist()) == {1 << 20} and trace.pacing.clients == 1


def test_each_put_writes_an_object_of_its_own(tmp_path: Path) -> None:
    loads = [{"name": "put", "workload": {"rate": 50, "mix": {"PUT": 0.5, "GET": 0.5}}}]
    trace = cells_of(campaign(tmp_path, loads=loads, fit={}))["put"].trace(1)
    keys = np.array(trace.table.column("key").to_pylist())
    puts = trace.op == OPS.index("PUT")
    assert len(set(keys[puts])) == puts.sum() > 50 and not set(keys[puts]) & set(keys[~puts])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"store": "swift"}, "spec: .* is of store 'minio', not 'swift'"),
        ({"store": "minoi"}, "cannot start 'minoi'"),
        ({"fit": {"hosts.cpu.GET.constant": {"load": "get"}}}, "load: there is no load 'get'"),
        ({"loads": [{"name": "a{size}", "vary": {"workload.clients": [1]}}]}, "name has a place for 'size'"),
        ({"loads": [{"name": "a"}, {"name": "a"}]}, "a is given twice"),
        ({"loads": [{"name": "../a", "workload": {"clients": 1}}]}, "is no name of a folder"),
        ({"loads": [{"name": "a", "fraction": "30%"}]}, "of and fraction are needed together"),
        (
            {"loads": [{"name": "a", "of": "a", "fraction": "30%", "workload": {"clients": 1}}]},
            "workload.clients is not allowed",
        ),
        ({"loads": [{"name": "a", "workload": {"clients": 1}, "faults": ["drive 1 slo"]}]}, "cannot happen to a drive"),
        ({"loads": [{"name": "a", "workload": {"clints": 1}}]}, "did you mean clients"),
        ({"spec": "nowhere.yaml"}, "no such file"),
        ({"shape": {"drives": {"raed": "1ms"}}}, "did you mean read"),
    ],
)  # fmt: skip
def test_wrong_campaigns_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    fit = {} if "loads" in changes else MINIO["fit"]
    with pytest.raises(InputError, match=message):
        cells_of(campaign(tmp_path, **{"fit": fit, **changes}))


def test_no_load_of_a_name_is_refused() -> None:
    with pytest.raises(InputError, match=r"load 'x'.*matches none of a, b"):
        chosen(["a", "b"], ["x"])


def test_a_fitted_value_is_that_of_the_measured_store(tmp_path: Path) -> None:
    """The light load is of a store whose CPU time for a GET is three times the one to begin with."""
    found = campaign(tmp_path)
    cells = cells_of(found)
    light = cells["get-c1"]
    empty = Run.read(EXAMPLES / "recorded-box" / "light-get")
    spec = spec_for(found, light, replace(empty, info={}), {"hosts.cpu.GET.constant": 0.006})
    runs = {name: as_measured(simulate(spec, cell.trace(1), seed=7)) for name, cell in cells.items()}
    values = fitted_values(found, cells, {"get-c1": runs["get-c1"]})
    assert values["hosts.cpu.GET.constant"] == pytest.approx(0.006, rel=0.1)
    rows = [row for name, cell in cells.items() for row in rows_of(found, cell, [runs[name]] * 2, values, seeds=2)]
    assert [(row.load, row.fitted, row.counts) for row in rows] == [("get-c1", True, False), ("get-c4", False, True)]
    assert abs(rows[1].deviation["GET"]["throughput"]) < 0.1 and rows[1].repeatability["GET"]["p50"] == 0
    assert summary_of(rows)["p50"]["rows"] == 1


def test_phases_are_before_during_and_after_the_fault() -> None:
    run = Run.read(EXAMPLES / "recorded-box" / "host-killed")
    phases = phases_of(run)
    (staged,) = run.info["lab_faults"]
    assert phases["before"][1] == phases["during"][0] == staged["at"] and phases["after"][0] == staged["until"]
    found = figures_of(run, phases)
    arrival_s = run.column("arrival_s")
    for name, (from_s, until_s) in phases.items():
        arrived = (arrival_s >= from_s) & (arrival_s < until_s)
        assert found[name].errors == (run.failed & arrived).sum()
        assert sum(of.requests for of in found[name].ops.values()) == (arrived & ~run.failed).sum()
    assert found["during"].errors > 0 == found["before"].errors
    whole = figures_of(run, {"all": (0.0, float(run.column("end_s").max()))})["all"]
    assert whole.throughput_ops == pytest.approx((~run.failed).sum() / run.column("end_s").max())

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from cli.main import main
from models.store import spec_of
from sim.simulate import simulate
from tests.runs import run_of
from tests.small_traces import trace_of
from tests.specs import minio
from traces.errors import InputError
from traces.run import Run
from validate.compare.measured import Measured
from validate.forecast.configurations import requested_of
from validate.forecast.prediction import predict
from validate.replay.recorded_faults import recorded_faults, with_faults

TRACE = trace_of(["GET"] * 300, [f"k{i}" for i in range(300)], arrival_s=[i / 50 for i in range(300)])
VALUES = ("drives.count=4", "network.latency=0.1ms", "drives.read=2ms")
SPEC = spec_of(minio(*VALUES), "spec")
SLOW = {"kind": "slow_drive", "drive": 0, "speed": 0.1, "at": 1.0, "until": 3.0}


def measured(*faults: dict[str, object]) -> Run:
    run = simulate(SPEC, TRACE, seed=1)
    return replace(run, info=run_of([1.0]).info | {"faults": list(faults)}, trace=TRACE)


def test_a_forecast_repeats_the_faults_of_a_run():
    healthy, failing = (predict(SPEC, [Measured("r", run)], 2, 1) for run in (measured(), measured(SLOW)))
    p90 = [prediction.ops["GET"].ratios["p90"].predicted for prediction in (healthy, failing)]
    assert p90[1] > 1.5 * p90[0]


def test_runs_with_other_faults_or_in_another_box_are_another_configuration():
    runs = [measured(), measured(SLOW), measured(SLOW | {"at": 1.04, "until": 3.02}), measured(SLOW | {"drive": 1})]
    runs.append(replace(runs[0], info=runs[0].info | {"lab": {"hosts": 4}}))
    first, slow, again, other, box = map(requested_of, runs)
    assert slow.same_workload(again)
    assert not any(first.same_workload(one) for one in (slow, other, box)) and not slow.same_workload(other)


def test_wrong_faults_are_named_with_the_run():
    with pytest.raises(InputError, match=r"^r: faults.*nonsense"):
        recorded_faults(measured(*["nonsense"]), "r")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^r: faults\.0"):
        with_faults(SPEC, [SLOW | {"kind": "volcano"}], "r")
    with pytest.raises(InputError, match=r"r: .*drive 9"):
        with_faults(SPEC, [SLOW | {"drive": 9}], "r")
    run = measured()
    unknown = replace(run, info=run.info | {"unmodelled_faults": ["drive 3 full"]})
    with pytest.raises(InputError, match="drive 3 full"):
        recorded_faults(unknown, "r")
    assert with_faults(SPEC, recorded_faults(run, "r"), "r") is SPEC


def test_a_simulation_takes_the_faults_of_a_run(tmp_path, capsys):
    spec = tmp_path / "spec.yaml"
    spec.write_text(yaml.safe_dump(minio(*VALUES)))
    measured(SLOW).write(tmp_path / "measured")
    TRACE.write(tmp_path / "trace.parquet")
    out = [tmp_path / name for name in ("healthy", "failing")]
    for path, options in zip(out, ([], ["--faults-of", str(tmp_path / "measured")]), strict=True):
        with pytest.raises(SystemExit) as ended:
            main(["simulate", str(spec), "--trace", str(tmp_path / "trace.parquet"), "--out", str(path), *options])
        assert not ended.value.code
    healthy, failing = (Run.read(path).latency_s for path in out)
    assert np.allclose(healthy[:40], failing[:40]) and failing.max() > 2 * healthy.max()

"""Right and wrong models, validated on measurements that a known model generated."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cli.main import main
from cli.tables.measured.validation import left_out_grid, summary_grid
from models.store import load_spec, spec_of
from sim.simulate import simulate
from tests.browser import CHROMIUM, opened
from tests.models.test_store import EXAMPLE
from tests.runs import MEASURED, run_of
from traces.errors import InputError
from traces.run import Run
from traces.spec.spec_file import load_mapping
from traces.statistics.summary import latencies, summarise
from traces.workload.generate import generate
from validate.calibration.profile import Estimate, FittedRun, Profile
from validate.compare import measured as measured_module
from validate.forecast.configurations import configurations_of, labels_of, requested_of, requested_trace
from validate.forecast.prediction import end_to_end, pair_errors
from validate.forecast.validation import TOLERANCES, Validation, validate
from validate.replay.recorded_policies import recorded_policies

SLOWER = ["hosts.cpu.GET.constant=0.75ms", "hosts.cpu.PUT.constant=3.2ms", "network.latency=0.25ms"]  # some 40 % more
LOADS = {
    "c1": ["workload.clients=1"],
    "c4": ["workload.clients=4"],
    "c16-big": ["workload.clients=16", "workload.object_size=256KiB"],
    "open": ["workload.rate=600/s"],
}


@cache
def measured(load: str, seed: int, *assignments: str) -> Run:
    """What a store that is as the example says would have given; `seed` is of the trace, too."""
    spec = load_spec(EXAMPLE, ["workload.duration=3s", *LOADS.get(load, ()), *assignments])
    run = simulate(spec, generate(spec.workload, seed), seed=1000 + seed)
    return replace(run, info=MEASURED | {"started_at": f"2024-05-01T12:00:{seed:02}+00:00"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two Runs of each load, one folder for each load."""
    root = tmp_path_factory.mktemp("measured")
    for load in LOADS:
        (root / load).mkdir()
        for seed in (1, 2):
            measured(load, seed).write(root / load / f"{load}-{seed}")
    return root


def runs_in(folder: Path, *loads: str) -> dict[str, Path]:
    return {path.name: path for load in loads or LOADS for path in sorted((folder / load).iterdir())}


def tailcast(capsys, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(a) for a in arguments])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.fixture(scope="module")
def right(folder) -> Validation:
    return validate(load_spec(EXAMPLE), runs_in(folder))


@pytest.fixture(scope="module")
def wrong(folder) -> Validation:
    return validate(load_spec(EXAMPLE, SLOWER), runs_in(folder))


def test_the_right_model_is_within_tolerance(right):
    assert right.verdict == "pass"
    assert all(row.quality.usable for row in right.runs)
    assert [len(configuration.runs) for configuration in right.configurations] == [2, 2, 2, 2]
    assert {row.verdict for row in right.summary.values()} <= {"within", "noise"}
    assert right.summary["p50"].median < 0.03
    assert right.summary["p50"].repeatability < 0.1


def test_a_model_with_wrong_demands_fails_and_the_worst_cell_is_named(wrong):
    assert wrong.verdict == "fail"
    summary = wrong.summary
    assert summary["throughput_ops"].verdict == summary["p50"].verdict == summary["w1"].verdict == "beyond"
    assert summary["p50"].median == pytest.approx(0.35, abs=0.15)
    for figure, row in summary.items():
        found = {
            (configuration.label, op): result.measures[figure].error
            for configuration in wrong.configurations
            for op, result in configuration.ops.items()
            if figure != "throughput_ops" or configuration.loop == "closed"
        }
        assert row.worst.error == max(found.values()) == found[row.worst.configuration, row.worst.op]
        assert row.median == pytest.approx(np.median(list(found.values())))
        assert row.count == len(found) == (6 if figure == "throughput_ops" else 8)


def test_intervals_of_the_right_model_hold_one_and_those_of_the_wrong_one_do_not(right, wrong):
    def covered(result: Validation) -> float:
        intervals = [
            found.ratios[figure].interval
            for configuration in result.configurations
            for found in configuration.ops.values()
            for figure in ("p50", "p90")
        ]
        return float(np.mean([low <= 0 <= high for low, high in intervals]))

    assert covered(right) > 0.75 and covered(wrong) < 0.2


def test_figures_are_of_merged_samples(right):
    runs = [measured("c4", seed) for seed in (1, 2)]
    configuration = next(
        configuration for configuration in right.configurations if configuration.runs == ("c4-1", "c4-2")
    )
    for op, found in configuration.ops.items():
        samples = np.concatenate([latencies(run, op) for run in runs])
        assert found.count.measured == len(samples)
        assert found.ratios["p90"].measured == pytest.approx(np.quantile(samples, 0.9))
        done = [summarise(run)["ops"][op] for run in runs]
        together = sum(d["count"] for d in done) / sum(d["count"] / d["throughput_ops"] for d in done)
        assert found.ratios["throughput_ops"].measured == pytest.approx(together)
        for name, measure in found.ratios.items():
            assert measure.error == pytest.approx(math.expm1(abs(measure.log_ratio))), name


def test_the_noise_band_is_the_distance_of_repetitions(right):
    for load in LOADS:
        a, b = (measured(load, seed) for seed in (1, 2))
        configuration = next(
            configuration for configuration in right.configurations if configuration.runs[0] == f"{load}-1"
        )
        for op, errors in pair_errors(a, b).items():
            found = configuration.ops[op].measures
            assert {name: found[name].repeatability for name in errors} == pytest.approx(errors)
            x, y = latencies(a, op), latencies(b, op)
            assert errors["w1"] == pytest.approx(stats.wasserstein_distance(x, y) / y.mean())
            assert errors["ks"] == pytest.approx(stats.ks_2samp(x, y).statistic)
            p50 = np.quantile(x, 0.5) / np.quantile(y, 0.5)
            assert errors["p50"] == pytest.approx(max(p50, 1 / p50) - 1)


def test_a_cell_without_repetition_takes_the_noise_band_of_the_others(folder):
    runs = runs_in(folder, "c1", "c4")
    del runs["c1-2"]
    alone, repeated = validate(load_spec(EXAMPLE), runs).configurations
    for op in ("GET", "PUT"):
        for figure, measure in alone.ops[op].measures.items():
            assert measure.repetition_pairs == 0
            assert measure.repeatability == repeated.ops[op].measures[figure].repeatability
            assert repeated.ops[op].measures[figure].repetition_pairs == 1
    only = validate(load_spec(EXAMPLE), {"c1-1": runs["c1-1"]})
    assert only.configurations[0].ops["GET"].distances["w1"].repeatability is None
    assert only.summary["p50"].repeatability is None


def test_noise_excuses_what_tolerance_does_not(folder, right):
    strict = validate(load_spec(EXAMPLE), runs_in(folder), tolerances=dict.fromkeys(TOLERANCES, 1e-6))
    for configuration in strict.configurations:
        for found in configuration.ops.values():
            for figure, measure in found.measures.items():
                if figure in TOLERANCES:
                    excused = measure.error <= 1.5 * measure.repeatability
                    assert measure.verdict == ("noise" if excused else "beyond")
    assert [m.error for c in strict.configurations for m in c.ops["GET"].measures.values()] == [
        m.error for c in right.configurations for m in c.ops["GET"].measures.values()
    ]


def test_what_was_fitted_is_predicted_but_not_counted(folder, wrong):
    fitted = {(measured("c1", 1).info["started_at"], len(measured("c1", 1)))}
    result = validate(load_spec(EXAMPLE, SLOWER), runs_in(folder, "c1", "c4"), fitted=fitted)
    assert [configuration.fitted for configuration in result.configurations] == [True, False]
    assert [row.fitted for row in result.runs] == [True, False, False, False]
    assert result.summary["p50"].count == 2
    assert result.summary["p50"].worst.configuration == result.configurations[1].label
    nothing = validate(load_spec(EXAMPLE), runs_in(folder, "c1"), fitted=fitted)
    assert nothing.verdict == "nothing held out"
    assert nothing.summary["p50"].median is None


def test_unusable_runs_are_left_out_with_their_reason(tmp_path):
    good = measured("c4", 1)
    good.write(tmp_path / "good")
    replace(good, info=good.info | {"aborted": True}).write(tmp_path / "aborted")
    replace(good, trace=None).write(tmp_path / "traceless")
    result = validate(load_spec(EXAMPLE), {name: tmp_path / name for name in ("aborted", "good", "traceless")})
    assert [configuration.runs for configuration in result.configurations] == [("good",)]
    issues = {row.run: list(row.quality.issues) for row in result.runs}
    assert issues == {"aborted": ["aborted"], "good": [], "traceless": ["unknown workload"]}
    assert result.warnings == ()
    anyway = validate(load_spec(EXAMPLE), {name: tmp_path / name for name in ("aborted", "traceless")}, anyway=True)
    assert [configuration.runs for configuration in anyway.configurations] == [("aborted",)]
    assert len(anyway.warnings) == 1 and anyway.warnings[0].startswith("aborted was used although aborted")
    assert [grid.rows[0][0] for grid in left_out_grid(anyway)] == ["traceless"]
    assert summary_grid(anyway).warnings == anyway.warnings
    none = validate(load_spec(EXAMPLE), {"aborted": tmp_path / "aborted"})
    assert none.configurations == () and none.verdict == "nothing held out"


def test_each_run_is_read_and_judged_once(folder, monkeypatch):
    read, judged = [], []

    def reading(path: Path, read_run=Run.read) -> Run:
        read.append(path.name)
        return read_run(path)

    def checking(run: Run, check_quality=measured_module.check_quality):
        judged.append(run)
        return check_quality(run)

    monkeypatch.setattr(Run, "read", staticmethod(reading))
    monkeypatch.setattr(measured_module, "check_quality", checking)
    validate(load_spec(EXAMPLE), runs_in(folder, "c1"), seeds=2)
    assert read == ["c1-1", "c1-2"] and len(judged) == 2


def test_workers_and_seeds_make_no_difference_but_another_seed_does(folder, wrong):
    assert validate(load_spec(EXAMPLE, SLOWER), runs_in(folder), workers=1) == wrong
    other = validate(load_spec(EXAMPLE, SLOWER), runs_in(folder, "c1"), seed=5)
    assert other.configurations[0].ops["GET"].distances["w1"] != wrong.configurations[0].ops["GET"].distances["w1"]


def test_seeds_of_a_workload_are_one_cell_and_other_workloads_are_others():
    changes = {
        "clients": ["workload.clients=5"],
        "think time": ["workload.clients=4", "workload.think_time=1ms"],
        "mix": ["workload.clients=4", "workload.mix={GET: 60, PUT: 40}"],
        "size": ["workload.clients=4", "workload.object_size=33KiB"],
        "sizes": ["workload.clients=4", "workload.object_size={kind: lognormal, mean: 32KiB, cv: 0.5}"],
        "keys": ["workload.clients=4", "workload.keys={kind: zipf, count: 1000, exponent: 1.1}"],
        "rate": ["workload.rate=300/s"],
        "higher rate": ["workload.rate=400/s"],
        "other arrivals": ["workload.rate=400/s", "workload.arrivals=constant"],
        "duration": ["workload.clients=4", "workload.duration=2s"],
    }
    loads = {"base": ["workload.clients=4"]} | changes
    requested = [
        requested_of(measured(f"other {name}", seed, *assignments))
        for name, assignments in loads.items()
        for seed in (1, 2, 3)
    ]
    assert configurations_of(requested) == [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(len(loads))]
    labels = labels_of([requested[3 * i] for i in range(len(loads))])
    assert len(set(labels)) == len(labels)
    assert labels[0] == "4 clients, GET 70% PUT 30%, 32KiB"
    assert "/s, GET" in labels[list(loads).index("higher rate")]


def test_a_replay_at_another_speed_was_asked_at_that_speed():
    run = measured("open", 1)
    fast = requested_trace(replace(run, info=run.info | {"speed": 2.0}))
    assert fast.arrival_s == pytest.approx(run.trace.arrival_s / 2)
    assert fast.pacing.duration_s == 1.5 and fast.issued == run.trace.issued
    requested = [requested_of(run), requested_of(replace(run, info=run.info | {"speed": 2.0}))]
    assert configurations_of(requested) == [[0], [1]]


def test_runs_put_end_to_end_keep_their_requests_and_their_rates():
    a = run_of([0.1] * 10 + [0.2] * 10, op=["PUT"] * 10 + ["GET"] * 10, arrival_s=np.arange(20) * 1.0)
    both = summarise(end_to_end([a, a]))["ops"]
    one = summarise(a)["ops"]
    for op in ("GET", "PUT"):
        assert both[op]["count"] == 20
        assert both[op]["throughput_ops"] == pytest.approx(one[op]["throughput_ops"])
        assert both[op]["latency_s"]["p50"] == pytest.approx(one[op]["latency_s"]["p50"])


HEDGED = ["client.hedge.after=3ms", "client.hedge.budget=null", "client.hedge.cancel=false"]
SLOW_READS = ["workload.clients=2", "workload.mix={GET: 1}", "drives.read={constant: 0.2ms, distribution: "
              "{kind: slow_mode, probability: 0.05, factor: 100}}", "drives.queue_depth=8"]  # fmt: skip


def policies_of(*assignments: str) -> dict:
    """A Run's record of what its clients do: those of the example, with some changes, and the library's own timeout."""
    client = load_spec(EXAMPLE, assignments).client.model_dump(mode="json", include={"retry", "hedge"})
    return {"client_policies": client | {"timeout": 60.0}}


def test_runs_are_predicted_with_the_policies_they_were_made_with(tmp_path):
    for name, policy in (("hedged", HEDGED), ("plain", [])):
        run = measured(name, 1, *SLOW_READS, *policy)
        replace(run, info=run.info | policies_of(*policy)).write(tmp_path / name)
        replace(run, info=MEASURED).write(tmp_path / f"{name}-untold")
    spec = load_spec(EXAMPLE, SLOW_READS)
    found = {
        configuration.runs[0]: configuration.ops["GET"]
        for configuration in validate(spec, runs_in(tmp_path, ".")).configurations
    }
    p99 = {name: op.ratios["p99"] for name, op in found.items()}
    assert p99["hedged"].predicted < 0.7 * p99["plain"].predicted
    assert max(p99["hedged"].error, p99["plain"].error) < 0.15
    # Runs that do not say are predicted with the spec's policies, here none.
    assert p99["hedged-untold"].predicted == pytest.approx(p99["plain"].predicted, rel=0.1)
    assert p99["hedged-untold"].error > 0.3


def test_a_timeout_longer_than_the_run_is_not_simulated_and_a_wrong_policy_is_named():
    run = measured("c1", 1)
    for timeout_s, simulated in ((60.0, None), (0.5, 0.5)):
        told = replace(run, info=run.info | {"client_policies": {"timeout": timeout_s}})
        assert recorded_policies(told, "r").timeout == simulated
    assert recorded_policies(run, "r") is None
    odd = replace(run, info=run.info | {"client_policies": {"hedge": {"after": "p0"}}})
    with pytest.raises(InputError, match=r"^r: client_policies\.hedge\.after: 'p0' is not a duration"):
        recorded_policies(odd, "r")


@pytest.mark.parametrize(
    "bad", [{"seeds": 1}, {"workers": 0}, {"tolerances": {"p50": 0.1}}, {"tolerances": TOLERANCES | {"p99": -1.0}}]
)
def test_values_out_of_range_are_refused(folder, bad):
    with pytest.raises(InputError):
        validate(load_spec(EXAMPLE), runs_in(folder, "c1"), **bad)


def profile_of(run: Run, path: Path) -> Path:
    """A profile that puts the example's own CPU time of a GET back into a spec in which it is wrong."""
    value = load_spec(EXAMPLE).hosts.cpu["GET"].constant
    estimate = Estimate(
        value=value, low=value / 2, high=value * 2, identified=True, guess=value, bounds=(value / 9, value * 9)
    )
    fitted = FittedRun(name="c1-1", configuration="", started_at=run.info["started_at"], requests=len(run))
    profile = Profile(
        store="minio", spec="minio.yaml", confidence=0.95, parameters={"hosts.cpu.GET.constant": estimate},
        runs=(fitted,), residuals=(), noise={}, discrepancy=0.0, rms_log_error=0.0, notes=(), seed=0, simulations=1,
        versions={},
    )  # fmt: skip
    profile.write(path)
    return path


def test_the_command_checks_and_writes_what_it_prints(folder, tmp_path, capsys):
    out, page = tmp_path / "table.json", tmp_path / "page.html"
    code, printed, said = tailcast(
        capsys, "validate", EXAMPLE, folder, "--check", "--json", "--out", out, "--report", page, "--workers", 1
    )
    result = json.loads(printed)
    assert code == 0, result["summary"]
    assert result == json.loads(out.read_text())
    assert set(result) == {
        "spec", "profile", "runs", "configurations", "summary", "tolerances", "repeatability_factor", "seeds",
        "verdict", "warnings", "made",
    }  # fmt: skip
    assert set(result["runs"][0]) == {"run", "usable", "issues", "figures", "configuration", "fitted"}
    assert set(result["configurations"][0]) == {"configuration", "runs", "loop", "fitted", "ops"}
    get = result["configurations"][0]["ops"]["GET"]
    assert set(get) == {"count", "errors", "throughput_ops", "latency_s", "w1", "ks"}
    assert set(get["latency_s"]["p50"]) == {
        "predicted", "measured", "log_ratio", "interval", "error", "repetition_pairs", "repeatability", "verdict"
    }  # fmt: skip
    text = page.read_text()
    assert "Predicted against measured" in text and str(page) in said
    assert "Good enough: median errors over" in text and "Worst errors: throughput" in text
    assert '<a href="#s2">Held-out configurations</a>' not in text, "three headings need no contents"
    assert '<th scope="col" class="label"></th>' not in text and '<th scope="col"></th>' not in text


def test_the_command_fails_a_wrong_model_only_where_it_is_to_check(folder, capsys):
    sets = [argument for value in SLOWER for argument in ("--set", value)]
    arguments = ["validate", EXAMPLE, folder / "c1", folder / "c4" / "c4-1", "--workers", 1, *sets]
    code, out, _ = tailcast(capsys, *arguments)
    assert code == 0
    said = " ".join(out.split())
    assert "Not good enough: median errors over" in said and "beyond tolerance or 1.5 times" in said
    assert tailcast(capsys, *arguments, "--check")[0] == 1
    wide = [argument for name in ("throughput", "p50", "p99", "w1") for argument in ("--tolerance", f"{name}=100%")]
    assert tailcast(capsys, *arguments, "--check", *wide)[0] == 0


def test_a_profile_puts_values_right_and_its_runs_aside(folder, tmp_path, capsys):
    profile = profile_of(measured("c1", 1), tmp_path / "profile.yaml")
    spec = tmp_path / "spec.yaml"
    spec.write_text(EXAMPLE.read_text().replace("GET: {constant: 0.4ms", "GET: {constant: 4ms"))
    assert spec.read_text() != EXAMPLE.read_text()
    runs = [folder / "c1", folder / "c4"]
    code, out, _ = tailcast(capsys, "validate", spec, *runs, "--profile", profile, "--check", "--json", "--workers", 1)
    result = json.loads(out)
    assert code == 0, result["summary"]
    assert [configuration["fitted"] for configuration in result["configurations"]] == [True, False]
    assert tailcast(capsys, "validate", spec, *runs, "--check", "--workers", 1)[0] == 1
    # With nothing held out a check has checked nothing.
    assert tailcast(capsys, "validate", spec, runs[0], "--profile", profile, "--check", "--workers", 1)[0] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tolerance", "p42=0.1"], "'p42' is not a measure; allowed are throughput, p50, p99, w1"),
        (["--tolerance", "p50=much"], "'much' is not a fraction"),
        (["--tolerance", "p50=0"], "'0' is not a fraction above 0"),
        (["--seeds", "1"], "seeds"),
        (["--profile", "absent.yaml"], "absent.yaml: no such file"),
        (["--set", "hosts.cores.count=none"], "hosts.cores.count"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(folder, capsys, arguments, said):
    code, out, err = tailcast(capsys, "validate", EXAMPLE, folder / "c1", *arguments)
    assert code == 2 and out == ""
    assert said in err and len(err.strip().splitlines()) == 1


def test_folders_without_a_run_are_refused(tmp_path, capsys):
    code, _, err = tailcast(capsys, "validate", EXAMPLE, tmp_path)
    assert code == 2 and "contains no Run" in err


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_page_draws_all_charts_without_an_error_or_a_request(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    profile = profile_of(measured("c1", 1), tmp_path / "profile.yaml")
    tailcast(capsys, "validate", EXAMPLE, folder, "--profile", profile, "--report", page, "--workers", 1)
    with opened(page, 900) as shown:
        assert shown.errors == []
        assert shown.fetched == [page.as_uri()]
        assert shown.evaluate("document.querySelectorAll('.main-svg').length") == 3 * 3, (
            "few errors have no distribution"
        )
        contents = shown.evaluate("[...document.querySelectorAll('nav a')].map((link) => link.innerText)")
        assert contents[1:3] == ["Held-out configurations", "Fitted configurations"]
        assert shown.evaluate("[...document.querySelectorAll('.chart')].every((c) => c.querySelector('.points path'))")
        assert shown.evaluate("document.documentElement.scrollWidth") <= 900


def test_recorded_runs_of_a_real_store_are_predicted():
    """16 clients and 32 KiB, by a profile that was fitted to 1 and 4 clients, 4 KiB and 1 MiB."""
    recorded = EXAMPLE.parent / "recorded"
    profile = Profile.read(recorded / "profile.yaml")
    spec = spec_of(profile.applied_to(load_mapping(EXAMPLE), "spec"), "spec")
    runs = {folder.parent.name: folder.parent for folder in recorded.glob("*/run.json")}
    fitted = frozenset((run.started_at, run.requests) for run in profile.runs)
    result = validate(spec, runs, fitted=fitted, seeds=2)
    assert {run.run for run in result.runs if run.fitted} == {run.name.split("/")[-1] for run in profile.runs}
    assert result.summary["p50"].count == 4  # GET, PUT, and both of the mix
    for figure, most in {"throughput_ops": 0.15, "p50": 0.2, "p99": 0.3, "w1": 0.25}.items():
        assert result.summary[figure].median < most, figure

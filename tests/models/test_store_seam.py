"""A store is one folder and one entry: two stores that only the tests define work with every command."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from models.store import MODULES, OPERATIONS, compile_spec, json_schema, load_spec, spec_of, store_named
from sim.simulate import simulate
from tests.cli.commands.test_simulate import tailcast
from tests.paths import EXAMPLES
from tests.runs import MEASURED
from tests.stores import caching_proxy, fifo_disk
from traces.errors import InputError
from traces.operations import FILE
from traces.run import Run
from traces.spec.spec_file import override
from traces.workload.generate import generate
from validate.compare.server_part import stamped

WAY_S, READ_S, LOOK_UP_S = 0.2e-3, 5e-3, 1e-3

WORKLOAD: dict[str, Any] = {
    "rate": "120/s",
    "operations": 2000,
    "object_size": "4KiB",
    "mix": {"GET": 1},
    "keys": {"kind": "uniform", "count": 5000},
}
DISK: dict[str, Any] = {"store": "fifo-disk", "network": {"latency": WAY_S}, "disk": {"read": READ_S, "write": "6ms"}}
MINIO: dict[str, Any] = {"store": "minio", "hosts": {"cores": 1, "cpu": {"GET": "4ms"}}, "drives": {"read": "2ms"}}
SWIFT: dict[str, Any] = {
    "store": "swift",
    "proxies": {"cpu": {"GET": "4ms"}},
    "hosts": {"cpu": {"GET": "1ms"}},
    "drives": {"count": 3, "read": "2ms"},
}
BOB: dict[str, Any] = {"store": "bob", "hosts": {"cpu": {"GET": "1ms"}}, "drives": {"count": 3, "read": "2ms"}}
CEPH: dict[str, Any] = {
    "store": "ceph",
    "osd": {"read": "0.3ms"},
    "gateways": {"cores": 1, "cpu": {"GET": "5ms"}},
    "device": {"read": "1ms", "write": "1ms", "capacity": "4TB"},
}


def fifo(*assignments: str) -> dict[str, Any]:
    return override(DISK | {"workload": WORKLOAD}, assignments)


def proxy(below: dict[str, Any] = DISK, *assignments: str) -> dict[str, Any]:
    data = {"store": "caching-proxy", "workload": WORKLOAD, "lookup": LOOK_UP_S, "below": below}
    return override(data, assignments)


STORES = {"fifo-disk": fifo, "caching-proxy": proxy}


def written(folder: Path, data: dict[str, Any]) -> str:
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(data))
    return str(path)


def latencies(data: dict[str, Any], seed: int = 3) -> np.ndarray:
    return simulate(spec_of(data, "test"), seed=seed).latency_s


# The two models


def test_a_disk_is_an_md1(tmp_path, capsys):
    _, out, _ = tailcast(capsys, "simulate", written(tmp_path, fifo("workload.operations=300000")), "--json")
    load = 120 * READ_S
    waiting_s = load * READ_S / (2 * (1 - load))  # Pollaczek-Khinchine, constant service
    result = json.loads(out)
    assert result["ops"]["GET"]["latency_s"]["mean"] == pytest.approx(2 * WAY_S + READ_S + waiting_s, rel=0.02)
    (disk,) = (station for station in result["stations"] if station["role"] == "disk")
    assert disk["utilization"] == pytest.approx(load, rel=0.01)


@pytest.mark.parametrize("below", [DISK, MINIO, CEPH, proxy()], ids=lambda data: data["store"])
def test_a_proxy_that_holds_nothing_adds_its_look_up(below):
    no_contention_s = latencies(below | {"workload": WORKLOAD})
    assert len(np.unique(no_contention_s.round(9))) > 100  # requests wait for each other
    assert latencies(proxy(below)) == pytest.approx(no_contention_s + LOOK_UP_S, abs=1e-9)


def test_what_a_proxy_holds_does_not_reach_the_store_below():
    curve = 'cache={"size": "2MiB", "curve": {"sizes": ["1MiB", "3MiB"], "hit_ratios": [0.2, 0.4]}}'
    run = simulate(spec_of(proxy(DISK, curve, "network.latency=0.1ms"), "test"), seed=3)
    hit = np.isclose(run.latency_s, LOOK_UP_S + 0.2e-3)
    assert hit.mean() == pytest.approx(0.3, abs=0.05)
    (visits,) = (row["visits"] for row in run.stations.to_pylist() if row["role"] == "disk")
    assert visits == len(run) - hit.sum()


def test_a_proxy_serves_what_was_requested_shortly_before():
    """Of uniform keys, those of the 600 objects that fit hit once the cache is full."""
    run = simulate(spec_of(proxy(DISK, "cache.size=600KiB", "workload.object_size=1KiB"), "test"), seed=3)
    hit = np.isclose(run.latency_s, LOOK_UP_S)
    keys = run.trace.table.column("key").to_pylist()
    expected = [key in list(dict.fromkeys(reversed(keys[:row])))[:600] for row, key in enumerate(keys)]
    assert hit.tolist() == expected and 0.05 < hit.mean() < 0.12


def test_a_larger_cache_is_a_what_if(tmp_path, capsys):
    spec = written(tmp_path, proxy(DISK, "workload.keys.count=500"))
    sizes = ["--vary", "cache.size=64KiB,512KiB,4MiB", "--slo", "GET.p50<2ms", "--replications", "5", "--json"]
    _, out, _ = tailcast(capsys, "whatif", spec, *sizes)
    assert [point["slo"]["GET.p50<2ms"] for point in json.loads(out)["points"]] == ["fail", "fail", "pass"]


def test_the_store_below_has_the_workload_of_the_proxy():
    spec = spec_of(proxy(DISK, "workload.rate=7/s"), "test")
    assert spec.below.workload == spec.workload
    assert spec_of(spec.model_dump(mode="json", exclude_unset=True), "again") == spec


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (proxy({"store": "zzz"}), "below: store is 'zzz'; allowed are minio, ceph, swift, bob, openio"),
        (proxy(DISK, "below.disk.raed=1ms"), "below: disk.raed: unknown field; did you mean read?"),
        (fifo("faults=[{kind: host_down, at: 1s}]"), "faults.0"),
    ],
)
def test_mistakes_in_a_held_spec_are_named(data, said):
    with pytest.raises(InputError) as raised:
        spec_of(data, "spec.yaml")
    assert str(raised.value).startswith(f"spec.yaml: {said}")


# The commands


@pytest.mark.parametrize("name", STORES)
def test_an_operation_that_is_not_served_is_refused(name, tmp_path, capsys):
    spec = written(tmp_path, STORES[name]() | {"workload": WORKLOAD | {"mix": {"GET": 1, "LIST": 1}}})
    code, _, err = tailcast(capsys, "simulate", spec)
    assert (code, err.splitlines()) == (2, ["tailcast: error: workload: has LIST; store fifo-disk serves GET, PUT"])


@pytest.mark.parametrize("name", STORES)
def test_bounds_follow_from_the_demands(name, tmp_path, capsys):
    _, out, _ = tailcast(capsys, "bounds", written(tmp_path, STORES[name]()), "--json")
    assert json.loads(out)["max_throughput_ops"] == pytest.approx(1 / READ_S)


@pytest.mark.parametrize(
    ("name", "path"), [("fifo-disk", "read"), ("caching-proxy", "below.disk.read"), ("caching-proxy", "disk.read")]
)
def test_whatif_varies_fields(name, path, tmp_path, capsys):
    arguments = ["--vary", f"{path}=2ms,5ms", "--slo", "GET.p50<4ms", "--replications", "5", "--json"]
    _, out, _ = tailcast(capsys, "whatif", written(tmp_path, STORES[name]()), *arguments)
    assert [point["slo"]["GET.p50<4ms"] for point in json.loads(out)["points"]] == ["pass", "fail"]


def test_whatif_finds_the_rate_of_an_md1(tmp_path, capsys):
    arguments = ["max workload.rate in 20..190", "--slo", "GET.mean<9.15ms", "--replications", "3", "--json"]
    code, out, _ = tailcast(capsys, "find", written(tmp_path, fifo("workload.operations=20000")), *arguments)
    # 9.15 ms less ways and service leave 3.75 ms of waiting: a load of 0.6.
    assert code == 0
    assert json.loads(out)["value"] == pytest.approx(120, rel=0.05)


@pytest.mark.parametrize("name", STORES)
def test_a_failure_is_one_of_the_store_s(name, tmp_path, capsys):
    more_s = LOOK_UP_S if name == "caching-proxy" else 0.0
    few = ["workload.duration=60s", "workload.operations=null", "workload.rate=5/s"]
    spec = written(tmp_path, override(STORES[name](), few))
    _, out, _ = tailcast(capsys, "failures", spec, "slow-drive=2", "--replications", "2", "--json")
    windows = json.loads(out)["failures"][0]["windows"]
    assert windows["during"]["ops"]["GET"]["latency_s"]["p50"] == pytest.approx(2 * WAY_S + 2 * READ_S + more_s)
    assert windows["during"]["healthy"]["ops"]["GET"]["latency_s"]["p50"] == pytest.approx(2 * WAY_S + READ_S + more_s)
    assert tailcast(capsys, "failures", spec, "slow-drive=2", "--replications", "2")[0] == 0


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("fifo-disk", ["failures", "gateway"], "a fifo-disk store has no gateway; allowed are slow-drive"),
        ("caching-proxy", ["failures", "gateway"], "a caching-proxy store has no gateway; allowed are slow-drive"),
        ("bob", ["timeline", "--objects", "1..9"], "store caching-proxy on bob: its model has no growth"),
        ("bob", ["plan", "--growth", "objects"], "store caching-proxy on bob: its model has no growth"),
    ],
)
def test_what_a_model_does_not_say_is_named_in_one_line(name, arguments, said, tmp_path, capsys):
    command, *more = arguments
    (tmp_path / "objects").write_text("months: 3\nobjects: {per_month: 10}\n")
    more = [str(tmp_path / part) if part == "objects" else part for part in more]
    data = STORES[name]() if name in STORES else proxy(BOB)
    data["workload"] |= {"operations": None, "duration": "20s"}
    code, _, err = tailcast(capsys, command, written(tmp_path, data), *more)
    assert code == 2
    assert len(err.splitlines()) == 1 and err.endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("name", "best"), [("fifo-disk", {"disk.actuators": 2}), ("caching-proxy", {"below.disk.actuators": 2})]
)
def test_plan_grows_the_load_in_processes(name, best, tmp_path, capsys):
    growth = tmp_path / "growth.yaml"
    growth.write_text("months: 6\nrate: {growth: 0.1}\n")
    data = STORES[name]()
    (data.get("below") or data)["prices"] = {"actuator": 100}
    arguments = ["--growth", str(growth), "--slo", "GET.p99<200ms", "--replications", "2", "--workers", "2", "--json"]
    code, out, _ = tailcast(capsys, "plan", written(tmp_path, data), *arguments)
    result = json.loads(out)
    assert code == 0
    month = next(limit["month"]["likely"] for limit in result["limits"] if limit["name"] == "disk saturated")
    assert month == int(np.ceil(np.log(200 / 120) / np.log(1.1)))
    assert (result["best"] and result["best"]["set"]) == best
    assert result["cost"] == 100


@pytest.mark.parametrize("name", STORES)
def test_a_timeline_and_a_plan_fill_the_disk(name, tmp_path, capsys):
    disk = "disk" if name == "fifo-disk" else "below.disk"
    few = [f"{disk}.capacity=4096000", "workload.duration=5s", "workload.operations=null"]
    spec = written(tmp_path, override(STORES[name](), few))
    page = tmp_path / "page.html"
    arguments = ["--objects", "250..1000", "--states", "2", "--workers", "1", "--report", str(page), "--json"]
    code, out, err = tailcast(capsys, "timeline", spec, *arguments, "--out", str(tmp_path / "timeline"))
    assert code == 0, err
    result = json.loads(out)
    assert [state["fill_fraction"] for state in result["states"]] == [0.25, 1.0]
    assert result["events"] == [{"name": "full", "objects": 1000, "text": "the disk is full"}]
    assert "State of the store" in page.read_text()

    growth = tmp_path / "growth.yaml"
    growth.write_text("months: 4\nobjects: {now: 250, per_month: 250}\n")
    code, out, err = tailcast(capsys, "plan", spec, "--growth", str(growth), "--workers", "1")
    assert code == 0, err
    assert "full: the disk is full (the store is then 100% full)." in out
    assert "No change that was tried keeps the store working" in out  # more actuators hold no more objects


def measured(data: dict[str, Any], folder: Path, **workload: Any) -> list[str]:
    """Runs of a store with other random numbers, as if they had been measured."""
    paths = []
    for clients in (1, 4):
        requested = (
            {name: value for name, value in WORKLOAD.items() if name != "rate"} | {"clients": clients} | workload
        )
        spec = spec_of(data | {"workload": requested}, "truth")
        run = simulate(spec, generate(spec.workload, seed=clients), seed=7 + clients)
        info = MEASURED | {"started_at": f"2024-05-01T12:00:0{clients}+00:00"}
        path = folder / f"c{clients}"
        replace(run, info=info, stations=None).write(path)
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("name", STORES)
def test_calibrate_finds_a_disk_s_time_and_validate_agrees(name, tmp_path, capsys):
    before = "" if name == "fifo-disk" else "below."
    shaped = f"{before}disk.read={{constant: 4ms, distribution: {{kind: lognormal, cv: 0.3}}}}"
    runs = measured(override(STORES[name](), [shaped]), tmp_path)
    guess = written(tmp_path, override(STORES[name](), [shaped, f"{before}disk.read.constant=6ms"]))
    profile, path = str(tmp_path / "profile.yaml"), f"{before}disk.read.constant"
    fixed = ["--fix", "network"] if name == "fifo-disk" else ["--fix", "lookup", "--fix", "below.network"]
    code, out, err = tailcast(capsys, "calibrate", guess, *runs, *fixed, "--workers", "1", "--json", "--out", profile)
    assert code == 0, err
    found = json.loads(out)["parameters"]
    assert found[path]["value"] == pytest.approx(4e-3, rel=0.03)
    code, out, err = tailcast(
        capsys, "validate", guess, *runs, "--profile", profile, "--seeds", "2", "--workers", "1", "--json"
    )
    assert code == 0, err
    cells = json.loads(out)["configurations"]
    assert len(cells) == 2


@pytest.mark.parametrize("name", STORES)
def test_a_server_s_own_times_need_a_model_of_its_part(name):
    spec = spec_of(STORES[name](), "test")
    trace = generate(spec.workload, 0)
    names = name if name == "fifo-disk" else f"{name} on fifo-disk"
    with pytest.raises(InputError, match=f"^store {names}: its model has no server part of latencies$"):
        stamped(spec, compile_spec(spec, trace)[0])


@pytest.mark.parametrize("name", STORES)
def test_report_draws_the_routes(name, tmp_path, capsys):
    run, page = tmp_path / "run", tmp_path / "page.html"
    assert tailcast(capsys, "simulate", written(tmp_path, STORES[name]()), "--out", str(run))[0] == 0
    assert tailcast(capsys, "report", str(run), "-o", str(page))[0] == 0
    assert "Request routes" in page.read_text()
    assert "It cannot be drawn" not in page.read_text()
    assert Run.read(run).info["spec"]["store"] == name


# The registry


def test_stores_that_come_with_tailcast_are_registered_by_their_modules():
    for name, module in MODULES.items():
        store = store_named(name)
        assert (store.name, store.Spec.model_fields["store"].annotation.__args__) == (name, (name,))
        assert module.startswith(".")
        more = {
            "openio": set(),
            "garage": set(),
            "versitygw": set(),
            "seaweedfs": set(),
            "juicefs": {"COPY", *FILE},
            "s3fs": set(FILE),
        }
        own = OPERATIONS - {"LIST"} if name == "bob" else OPERATIONS | more.get(name, {"COPY"})
        assert store.operations == own


def test_only_they_are_in_the_published_schema():
    assert store_named("fifo-disk") is fifo_disk.STORE and store_named("caching-proxy") is caching_proxy.STORE
    assert set(json_schema()["discriminator"]["mapping"]) == set(MODULES)


def test_a_spec_imports_its_own_store_alone(tmp_path):
    code = (
        "import sys, pathlib; from models.store import load_spec; load_spec(pathlib.Path(sys.argv[1])); "
        "print([name for name in ('models.ceph', 'models.minio') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code, str(EXAMPLES / "minio.yaml")], capture_output=True, text=True)
    assert result.stdout.strip() == "['models.minio']"
    assert load_spec(EXAMPLES / "minio.yaml").store == "minio"

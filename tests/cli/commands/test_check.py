"""The commands that say what a forecast rests on: check, show, explain and presets."""

from __future__ import annotations

import json

import pytest
import yaml

from cli.main import main
from cli.quantities import quantity
from tests.paths import EXAMPLES

EXAMPLE, PROFILE = str(EXAMPLES / "minio.yaml"), str(EXAMPLES / "recorded" / "profile.yaml")
CEPH = str(EXAMPLES / "ceph" / "nvme-quincy.yaml")
OPEN = {
    "store": "minio",
    "workload": {"rate": 4000, "operations": 500, "object_size": "1MiB"},
    "hosts": {"cores": 4, "preset": "epyc-2-cores"},
    "drives": {"count": 4, "preset": "nvme", "read": {"per_byte": "0.1ns"}},
}


@pytest.fixture
def doubtful(tmp_path):
    path = tmp_path / "doubtful.yaml"
    path.write_text(yaml.safe_dump(OPEN))
    return str(path)


def tailcast(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    printed = capsys.readouterr()
    return ended.value.code or 0, printed.out, printed.err


def test_check_lists_what_is_assumed_free_implausible_and_too_slow(capsys, doubtful):
    code, out, _ = tailcast(capsys, "check", doubtful, "--json")
    result = json.loads(out)
    assert code == 0
    assert result["presets"].keys() == {"epyc-2-cores", "nvme"}
    assert "client.cpu.GET" in result["free"] and "drives.read" not in result["free"]
    assert [each["path"] for each in result["implausible"]] == ["drives.read.per_byte"]
    assert "host cpu" in [each["part"] for each in result["too_slow"]]
    code, out, _ = tailcast(capsys, "check", doubtful)
    assert code == 0 and "drives.read.per_byte" in out and "network.latency" in out
    assert tailcast(capsys, "check", doubtful, "--strict")[0] == 1


def test_check_of_a_sound_spec_has_no_warnings(capsys):
    code, out, _ = tailcast(capsys, "check", CEPH, "--json", "--strict")
    result = json.loads(out)
    assert code == 0 and not result["implausible"] and not result["too_slow"]
    assert "osd.message" in [each["path"] for each in result["assumptions"]]
    assert "no warnings" in tailcast(capsys, "check", EXAMPLE, "--strict")[1]


DOUBTS = {
    "workload": {"rate": 10, "operations": 20, "object_size": "4KiB", "mix": {"GET": 0.7, "PUT": 30}},
    "stored": {"objects": 1e6, "object_size": "4KiB"},
    "hosts": {"cores": 4, "preset": "epyc-2-cores", "nic": "25GB/s"},
    "drives": {"count": 4, "preset": "nvme"},
    "scanner": {},
}


@pytest.mark.parametrize("command", ["check", "simulate", "bounds", "whatif", "find"])
def test_what_is_probably_not_meant_is_noted(capsys, tmp_path, command):
    path = tmp_path / "notes.yaml"
    path.write_text(yaml.safe_dump(OPEN | DOUBTS))
    more = {"simulate": ("--replications", "1"), "whatif": ("--vary", "client.timeout=1s,2s", "--replications", "1")}
    more["find"] = ("max workload.rate in 5..20", "--slo", "PUT.p99<1s", "--replications", "2")
    code, out, err = tailcast(capsys, command, str(path), *more.get(command, ()))
    assert code == 0
    said = " ".join((out if command == "check" else err).split())
    assert "scanner: is off" in said and "workload.mix.GET: 0.7 next to 30" in said
    assert "no warnings" not in out
    assert "hosts.nic: 25 GB/s are 200 Gbit/s; did you mean 25Gbit/s?" in said
    if command == "check":
        told = json.loads(tailcast(capsys, command, str(path), "--json")[1])
        assert {"scanner", "hosts.nic", "workload.mix.GET"} <= {each["path"] for each in told["doubts"]}


def test_check_refuses_ranges_that_do_not_fit_their_fields(capsys, tmp_path):
    path = tmp_path / "ranged.yaml"
    path.write_text(yaml.safe_dump(OPEN | {"assumed": {"hosts.nic": {"low": "9GB/s", "high": "1GB/s", "source": "s"}}}))
    code, out, err = tailcast(capsys, "check", str(path))
    assert (code, out) == (2, "") and "assumed: hosts.nic: low and high must be ascending" in err


@pytest.mark.parametrize("command", ["check", "simulate", "bounds"])
def test_a_spec_without_demands_is_refused(capsys, tmp_path, command):
    path = tmp_path / "bare.yaml"
    path.write_text("{store: minio, workload: {clients: 1, operations: 10, object_size: 1MiB}}\n")
    code, out, err = tailcast(capsys, command, str(path))
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert all(word in err for word in ("hosts.cpu.GET", "drives.read", "epyc-2-cores", "nvme", "tailcast presets"))


def test_show_has_values_with_origins(capsys):
    sets = ("--profile", PROFILE, "--set", "hosts.cpu.GET.constant=1ms")
    _, out, _ = tailcast(capsys, "show", EXAMPLE, *sets, "--json")
    values = {each["path"]: each for each in json.loads(out)["values"]}
    assert values["hosts.cpu.GET.constant"]["kind"] == "set" and values["hosts.cpu.GET.constant"]["value"] == 1e-3
    latency = values["network.latency"]
    assert latency["kind"] == "profile" and latency["low"] < latency["value"] < latency["high"]
    assert (values["hosts.quantum"]["kind"], values["hosts.setup_time"]["kind"]) == ("given", "default")
    _, out, _ = tailcast(capsys, "show", EXAMPLE, *sets)
    assert "profile.yaml" in out and "hosts.setup_time" not in out
    assert "hosts.setup_time" in tailcast(capsys, "show", EXAMPLE, "--all")[1]


def test_show_of_a_trace_derives_the_workload(capsys, tmp_path):
    trace, spec = tmp_path / "t.parquet", tmp_path / "spec.yaml"
    tailcast(capsys, "trace", "generate", EXAMPLE, "--set", "workload.duration=0.1s", "--out", str(trace))
    spec.write_text(yaml.safe_dump({name: value for name, value in OPEN.items() if name != "workload"}))
    _, out, _ = tailcast(capsys, "show", str(spec), "--trace", str(trace), "--json")
    values = {each["path"]: each for each in json.loads(out)["values"]}
    assert (values["workload.clients"]["kind"], values["workload.clients"]["source"]) == ("derived", "t.parquet")


def test_simulate_names_doubts_before_the_run(capsys, doubtful):
    code, out, err = tailcast(capsys, "simulate", doubtful, "--json")
    assert code == 0 and json.loads(out)["ops"]["GET"]
    assert "host cpu" in err and "drives.read.per_byte" in err
    assert (
        "presets epyc-2-cores (measured on a virtual machine with two cores), nvme" in err
        and "costs nothing: client.cpu.GET, network.latency" in err
    )
    _, _, err = tailcast(capsys, "simulate", CEPH, "--set", "workload.operations=20", "--json")
    assert "assumed" in err and "tailcast check" in err and "warning" not in err


def test_explain_describes_a_field_of_each_store(capsys):
    _, out, _ = tailcast(capsys, "explain", "network.latency", "--json")
    assert {each["store"] for each in json.loads(out)["fields"]} >= {"minio", "ceph"}
    _, out, _ = tailcast(capsys, "explain", "gateways.cpu.GET.constant")
    assert "ceph" in out and "minio" not in out and "calibrate" in out
    _, out, _ = tailcast(capsys, "explain", "quantum", "--store", EXAMPLE)
    assert "hosts.quantum" in out
    assert "drives" in tailcast(capsys, "explain", "--store", "minio")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "hosts.coers", "--store", "minio"], "cores"),
        (["explain", "latncy"], "latency"),
        (["explain", "latency", "--store", "mino"], "minio"),
        (["presets", "nvm"], "nvme"),
    ],
)
def test_mistakes_are_named(capsys, arguments, said):
    code, out, err = tailcast(capsys, *arguments)
    assert (code, out) == (2, "") and said in err


def test_presets_are_listed_and_described(capsys):
    _, out, _ = tailcast(capsys, "presets")
    assert "epyc-2-cores" in out and "hdd-7k2" in out and "540,000" in out
    _, out, _ = tailcast(capsys, "presets", "nvme")
    assert "PM983" in out and "read.per_byte" in out
    _, out, _ = tailcast(capsys, "presets", "nvme", "--json")
    assert json.loads(out)["drive"]["read_iops"] == pytest.approx(540_000)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5e-3, "s", "1.50 ms"),
        (1.2e-9, "s/B", "1.20 ns/B"),
        (131072, "B", "128KiB"),
        (3_840_000_000_000, "B", "3.84 TB"),
        (12.5e9, "B/s", "12.5 GB/s"),
        (200.0, "/s", "200/s"),
        (None, "s", "none"),
        (True, "", "true"),
        ([1, 2, 3, 4, 5, 6], "", "[1, 2, … 3 more, 6]"),
    ],
)
def test_quantities_have_units(value, unit, text):
    assert quantity(value, unit) == text


def test_presets_of_a_small_machine_say_so_where_they_are_used(capsys, doubtful):
    measured = "a virtual machine with two cores"
    for arguments in (["check", doubtful], ["presets"], ["presets", "epyc-2-cores"], ["explain", "hosts.preset"]):
        out = " ".join(tailcast(capsys, *arguments)[1].split())
        assert measured in out or "a virtual machine with two" in out, arguments
    assert json.loads(tailcast(capsys, "check", doubtful, "--json")[1])["measured_on"] == {
        "epyc-2-cores": measured, "nvme": "",
    }  # fmt: skip
    rate = ["--vary", "workload.rate=100,200", "--replications", "2", "--set", "workload.operations=50"]
    assert f"epyc-2-cores (measured on {measured})" in tailcast(capsys, "whatif", doubtful, *rate)[2]


def test_values_without_effect_are_noted_before_searches_and_variants(capsys, doubtful):
    idle = ["--set", "client.placement=storage_hosts", "--set", "client.nic=1GB/s", "--set", "workload.operations=50"]
    said = "note: client.nic: has no effect"
    few = ["--replications", "2"]
    assert said in tailcast(capsys, "whatif", doubtful, "--vary", "workload.rate=100,200", *few, *idle)[2]
    assert said in tailcast(capsys, "find", doubtful, "max rate in 100..101", "--slo", "GET.p50<1s", *few, *idle)[2]
    # What has an effect in one of the variants is not noted.
    vary = ["--vary", "client.placement=storage_hosts,own", *few]
    assert said not in tailcast(capsys, "whatif", doubtful, *vary, *idle[2:])[2]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (EXAMPLE, f"--store {EXAMPLE}"),
        ("nosuch", "no store has such a field"),
        ("network.latncy", "did you mean latency?"),
        ("drives.count.x", "drives.count has no fields (minio, swift, bob and "),
    ],
)
def test_explain_says_once_for_all_stores_what_is_wrong(
    capsys: pytest.CaptureFixture[str], path: str, said: str
) -> None:
    """A file instead of a field was refused once for each of twelve stores."""
    code, _, err = tailcast(capsys, "explain", path)
    assert code == 2
    assert said in err and len(err.splitlines()) == 1
    assert err.count("no such field") <= 1

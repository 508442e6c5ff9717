"""`tailcast answer`: its figures are those of the commands that it names, and mistakes are one line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from types import SimpleNamespace
from typing import Any

import pytest

from cli.main import main
from cli.parse.slo import parse_slo
from cli.tables.experiments.answer import Asked, change_lines
from models.site.replacements import replacement
from models.store import load_spec
from sim.answer.changes import Change, Changes
from tests.paths import EXAMPLES

pytestmark = pytest.mark.usefixtures("few_requests_of_module")

SPEC = """\
store: minio
workload: {rate: 500/s, duration: 10s, object_size: 64KiB, mix: {GET: 80, PUT: 20}}
client: {nic: 10Gbit/s}
hosts: {cores: 4, nic: 10Gbit/s, cpu: {GET: {constant: 0.5ms, distribution: {kind: lognormal, cv: 1}}, PUT: 1.5ms}}
drives: {count: 4, preset: nvme}
prices: {core: 100, drive: 900}
assumed:
  hosts.cores: {low: 2, high: 8, source: servers of the site}
"""
GROWTH = "months: 2\nrate: {growth: 0.5}\nscenarios: 1\n"
SLO = "GET.p99<10ms"


def tailcast(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


@pytest.fixture(scope="module")
def answered(tmp_path_factory, few_requests_of_module) -> tuple[list[str], dict[str, Any], str]:
    """Return the printed lines, the JSON and the page."""
    folder = tmp_path_factory.mktemp("answer")
    (folder / "spec.yaml").write_text(SPEC)
    (folder / "growth.yaml").write_text(GROWTH)
    out = io.StringIO()
    options = ["--slo", SLO, "--growth", str(folder / "growth.yaml"), "--requests", "1000", "--replications", "2"]
    files = ["--out", str(folder / "out"), "--report", str(folder / "page.html")]
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main(["answer", str(folder / "spec.yaml"), *options, *files, "--workers", "1", "--seed", "3"])
    assert not ended.value.code
    found = json.loads((folder / "out" / "answer.json").read_text())
    return out.getvalue().splitlines(), found, (folder / "page.html").read_text()


def commands(lines: list[str], verb: str) -> list[list[str]]:
    """Return the words of the printed commands of a verb, without `tailcast`."""
    found = [shlex.split(line.strip())[1:] for line in lines if line.startswith("    tailcast ")]
    return [words for words in found if words[0] == verb]


def run(capsys: pytest.CaptureFixture[str], words: list[str]) -> dict[str, Any]:
    code, out, err = tailcast(capsys, *words, "--workers", "1", "--json")
    assert code == 0, err
    return json.loads(out)


def test_it_is_short_and_each_result_has_its_command(answered):
    lines, _, _ = answered
    assert len(lines) <= 30
    assert [line.partition(":")[0].split(" ")[0] for line in lines if not line.startswith(" ")] == [
        "Healthy", "At", "With", "With", "Growth", "Hedging", "Cheapest", "Assumed", "Band"
    ]  # fmt: skip
    assert {shlex.split(line)[1] for line in lines if line.startswith("    ")} == {
        "find", "plan", "whatif", "sensitivity", "simulate"
    }  # fmt: skip


def test_limits_are_those_of_find(answered, capsys):
    lines, found, _ = answered
    searches = [words for words in commands(lines, "find") if words[2].startswith("max")]
    (healthy,) = [words for words in searches if "--with-failure" not in words]
    (drive,) = [words for words in searches if words[words.index("--slo") + 3 :][:1] == ["drive"]]
    for words, mine in ((healthy, found["healthy"]), (drive, found["failing"]["drive"])):
        result = run(capsys, words)
        assert result["value"] and {**result, "made": 0} == {**mine, "made": 0}
    figure = found["healthy"]["value"]
    stated = float(re.search(r"Healthy: up to ([\d,]+)/s", lines[0])[1].replace(",", ""))
    assert stated == pytest.approx(figure, rel=0.2)


def test_a_failure_of_all_hosts_serves_nothing(answered):
    lines, found, _ = answered
    (line,) = [line for line in lines if line.startswith("With failure host")]
    assert found["failing"]["host"]["value"] is None
    assert line.startswith(f"With failure host: no rate meets {SLO}. While host 0 is down, all requests fail")


def test_hedging_is_that_of_find(answered, capsys):
    lines, found, _ = answered
    (words,) = [words for words in commands(lines, "find") if words[2].startswith("best")]
    result = run(capsys, words)
    assert {**result, "made": 0} == {**found["hedge"], "made": 0}


def test_changes_are_those_of_whatif(answered, capsys):
    lines, found, _ = answered
    changes = found["changes"]
    for words in commands(lines, "whatif"):
        points = run(capsys, words)["points"]
        path = words[words.index("--vary") + 1].partition("=")[0]
        mine = [each["point"] for each in changes["changes"] if each["path"] == path]
        assert points == mine
    holding = [each for each in changes["changes"] if each["meets"]]
    assert changes["best"]["extra_cost"] == min(each["extra_cost"] for each in holding)
    assert changes["best"]["path"] == "hosts.cores.count"
    (line,) = [line for line in lines if line.startswith("Cheapest")]
    assert f"hosts.cores.count {changes['best']['value']} (GET.p99 " in line
    extra, total = re.search(r", for ([\d,.]+) more \(([\d,.]+) in all\)", line).groups()
    assert float(extra.replace(",", "")) == pytest.approx(changes["best"]["extra_cost"], rel=0.01)
    assert float(total.replace(",", "")) == pytest.approx(changes["best"]["point"]["cost"], rel=0.01)


def test_why_a_change_is_not_the_answer(answered):
    """A change whose figures meet the objective is cheaper or dearer than the answer, or not certain."""
    lines, _, _ = answered
    reasons = [line for line in lines if re.match(r"  No[tr] ", line)]
    assert reasons
    for line in reasons:
        for part in line.split("; "):
            figure = re.search(r": GET\.p99 ([\d.]+) ms", part)
            assert not figure or float(figure[1]) > 10 or "not for certain" in line, line


def test_growth_is_that_of_plan(answered, capsys):
    lines, found, _ = answered
    (words,) = commands(lines, "plan")
    result = run(capsys, words)
    assert {**result, "made": 0, "visits": 0} == {**found["plan"], "made": 0, "visits": 0}


def test_assumed_values_are_those_of_sensitivity(answered, capsys):
    lines, found, _ = answered
    (words,) = commands(lines, "sensitivity")
    result = run(capsys, words)
    assert result["effects"] == found["effects"]["effects"]
    first = result["effects"][0]["unknown"]["path"]
    assert any(line.startswith(f"  {first} (") for line in lines)


def test_the_band_is_that_of_simulate(answered, capsys):
    lines, found, _ = answered
    (words,) = commands(lines, "simulate")
    assert run(capsys, words)["ops"] == found["band"]["ops"]


def test_the_page_has_results_and_commands(answered):
    lines, _, page = answered
    assert all(line.split(" ")[0] in page for line in lines if not line.startswith(" "))
    assert page.count("tailcast find ") >= 3 and "plotly" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "answer: needs an objective; add --slo"),
        (["--slo", "GET.p99<30"], "30"),
        (["--slo", "GOT.p99<30ms"], "GOT"),
        (["--slo", SLO, "--rate", "many"], "--rate: 'many' is not a rate"),
        (["--slo", SLO, "--requests", "5"], "Invalid value for '--requests'"),
        (["--slo", SLO, "--growth", "none.yaml"], "none.yaml: no such file"),
        (["--slo", SLO, "--failure", "slow-drive=x"], "slow-drive=x"),
        (["--slo", SLO, "--failure", "meteor"], "a minio store has no meteor"),
        (["--slo", SLO, "--set", "hosts.cores=0"], "hosts.cores"),
    ],
)
def test_mistakes_are_one_line(capsys, arguments, said):
    code, out, err = tailcast(capsys, "answer", str(EXAMPLES / "minio.yaml"), *arguments)
    assert (code, out) == (2, "")
    assert said in err and len([line for line in err.splitlines() if line.startswith("tailcast: error")]) == 1


def test_groups_are_refused(capsys):
    code, _, err = tailcast(capsys, "answer", str(EXAMPLES / "minio-two-groups.yaml"), "--slo", "app.GET.p99<60ms")
    assert code == 2 and "workload.groups: have rates of their own" in err


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("hosts.cores.count", "lscpu"),
        ("gateways.nic", "ethtool"),
        ("drives.read", "fio"),
        ("db.device.write", "fio"),
        ("hosts.internode.latency", "ping"),
        ("hosts.cpu_caches.cold_penalty", "Runs"),
        ("osd.write", "Runs"),
        ("osd.memory_target", "memory"),
    ],
)
def test_what_would_replace_a_value(path, source):
    assert source in replacement(path)


def test_the_spec_is_valid(tmp_path):
    (tmp_path / "spec.yaml").write_text(SPEC)
    assert load_spec(tmp_path / "spec.yaml").total_drives == 4


def changes(**p99_s: float) -> Changes:
    """Return changes none of which meets the objective for certain, with their means of GET's p99."""
    points = {
        name: SimpleNamespace(verdict="unsure", overloaded=False, cost=None, load=None,
                              slo_figures={SLO: SimpleNamespace(value=value)})
        for name, value in p99_s.items()
    }  # fmt: skip
    tried = [Change(name, "2", point, False, None) for name, point in points.items()]  # type: ignore[arg-type]
    return Changes(170.0, (), [], tried, None)


@pytest.mark.parametrize(
    ("p99_s", "first"),
    [
        ({"cores": 0.02, "nic": 0.004},
         "none of the store's remedies meets the objectives for certain; nic 2 may (GET.p99 4.00 ms; more"),
        ({"cores": 0.02, "nic": 0.03}, "no single one of the store's remedies meets the objectives."),
    ],
)  # fmt: skip
def test_a_change_that_may_do_is_named_first(p99_s, first):
    lines = list(change_lines(changes(**p99_s), Asked("s.yaml", (), (SLO,), None, 2), [parse_slo(SLO)]))
    assert lines[0].text.startswith(f"Cheapest change for 170/s: {first}")
    assert lines[1].text.startswith("  Not cores 2: GET.p99 20.0 ms (not for certain")
    assert sum("nic 2" in line.text for line in lines) == 1

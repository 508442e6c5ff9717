"""A disturbed measurement is said where its figures are shown: by replay, compare and the page, in text and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.commands import replay as replay_command
from cli.tables.measured.quality import named_warnings, run_warnings
from models.store import load_spec
from sim.simulate import simulate
from tests.cli.commands.test_simulate import EXAMPLE, tailcast
from tests.runs import disturbed_run
from traces.run import Run
from validate.replay.plan import Options

SAID = "disturbed: other work took 31 %"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    simulate(load_spec(EXAMPLE, ["workload.operations=300"])).write(folder / "forecast")
    disturbed_run().write(folder / "busy")
    disturbed_run(other_share=0.01).write(folder / "quiet")
    return folder


def test_simulations_and_quiet_measurements_have_no_warnings(runs):
    assert run_warnings(Run.read(runs / "forecast")) == run_warnings(Run.read(runs / "quiet")) == []
    assert named_warnings([("quiet", disturbed_run(other_share=0.01)), ("busy", disturbed_run())])[0].startswith(
        f"busy: {SAID}"
    )


def test_compare_warns_below_its_table(capsys, runs):
    code, out, _ = tailcast(capsys, "compare", str(runs / "forecast"), str(runs / "busy"))
    assert code == 0 and f"warning: busy: {SAID}" in out
    result = json.loads(tailcast(capsys, "compare", str(runs / "forecast"), str(runs / "busy"), "--json")[1])
    assert result["warnings"]["a"] == [] and result["warnings"]["b"][0].startswith(SAID)
    assert "warning" not in tailcast(capsys, "compare", str(runs / "forecast"), str(runs / "quiet"))[1]


@pytest.mark.parametrize("others", [[], ["forecast"]])
def test_pages_warn_in_their_header_and_below_their_tables(capsys, runs, tmp_path, others):
    for name, warned in (("busy", True), ("quiet", False)):
        page = tmp_path / f"{name}.html"
        code, out, _ = tailcast(capsys, "report", *(str(runs / n) for n in (*others, name)), "-o", str(page), "--json")
        text = page.read_text(encoding="utf-8")
        assert code == 0 and bool(json.loads(out)["warnings"][name]) == warned
        assert ('<p class="warning">' in text) == ("The measurement may mislead" in text) == warned
        assert (SAID in text) == warned


@pytest.mark.parametrize("as_json", [False, True])
def test_a_replay_warns_of_a_busy_machine_and_of_late_requests(capsys, as_json):
    assert replay_command._report(disturbed_run("open", 0.12), Options(processes=2), None, as_json) == 0
    shown = capsys.readouterr()
    warnings = [line for line in (shown.err if as_json else shown.out).splitlines() if line.startswith("warning: ")]
    assert [line.split(": ")[1] for line in warnings] == ["late", "disturbed"]
    assert "100 % of the requests" in warnings[0] and "p99 120 ms" in warnings[0] and "other work" in warnings[0]
    assert "the schedule was kept" not in shown.out
    if as_json:
        assert [f"warning: {text}" for text in json.loads(shown.out)["warnings"]] == warnings


def test_a_late_replay_of_two_processes_says_what_to_change(capsys):
    replay_command._report(disturbed_run("open", 0.12, other_share=0.01), Options(processes=2), None, False)
    said = capsys.readouterr().out
    assert "could not issue 100/s on time" in said and "use fewer processes" in said

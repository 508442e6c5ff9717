"""What results, pages and `--version` say of the model that made them, and notes where two models meet."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import traces.provenance
from cli.made import Made
from cli.versions import profile_notes, runs_made, runs_notes
from models.store import load_spec
from sim.simulate import simulate
from tests.cli.commands.test_simulate import tailcast
from tests.models.test_store import EXAMPLE
from tests.runs import run_of
from tests.validate.calibration.test_profile import VALUES, profile_of
from traces.provenance import CodeVersion, code_version
from traces.run import Run
from validate.calibration.profile import Profile

SHORT = ["--set", "workload.operations=100"]
ONE = CodeVersion("0.1.0", "1" * 40, False, "a" * 64)
OTHER = CodeVersion("0.1.0", "2" * 40, True, "b" * 64)


def run(version: CodeVersion | None, kind: str = "simulated") -> Run:
    info = {"kind": kind, "seed": 3, "tailcast": None if version is None else asdict(version)}
    return run_of([0.01] * 50, info=info)


def footer(page: Path) -> str:
    (found,) = re.findall("<footer>(.*)</footer>", page.read_text(encoding="utf-8"))
    return str(found)


def test_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = tailcast(capsys, "--version")
    assert code == 0 and out == f"tailcast {code_version()}\n"


def test_models_are_told_apart_by_their_sources() -> None:
    docs = replace(ONE, commit="3" * 40)  # a commit that changes no source of the model
    assert runs_notes([("a", run(ONE)), ("b", run(docs))]) == []
    (note,) = runs_notes([("a", run(ONE)), ("b", run(OTHER))])
    assert "a was simulated by tailcast 0.1.0 (111111111111)" in note
    assert "b was simulated by tailcast 0.1.0 (222222222222, dirty)" in note
    (note,) = runs_notes([("a", run(ONE)), ("b", run(replace(ONE, sources="c" * 64)))])
    assert "(111111111111, sources aaaaaaaaaaaa)" in note and "(111111111111, sources cccccccccccc)" in note


@pytest.mark.parametrize("other", [run(None), run(OTHER, "measured"), run(None, "measured")])
def test_no_note_on_unknown_versions_and_measurements(other: Run) -> None:
    assert runs_notes([("a", run(ONE)), ("b", other)]) == []


def test_profile_of_another_model() -> None:
    profile = profile_of(VALUES)
    assert profile.tailcast is None and profile_notes("p.yaml", profile) == []
    ours = profile.model_copy(update={"tailcast": replace(code_version(), commit="1" * 40)})
    assert profile_notes("p.yaml", ours) == []
    (note,) = profile_notes("p.yaml", profile.model_copy(update={"tailcast": OTHER}))
    assert (
        note.startswith("p.yaml was fitted with tailcast 0.1.0 (222222222222, dirty)") and str(code_version()) in note
    )


def test_profile_keeps_the_version(tmp_path: Path) -> None:
    profile = profile_of(VALUES).model_copy(update={"tailcast": OTHER, "spec_hash": "d" * 64})
    profile.write(tmp_path / "p.yaml")
    assert Profile.read(tmp_path / "p.yaml") == profile


def test_commands_name_the_model_of_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.yaml"
    profile_of({"hosts.cpu.GET.constant": 0.002}).model_copy(update={"tailcast": OTHER}).write(path)
    for command in ("simulate", "bounds"):
        code, _, err = tailcast(capsys, command, str(EXAMPLE), *SHORT, "--profile", str(path))
        assert code == 0 and err.count("note: p.yaml was fitted with tailcast 0.1.0 (222222222222, dirty)") == 1
    data = yaml.safe_load(path.read_text())
    del data["tailcast"], data["spec_hash"]  # as profiles were before
    path.write_text(yaml.safe_dump(data))
    code, _, err = tailcast(capsys, "simulate", str(EXAMPLE), *SHORT, "--profile", str(path))
    assert code == 0 and "was fitted with" not in err


def test_compare_and_report_name_two_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    run(ONE).write(folders[0])
    run(OTHER).write(folders[1])
    both = [str(folder) for folder in folders]
    _, out, _ = tailcast(capsys, "compare", *both)
    assert "note: one was simulated by tailcast 0.1.0 (111111111111), two was simulated by" in out
    _, out, _ = tailcast(capsys, "compare", *both, "--json")
    result = json.loads(out)
    assert len(result["notes"]) == 1 and result["made"] == Made().to_json()
    _, out, _ = tailcast(capsys, "compare", both[0], both[0], "--json")
    assert json.loads(out)["notes"] == []
    page = tmp_path / "page.html"
    _, out, _ = tailcast(capsys, "report", *both, "-o", str(page), "--json")
    assert json.loads(out)["notes"] == result["notes"]
    assert f"<p>Note: {result['notes'][0]}.</p>" in page.read_text(encoding="utf-8")
    assert "one: simulated by tailcast 0.1.0 (111111111111); seed 3." in footer(page)
    assert "two: simulated by tailcast 0.1.0 (222222222222, dirty); seed 3." in footer(page)
    assert f"Made by tailcast {code_version()}." in footer(page)


def test_footer_of_runs() -> None:
    unknown, measured = runs_made([("a", run(None)), ("b", run(ONE, "measured"))])
    assert unknown == "a: simulated by an unknown version of tailcast; seed 3."
    assert measured.startswith("b: recorded by tailcast 0.1.0 (111111111111)")


def test_results_and_pages_have_spec_and_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same spec has the same hash in a Run, in JSON and on pages."""
    run_folder, page = tmp_path / "run", tmp_path / "page.html"
    given = [str(EXAMPLE), *SHORT, "--seed", "5", "--json"]
    _, out, _ = tailcast(capsys, "simulate", *given, "--out", str(run_folder))
    info = json.loads((run_folder / "run.json").read_text())
    made = {"tailcast": asdict(code_version()), "spec_hash": info["spec_hash"], "seed": 5}
    assert json.loads(out)["made"] == made
    vary = ["--vary", "workload.clients=2,4", "--replications", "2", "--workers", "1", "--report", str(page)]
    _, out, _ = tailcast(capsys, "whatif", *given, *vary, "--out", str(tmp_path / "kept"))
    assert json.loads(out)["made"] == made == json.loads((tmp_path / "kept" / "whatif.json").read_text())["made"]
    expected = f"Made by tailcast {code_version()}; spec {made['spec_hash'][:12]}, seed 5."
    assert footer(page).startswith(f"<p>{expected}</p><p>Written ")
    _, out, _ = tailcast(capsys, "simulate", *given, "--set", "workload.clients=3")
    assert json.loads(out)["made"]["spec_hash"] != made["spec_hash"]


def test_simulations_do_not_look_for_the_version(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Only what is written needs it."""
    monkeypatch.setattr(traces.provenance.subprocess, "run", lambda *_, **__: pytest.fail("Git was called"))
    monkeypatch.setattr(traces.provenance, "hash_of_sources", lambda _: pytest.fail("sources were read"))
    code_version.cache_clear()
    assert len(simulate(load_spec(EXAMPLE, ["workload.operations=50"]))) == 50
    assert tailcast(capsys, "simulate", str(EXAMPLE), *SHORT)[0] == 0


def test_recorded_runs_without_versions_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(EXAMPLE.parent / "demo" / "measured-4", folder)
    _, out, _ = tailcast(capsys, "compare", str(folder), str(folder), "--json")
    assert json.loads(out)["notes"] == []

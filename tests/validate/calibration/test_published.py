"""Fits to published tables, alone and together with Runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from cli.pages.calibration import calibration_page, rows_grid, words
from cli.pages.page import write_page
from models.spec.spec_values import with_values
from models.store import spec_of
from sim.simulate import simulate
from tests.cli.commands.test_simulate import tailcast
from tests.specs import minio
from traces.errors import InputError
from traces.workload.generate import generate
from validate.calibration.calibrate import calibrate
from validate.calibration.parameters import Parameter
from validate.calibration.profile import Profile
from validate.calibration.published import published_rows
from validate.reference.figures import figure

TRUTH = {"hosts.cpu.GET.constant": 1.2e-3}
FITTED = [Parameter(path, value / 20, value * 20) for path, value in TRUTH.items()]
DATA = minio("workload.operations=1500")
SPEC = spec_of(DATA, "spec")
NAMES = ("throughput_ops", "latency_mean_ms", "latency_p90_ms")


def table(folder: Path, marked: bool = False) -> Path:
    """Write the figures of a store with the truth, of one and four clients."""
    lines = [",".join(["clients", *(["used_in_fit"] if marked else []), *NAMES])]
    for clients in (1, 4):
        spec = with_values(spec_of(minio("workload.operations=6000", f"workload.clients={clients}"), "spec"), TRUTH)
        run = simulate(spec, generate(spec.workload, 1), seed=clients)
        figures = [f"{figure(run, 'GET', name, steady=True):.5g}" for name in NAMES]
        lines.append(",".join([str(clients), *([("no", "yes")[clients > 1]] if marked else []), *figures]))
    path = folder / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_gives_the_truth_back(tmp_path):
    rows = published_rows([table(tmp_path)], DATA, SPEC, "spec")
    profile = calibrate(SPEC, [], FITTED, source="minio.yaml", published=rows)
    found = profile.parameters["hosts.cpu.GET.constant"]
    assert found.low < 1.2e-3 < found.high and found.value == pytest.approx(1.2e-3, rel=0.1)
    assert found.identified and found.high / found.low < 1.6
    assert [row.name for row in profile.rows] == ["rows.csv:2", "rows.csv:3"] and not profile.runs
    assert {r.figure for r in profile.residuals} == set(NAMES)
    assert profile.rms_log_error < 0.05
    assert "2 published rows" in words(profile)[0] and len(rows_grid(profile).rows) == 6
    profile.write(tmp_path / "mine.yaml")
    assert Profile.read(tmp_path / "mine.yaml") == profile
    write_page(calibration_page(profile), tmp_path / "page.html")
    assert "rows.csv:3" in (tmp_path / "page.html").read_text()


def test_runs_and_tables_together(tmp_path):
    spec = with_values(spec_of(minio("workload.clients=2"), "spec"), TRUTH)
    run = simulate(spec, generate(spec.workload, 1), seed=9)
    rows = published_rows([table(tmp_path)], DATA, SPEC, "spec")
    both = calibrate(SPEC, [("two", run)], FITTED, published=rows, anyway=True)
    alone = calibrate(SPEC, [("two", run)], FITTED, anyway=True)
    found = both.parameters["hosts.cpu.GET.constant"]
    assert found.value == pytest.approx(1.2e-3, rel=0.08)
    assert {r.run for r in both.residuals} == {"two", "rows.csv:2", "rows.csv:3"}
    assert len(both.residuals) == len(alone.residuals) + 6


def test_only_marked_rows_are_fitted(tmp_path):
    rows = published_rows([table(tmp_path, marked=True)], DATA, SPEC, "spec")
    assert [row.name for row in rows] == ["rows.csv:3"]
    slower = np.sqrt(np.diag(rows[0].noise))
    assert (slower > 0.05).all() and rows[0].noise[0, 1] < 0 < rows[0].noise[1, 2]  # slower: fewer and later


def test_something_to_fit_is_needed(tmp_path, capsys):
    spec = tmp_path / "minio.yaml"
    spec.write_text(yaml.safe_dump(DATA))
    code, _, err = tailcast(capsys, "calibrate", str(spec))
    assert code == 2 and "--table" in err
    with pytest.raises(InputError, match="published row"):
        calibrate(SPEC, [], FITTED)
    (tmp_path / "rows.csv").write_text("clinets,throughput_ops\n1,5\n")
    code, _, err = tailcast(capsys, "calibrate", str(spec), "--table", str(tmp_path / "rows.csv"))
    assert code == 2 and "clinets" in err

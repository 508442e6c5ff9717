"""`tailcast lab anatomy`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.mistakes import in_process
from tests.runs import run_of
from tests.validate.lab.box.recorded_run import LOGS, recorded_run
from traces.run import Run
from validate.lab.box.accesses import drive_accesses


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = recorded_run()
    Run.of(run.requests, run.info, drive_accesses=drive_accesses(LOGS, run)).write(tmp_path / "run")
    return tmp_path / "run"


def test_tables_and_page(run: Path, tmp_path: Path) -> None:
    done = in_process(["lab", "anatomy", str(run), "--report", str(tmp_path / "page.html")], tmp_path)
    assert done.code == 0
    for word in ("GET 1 MiB", "512 KiB", "xl.meta", "after all", "LIST"):
        assert word in done.out
    page = (tmp_path / "page.html").read_text()
    assert "PUT 1 MiB: a typical request" in page and "part.#" in page


def test_json(run: Path, tmp_path: Path) -> None:
    done = in_process(["lab", "anatomy", str(run), "--json", "--metadata"], tmp_path)
    found = json.loads(done.out)
    assert (done.code, found["without_request"]) == (0, 0)
    put = next(each for each in found["operations"] if (each["op"], each["size_bytes"]) == ("PUT", 1 << 20))
    first = put["patterns"][0]["drives"][0]["blocks"][0]
    assert first["steps"][0]["kind"] == "mkdir" and put["accesses"]["fsync"] == 8


def test_a_run_without_accesses(tmp_path: Path) -> None:
    run_of([0.01]).write(tmp_path / "plain")
    done = in_process(["lab", "anatomy", str(tmp_path / "plain")], tmp_path)
    assert done.code == 2 and "accesses of drives" in done.err

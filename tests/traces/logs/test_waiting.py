"""Logs of benchmarks are closed loops: their clients wait for responses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.doubts import waiting_note
from tests.paths import SAMPLES
from traces.errors import InputError
from traces.fitting.workload import fit_workload
from traces.logs.columns import Columns
from traces.logs.importing import import_logs
from traces.origin import Origin
from traces.run import Run
from traces.trace import Trace

COLUMNS = Columns({"time": "t:s", "latency": "d:s", "key": "k", "client": "c"})
CASE = SAMPLES / "cases" / "fit-benchmark-trace.csv.zst"


def test_a_stall_of_a_benchmark_is_no_pause_of_its_demand(tmp_path: Path) -> None:
    figures = import_logs([CASE], tmp_path / "t.parquet", run_out=tmp_path / "t.run")
    assert "requests wait for each other: 1 client in a closed loop" in figures["notes"][0]
    trace = Trace.read(tmp_path / "t.parquet")
    assert trace.origin is not None and trace.origin.waiting_clients == 1
    assert np.diff(trace.arrival_s).max() > 9.9  # the stall
    fitted, of_run = fit_workload(trace), fit_workload(trace, Run.read(tmp_path / "t.run"))
    for workload in (fitted.workload, of_run.workload):
        assert (workload.clients, workload.rate, workload.operations) == (1, None, 2000)
        assert workload.think_time is None or workload.think_time.mean < 1e-5
    assert "closed loop of 1 client)" in waiting_note(trace)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_trace_keeps_it(tmp_path: Path, suffix: str) -> None:
    import_logs([CASE], (tmp_path / "t").with_suffix(suffix))
    trace = Trace.read((tmp_path / "t").with_suffix(suffix))
    assert trace.origin is not None and trace.origin.waiting_clients == 1


def imported(tmp_path: Path, rows: list[tuple[float, float, int]]) -> Trace:
    lines = "".join(f"{start:.6f},{took:.6f},k{i % 7},c{client}\n" for i, (start, took, client) in enumerate(rows))
    (tmp_path / "x.csv").write_text("t,d,k,c\n" + lines)
    import_logs([tmp_path / "x.csv"], tmp_path / "t.parquet", columns=COLUMNS)
    return Trace.read(tmp_path / "t.parquet")


def test_clients_that_wait_are_found_in_any_log_with_their_pauses(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for client in range(4):
        now = 0.0
        for _ in range(300):
            took = float(rng.exponential(0.02))
            rows.append((now, took, client))
            now += took + 0.005
    trace = imported(tmp_path, rows)
    assert trace.origin is not None and trace.origin.waiting_clients == 4
    assert trace.think_s.mean() == pytest.approx(0.005, rel=0.01)
    assert fit_workload(trace).workload.clients == 4


def test_clients_that_do_not_wait_are_an_open_loop(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    starts = np.sort(rng.uniform(0, 30, 1500))
    trace = imported(tmp_path, [(float(start), float(rng.exponential(0.2)), i % 4) for i, start in enumerate(starts)])
    assert trace.origin is not None and trace.origin.waiting_clients is None
    assert not trace.think_s.any() and not waiting_note(trace)


def test_an_origin_with_no_number_of_clients_is_refused() -> None:
    known = {"formats": [], "files": [], "started_at": None, "clock_s": 1.0}
    assert Origin.of(known | {"waiting_clients": 3}).waiting_clients == 3
    for wrong in (0, "x", True):
        with pytest.raises(InputError, match="waiting_clients"):
            Origin.of(known | {"waiting_clients": wrong})

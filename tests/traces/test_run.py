from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.main import main
from tests.runs import MEASURED, requests_of, run_of
from tests.small_traces import reads
from traces.errors import InputError
from traces.provenance import CodeVersion, code_version, hash_of_spec
from traces.run import Run

STATION = {"name": "drive", "role": "drive", "servers": None, "visits": 3, "utilization": 0.5, "mean_queue": 0.1}
PATH = {"request": 0, "role": "drive", "waiting_s": 0.06, "service_s": 0.04}


def refused(capsys, *arguments: object) -> str:
    """The one line on stderr of a command that ends with exit code 2."""
    with pytest.raises(SystemExit) as end:
        main([str(a) for a in arguments])
    printed = capsys.readouterr()
    assert end.value.code == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_run_reads_back_as_it_was_written(tmp_path):
    trace = reads(2, rate=10)
    run = run_of(
        [0.1, 0.2],
        error=[None, "timeout"],
        first_byte_s=[0.05, None],
        stations=[STATION],
        critical_path=[PATH],
        trace=trace,
    )
    run.write(tmp_path / "run")
    again = Run.read(tmp_path / "run")
    assert again.requests.equals(run.requests)
    assert again.stations is not None and again.stations.to_pylist() == [STATION]
    assert again.critical_path is not None and again.critical_path.to_pylist() == [PATH]
    assert again.trace is not None and again.trace.table.equals(trace.table) and again.trace.pacing == trace.pacing
    assert again.info == run.info | {"tailcast": asdict(code_version())}
    assert again.failed.tolist() == [False, True]


def test_an_empty_run_reads_back(tmp_path):
    run_of([]).write(tmp_path / "run")
    assert len(Run.read(tmp_path / "run")) == 0


def test_writing_a_run_again_replaces_it_and_drops_old_stations(tmp_path):
    run_of([0.1], stations=[STATION]).write(tmp_path / "run")
    run_of([0.2]).write(tmp_path / "run")
    assert Run.read(tmp_path / "run").stations is None
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_critical_path_of_a_request_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="request is 1"):
        run_of([0.1], critical_path=[PATH | {"request": 1}])


def test_a_folder_that_is_no_run_is_not_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    with pytest.raises(InputError, match="mine: "):
        run_of([0.1]).write(tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"end_s": [-1.0]}, "row 1: end_s"),
        ({"end_s": [np.inf]}, "end_s is inf"),
        ({"arrival_s": [np.nan], "start_s": [0.0], "end_s": [1.0]}, "arrival_s is nan"),
        ({"op": ["FETCH"]}, "op is 'FETCH'; allowed are GET"),
        ({"key": [None]}, "'key'"),
        ({"size_bytes": ["big"]}, "'size_bytes' is string"),
        ({"colour": ["red"]}, "'colour'"),
    ],
)
def test_rows_that_cannot_be_are_refused(columns, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        Run.of(pa.table({**dict(zip(*_columns(requests_of([0.1])), strict=True)), **columns}), MEASURED)


def _columns(table: pa.Table) -> tuple[list[str], list[pa.ChunkedArray]]:
    return table.column_names, table.columns


def test_a_kind_that_is_unknown_is_refused():
    with pytest.raises(InputError, match="allowed are simulated, measured"):
        Run.of(requests_of([0.1]), {"kind": "guessed"})


@pytest.mark.parametrize("command", ["compare", "report"])
def test_commands_refuse_bad_runs_with_one_line(tmp_path, capsys, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good, bad = tmp_path / "good", tmp_path / "bad"
    run_of(np.full(30, 0.01)).write(good)
    run_of(np.full(30, 0.01)).write(bad)
    assert "absent: no such Run" in refused(capsys, command, good, tmp_path / "absent")
    run_of([0.1]).write(tmp_path / "goods")
    assert "did you mean" in refused(capsys, command, good, tmp_path / "godos")
    (tmp_path / "t.parquet").write_text("x")
    assert "t.parquet: is a trace" in refused(capsys, command, good, tmp_path / "t.parquet")
    (tmp_path / "empty").mkdir()
    assert "empty: " in refused(capsys, command, tmp_path / "empty", good)
    (tmp_path / "file").write_text("x")
    assert "file" in refused(capsys, command, good, tmp_path / "file")

    info = (bad / "run.json").read_text()
    for text, message in (("{", "JSON"), ("[1]", "kind"), ("{}", "kind")):
        (bad / "run.json").write_text(text)
        line = refused(capsys, command, good, bad)
        assert message in line and "run.json" in line
    (bad / "run.json").write_text(json.dumps(json.loads(info) | {"files": {}}))

    table = pq.read_table(bad / "requests.parquet")
    pq.write_table(table.drop_columns(["end_s"]), bad / "requests.parquet")
    assert "'end_s'" in refused(capsys, command, good, bad)
    (bad / "requests.parquet").write_text("not parquet")
    assert "requests.parquet: " in refused(capsys, command, good, bad)
    (bad / "requests.parquet").unlink()
    assert "requests.parquet: " in refused(capsys, command, good, bad)
    assert not list(tmp_path.glob("*.html"))


def test_run_records_what_made_it(tmp_path):
    run = run_of([0.1], info={"kind": "simulated", "spec": {"store": "minio", "b": 1.5, "a": [1]}, "seed": 3})
    assert "tailcast" not in run.info and run.made_by == code_version()
    run.write(tmp_path / "run")
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["tailcast"] == asdict(code_version())
    assert info["spec_hash"] == hash_of_spec(info["spec"]) == hash_of_spec({"a": [1], "b": 1.5, "store": "minio"})
    assert info["spec_hash"] != hash_of_spec(info["spec"] | {"b": 2.5})
    assert Run.read(tmp_path / "run").made_by == code_version()


def test_run_keeps_what_made_it(tmp_path):
    """A Run that is read and written is not one of the version that reads it."""
    run_of([0.1]).write(tmp_path / "run")
    path, other = tmp_path / "run" / "run.json", asdict(replace(code_version(), commit="f" * 40, sources="0" * 64))
    for recorded in (other, None):
        info = json.loads(path.read_text()) | {"tailcast": recorded}
        path.write_text(json.dumps({k: v for k, v in info.items() if v is not None}))
        Run.read(tmp_path / "run").write(tmp_path / "copy")
        assert json.loads((tmp_path / "copy" / "run.json").read_text())["tailcast"] == recorded
        assert Run.read(tmp_path / "copy").made_by == CodeVersion.of(recorded)


def test_run_json_is_readable(tmp_path):
    run_of([0.1]).write(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["kind"] == "measured"

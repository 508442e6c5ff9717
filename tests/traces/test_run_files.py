"""A Run that has changed on disk is refused with one line; another one is never read in its place."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.profiles import NIGHTLY
from tests.runs import run_of
from traces.errors import InputError
from traces.run import RUN_SCHEMA, Run, trace_of_run
from traces.run_files import INFO_FILE
from traces.tables import read_parquet
from traces.trace import Trace


@pytest.fixture
def written(tmp_path: Path) -> Path:
    chance = np.random.default_rng(0)
    run_of(chance.exponential(0.01, 3000)).write(tmp_path / "run")
    return tmp_path / "run"


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def test_flipped_bits_are_noticed(written: Path) -> None:
    path, chance = written / "requests.parquet", random.Random(1)
    original = path.read_bytes()
    for _ in range(300 if NIGHTLY else 60):
        flip(path, chance.randrange(8 * len(original)))
        with pytest.raises(InputError, match=r"requests\.parquet: has changed since the Run was written"):
            Run.read(written)
        path.write_bytes(original)
    assert len(Run.read(written)) == 3000


def test_flipped_bits_of_a_trace_alone_are_noticed_by_its_pages(written: Path, tmp_path: Path) -> None:
    """A trace file has no digest; what its checksums leave out are headers and the footer."""
    path, chance = tmp_path / "t.parquet", random.Random(2)
    trace_of_run(Run.read(written)).write(path)
    original, before = path.read_bytes(), Trace.read(path).table
    unnoticed = 0
    for _ in range(100):
        flip(path, chance.randrange(8 * len(original)))
        try:
            unnoticed += not Trace.read(path).table.equals(before)
        except InputError as error:
            assert "\n" not in str(error)
        path.write_bytes(original)
    assert unnoticed <= 2


def test_a_file_that_is_missing_is_named(written: Path) -> None:
    (written / "requests.parquet").unlink()
    with pytest.raises(InputError, match=r"requests\.parquet: no such file"):
        Run.read(written)


def test_a_run_without_digests_is_read(written: Path) -> None:
    info = json.loads((written / INFO_FILE).read_text())
    assert set(info.pop("files")) == {path.name for path in written.iterdir()} - {INFO_FILE}
    (written / INFO_FILE).write_text(json.dumps(info))
    assert len(Run.read(written)) == 3000 and "files" not in Run.read(written).info


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cpu": 3}, "cpu is 3; a mapping is needed"),
        ({"cpu": {"client_s": "much"}}, r'cpu\.client_s is "much"; a number is needed'),
        ({"pacing": []}, r"pacing is \[\]; a mapping is needed"),
        ({"left_behind": "none"}, 'left_behind is "none"; a list is needed'),
        ({"aborted": "no"}, 'aborted is "no"; true or false is needed'),
        ({"processes": 1.5}, r"processes is 1\.5; a whole number is needed"),
        ({"versions": [1] * 99}, "versions is .*; a mapping is needed"),
        ({"kind": None}, "the field kind must be one of simulated, measured"),
    ],
)
def test_a_fact_of_a_wrong_type_is_one_line(written: Path, change: dict[str, Any], said: str) -> None:
    info = json.loads((written / INFO_FILE).read_text())
    (written / INFO_FILE).write_text(json.dumps(info | change))
    with pytest.raises(InputError, match=said) as caught:
        Run.read(written)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["[" * 100_000, '{"kind": ' + "9" * 5000 + "}", "[]", "{", '"x"'])
def test_a_broken_info_is_one_line(written: Path, text: str) -> None:
    (written / INFO_FILE).write_text(text)
    with pytest.raises(InputError, match=r"run\.json: ") as caught:
        Run.read(written)
    assert "\n" not in str(caught.value)


Change = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("end_s", -1.0, "end_s is -1.0; it must not be before start_s"),
        ("end_s", math.nan, "end_s"),
        ("start_s", -1.0, "start_s is -1.0; it must not be before arrival_s"),
        ("start_s", math.nan, "end_s"),
        ("arrival_s", math.inf, "arrival_s is inf; it must be finite"),
        ("first_byte_s", -1.0, "first_byte_s is -1.0; it must not be before arrival_s"),
        ("size_bytes", -1, "size_bytes is -1; it must be at least 0"),
        ("transfer_bytes", -1, "transfer_bytes is -1; it must be at least 0"),
        ("status", -1, "status is -1; it must be at least 0"),
        ("attempts", -1, "attempts is -1; it must be at least 0"),
        ("winner", -1, "winner is -1; it must be at least 0"),
        ("winner", 9, "winner is 9; it must not be beyond the attempts"),
    ],
)
def test_a_value_out_of_its_range_is_one_line(written: Path, column: str, value: float, said: str) -> None:
    table = read_parquet(written / "requests.parquet")
    values = table.column(column).to_pylist()
    values[7] = value
    at = RUN_SCHEMA.get_field_index(column)
    table = table.set_column(at, RUN_SCHEMA.field(at), pa.array(values, RUN_SCHEMA.field(at).type))
    with pytest.raises(InputError, match=rf"row 8: {said}"):
        Run.of(table, {"kind": "measured"})


def test_files_of_the_user_survive_another_run(written: Path) -> None:
    (written / "thesis.txt").write_text("precious")
    (written / "figures").mkdir()
    (written / "figures" / "a.png").write_text("precious")
    (written / "server_trace.jsonl").write_text("of the Run before")
    Run.read(written).write(written)
    assert (written / "thesis.txt").read_text() == (written / "figures" / "a.png").read_text() == "precious"
    assert not (written / "server_trace.jsonl").exists()
    assert [path.name for path in written.parent.iterdir()] == ["run"]

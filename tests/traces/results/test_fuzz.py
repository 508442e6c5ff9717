"""Every format on anything: a table, or an error that names the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.paths import ROOT
from traces.errors import InputError
from traces.results.reference import reference_rows
from traces.results.registry import read_results
from traces.results.schema import RESULTS

SAMPLES = sorted((ROOT / "tests" / "samples" / "results").iterdir())
JUNK = (
    b"NaN", b"-1", b"1e400", b"1e-320", b"null", b"[]", b"{}", b'"x"', b"9" * 30, b"9" * 5000, b"true", b"\xff\xfe",
    b"\\ud800", b"\x00", b'"', b"\n", b",", b"N/A", b"+INF", b"[[[[", b"\xd9\xa3",
)  # fmt: skip
VALUE = re.compile(rb'-?\d+\.?\d*|"[^"]*"|[A-Za-z_]+')


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """A sample in which some values are replaced, parts removed or doubled, or the end cut off."""
    for _ in range(draw(st.integers(1, 3))):
        found = list(VALUE.finditer(data))
        if not found:
            return data
        value = draw(st.sampled_from(found))
        begin, end = value.span()
        match draw(st.sampled_from(["replace", "replace", "insert", "remove", "double", "cut"])):
            case "replace":
                data = data[:begin] + draw(st.sampled_from(JUNK)) + data[end:]
            case "insert":
                data = data[:begin] + draw(st.sampled_from(JUNK)) + data[begin:]
            case "remove":
                data = data[:begin] + data[end + draw(st.integers(0, 100)) :]
            case "double":
                data = data[:end] + data[begin:]
            case "cut":
                data = data[:begin]
    return data


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@settings(
    max_examples=25,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(draws=st.data())
def test_mutated_results_are_a_table_or_an_error(tmp_path: Path, sample: Path, draws: st.DataObject) -> None:
    path = tmp_path / sample.name
    path.write_bytes(draws.draw(mutated(sample.read_bytes())))
    try:
        table = read_results(path)
    except InputError as error:
        assert all(str(path) in message and "\n" not in message for message in error.messages)
    else:
        assert table.schema.remove_metadata().equals(RESULTS)
        reference_rows(table)

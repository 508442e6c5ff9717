"""What reaches the kernel is checked before its event loop begins: it reads raw memory."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from cli.main import SUMMARIES, _exit_code
from models.network.demand_sheet import Sheet
from models.network.discipline import Discipline
from models.network.network import Network
from models.network.route import Route, Visit, single
from models.network.service_demand import ServiceDemand
from models.network.station import Bound, Choice, Group, Station
from models.store import load_spec
from sim import simulate as simulate_module
from sim.engine.compiled import build, engine, library, records
from sim.engine.outcome import Outcome, Program
from sim.simulate import simulate
from tests.models.test_store import EXAMPLE
from tests.networks import closed, one_station, poisson, programs
from tests.paths import ROOT
from tests.profiles import examples

SERVER = Station("s", "server", Discipline.FIFO)
SECOND = ServiceDemand(constant=1.0)
COLUMNS = ("route", "arrival_s", "think_s", "phase", "key_hash", "first_visit", "station", "demand_s")


def with_sheet(program: Program, change: Any) -> Program:
    """The program, its first sheet changed."""

    def draw(first: int, count: int) -> Sheet:
        sheet = program.draw(first, count)
        return change(sheet) if first == 0 else sheet

    return dataclasses.replace(program, draw=draw)


def with_value(column: str, row: int, value: Any) -> Any:
    """A change of one value of a sheet's column."""

    def change(sheet: Sheet) -> Sheet:
        values = getattr(sheet, column).copy()
        values[row] = value
        return dataclasses.replace(sheet, **{column: values})

    return change


def open_loop(requests: int = 5) -> Program:
    """A few requests to one server."""
    return Program.of(one_station(SERVER, SECOND), poisson(requests, 1.0, 1), 1)


def closed_loop() -> Program:
    """A few requests of two clients."""
    return Program.of(one_station(SERVER, SECOND), closed(5, 1.0, 1, clients=2), 1)


def test_the_header_is_that_of_the_declarations():
    assert records.HEADER.read_text() == records.header(), "run make header"


def test_records_are_laid_out_as_numpy_has_them():
    # The library would not have been compiled otherwise: each structure's size is asserted in the header.
    for record in records.RECORDS:
        assert f"sizeof({record.name}) == {record.dtype.itemsize}" in records.header()


@pytest.mark.parametrize("column", COLUMNS)
def test_an_array_of_another_type_is_refused(column):
    def change(sheet: Sheet) -> Sheet:
        other = np.float32 if getattr(sheet, column).dtype != np.float32 else np.float64
        return dataclasses.replace(sheet, **{column: getattr(sheet, column).astype(other)})

    with pytest.raises(TypeError, match=rf"Sheet\.{column}: .*not of float32"):
        engine.run(with_sheet(open_loop(), change))


def test_an_int64_array_of_arrivals_is_not_read_as_doubles():
    def change(sheet: Sheet) -> Sheet:
        return dataclasses.replace(sheet, arrival_s=np.arange(len(sheet)))

    with pytest.raises(TypeError, match="float64, not of int64"):
        engine.run(with_sheet(open_loop(), change))


@pytest.mark.parametrize("column", COLUMNS)
def test_an_array_with_gaps_or_a_list_is_refused(column):
    def gaps(sheet: Sheet) -> Sheet:
        return dataclasses.replace(sheet, **{column: np.repeat(getattr(sheet, column), 2)[::2]})

    def listed(sheet: Sheet) -> Sheet:
        return dataclasses.replace(sheet, **{column: getattr(sheet, column).tolist()})

    with pytest.raises(TypeError, match=rf"Sheet\.{column}: .*contiguous"):
        engine.run(with_sheet(open_loop(), gaps))
    with pytest.raises(
        (TypeError, ValueError), match=rf"Sheet\.{column}: must be an array|is of length|differ in length"
    ):
        engine.run(with_sheet(open_loop(), listed))


@pytest.mark.parametrize("column", [c for c in COLUMNS if c != "route"])
def test_a_shorter_column_is_refused(column):
    def change(sheet: Sheet) -> Sheet:
        return dataclasses.replace(sheet, **{column: getattr(sheet, column)[:-1].copy()})

    with pytest.raises(ValueError, match=r"differ in length|does not have"):
        engine.run(with_sheet(open_loop(), change))


@pytest.mark.parametrize(
    ("program", "column", "value", "said"),
    [
        (open_loop, "route", 1, "request 3 has a route that does not exist"),
        (open_loop, "route", -1, "request 3 has a route that does not exist"),
        (open_loop, "arrival_s", math.nan, "request 3 has an arrival time that is not finite, or before"),
        (open_loop, "arrival_s", math.inf, "request 3 has an arrival time that is not finite"),
        (open_loop, "arrival_s", -1.0, "request 3 has an arrival time that is not finite"),
        (open_loop, "first_visit", -1, "request 3 has visits that the sheet does not contain"),
        (open_loop, "first_visit", 5, "request 3 has visits that the sheet does not contain"),
        (open_loop, "station", 1, "request 3 visits a station"),
        (open_loop, "station", -1, "request 3 visits a station, or a group's position, that does not exist"),
        (open_loop, "demand_s", -1e-9, "request 3 has a service demand that is negative or not finite"),
        (open_loop, "demand_s", math.nan, "request 3 has a service demand"),
        (open_loop, "demand_s", math.inf, "request 3 has a service demand"),
        (closed_loop, "think_s", -1.0, "request 3 has a think time that is negative or not finite"),
        (closed_loop, "think_s", math.nan, "request 3 has a think time"),
        (closed_loop, "phase", -1, "request 3 has an earlier phase"),
    ],
)
def test_a_value_out_of_range_is_named(program, column, value, said):
    with pytest.raises(ValueError, match=said):
        engine.run(with_sheet(program(), with_value(column, 3, value)))


def test_a_later_sheet_is_checked_against_the_one_before_it():
    program = dataclasses.replace(open_loop(), chunk=2)

    def draw(first: int, count: int) -> Sheet:
        sheet = program.draw(first, count)
        return sheet if first < 4 else dataclasses.replace(sheet, arrival_s=np.zeros(len(sheet)))

    with pytest.raises(ValueError, match="request 4 has an arrival time"):
        engine.run(dataclasses.replace(program, draw=draw))


def test_a_sheet_that_begins_elsewhere_is_refused():
    def change(sheet: Sheet) -> Sheet:
        return dataclasses.replace(sheet, first=1)

    with pytest.raises(ValueError, match="does not begin with the next request"):
        engine.run(with_sheet(open_loop(), change))


def test_a_groups_position_that_does_not_exist_is_refused():
    group = Group(Choice.RANDOM, np.zeros((1, 1), np.int32))
    network = Network((SERVER,), (Route("r", (single(Visit(Bound(0, 0), SECOND)),)),), groups=(group,))
    program = Program.of(network, poisson(2, 1.0, 1), 1)
    assert len(engine.run(program).end_s) == 2
    for code in (-2, -1 - (1 << 16)):
        with pytest.raises(ValueError, match="request 1 visits a station, or a group's position"):
            engine.run(with_sheet(program, with_value("station", 1, code)))


def test_background_requests_are_checked():
    program = open_loop()
    sheet = program.draw(0, 5)
    for change in (with_value("station", 2, 7), with_value("demand_s", 2, math.nan), with_value("arrival_s", 2, -1.0)):
        broken = dataclasses.replace(program, background=(sheet, change(sheet)))
        with pytest.raises(ValueError, match="background load 1 has an operation that is out of range"):
            engine.run(broken)


@given(programs(), st.data())
@examples(150, suppress_health_check=list(HealthCheck))
def test_a_mutated_sheet_is_refused_or_executed(program, data):
    column = data.draw(st.sampled_from(COLUMNS))
    values = {
        "f": [math.nan, math.inf, -math.inf, -1.0, -5e-324, 1e308, 0.0],
        "i": [-(2**31), -(1 << 16) - 1, -2, -1, 1, 2, 5, 2**31 - 1],
        "u": [0, 2**64 - 1],
    }

    def change(sheet: Sheet) -> Sheet:
        kept = getattr(sheet, column).copy()
        if len(kept):
            kept[data.draw(st.integers(0, len(kept) - 1))] = data.draw(st.sampled_from(values[kept.dtype.kind]))
        return dataclasses.replace(sheet, **{column: kept})

    broken = with_sheet(program, change)
    if program.pacing.repeat:  # a lap of requests that take no time would never end
        return
    try:
        outcome = engine.run(broken)
    except ValueError as error:
        assert "request" in str(error)
        return
    assert isinstance(outcome, Outcome)


def test_a_program_out_of_range_is_refused():
    program = open_loop()
    for field, value, said in (
        ("stations", "discipline", "station 0"),
        ("stations", "servers", "station 0"),
        ("routes", "end_stage", "route 0"),
        ("routes", "visits", "route 0"),
        ("stages", "need", "stage of route 0"),
        ("positions", "is_last", "visits of route 0"),
    ):
        arrays = engine.arrays_of(program.network)
        arrays[field] = arrays[field].copy()
        arrays[field][value] = 0 if value in ("need", "is_last", "servers") else 99
        with pytest.MonkeyPatch.context() as patch, pytest.raises(ValueError, match=said):
            patch.setattr(engine, "arrays_of", lambda network, arrays=arrays: arrays)
            engine.run(program)


def test_no_more_is_written_than_the_caller_has_room_for(monkeypatch):
    """The program says that paths are recorded, and the caller has no room for them."""
    packed = engine.packed

    def with_paths(record: Any, **values: Any) -> Any:
        return packed(record, **(values | ({"paths": 1} if "paths" in values else {})))

    monkeypatch.setattr(engine, "packed", with_paths)
    outcome = engine.run(open_loop(2000))
    assert len(outcome.end_s) == 2000 and not outcome.path_s.size


def test_engines_run_side_by_side_in_threads():
    programs_ = [Program.of(one_station(SERVER, SECOND), poisson(20_000, 0.9, seed), seed) for seed in range(4)]
    alone = [engine.run(program).end_s for program in programs_]
    found: list[Any] = [None] * 4

    def run(i: int) -> None:
        found[i] = engine.run(programs_[i]).end_s

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(alone, found, strict=True))


def test_without_the_library_the_simpy_engine_takes_over(monkeypatch, tmp_path, capsys):
    arguments = ["simulate", str(EXAMPLE), "--set", "workload.duration=0.2s"]
    assert _exit_code(arguments) == 0
    with_library = capsys.readouterr()
    library.library.cache_clear()
    monkeypatch.setenv("TAILCAST_KERNEL", str(tmp_path / "absent.so"))
    try:
        assert "absent.so is not built" in str(library.missing())
        assert _exit_code(arguments) == 0
        said = capsys.readouterr()
        assert said.out == with_library.out
        before, after = ([line for line in each.err.splitlines() if line.strip()] for each in (with_library, said))
        assert len(after) == len(before) + 1  # a run of more than a second ends its progress with an empty line
        assert "the SimPy engine takes over" in said.err
    finally:
        library.library.cache_clear()


def test_a_library_of_other_sources_is_refused(monkeypatch):
    library.library.cache_clear()
    monkeypatch.setattr(library, "sources_hash", lambda: "other")
    try:
        assert "was built from other sources" in str(library.missing())
        with pytest.raises(library.NoLibraryError):
            engine.run(open_loop())
        assert simulate_module.engine_of("compiled")[0] == "simpy"
    finally:
        library.library.cache_clear()


def test_only_imports_of_logs_need_polars():
    commands = ", ".join(f"cli.commands.{name.replace('-', '_')}" for name in SUMMARIES)
    code = f"import sys, {commands}; assert 'polars' not in sys.modules, 'polars is imported'"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_build_says_which_command_failed(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SystemExit, match=r"does not compile.*no-such-compiler"):
        build.build(tmp_path / "k.so")
    assert not list(tmp_path.iterdir())


def test_simulated_runs_name_the_engine():
    run = simulate(load_spec(EXAMPLE, ["workload.duration=0.1s"]))
    assert run.info["engine"]["name"] == "compiled"

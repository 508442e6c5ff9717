from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import EXAMPLES
from traces.errors import InputError
from traces.spec.spec_file import validated
from traces.workload.arrivals import Mmpp2
from traces.workload.keys import WriteOnceReadOnce
from traces.workload.workload import Workload, load_workload

BARE = "operations: 10\nobject_size: 64KiB\n"


def workload(**fields: Any) -> Workload:
    return validated(Workload, {"operations": 10, "object_size": "64KiB"} | fields, "w")


def refused(**fields: Any) -> str:
    with pytest.raises(InputError) as caught:
        workload(**fields)
    return str(caught.value)


def test_defaults_are_a_closed_loop_of_one_client_that_reads() -> None:
    w = workload()
    assert (w.rate, w.clients, w.think_time.mean, w.stagger, w.mix, w.buckets) == (None, 1, 0, 0, {"GET": 1}, 1)
    assert (w.arrivals.kind, w.keys.kind, w.object_size.kind) == ("poisson", "uniform", "fixed")


def test_units_and_bare_values() -> None:
    w = workload(think_time="5ms", stagger="1ms", duration="2min", operations=None)
    assert (w.think_time.mean, w.stagger, w.duration, w.operations) == (0.005, 0.001, 120, None)
    assert w.think_time.distribution.kind == "deterministic"
    w = workload(rate="3000/min", arrivals="mmpp2", mix={"GET": "60%", "PUT": 40})
    assert (w.rate, w.arrivals, w.mix) == (50, Mmpp2(), {"GET": 60, "PUT": 40})
    assert workload(arrivals={"kind": "mmpp2", "burst_fraction": "20%"}).arrivals == Mmpp2(burst_fraction=0.2)
    assert workload(keys="write_once_read_once").keys == WriteOnceReadOnce()


def test_think_time_takes_a_shape() -> None:
    think = workload(think_time={"mean": "5ms", "distribution": "exponential"}).think_time
    assert (think.mean, think.distribution.kind) == (0.005, "exponential")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"operations": None}, "operations and duration"),
        ({"rate": 0}, "w: rate: is 0: input should be greater than 0"),
        ({"clients": 0}, "w: clients: is 0"),
        ({"clients": "many"}, "w: clients: is 'many'"),
        ({"operations": 2.5}, "w: operations: is 2.5"),
        ({"duration": "0s"}, "w: duration: is '0s'"),
        ({"duration": "5 parsecs"}, "unknown unit 'parsecs'; a duration takes s, ms"),
        ({"object_size": "-4KiB"}, "w: object_size: '-4KiB' is negative"),
        ({"object_size": None}, "w: object_size: is None"),
        ({"mix": {"GET": 0, "PUT": 0}}, "w: mix: "),
        ({"mix": {}}, "w: mix: "),
        ({"mix": {"GET": -1}}, "w: mix.GET: -1 is negative"),
        ({"mix": {"get": 1}}, "w: mix.get: is 'get'; did you mean GET?"),
        ({"keys": "popular"}, "w: keys: kind is 'popular'; allowed are uniform, zipf, sequential"),
        ({"keys": {"kind": "zipf", "cuont": 3}}, "w: keys.cuont: unknown field; did you mean count?"),
        ({"keys": {"kind": "zipf", "count": 0}}, "w: keys.count: is 0"),
        ({"arrivals": {"kind": "diurnal", "amplitude": 1.5}}, "w: arrivals.amplitude: 1.5 is 150 %"),
        ({"arrivals": {"kind": "mmpp2", "burst_fraction": 1}}, "w: arrivals.burst_fraction: is 1"),
        ({"thinktime": 1}, "w: thinktime: unknown field; did you mean think_time?"),
        ({"think_time": {"mean": 1, "shape": "gamma"}}, "w: think_time.shape: unknown field; allowed are mean"),
        ({"rate": 5, "clients": 3}, "w: has rate and clients: open or closed loop?"),
        ({"rate": 5, "think_time": 3, "stagger": 1}, "w: has rate and think_time and stagger"),
        ({"think_time": {"mean": 1, "distribution": "gamma"}}, "w: think_time.distribution.cv: is missing"),
    ],
)
def test_a_mistake_names_field_and_what_is_allowed(fields: dict[str, Any], words: str) -> None:
    assert words in refused(**fields)


def test_write_once_read_once_needs_a_closed_loop_with_operations_alone() -> None:
    keys = "write_once_read_once"
    assert "w: keys: write_once_read_once" in refused(keys=keys, rate=5)
    assert "duration" in refused(keys=keys, duration=5)
    assert "duration" in refused(keys=keys, duration=5, operations=None)
    assert "mix" in refused(keys=keys, mix={"PUT": 1})
    assert workload(keys=keys, mix={"GET": 1}).mix == {"GET": 1}


def test_values_do_not_change_once_read() -> None:
    with pytest.raises(ValueError, match="frozen"):
        workload().clients = 3  # type: ignore[misc]


def test_every_field_is_documented_in_the_json_schema() -> None:
    schema = Workload.model_json_schema()
    assert [name for name, field in schema["properties"].items() if "description" not in field] == []
    assert schema["additionalProperties"] is False


@given(
    st.fixed_dictionaries(
        {"clients": st.integers(1, 99), "think_time": st.floats(0, 9), "buckets": st.integers(1, 9)},
        optional={"rate": st.floats(0.1, 1e6), "duration": st.floats(0.1, 1e3)},
    ),
    st.sampled_from(["zipf", "uniform", {"kind": "sequential", "count": 7}]),
)
def test_a_workload_survives_its_own_dump(fields: dict[str, Any], keys: Any) -> None:
    of_open = [name for name in fields if "rate" not in fields or name not in ("clients", "think_time")]
    w = workload(keys=keys, **{name: fields[name] for name in of_open})
    assert validated(Workload, w.model_dump(mode="json"), "dump") == w


def test_a_file_is_a_workload_or_has_the_section(tmp_path: Path) -> None:
    bare, spec = tmp_path / "bare.yaml", tmp_path / "spec.yaml"
    bare.write_text(BARE)
    spec.write_text("store: {anything: 1}\nworkload:\n" + "".join(f"  {line}\n" for line in BARE.splitlines()))
    assert load_workload(bare) == load_workload(spec)
    for path in (bare, spec):
        changed = load_workload(path, ["workload.clients=8", "workload.keys={kind: zipf, count: 5}"])
        assert (changed.clients, changed.keys.kind) == (8, "zipf")


def test_a_broken_file_is_named_with_line_or_field(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("operations: 10\nobject_size: [64KiB\n")
    with pytest.raises(InputError, match=r"w\.yaml: line 3: broken YAML"):
        load_workload(path)
    path.write_text("workload:\n  operations: 10\n  object_size: -64KiB\n")
    with pytest.raises(InputError, match=r"w\.yaml: workload\.object_size: '-64KiB' is negative"):
        load_workload(path)
    path.write_text(BARE + "sped: 1\n")
    with pytest.raises(InputError, match=r"w\.yaml: sped: unknown field; allowed are rate"):
        load_workload(path)
    path.write_text("workload:\n")
    with pytest.raises(InputError, match=r"w\.yaml: workload: is None; a mapping of fields is needed"):
        load_workload(path)


def test_a_path_that_would_change_nothing_is_refused(tmp_path):
    path = tmp_path / "bare.yaml"
    for begin in ("", "workload:\n "):
        path.write_text(begin + "{clients: 2, operations: 10, object_size: 1KiB}\n")
        with pytest.raises(InputError, match=r"^clients=4: "):
            load_workload(path, ["clients=4"])
        assert load_workload(path, ["workload.clients=4"]).clients == 4


def test_the_example_is_a_workload() -> None:
    example = load_workload(EXAMPLES / "workload.yaml")
    assert example.rate == 200
    assert example.keys.kind == "zipf"


def test_an_end_that_a_run_does_not_come_near_is_not_one():
    """A warning that a run of 100 operations is short asks for more of these, not for a longer duration, too."""
    workload = {"rate": 2000, "operations": 100, "object_size": 1, "mix": {"GET": 1}}
    assert Workload(**workload, duration=10).ends == {"operations": 100}
    assert Workload(**workload, duration=0.1).ends == {"operations": 100, "duration": 0.1}
    assert Workload(**{**workload, "operations": 1_000_000}, duration=10).ends == {"duration": 10}

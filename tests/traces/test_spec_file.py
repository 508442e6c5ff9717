from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from traces.errors import InputError
from traces.spec.spec_file import BareKind, load_mapping, override, validated
from traces.spec.units import Seconds
from traces.workload.distributions import Deterministic, Shape, Strict
from traces.workload.sizes import SizeDistribution


class Part(Strict):
    pause: Seconds
    shape: Annotated[Shape, BareKind()] = Deterministic()


class Whole(Strict):
    count: int = Field(1, ge=1)
    parts: tuple[Part, ...] = ()
    size: SizeDistribution | None = None


def written(folder: Path, text: str) -> Path:
    path = folder / "spec.yaml"
    path.write_text(text)
    return path


def test_a_mapping_is_read_and_exponents_are_numbers(tmp_path: Path) -> None:
    data = load_mapping(written(tmp_path, "a: 1e6\nb: {c: -2.5E-3, d: 5ms, e: 12}\nf: 1e\n"))
    assert data == {"a": 1e6, "b": {"c": -0.0025, "d": "5ms", "e": 12}, "f": "1e"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3"),
        ("a: 1\na: 2\n", "line 2: broken YAML: 'a'"),
        ("a:\n\t- 1\n", "line 2"),
        ("", "empty"),
        ("- 1\n", "list"),
        ("a: 2024-13-01\n", "month"),
        ("a: " + "[" * 5000, "nested"),
        ("a: \x01", "broken YAML"),
    ],
)
def test_broken_yaml_names_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=r"spec\.yaml: ") as caught:
        load_mapping(written(tmp_path, text))
    assert words in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_mapping(tmp_path / "absent.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        load_mapping(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="not UTF-8"):
        load_mapping(tmp_path / "binary.yaml")


def test_override_makes_a_new_mapping() -> None:
    data = {"a": {"b": 1, "list": [{"x": 1}, 2]}, "none": None}
    result = override(data, ["a.b=5ms", "a.c.d=[1, 2]", "a.list.0.x=7", "a.list.1={y: 1}", "none.z=1e3", "a.b=x=y"])
    assert result == {
        "a": {"b": "x=y", "c": {"d": [1, 2]}, "list": [{"x": 7}, {"y": 1}]},
        "none": {"z": 1000.0},
    }
    assert data == {"a": {"b": 1, "list": [{"x": 1}, 2]}, "none": None}


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("a.b", "write it like"),
        ("=3", "write it like"),
        ("a..b=3", "write it like"),
        ("a.b.c=3", "a.b is 1 and has no fields"),
        ("a.list.1.x=3", "a.list is a list; allowed are the indices 0 to 0"),
        ("a.list.x=3", "allowed are the indices 0 to 0"),
        ("a.b=[3", "a.b: line 1: broken YAML"),
        ("a.b={GET:70, PUT: 30}", "a.b: line 1: GET:70: a space is missing; write GET: 70"),
    ],
)
def test_a_bad_override_is_refused(assignment: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        override({"a": {"b": 1, "list": [5]}}, [assignment])
    assert words in str(caught.value)


def test_a_good_mapping_becomes_its_model() -> None:
    whole = validated(Whole, {"count": 3, "parts": [{"pause": "5ms", "shape": "exponential"}]}, "x")
    assert whole.parts[0].pause == 0.005
    assert whole.parts[0].shape.kind == "exponential"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"cuont": 3}, "f: at.cuont: unknown field; did you mean count?"),
        ({"count": 0}, "f: at.count: is 0: input should be greater than or equal to 1"),
        ({"parts": [{"pause": 1, "x": 2}]}, "f: at.parts.0.x: unknown field; allowed are pause, shape"),
        ({"parts": [{}]}, "f: at.parts.0.pause: is missing; it is needed"),
        ({"parts": [7]}, "f: at.parts.0: is 7; a mapping of fields is needed"),
        ({"parts": {"pause": 1}}, "f: at.parts: is {'pause': 1}; a list is needed"),
        ({"parts": [{"pause": "-1s"}]}, "f: at.parts.0.pause: '-1s' is negative; a duration is at least 0"),
        (
            {"parts": [{"pause": 1, "shape": {"kind": "lognormal", "cv": -1}}]},
            "f: at.parts.0.shape.cv: is -1: input should be greater than or equal to 0",
        ),
        (
            {"parts": [{"pause": 1, "shape": {"kind": "lognormal", "vc": 1}}]},
            "f: at.parts.0.shape.cv: is missing; it is needed; "
            "f: at.parts.0.shape.vc: unknown field; allowed are kind, cv",
        ),
        (
            {"parts": [{"pause": 1, "shape": {"kind": "lognormal", "cv": 1, "vc": 1}}]},
            "f: at.parts.0.shape.vc: unknown field; allowed are kind, cv",
        ),
        ({"parts": [{"pause": 1, "shape": "lognormal"}]}, "f: at.parts.0.shape.cv: is missing; it is needed"),
        (
            {"size": {"size": 4}},
            "f: at.size: kind is missing; allowed are 'fixed', 'lognormal', 'histogram', 'mixture'",
        ),
        (
            {"size": {"kind": "mixture", "components": [{"weight": 1, "size": {"kind": "fixed", "sise": 1}}]}},
            "f: at.size.components.0.size.sise: unknown field; did you mean size?",
        ),
        (
            {"size": {"kind": "histogram", "edges": [1, 1], "weights": [1]}},
            "f: at.size: edges must ascend",
        ),
        ("text", "f: at: is 'text'; a mapping of fields is needed"),
    ],
)
def test_a_mistake_is_named_by_its_path_in_the_file(data: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        validated(Whole, data, "f", at="at")
    assert str(caught.value) == message


def test_an_unknown_kind_names_the_allowed_ones() -> None:
    with pytest.raises(InputError, match=r"f: size: kind is 'fix'; did you mean fixed\?"):
        validated(Whole, {"size": {"kind": "fix"}}, "f")
    with pytest.raises(InputError, match=r"f: size: kind is 'x'; allowed are fixed, lognormal"):
        validated(Whole, {"size": {"kind": "x"}}, "f")


def test_all_mistakes_are_reported_each_once() -> None:
    data = {"cuont": 0, "parts": [{"pause": "5 parsecs"}, {"shape": 3}]}
    with pytest.raises(InputError) as caught:
        validated(Whole, data, "f")
    places = [message.split(": ")[1] for message in caught.value.messages]
    assert places == ["parts.0.pause", "parts.1.pause", "parts.1.shape", "cuont"]


class Either(Strict):
    value: Part | tuple[int, ...] | float


def test_of_a_union_only_the_member_that_fits_best_is_reported() -> None:
    for value, place in (({"pause": "x"}, "value.pause"), ([1, "x"], "value.1"), ("x", "value")):
        with pytest.raises(InputError) as caught:
            validated(Either, {"value": value}, "f")
        assert [message.split(": ")[1] for message in caught.value.messages] == [place]


def test_a_missing_file_names_one_that_is_there(tmp_path: Path) -> None:
    written(tmp_path, "a: 1\n")
    with pytest.raises(InputError, match=r"spec\.yml: no such file; did you mean .*spec\.yaml\?"):
        load_mapping(tmp_path / "spec.yml")


@pytest.mark.parametrize(
    ("data", "named"), [({"hosts": 1}, "unknown field of a thing;"), ({"parts": [{"hosts": 1}]}, "unknown field;")]
)
def test_a_field_at_the_top_is_named_with_the_whole(data: object, named: str) -> None:
    with pytest.raises(InputError) as caught:
        validated(Whole, data, "f", named="a thing")
    assert named in str(caught.value)


def test_the_json_schema_of_a_bare_kind_allows_a_name() -> None:
    shape = Part.model_json_schema()["properties"]["shape"]["anyOf"]
    assert {"type": "string"} in shape
    assert any("oneOf" in member for member in shape)


def test_aliases_that_stand_for_too_much_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    for text in ("\n".join([*lines, "workload: *a8"]), "workload: &w {clients: *w}", "a: &a [*a]"):
        path.write_text(text)
        with pytest.raises(InputError, match="its aliases stand for more than 1,000,000 values, or for themselves"):
            load_mapping(path)
    path.write_text("a: &a {b: 1}\nc: *a\nd: [*a, *a]\n")
    assert load_mapping(path) == {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}, {"b": 1}]}

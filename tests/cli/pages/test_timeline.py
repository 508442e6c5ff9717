"""Figures of a store as it fills: names of effects are readable, and numbers of objects are words of the field."""

from __future__ import annotations

from types import SimpleNamespace

from cli.pages.timeline import throughput


def figure(objects: list[float]):
    ops = {"PUT": {"throughput_ops": 100.0, "interval": {"throughput_ops": [99.0, 101.0]}}}
    effects = [SimpleNamespace(name="nearfull", objects=objects[-1] * 0.9, text="an OSD is 85% full")]
    states = [{"objects": each, "ops": ops} for each in objects]
    return throughput(SimpleNamespace(states=states, effects=effects))  # type: ignore[arg-type]


def test_numbers_of_objects_are_written_as_in_the_tables():
    wide, narrow = (figure(objects).layout.xaxis for objects in ([1e6, 3e7, 1e9], [1e6, 3e6, 2e7]))
    assert wide.ticktext == ("1 M", "10 M", "100 M", "1,000 M")
    assert narrow.ticktext[:4] == ("1 M", "2 M", "5 M", "10 M")


def test_the_name_of_an_effect_hides_the_line_below_it():
    (name,) = figure([1e6, 1e9]).layout.annotations
    assert name.text == "nearfull" and name.bgcolor

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.errors import InputError
from validate.lab.fault_text import parse_lab_fault
from validate.lab.faults import EFFECTS, LabFault

WORDS = ("drive", "link", "host", "3", "-1", "x5", "x", "cut", "10%", "at", "for", "10s", "5", "killed")
TIMES = st.floats(0.001, 1e6)


@st.composite
def faults(draw: st.DrawFn) -> LabFault:
    part = draw(st.sampled_from(sorted(EFFECTS)))
    effect = draw(st.sampled_from(EFFECTS[part]))
    factor = draw(st.floats(1.001, 1e6)) if effect == "slow" else None
    fraction = draw(st.none() | st.floats(0.001, 0.999)) if effect == "limited" else None
    rate = draw(st.floats(1.0, 1e11)) if effect == "limited" and fraction is None else None
    for_s = draw(st.none() | TIMES) if effect != "restarted" else None
    at_s = draw(st.just(0.0) | TIMES)
    return LabFault(part, draw(st.integers(0, 999)), effect, factor, rate, fraction, at_s, for_s)


@given(faults())
def test_a_fault_is_what_its_text_says(fault):
    parsed = parse_lab_fault(fault.text)
    assert (parsed.part, parsed.number, parsed.effect) == (fault.part, fault.number, fault.effect)
    for name in ("factor", "bytes_per_s", "fraction", "at_s", "for_s"):
        assert getattr(parsed, name) == (None if (value := getattr(fault, name)) is None else pytest.approx(value))


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_is_a_fault_or_an_error_that_names_it(text):
    try:
        assert isinstance(parse_lab_fault(text), LabFault)
    except InputError as error:
        (message,) = error.messages
        assert message.startswith(f"fault {text!r}: ")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("drive 3 x5 at 10s for 20s", LabFault("drive", 3, "slow", 5.0, at_s=10.0, for_s=20.0)),
        ("Drive 3 slow x5 for 20s at 10s", LabFault("drive", 3, "slow", 5.0, at_s=10.0, for_s=20.0)),
        ("drive 0 frozen", LabFault("drive", 0, "frozen")),
        ("drive 3 replaced for 5s", LabFault("drive", 3, "replaced", for_s=5.0)),
        ("link 2 10%", LabFault("link", 2, "limited", fraction=0.1)),
        ("link 2 100 Mbit/s", LabFault("link", 2, "limited", bytes_per_s=12.5e6)),
        ("link 2 25GbE for 1min", LabFault("link", 2, "limited", bytes_per_s=25e9 / 8, for_s=60.0)),
        ("host 1 restarted at 500ms", LabFault("host", 1, "restarted", at_s=0.5)),
    ],
)
def test_what_is_written(text, fault):
    assert parse_lab_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing is given"),
        ("disk 3 x5", "did you mean drive?"),
        ("drvie 3 x5", "did you mean drive?"),
        ("drive x5", "needs a number"),
        ("drive -3 x5", "whole number from 0"),
        ("drive 3 frozn", "did you mean frozen?"),
        ("drive 3 x0.5", "above 1"),
        ("drive 3 xnan", "above 1"),
        ("drive 3 slow", "allowed are x5"),
        ("drive 3 cut", "allowed are x5"),
        ("link 2 limited", "a rate such as"),
        ("link 2 10", "needs a unit"),
        ("link 2 0%", "above 0"),
        ("link 2 100%", "below 100 %"),
        ("link 2 10Mbits", "unknown unit"),
        ("host 1 kill", "did you mean killed?"),
        ("host 1 restarted for 3s", "did you mean host 1 killed?"),
        ("host 1 killed for 0s", "above 0"),
        ("host 1 killed at 10", "needs a unit"),
        ("host 1 killed at", "time is missing after at"),
        ("host 1 killed at 1s at 2s", "given twice"),
    ],
)
def test_what_is_wrong_is_named(text, says):
    with pytest.raises(InputError, match="fault") as error:
        parse_lab_fault(text)
    assert says in str(error.value)

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from traces.spec.units import (
    Bytes,
    BytesPerSecond,
    Fraction,
    PerSecond,
    Seconds,
    binary_size,
    parse_bandwidth,
    parse_bytes,
    parse_duration,
    parse_fraction,
    parse_rate,
    parse_seconds,
    parse_weight,
)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_bytes, "64KiB", 65536),
        (parse_bytes, "64 KiB", 65536),
        (parse_bytes, "1.5MB", 1_500_000),
        (parse_bytes, "1KB", 1000),
        (parse_bytes, "1kB", 1000),
        (parse_bytes, "5TiB", 5 * 2**40),
        (parse_bytes, 4096, 4096),
        (parse_bytes, 1e6, 1_000_000),
        (parse_bytes, "7", 7),
        (parse_bytes, " 7B ", 7),
        (parse_fraction, "15%", 0.15),
        (parse_fraction, "15 %", 0.15),
        (parse_fraction, "0.15", 0.15),
        (parse_fraction, 0.15, 0.15),
        (parse_fraction, "100%", 1.0),
        (parse_fraction, 0, 0.0),
        (parse_weight, "60%", 60),
        (parse_weight, 60, 60),
        (parse_seconds, "5ms", 0.005),
        (parse_duration, "5ms", 0.005),
        (parse_duration, "0", 0.0),
        (parse_duration, 30.0, 30.0),
        (parse_seconds, "250us", 250e-6),
        (parse_seconds, "250\u00b5s", 250e-6),
        (parse_seconds, "250\u03bcs", 250e-6),
        (parse_seconds, "1.5h", 5400),
        (parse_seconds, "2m", 120),
        (parse_seconds, "2d", 172_800),
        (parse_seconds, 0.25, 0.25),
        (parse_seconds, "1e-3", 0.001),
        (parse_rate, "200/s", 200),
        (parse_rate, "3000/min", 50),
        (parse_rate, "7200ops/s", 7200),
        (parse_rate, 12, 12),
        (parse_bandwidth, "25Gbit/s", 25e9 / 8),
        (parse_bandwidth, "150MiB/s", 150 * 2**20),
        (parse_bandwidth, "100", 100),
        (parse_bandwidth, "8bit/s", 1),
        (parse_bandwidth, "100Gb/s", 100e9 / 8),
        (parse_bandwidth, "25Gbps", 25e9 / 8),
        (parse_bandwidth, "25GbE", 25e9 / 8),
        (parse_bandwidth, "100Mbps", 100e6 / 8),
    ],
)
def test_values_as_people_write_them(parse: Callable[[object], float], text: object, value: float) -> None:
    assert parse(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("parse", "text", "words"),
    [
        (parse_bytes, "-4KiB", "negative"),
        (parse_bytes, "0.3B", "whole number of bytes"),
        (parse_bytes, "4KIB", "unknown unit 'KIB'; a size takes B, kB"),
        (parse_bytes, "many", "write it like 64KiB"),
        (parse_bytes, True, "not a size"),
        (parse_bytes, None, "not a size"),
        (parse_bytes, [1], "not a size"),
        (parse_bytes, "1e999", "not a finite size"),
        (parse_seconds, float("nan"), "not a duration"),
        (parse_seconds, float("inf"), "not a duration"),
        (parse_seconds, "5 parsecs", "unknown unit"),
        (parse_seconds, "", "write it like 5ms"),
        (parse_duration, "30", "needs a unit, as in 30ms or 30s"),
        (parse_duration, "30 parsecs", "unknown unit"),
        (parse_rate, "5/fortnight", "unknown unit"),
        (parse_rate, -1, "negative"),
        (parse_bandwidth, "25Gbits", "unknown unit"),
        (parse_bandwidth, "-1MB/s", "negative"),
    ],
)
def test_what_is_no_value_says_why(parse: Callable[[object], float], text: object, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert words in str(caught.value)


@given(st.integers(0, 2**53))
def test_whole_bytes_survive_being_written(size: int) -> None:
    assert parse_bytes(size) == parse_bytes(str(size)) == parse_bytes(f"{size}B") == size


@given(st.integers(0, 2**20), st.sampled_from(["k", "M", "G", "T"]))
def test_decimal_and_binary_prefixes(number: int, prefix: str) -> None:
    power = "kMGT".index(prefix) + 1
    assert parse_bytes(f"{number}{prefix}B") == number * 1000**power
    binary = "Ki" if prefix == "k" else f"{prefix}i"
    assert parse_bytes(f"{number}{binary}B") == number * 1024**power
    assert parse_bandwidth(f"{number}{prefix}bit/s") == number * 1000**power / 8


@given(st.floats(0, 1e12))
def test_bare_seconds_and_rates_are_themselves(value: float) -> None:
    assert parse_seconds(value) == parse_seconds(repr(value)) == parse_rate(value) == parse_bandwidth(value) == value


def test_field_types_parse_and_refuse() -> None:
    assert TypeAdapter(Bytes).validate_python("1KiB") == 1024
    assert TypeAdapter(Seconds).validate_python("1ms") == 0.001
    assert TypeAdapter(PerSecond).validate_python("60/min") == 1
    assert TypeAdapter(BytesPerSecond).validate_python("8kbit/s") == 1000
    with pytest.raises(ValidationError, match="unknown unit"):
        TypeAdapter(Bytes).validate_python("1Kib")


@given(st.integers(0, 2**50))
def test_a_written_size_reads_as_the_same_size(size_bytes):
    assert parse_bytes(binary_size(size_bytes)) == size_bytes


@pytest.mark.parametrize(("size_bytes", "text"), [(0, "0B"), (1000, "1000B"), (32 << 10, "32KiB"), (5 << 20, "5MiB")])
def test_sizes_are_written_in_the_greatest_whole_unit(size_bytes, text):
    assert binary_size(size_bytes) == text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (15, ["1500 %", "did you mean 15%"]),
        ("15", ["1500 %", "did you mean 15%"]),
        ("150%", ["150 %", "at most 100 %"]),
        (1500, ["150000 %", "at most 100 %"]),
        ("15ms", ["unknown unit", "15% or 0.15"]),
        (-0.1, ["negative"]),
        (True, ["15% or 0.15"]),
    ],
)
def test_impossible_fractions_are_refused_with_what_was_meant(value: object, words: list[str]) -> None:
    with pytest.raises(ValidationError) as error:
        TypeAdapter(Fraction).validate_python(value)
    assert all(word in str(error.value) for word in words)


def test_a_suggestion_for_a_fraction_is_itself_allowed() -> None:
    with pytest.raises(ValueError, match="at most 10 %") as error:
        parse_fraction(50, most=0.1)
    assert "did you mean" not in str(error.value)

from __future__ import annotations

import pytest

from cli.parse.vary import parse_range, parse_variation
from traces.errors import InputError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1..4", ("1", "2", "3", "4")),
        ("a=1..14:3", ("1", "4", "7", "10", "13")),
        ("a=-2..2:2", ("-2", "0", "2")),
        ("a=0.1..0.5/5", ("0.1", "0.2", "0.3", "0.4", "0.5")),
        ("a=0.1..0.3:0.1", ("0.1", "0.2", "0.3")),
        ("a=0..10/3", ("0", "5", "10")),
        ("a=4KiB..16KiB:4KiB", ("4KiB", "8KiB", "12KiB", "16KiB")),
        ("a=4KiB..64KiB/8", ("4KiB", "12873B", "21650B", "30427B", "39205B", "47982B", "56759B", "64KiB")),
        ("a=1ms..1s/3", ("1ms", "500.5ms", "1000ms")),
        ("a=100/s..400/s/4", ("100/s", "200/s", "300/s", "400/s")),
        ("a=1GB/s..25Gbit/s/2", ("1GB/s", "3.125GB/s")),
        ("a=None,p90, p95", ("null", "p90", "p95")),
        ("a={PUT: 1},{GET: 1, PUT: 2}", ("{PUT: 1}", "{GET: 1, PUT: 2}")),
        ("a='x,y',[1, 2]", ("'x,y'", "[1, 2]")),
        ("a=replica 3,ec 4+2", ("replica 3", "ec 4+2")),
    ],
)
def test_values_are_parsed(text, values):
    assert parse_variation(text).values == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "write it like"),
        ("=1..2", "write it like"),
        ("a=", "write it like"),
        ("a=1,,2", "a value is empty"),
        ("a=1,2,1", "1 is given twice"),
        ("a=4..1", "the first number must be below the second"),
        ("a=1..5:0", "the step is 0"),
        ("a=1..5/1", "a whole number of at least 2"),
        ("a=1..5/2.5", "a whole number of at least 2"),
        ("a=1..2/5", "not 5 whole numbers; for fractions write 1.0"),
        ("a=1ms..3KiB/2", "KiB and ms cannot be combined"),
        ("a=1..1000000", "1,000,000 values; at most 100,000"),
    ],
)
def test_invalid_values_are_refused(text, said):
    with pytest.raises(InputError, match=said):
        parse_variation(text)


@pytest.mark.parametrize(
    ("text", "written"), [("2-8", "2..8"), ("4KiB-1MiB", "4KiB..1MiB"), ("0.5ms-2ms", "0.5ms..2ms")]
)
def test_a_range_with_a_dash_is_refused_with_its_spelling(text, written):
    for parse in (parse_variation, parse_range):
        with pytest.raises(InputError, match="ranges are written") as error:
            parse(f"hosts.cores.count={text}")
        assert written in str(error.value)


@pytest.mark.parametrize("value", ["1e-3", "p95", "2024-05-01", "ec 4-2"])
def test_other_dashes_are_values(value):
    assert parse_variation(f"a.b={value}").values == (value,)

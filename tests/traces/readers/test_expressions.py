"""The values of log fields, compared with the standard library."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import unquote

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.readers.expressions import clf_time, decimal, iso_time, number, unescaped
from traces.readers.http_requests import prefix

some = settings(max_examples=150, deadline=None, database=None)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PIECES = ["%20", "%2f", "%25", "%C3%A9", "%e2%82%ac", "%41", "a", "é", "%", "%4", "%zz", "+", "/", "%F0", "%9f", "%00"]


def of(expression, *texts):
    return pl.DataFrame({"field": list(texts)}, schema={"field": pl.String}).select(expression).to_series().to_list()


field = pl.col("field")


@some
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=9).map("".join), min_size=1, max_size=4))
def test_escapes_are_resolved_as_the_standard_library_does(texts):
    assert of(unescaped(field), *texts) == [unquote(text, errors="backslashreplace") for text in texts]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("prefix=a%2Fb", "a/b"), ("list-type=2&prefix=a+b&x=1", "a b"), ("xprefix=1", ""), ("prefix=", ""),
        ("prefix=a&prefix=b", "a"), ("", ""), (None, ""), ("prefix=%2B", "+"),
    ],
)  # fmt: skip
def test_the_prefix_of_a_query(query, wanted):
    assert of(prefix(field), query) == [wanted]


@some
@given(st.integers(0, 2**40), st.text("0123456789", max_size=12), st.integers(0, 9))
def test_decimals_are_whole_numbers_of_their_places(whole, part, places):
    text = f"{whole}.{part}" if part else str(whole)
    (found,) = of(decimal(field, places), text)
    wanted = Decimal(text).scaleb(places)
    assert abs(found - wanted) <= Decimal("0.5") if wanted < 2**63 - 1 else found is None


def test_what_is_no_number_is_null():
    texts = ["", "-", "x", "5x", "-5", "1.2.3", "0x5", "9" * 30, None]
    assert of(number(field), *texts) == [None] * len(texts)
    assert of(decimal(field, 9), *texts) == [None] * len(texts)


@some
@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2199, 1, 1)),
    st.sampled_from(["Z", "+00:00", "+0530", "-03:00"]),
    st.integers(0, 9),
)
def test_iso_times_are_those_of_the_calendar(at, zone, places):
    at = at.replace(microsecond=0)
    digits = "123456789"[:places]
    hours = {"Z": 0, "+00:00": 0, "+0530": 5.5, "-03:00": -3}[zone]
    ns = (at.replace(tzinfo=UTC) - EPOCH - timedelta(hours=hours)) // timedelta(seconds=1) * 10**9
    ns += int(digits.ljust(9, "0")) if digits else 0
    fraction = f".{digits}" if digits else ""
    text = f"{at:%Y-%m-%dT%H:%M:%S}{fraction}{zone}"
    assert of(iso_time(field), text) == [{"ns": ns, "local": False}]
    local = text.removesuffix(zone)
    ns += round(hours * 3600) * 10**9
    wanted = {"ns": ns, "local": True}
    assert of(iso_time(field), local, local.replace("T", " "), "no time", None)[:2] == [wanted, wanted]
    clf = f"{at:%d/%b/%Y:%H:%M:%S}{fraction} +0000"
    assert of(clf_time(field), clf, f"[{clf}]", "no time", None) == [ns, None, None, None]


@pytest.mark.parametrize(
    "text", ["2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "9999-01-01T00:00:00Z", "1600-01-01T00:00:00Z",
             "2026-11-21T10:00:00Zx", "2026-11-21T10:00:00+1", "2026-11-21T25:00:00Z", "2026-11-21", "20261121T10Z"],
)  # fmt: skip
def test_what_is_no_time_is_null(text):
    assert of(iso_time(field), text)[0]["ns"] is None

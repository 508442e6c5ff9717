"""What the compiled readers are built of, beside the standard library."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product
from typing import Any
from urllib.parse import parse_qs, unquote

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from traces.readers.compiling import WIDTH
from traces.readers.csv_kernels import _divide
from traces.readers.escape_kernels import resolve
from traces.readers.http_kernels import prefix
from traces.readers.kernels import (
    COMMA,
    NO_BYTE,
    PLUS,
    TAB,
    decimal,
    digits,
    find_last,
    fraction,
    seek,
    seek_last,
    split,
    text,
    word,
    words,
)
from traces.readers.time_kernels import clf_time, iso_time

PIECES = (
    "%",
    "%C3",
    "%A9",
    "%e2",
    "%82",
    "%AC",
    "a",
    "é",
    "%41",
    "%ff",
    "%F0",
    "%9f",
    "%98",
    "%80",
    "%ED",
    "%A0",
    "+",
    "%2",
)
NO_DIGITS = (0, 0x20, 0x2F, 0x3A, 0x40, 0x70, 0xB0, 0xB5, 0xFF)
some = settings(max_examples=200, deadline=None, database=None)


def bytes_of(value: str) -> Any:
    return np.frombuffer(value.encode() + b"\0", np.uint8).copy()


def line_of(value: str) -> Any:
    """With as much behind it as `split` may look at."""
    return np.frombuffer(value.encode() + b'",\t' * WIDTH, np.uint8).copy()


@some
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=9), plus=st.booleans())
@example(["%F0", "%9f", "%98", "%80"], False)
def test_escapes_are_resolved_as_the_standard_library_does(pieces: list[str], plus: bool) -> None:
    value = "".join(pieces)
    data = bytes_of(value)
    end = resolve(data, 0, len(data) - 1, PLUS if plus else NO_BYTE, data, 0)
    assert data[:end].tobytes().decode() == unquote(value.replace("+", " ") if plus else value)


@some
@given(
    parts=st.lists(
        st.sampled_from(("prefix=", "a%2Fb", "&", "prefix", "pre%66ix=x", "=", "+", "max-keys=3")), max_size=8
    )
)
def test_a_prefix_is_the_first_that_a_query_holds(parts: list[str]) -> None:
    query = "".join(parts)
    data = bytes_of(query)
    start, end = prefix(data, 0, len(data) - 1)
    assert data[start:end].tobytes().decode() == parse_qs(query).get("prefix", [""])[0]


@some
@given(
    before=st.text("x.5", max_size=9),
    whole=st.integers(0, 10**10) | st.integers(0, 10**19),
    part=st.text("0123456789", max_size=25),
    places=st.sampled_from((0, 3, 6, 9)),
)
def test_decimals_are_whole_numbers_of_their_places(before: str, whole: int, part: str, places: int) -> None:
    value = f"{whole}.{part}"
    exact = int(Decimal(value) * 10**places) if len(value) < 28 else int(f"{whole}{part[:places].ljust(places, '0')}")
    told = decimal(bytes_of(before + value), len(before), len(before + value), places)
    assert told == (exact if whole < (2**63 - 1) // 10**places else -1)


@some
@given(before=st.text("x5", max_size=9), value=st.text("0123456789", min_size=1, max_size=21))
def test_digits_are_the_whole_number_that_they_write(before: str, value: str) -> None:
    whole, data = int(value), np.frombuffer((before + value).encode(), np.uint8)
    assert digits(data, len(before), len(data)) == (whole if len(value) <= 19 and whole < 2**63 else -1)


@some
@given(
    value=st.text("0123456789", max_size=18),
    at=st.integers(0, 18),
    wrong=st.sampled_from(NO_DIGITS),
    places=st.sampled_from((0, 3, 6, 9)),
)
def test_what_is_no_digit_is_seen_wherever_it_stands(value: str, at: int, wrong: int, places: int) -> None:
    data = np.frombuffer(value[:at].encode() + bytes((wrong,)) + value[at:].encode(), np.uint8)
    assert digits(data, 0, len(data)) == -1
    assert fraction(data, 0, len(data), places) == -1


def test_a_time_with_something_else_in_it_is_none() -> None:
    written = b"2026-11-21T10:44:01.606+01:30"
    for at, wrong in product(range(len(written)), NO_DIGITS):
        data = np.frombuffer(written[:at] + bytes((wrong,)) + written[at + 1 :], np.uint8)
        alike = at == 10 or written[at] == wrong  # any separator will do between date and time
        assert alike or iso_time(data, 0, len(data))[0] == -1


@some
@given(line=st.text('a\t"', max_size=200), most=st.integers(1, 12), quoted=st.booleans(), before=st.integers(0, 70))
def test_a_line_is_split_as_python_splits_it(line: str, most: int, quoted: bool, before: int) -> None:
    data, fields = line_of("\t" * before + line), np.empty(2 * most, np.int64)
    found = split(data, before, before + len(line), TAB, quoted, False, fields, most)
    told = [data[fields[2 * i] : fields[2 * i + 1]].tobytes().decode() for i in range(max(found, 0))]
    if not quoted or not re.search('(^|\t)"', line):
        assert told == line.split("\t")[:most]
        assert all(fields[2 * i + 1] < fields[2 * i] for i in range(found, most))
        return
    # Marks of a field that begins with one are not of it; a field of them ends before a delimiter or at the end.
    expected, left = [], line
    while left is not None and len(expected) < most:
        quote = re.fullmatch(r'"((?:[^"]|"(?!\t|$))*)"(?:\t(.*))?', left) if left.startswith('"') else None
        if left.startswith('"') and not quote:
            assert found == -1
            return
        field, *rest = quote.groups() if quote else left.split("\t", 1)
        left = rest[0] if rest else None
        expected.append(field)
    assert told == expected


@some
@given(line=st.text('a",-', max_size=12) | st.text('aaaaaa",', max_size=150))
def test_fields_of_csv_are_those_of_the_standard_library(line: str) -> None:
    data, fields = line_of(line), np.empty(400, np.int64)
    found = _divide(data, 0, len(line), COMMA, fields, 200)
    if found < 0:
        assert line.count('"') % 2 or '"' in line.replace('""', "")
        return
    told = [data[fields[2 * i] : max(fields[2 * i + 1], fields[2 * i])].tobytes().decode() for i in range(found)]
    raw = next(csv.reader([line])) if line else [""]
    assert len(told) == len(raw)
    assert all(one == other or (one, other) == ("", "-") for one, other in zip(told, raw, strict=True))


@some
@given(at=st.datetimes(datetime(1970, 1, 2), datetime(2261, 1, 1)), ms=st.integers(0, 999))
def test_times_are_those_of_the_calendar(at: datetime, ms: int) -> None:
    seconds = int(at.replace(microsecond=0, tzinfo=UTC).timestamp())
    clf = at.strftime(f"%d/%b/{at.year:04d}:%H:%M:%S.{ms:03d} +0130")
    assert clf_time(bytes_of(clf), 0, len(clf)) == (seconds - 5400) * 10**9 + ms * 10**6
    iso = at.strftime(f"{at.year:04d}-%m-%dT%H:%M:%S.{ms:03d}")
    assert iso_time(bytes_of(iso), 0, len(iso)) == (seconds * 10**9 + ms * 10**6, True)
    for zone, east_s in (("Z", 0), ("+01:30", 5400), ("-0130", -5400)):
        zoned = iso + zone
        assert iso_time(bytes_of(zoned), 0, len(zoned)) == ((seconds - east_s) * 10**9 + ms * 10**6, False)


@pytest.mark.parametrize("rest", [".", ".Z", "-", "+1", "Z0", "0130", ".5x", "+01:3", "+0130Z", ".5+99:00"])
def test_a_time_with_something_else_behind_it_is_none(rest: str) -> None:
    value = "2026-11-21T10:44:01" + rest
    assert iso_time(bytes_of(value), 0, len(value))[0] == -1


@pytest.mark.parametrize("mark", ["a", "ab", "aab"])
@some
@given(value=st.text("ab", max_size=12))
def test_marks_are_found_from_either_end(mark: str, value: str) -> None:
    data = bytes_of(value)
    first, last = value.find(mark), value.rfind(mark)
    assert seek(data, 0, len(value), text(mark)) == (first if first >= 0 else len(value))
    assert seek_last(data, 0, len(value), text(mark)) == last
    assert find_last(data, 0, len(value), np.uint8(ord(mark[0]))) == value.rfind(mark[0])
    assert word(data, 0, len(value), words(["b", mark])) == {mark: 1, "b": 0}.get(value, -1)


@some
@given(
    before=st.text("xG", max_size=9),
    value=st.sampled_from(("get", "GeT", "get_", "", "read-multiple", "READ-Multiple", "Read-multipla", "downloaD"))
    | st.text("geT@`[{\x80é", max_size=4),
)
def test_words_are_known_in_any_case(before: str, value: str) -> None:
    known, data = ("get", "download", "", "read-multiple"), bytes_of(before + value)
    plain = value.translate({capital: capital + 32 for capital in range(65, 91)})
    start, end = len(before.encode()), len((before + value).encode())
    assert word(data, start, end, words(known), True) == (known.index(plain) if plain in known else -1)
    assert word(data, start, end, words(known)) == (known.index(value) if value in known else -1)

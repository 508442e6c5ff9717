"""What the compiled loops over a log's bytes are built of: where fields are, and what numbers and words they hold.

Compiled once and kept. Bounds are a first byte and the one behind the last. None raises; none reads beyond its bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from traces.readers.compiling import WIDTH, compiled, eight, equal, find, inlined, lowest
from traces.tables import OPS

TAB, NEWLINE, RETURN, SPACE, QUOTE, HASH, PERCENT, AMPERSAND, PLUS = map(np.uint8, b'\t\n\r "#%&+')
COMMA, DASH, POINT, SLASH, COLON, LESS, EQUALS, GREATER, QUESTION = map(np.uint8, b",-./:<=>?")
OPEN, BACKSLASH, CLOSE, OPEN_BRACE, CLOSE_BRACE = map(np.uint8, b"[\\]{}")
OPEN_PARENTHESIS, CLOSE_PARENTHESIS, NO_BYTE = map(np.uint8, b"()\0")
"""Bytes, of numpy's type: for each Python number a kernel would be compiled anew."""

ZERO = 48
"""The digit; a Python number, as it is reckoned with."""

_POWERS = 10 ** np.arange(10)
_LARGEST = (2**63 - 1) // _POWERS

# Of eight bytes at once.
_HIGH, _LOW, _DIGITS, _SIX = (np.uint64(byte * 0x0101010101010101) for byte in (0xF0, 0x0F, 0x30, 0x06))
_POINTS, _ONES, _TOPS = (np.uint64(byte * 0x0101010101010101) for byte in (ord("."), 0x01, 0x80))
_FROM_A, _BEYOND_Z = (np.uint64((0x80 - byte) * 0x0101010101010101) for byte in (ord("A"), ord("Z") + 1))
_OF_PAIRS, _OF_FOURS = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_BY_10, _BY_100, _BY_10000 = (np.uint64(10**n * 2 ** (8 * n) + 1) for n in (1, 2, 4))
_ALL, _BYTE, _1, _10 = np.uint64(2**64 - 1), np.uint64(0xFF), np.uint64(1), np.uint64(10)
_8_BITS, _16_BITS, _32_BITS = np.uint64(8), np.uint64(16), np.uint64(32)

Words: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint64]]


def text(value: str) -> NDArray[np.uint8]:
    """A text as a constant of kernels."""
    return np.frombuffer(value.encode(), np.uint8)


def words(texts: Iterable[str]) -> Words:
    """Texts as a constant of kernels: their bytes, the bounds that divide them, and the first eight bytes of each."""
    encoded = [value.encode() for value in texts]
    beginnings = np.frombuffer(b"".join(value[:8].ljust(8, b"\0") for value in encoded), "<u8")
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)]), beginnings


def operations(names: Mapping[str, str]) -> tuple[Words, NDArray[np.int8]]:
    """What names stand for as a constant of kernels: the names and, for each, the operation's index in `OPS`."""
    return words(names), np.array([OPS.index(op) for op in names.values()], np.int8)


@compiled
def newlines(data):  # type: ignore[no-untyped-def]
    """How many line breaks an array of bytes holds."""
    count = 0
    for i in range(len(data)):
        count += data[i] == NEWLINE
    return count


@compiled
def whole_lines(data, at, edge, stop, behind):  # type: ignore[no-untyped-def]
    """The lines that begin before an edge.

    Args:
        data: bytes.
        at, stop: bounds of those that are there.
        edge: the last line begins before it.
        behind: whether the first line begins behind the first newline, or at once.

    Returns:
        begin, end: bounds of the lines; alike where there is none. Where the last line's newline is not there it ends
            at `stop`.
        count: how many newlines they have.
    """
    begin, last = at, min(stop, edge - 1)
    if behind:
        begin = find(data, at, last, NEWLINE) + 1
        if begin > last:
            return at, at, 0
    end = min(find(data, last, stop, NEWLINE) + 1, stop)
    return begin, end, newlines(data[begin:end])


@inlined
def line_end(data, at, size):  # type: ignore[no-untyped-def]
    """Where the line that begins at `at` ends: its newline, and the end of its text, without a carriage return."""
    stop = find(data, at, size, NEWLINE)
    return stop, stop - (stop > at and data[stop - 1] == RETURN)


@compiled
def find_last(data, at, stop, byte):  # type: ignore[no-untyped-def]
    """Where a byte last is; `at` - 1: nowhere."""
    stop -= 1
    while stop >= at and data[stop] != byte:
        stop -= 1
    return max(stop, at - 1)


@compiled
def seek(data, at, stop, mark):  # type: ignore[no-untyped-def]
    """Where a text first is; `stop`: nowhere."""
    last = stop - len(mark) + 1
    while at < last:
        at = find(data, at, last, mark[0])
        if at < last and alike(data, at, mark):
            return at
        at += 1
    return stop


@compiled
def seek_last(data, at, stop, mark):  # type: ignore[no-untyped-def]
    """Where a text last is; `at` - 1: nowhere."""
    stop -= len(mark)
    while stop >= at and (data[stop] != mark[0] or not alike(data, stop, mark)):
        stop -= 1
    return max(stop, at - 1)


@inlined
def alike(data, at, mark):  # type: ignore[no-untyped-def]
    """Whether the bytes from `at` on are those of a text."""
    i = 0
    while i < len(mark) and data[at + i] == mark[i]:
        i += 1
    return i == len(mark)


@inlined
def begins(data, at, stop, mark):  # type: ignore[no-untyped-def]
    """Whether a field begins with a text."""
    return stop - at >= len(mark) and alike(data, at, mark)


@inlined
def is_text(data, at, stop, mark):  # type: ignore[no-untyped-def]
    """Whether a field is a text."""
    return stop - at == len(mark) and alike(data, at, mark)


@compiled
def looks_like(data, at, stop, pattern):  # type: ignore[no-untyped-def]
    """Whether a field begins as a pattern does: ``0`` is any digit, ``?`` any byte, all else itself."""
    if stop - at < len(pattern):
        return False
    for i in range(len(pattern)):
        byte, mark = data[at + i], pattern[i]
        if mark == ZERO:
            if byte < ZERO or byte > ZERO + 9:
                return False
        elif mark != QUESTION and byte != mark:
            return False
    return True


@inlined
def _beginning(data, at, stop):  # type: ignore[no-untyped-def]
    """The first eight bytes of a field as one number, zeros for those that it has not."""
    length = stop - at
    if length >= 8:
        return eight(data, at)
    if stop < 8:
        return _short(data, at, stop)
    return eight(data, stop - 8) >> np.uint64(64 - 8 * length) if length > 0 else np.uint64(0)


@compiled
def _short(data, at, stop):  # type: ignore[no-untyped-def]
    """As `_beginning`, of bytes before which there are not eight."""
    value = np.uint64(0)
    for i in range(stop - at):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return value


@inlined
def _lower(value):  # type: ignore[no-untyped-def]
    """Eight bytes with ASCII letters lower."""
    low = value & ~_TOPS
    letters = ((low + _FROM_A) ^ (low + _BEYOND_Z)) & ~value & _TOPS
    return value | (letters >> np.uint64(2))


@inlined
def word(data, at, stop, known, any_case=False):  # type: ignore[no-untyped-def]
    """Which of the `words` a field is, from 0; -1: none of them.

    `any_case`: ASCII letters of the field are taken for lower ones.
    """
    texts, bounds, beginnings = known
    begin = _lower(_beginning(data, at, stop)) if any_case else _beginning(data, at, stop)
    for i in range(len(beginnings)):
        if begin == beginnings[i] and stop - at == bounds[i + 1] - bounds[i]:
            j = 8
            while j < stop - at and _lower_byte(data[at + j], any_case) == texts[bounds[i] + j]:
                j += 1
            if j >= stop - at:
                return i
    return -1


@inlined
def _lower_byte(byte, any_case):  # type: ignore[no-untyped-def]
    return byte + 32 if any_case and 65 <= byte <= 90 else byte


@inlined
def operation(data, at, stop, known, any_case=False):  # type: ignore[no-untyped-def]
    """The index in `OPS` of what a field names, of `operations`; -1: nothing. `any_case` is as of `word`."""
    names, ops = known
    found = word(data, at, stop, names, any_case)
    return ops[found] if found >= 0 else -1


@inlined
def next_of(data, at, stop, byte, window, bits):  # type: ignore[no-untyped-def]
    """Where a byte next is, faster than `find` where there are many of them.

    Args:
        data: bytes, `WIDTH` more than up to `stop`.
        at, stop: bounds.
        window, bits: what the call before gave, for the same byte and an `at` that was not greater; at first
            `at` - `WIDTH`, and anything.

    Returns:
        cut: where it is; `stop`: nowhere.
        window, bits: for the next call: `equal` of this place.
    """
    if at - window < WIDTH:
        bits &= _ALL << np.uint64(at - window)
    else:
        window, bits = at, equal(data, at, byte)
    while bits == 0:
        window += WIDTH
        if window >= stop:
            return stop, window, bits
        bits = equal(data, window, byte)
    return min(window + lowest(bits), stop), window, bits


@compiled
def split(data, at, stop, delimiter, quoted, bracketed, fields, most):  # type: ignore[no-untyped-def]
    """The bounds of a line's fields.

    Args:
        data: bytes, `WIDTH` more than up to `stop`.
        at, stop: bounds of the line.
        delimiter: between fields.
        quoted, bracketed: whether a field that begins with a quotation mark (a bracket) goes on to the mark (bracket)
            that a delimiter or the line's end follows; its bounds are within.
        fields: filled with two bounds for each field; those that are missing end before they begin.
        most: how many fields are wanted; further ones are passed over.

    Returns:
        How many fields were found; -1: a mark or bracket is not closed.
    """
    found = 0
    if not bracketed:
        found, at = _split_plainly(data, at, stop, delimiter, quoted, fields, most)
    window, bits = at - WIDTH, np.uint64(0)
    while found < most and at <= stop:
        closing = NO_BYTE
        if at < stop:
            if quoted and data[at] == QUOTE:
                closing = QUOTE
            elif bracketed and data[at] == OPEN:
                closing = CLOSE
        if closing:
            at += 1
            cut = find(data, at, stop, closing)
            while cut + 1 < stop and data[cut + 1] != delimiter:
                cut = find(data, cut + 1, stop, closing)
            if cut >= stop:
                return -1
            behind = cut + 1
        else:
            cut, window, bits = next_of(data, at, stop, delimiter, window, bits)
            behind = cut
        fields[2 * found], fields[2 * found + 1] = at, cut
        found += 1
        at = behind + 1
    for missing in range(found, most):
        fields[2 * missing], fields[2 * missing + 1] = stop, stop - 1
    return found


@inlined
def _split_plainly(data, at, stop, delimiter, quoted, fields, most):  # type: ignore[no-untyped-def]
    """The bounds of fields that a delimiter follows, as of `split`, up to a few bytes before the first quotation mark.

    Returns:
        How many there are, and where the next field begins.
    """
    found, window = 0, at
    while window < stop and found < most:
        bits, marks = equal(data, window, delimiter), equal(data, window, QUOTE)
        if stop - window < WIDTH:
            there = (_1 << np.uint64(stop - window)) - _1
            bits, marks = bits & there, marks & there
        if quoted and marks:
            break
        while bits and found < most:
            cut = window + lowest(bits)
            fields[2 * found], fields[2 * found + 1] = at, cut
            at = cut + 1
            found += 1
            bits &= bits - _1
        window += WIDTH
    return found, at


@inlined
def of(fields, which):  # type: ignore[no-untyped-def]
    """The bounds of a field that `split` found."""
    return fields[2 * which], fields[2 * which + 1]


@compiled
def split_last(data, at, stop, delimiter, fields, most):  # type: ignore[no-untyped-def]
    """The bounds of a line's last fields; the first of them is all that is left, whatever delimiters it holds.

    Returns:
        How many fields were found; if fewer than are wanted, their bounds are not sure.
    """
    left = most - 1
    while left:
        cut = find_last(data, at, stop, delimiter)
        if cut < at:
            break
        fields[2 * left], fields[2 * left + 1] = cut + 1, stop
        stop = cut
        left -= 1
    fields[0], fields[1] = at, stop
    return most - left


@inlined
def _are_digits(value):  # type: ignore[no-untyped-def]
    """Whether all of eight bytes, as `eight` gives them, are digits."""
    return value & _HIGH == _DIGITS and (value + _SIX) & _HIGH == _DIGITS


@inlined
def _number(value):  # type: ignore[no-untyped-def]
    """The number of eight digits, as `eight` gives them; -1: one of the bytes is none. Pairs, then fours, then all are
    put together in one multiplication each."""
    if not _are_digits(value):
        return -1
    value = ((value & _LOW) * _BY_10) >> _8_BITS
    value = ((value & _OF_PAIRS) * _BY_100) >> _16_BITS
    return np.int64(((value & _OF_FOURS) * _BY_10000) >> _32_BITS)


@inlined
def _last_digits(data, stop, count):  # type: ignore[no-untyped-def]
    """The number of one to seven digits before `stop`; -1: one of the bytes is none."""
    if stop < 8:
        return _first_digits(data, stop - count, stop)
    before = np.uint64(64 - 8 * count)
    return _number((eight(data, stop - 8) >> before << before) | (_DIGITS >> np.uint64(8 * count)))


@compiled
def _first_digits(data, at, stop):  # type: ignore[no-untyped-def]
    """As `_last_digits`, of bytes before which there are not eight."""
    value = 0
    for i in range(at, stop):
        digit = data[i] - ZERO
        if digit < 0 or digit > 9:
            return -1
        value = value * 10 + digit
    return value


@inlined
def pairs(data, at, hidden):  # type: ignore[no-untyped-def]
    """What each two of eight digits are as a number, for `pair`; if one is none, each such number is 255.

    `hidden`: 0xFF at each of the eight bytes that need not be a digit.
    """
    value = (eight(data, at) & ~hidden) | (_DIGITS & hidden)
    value_of_each = value & _LOW
    return value_of_each * _10 + (value_of_each >> _8_BITS) if _are_digits(value) else _ALL


@inlined
def pair(numbers, which):  # type: ignore[no-untyped-def]
    """The number of the digits `which` and `which` + 1 of `pairs`."""
    return np.int64((numbers >> np.uint64(8 * which)) & _BYTE)


@inlined
def digits(data, at, stop):  # type: ignore[no-untyped-def]
    """The whole number between two bounds; -1 where there is none, or it is 2^63 or more."""
    length = stop - at
    if length <= 0 or length > 19:
        return -1
    odd = length & 7
    at += odd
    value = _last_digits(data, at, odd) if odd else 0
    while at < stop:
        more = _number(eight(data, at))
        if more < 0 or value < 0:
            return -1
        value = value * 100_000_000 + more
        at += 8
    return value if value >= 0 else -1  # what is too large has wrapped


@inlined
def two_digits(data, at):  # type: ignore[no-untyped-def]
    """The number of two digits; below 0: one of the bytes is none."""
    ten, one = data[at] - ZERO, data[at + 1] - ZERO
    return ten * 10 + one if 0 <= ten <= 9 and 0 <= one <= 9 else -1_000_000


@inlined
def fraction(data, at, stop, places):  # type: ignore[no-untyped-def]
    """The digits after a decimal point as a whole number of 10^-places, of which there are at most 9; -1 where there
    is something else."""
    length = max(stop - at, 0)
    if length < 8:
        value = _last_digits(data, stop, length) if length else 0
        power = places - length
        if value < 0 or power >= 0:
            return value * _POWERS[power] if value >= 0 else -1
        return value // _POWERS[-power]
    value = _number(eight(data, at))
    behind = at + 8
    while behind < stop:
        if not _are_digits(eight(data, min(behind, stop - 8))):  # some of them again
            return -1
        behind += 8
    if value < 0:
        return -1
    if places == 9:
        return value * 10 + (data[at + 8] - ZERO if length > 8 else 0)
    return value // _POWERS[8 - places]


@inlined
def _point(data, at, stop):  # type: ignore[no-untyped-def]
    """Where the first decimal point is; `stop`: nowhere."""
    while stop - at >= 8:
        others = eight(data, at) ^ _POINTS
        found = (others - _ONES) & ~others & _TOPS
        if found:
            return at + (lowest(found) >> 3)
        at += 8
    while at < stop and data[at] != POINT:
        at += 1
    return at


@inlined
def decimal(data, at, stop, places):  # type: ignore[no-untyped-def]
    """A decimal number, not negative, as a whole number of 10^-places, of which there are at most 9; -1 where there is
    none."""
    point = _point(data, at, stop)
    whole, part = digits(data, at, point), fraction(data, point + 1, stop, places)
    return whole * _POWERS[places] + part if 0 <= whole < _LARGEST[places] and part >= 0 else -1


@inlined
def is_dash(data, at, stop):  # type: ignore[no-untyped-def]
    """Whether a field is ``-`` or missing: many logs' sign for nothing."""
    return stop < at or (stop == at + 1 and data[at] == DASH)


@inlined
def number(data, at, stop):  # type: ignore[no-untyped-def]
    """The whole number of a field; -1: it is `is_dash`; -2: it holds none."""
    value = digits(data, at, stop)
    return value if value >= 0 else (-1 if is_dash(data, at, stop) else -2)

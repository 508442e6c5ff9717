"""The loops that make columns, as Arrow has them, of a block's rows."""

from __future__ import annotations

from traces.readers.compiling import compiled, copy, inlined, pointer
from traces.readers.drafts import NUMBERS, ROW, TEXTS

_NUMBERS, _TEXTS = len(NUMBERS), len(TEXTS)
_LONGS, _INTS = ROW.itemsize // 8, ROW.itemsize // 4
_STATUS = NUMBERS.index("status")  # the last one
_BOUNDS = ROW.fields[f"{TEXTS[0]}_from"][1] // 4  # type: ignore[index]
_OP = ROW.fields["op"][1]  # type: ignore[index]


@compiled
def columns(longs, ints, octets, values, offsets, status, op, known):  # type: ignore[no-untyped-def]
    """Writes all columns but the bytes of texts. A number below 0 is not known.

    Args:
        longs, ints, octets: the rows, of `ROW`: as numbers of 64, of 32 and of 8 bits.
        values: filled with the numbers but for the status, one column after the other;
        offsets: with what bounds the texts in what `pack` fills: for each column one more than there are rows;
        status, op: with these;
        known: with a bit for each number and for each text, one column after the other, each of whole bytes.

    Returns:
        How many bytes all texts have.
    """
    count = len(op)
    width, whole = (count + 7) // 8, count // 8
    numbers, ends, held, bits = pointer(values), pointer(offsets), pointer(longs), pointer(known)
    for byte in range(whole):
        _set_numbers(held, octets, numbers, status, op, bits, 8 * byte, 8, count, width)
    if whole < width:
        _set_numbers(held, octets, numbers, status, op, bits, 8 * whole, count - 8 * whole, count, width)
    bounds, to = pointer(ints), 0
    for column in range(_TEXTS):
        shift = column * (count + 1)
        ends[shift] = to
        for byte in range(whole):
            to = _set_bounds(bounds, ends, bits, column, 8 * byte, 8, shift, to, width)
        if whole < width:
            to = _set_bounds(bounds, ends, bits, column, 8 * whole, count - 8 * whole, shift, to, width)
    return to


@inlined
def _set_numbers(held, octets, numbers, status, op, bits, first, many, count, width):  # type: ignore[no-untyped-def]
    """Writes the numbers of up to eight rows; of always eight in one call, that is unrolled."""
    byte = first // 8
    for column in range(_STATUS):
        there = 0
        for i in range(many):
            value = held[(first + i) * _LONGS + column]
            numbers[column * count + first + i] = value
            there |= (value >= 0) << i
        bits[column * width + byte] = there
    there = 0
    for i in range(many):
        at = (first + i) * _LONGS
        value = held[at + _STATUS]
        status[first + i], op[first + i] = value, octets[8 * at + _OP]
        there |= (value >= 0) << i
    bits[_STATUS * width + byte] = there


@inlined
def _set_bounds(bounds, ends, bits, column, first, many, shift, to, width):  # type: ignore[no-untyped-def]
    """Writes the bounds of up to eight rows' texts of a column, of which all before end at `to`; where they end."""
    there = 0
    for i in range(many):
        at = (first + i) * _INTS + _BOUNDS + 2 * column
        length = bounds[at + 1] - bounds[at]
        to += max(length, 0)
        ends[shift + first + i + 1] = to
        there |= (length >= 0) << i
    bits[(_NUMBERS + column) * width + first // 8] = there
    return to


@compiled
def pack(text, ints, offsets, into):  # type: ignore[no-untyped-def]
    """Copies the texts one after the other.

    Args:
        text: what rows have bounds in.
        ints, offsets: as of `columns`.
        into: filled.

    Returns:
        Whether all is ASCII.
    """
    data, bounds, ends, held = pointer(text), pointer(ints), pointer(offsets), pointer(into)
    count = len(offsets) // _TEXTS - 1
    for column in range(_TEXTS):
        shift = column * (count + 1)
        for i in range(count):
            at, to = bounds[i * _INTS + _BOUNDS + 2 * column], ends[shift + i]
            copy(data, at, at + ends[shift + i + 1] - to, held, to)
    highest = 0
    for i in range(len(into)):
        highest |= into[i]
    return highest < 0x80

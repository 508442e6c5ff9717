"""The loops that make columns, as Arrow has them, of a block's rows."""

from __future__ import annotations

from traces.readers.compiling import compiled, copy, pointer
from traces.readers.drafts import NUMBERS, ROW, TEXTS

_NUMBERS, _TEXTS = len(NUMBERS), len(TEXTS)
_LONGS, _INTS = ROW.itemsize // 8, ROW.itemsize // 4
_BOUNDS = ROW.fields[f"{TEXTS[0]}_from"][1] // 4  # type: ignore[index]


@compiled
def numbers(rows, count, values, known):  # type: ignore[no-untyped-def]
    """Writes the columns of numbers; one below 0 is not known.

    Args:
        rows: of `ROW`, as 64-bit numbers, flat.
        count: how many there are.
        values: filled with the columns, one after the other.
        known: filled with a bit for each value, columns one after the other, each of whole bytes.
    """
    data, into, bits = pointer(rows), pointer(values), pointer(known)
    octets = (count + 7) // 8
    for octet in range(octets):
        first = 8 * octet
        for column in range(_NUMBERS):
            there = 0
            for i in range(min(8, count - first)):
                value = data[(first + i) * _LONGS + column]
                into[column * count + first + i] = value
                there |= (value >= 0) << i
            bits[column * octets + octet] = there


@compiled
def bounds(rows, count, offsets, known):  # type: ignore[no-untyped-def]
    """Writes what bounds the texts of each column, once they stand one after the other.

    Args:
        rows: of `ROW`, as 32-bit numbers, flat.
        count: how many there are.
        offsets: filled for the columns, one after the other, each with one more than there are rows.
        known: as of `numbers`.

    Returns:
        How many bytes all columns have.
    """
    data, into, bits = pointer(rows), pointer(offsets), pointer(known)
    octets, to = (count + 7) // 8, 0
    for column in range(_TEXTS):
        ends = column * (count + 1)
        into[ends] = to
        for octet in range(octets):
            first, there = 8 * octet, 0
            for i in range(min(8, count - first)):
                at = (first + i) * _INTS + _BOUNDS + 2 * column
                width = data[at + 1] - data[at]
                to += max(width, 0)
                into[ends + first + i + 1] = to
                there |= (width >= 0) << i
            bits[column * octets + octet] = there
    return to


@compiled
def pack(text, rows, count, offsets, into):  # type: ignore[no-untyped-def]
    """Copies the texts one after the other.

    Args:
        text: what rows have bounds in.
        rows, count, offsets: as of `bounds`.
        into: filled.

    Returns:
        Whether all is ASCII.
    """
    data, starts, ends, held = pointer(text), pointer(rows), pointer(offsets), pointer(into)
    for column in range(_TEXTS):
        for i in range(count):
            at, to = starts[i * _INTS + _BOUNDS + 2 * column], column * (count + 1) + i
            copy(data, at, at + ends[to + 1] - ends[to], held, ends[to])
    highest = 0
    for i in range(len(into)):
        highest |= into[i]
    return highest < 0x80

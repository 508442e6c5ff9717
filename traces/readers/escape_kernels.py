"""Percent escapes resolved as `urllib.parse.unquote` does: as `traces.readers.kernels`."""

from __future__ import annotations

from traces.readers.compiling import compiled
from traces.readers.kernels import NO_BYTE, PERCENT, SPACE, ZERO


@compiled
def hexadecimal(byte):  # type: ignore[no-untyped-def]
    """The value of a hexadecimal digit; -1 where it is none."""
    if ZERO <= byte <= ZERO + 9:
        return byte - ZERO
    low = byte | 32
    return low - 87 if 97 <= low <= 102 else -1


@compiled
def _replaced(into, to):  # type: ignore[no-untyped-def]
    """Writes U+FFFD."""
    into[to], into[to + 1], into[to + 2] = 0xEF, 0xBF, 0xBD
    return to + 3


@compiled
def _follows(lead, have, byte):  # type: ignore[no-untyped-def]
    """Whether a byte can follow in a character of UTF-8 of which there are `have` bytes (Unicode, table 3-7)."""
    low, high = 0x80, 0xBF
    if have == 1:
        low = 0xA0 if lead == 0xE0 else (0x90 if lead == 0xF0 else low)
        high = 0x9F if lead == 0xED else (0x8F if lead == 0xF4 else high)
    return low <= byte <= high


@compiled
def resolve(data, at, stop, blank, into, to):  # type: ignore[no-untyped-def]
    """Copies a text with its escapes resolved; of characters that are no UTF-8 then, U+FFFD comes in the place.

    The copy is no longer than the text, so both may begin at the same place.

    Args:
        data: bytes.
        at, stop: bounds of the text.
        blank: the byte that stands for a blank, or `NO_BYTE`.
        into, to: where the copy begins.

    Returns:
        Where the copy ends.
    """
    lead = have = need = int(NO_BYTE)  # of a character that escapes have begun
    while at < stop:
        byte, escaped = int(SPACE if data[at] == blank else data[at]), False
        if byte == PERCENT and at + 2 < stop:
            high, low = hexadecimal(data[at + 1]), hexadecimal(data[at + 2])
            if high >= 0 and low >= 0:
                byte, escaped = high * 16 + low, True
                at += 2
        at += 1
        if need and not (escaped and _follows(lead, have, byte)):
            to = _replaced(into, to - have)
            need = 0
        if need:
            have += 1
            need -= 1
        elif escaped and byte >= 0x80:
            if not 0xC2 <= byte <= 0xF4:
                to = _replaced(into, to)
                continue
            lead, have = byte, 1
            need = 1 + (byte >= 0xE0) + (byte >= 0xF0)
        into[to] = byte
        to += 1
    return _replaced(into, to - have) if need else to

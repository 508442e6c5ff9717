"""A column of a block as bounds in its bytes, turned into texts, numbers or times without a Python object a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from traces.readers import kernels, time_kernels
from traces.readers.source import Lines

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_LAST_ASCII = 127


@dataclass(frozen=True)
class Spans:
    """One field of each row.

    Attributes:
        data: the block's bytes.
        start, end: bounds of the field, shape (rows,); end < start: the row has no such field.
    """

    data: NDArray[np.uint8]
    start: Ints
    end: Ints

    @staticmethod
    def of(texts: pa.Array | pa.ChunkedArray) -> Spans:
        """The values of a string column; null is a field that is not there."""
        if isinstance(texts, pa.ChunkedArray):
            texts = texts.combine_chunks()
        _, bounds, values = texts.buffers()
        offsets = np.frombuffer(bounds, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
        data = np.frombuffer(values, np.uint8) if values is not None else np.empty(0, np.uint8)
        missing = texts.is_null().to_numpy(zero_copy_only=False)
        return Spans(data, offsets[:-1], np.where(missing, offsets[:-1] - 1, offsets[1:]))

    def __len__(self) -> int:
        return len(self.start)

    def within(self, before: int = 0, after: int = 0) -> Spans:
        """The fields without their first and last bytes; one that is too short is not there."""
        start, end = self.start + before, self.end - after
        return Spans(self.data, start, np.maximum(end, start - 1))

    def of_rows(self, which: Mask) -> Spans:
        """The fields of those rows, without the others."""
        return Spans(self.data, self.start[which], self.end[which])

    def where(self, which: Mask) -> Spans:
        """The fields of those rows; others have none."""
        return Spans(self.data, self.start, np.where(which, self.end, self.start - 1))

    @property
    def there(self) -> Mask:
        """Which rows have the field."""
        return self.end >= self.start

    def is_text(self, text: str) -> Mask:
        """Which rows' field is that text."""
        whole: Mask = self.end - self.start == len(text.encode())
        return whole & self.begins_with(text)

    def begins_with(self, text: str) -> Mask:
        """Which rows' field begins with that text."""
        return self._begins(text, False)

    def one_of(self, texts: Sequence[str]) -> Ints:
        """Which of the texts each row's field is, from 0; -1: none of them."""
        encoded = [text.encode() for text in texts]
        bounds = np.cumsum([0, *map(len, encoded)])
        found = np.empty(len(self), np.int64)
        kernels.one_of(self.data, self.start, self.end, np.frombuffer(b"".join(encoded), np.uint8), bounds, found)
        return found

    def looks_like(self, pattern: str) -> Mask:
        """Which rows' field begins as the pattern does: ``0`` is any digit, ``?`` any byte, all else itself."""
        return self._begins(pattern, True)

    def _begins(self, pattern: str, any_digit: bool) -> Mask:
        found = np.empty(len(self), np.bool_)
        mark = np.frombuffer(pattern.encode(), np.uint8)
        kernels.begin_alike(self.data, self.start, self.end, mark, any_digit, found)
        return found

    def partition(self, mark: str, last: bool = False) -> tuple[Spans, Spans]:
        """What stands before and after the first (or last) `mark`; without one, all is before and nothing after."""
        at = np.empty(len(self), np.int64)
        kernels.seek(self.data, self.start, self.end, np.frombuffer(mark.encode(), np.uint8), last, at)
        missing = at < 0
        before = Spans(self.data, self.start, np.where(missing, self.end, at))
        start = np.where(missing, self.start, at + len(mark.encode()))
        return before, Spans(self.data, start, np.where(missing, start - 1, self.end))

    def texts(self, null: str | None = None, escaped: bool = False) -> pa.Array:
        """The fields as strings; null where there is none or it is the text `null`.

        Args:
            null: the text of fields that hold nothing.
            escaped: whether percent escapes are resolved.

        Raises:
            ValueError: a field is not UTF-8.
        """
        missing = ~self.there
        if null is not None:
            missing |= self.is_text(null)
        offsets = np.zeros(len(self) + 1, np.int32)
        np.cumsum(np.where(missing, 0, self.end - self.start), out=offsets[1:])
        held = np.empty(int(offsets[-1]), np.uint8)
        if escaped:
            kernels.unescape(self.data, self.start, np.where(missing, self.start, self.end), offsets, held)
        else:
            kernels.gather(self.data, self.start, offsets, held)
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
        column = pa.StringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(held), valid)
        if held[: offsets[-1]].max(initial=0) > _LAST_ASCII:
            column.validate(full=True)
        return column

    def integers(self) -> Ints:
        """Whole numbers; -1 where the field holds none."""
        return self._by(kernels.integers)

    def decimals(self, places: int) -> Ints:
        """Decimal numbers such as ``0.012`` in units of 10^-places; -1 where the field holds none."""
        values = np.empty(len(self), np.int64)
        kernels.decimals(self.data, self.start, self.end, places, values)
        return values

    def clf_ns(self) -> Ints:
        """Times such as ``21/Nov/2026:10:44:01.606 +0000`` in ns since 1970 UTC; -1 where the field holds none."""
        return self._by(time_kernels.clf_times)

    def iso_ns(self, zone: str = "UTC") -> Ints:
        """Times such as ``2026-11-21T10:44:01.606Z`` in ns since 1970 UTC; -1 where the field holds none.

        Args:
            zone: that of times which name none (`Source.zone`). Of a local time that comes twice, the first is meant.
        """
        values = np.empty(len(self), np.int64)
        unzoned = np.empty(len(self), np.bool_)
        time_kernels.iso_times(self.data, self.start, self.end, values, unzoned)
        if zone == "UTC" or not unzoned.any():
            return values
        local = pa.array(values[unzoned]).cast(pa.timestamp("ns"))
        utc = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
        values[unzoned] = utc.cast(pa.int64()).to_numpy()
        return values

    def _by(self, kernel: object) -> Ints:
        values = np.empty(len(self), np.int64)
        kernel(self.data, self.start, self.end, values)  # type: ignore[operator]
        return values


def each_line(lines: Lines) -> tuple[Ints, Spans]:
    """The number and the text of each line that is not empty."""
    data = np.frombuffer(lines.data, np.uint8)
    begin, breaks = lines.starts, lines.ends
    end = breaks - ((breaks > begin) & (data[np.maximum(breaks - 1, 0)] == kernels.RETURN))
    held = np.flatnonzero(end > begin)
    return lines.first + held, Spans(data, begin[held], end[held])


@dataclass(frozen=True)
class Fields:
    """A block's lines divided into fields.

    Attributes:
        line: number of each line, shape (lines,); blank ones are not among them.
        count: how many fields each line has, at most as many as were asked for; -1: a quotation mark or bracket is not
            closed.
    """

    line: Ints
    count: Ints
    _data: NDArray[np.uint8]
    _starts: Ints
    _ends: Ints

    @staticmethod
    def of(lines: Lines, most: int, delimiter: str = " ", quoted: bool = False, bracketed: bool = False) -> Fields:
        """Divide the lines.

        Args:
            lines: the block.
            most: how many fields are wanted; what follows in the line is passed over.
            delimiter: one character between two fields.
            quoted, bracketed: a field may stand in double quotes (in brackets) and hold delimiters.
        """
        return Fields.among(*each_line(lines), most, delimiter, quoted, bracketed)

    @staticmethod
    def among(
        line: Ints, spans: Spans, most: int, delimiter: str = " ", quoted: bool = False, bracketed: bool = False
    ) -> Fields:
        """Divide parts of lines, as `of` does whole ones."""
        starts = np.zeros((most, len(line)), np.int64)
        ends = np.full((most, len(line)), -1, np.int64)
        count = np.empty(len(line), np.int64)
        kernels.split(spans.data, spans.start, spans.end, ord(delimiter), quoted, bracketed, starts, ends, count)
        return Fields(line, count, spans.data, starts, ends)

    @staticmethod
    def last_of(lines: Lines, most: int, delimiter: str) -> Fields:
        """The last fields of the lines, for lines whose first field may hold delimiters; of a line with fewer fields
        only their count is sure."""
        line, spans = each_line(lines)
        starts = np.zeros((most, len(line)), np.int64)
        ends = np.full((most, len(line)), -1, np.int64)
        count = np.empty(len(line), np.int64)
        kernels.split_last(spans.data, spans.start, spans.end, ord(delimiter), starts, ends, count)
        return Fields(line, count, spans.data, starts, ends)

    def __getitem__(self, field: int) -> Spans:
        return Spans(self._data, self._starts[field], self._ends[field])

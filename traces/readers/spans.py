"""A column of a block as bounds in its bytes, turned into texts, numbers or times without a Python object a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from traces.readers import column_kernels as kernels
from traces.readers.kernels import words

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

    @property
    def there(self) -> Mask:
        """Which rows have the field."""
        return self.end >= self.start

    def is_text(self, text: str) -> Mask:
        """Which rows' field is that text."""
        result: Mask = self.one_of([text]) == 0
        return result

    def one_of(self, texts: Sequence[str]) -> Ints:
        """Which of the texts each row's field is, from 0; -1: none of them."""
        found = np.empty(len(self), np.int64)
        kernels.one_of(self.data, self.start, self.end, words(texts), found)
        return found

    def partition(self, mark: np.uint8) -> tuple[Spans, Spans]:
        """What stands before and after the first byte `mark`; without one, all is before and nothing after."""
        at = np.empty(len(self), np.int64)
        kernels.marks(self.data, self.start, self.end, mark, at)
        return Spans(self.data, self.start, at), Spans(self.data, np.minimum(at + 1, self.end + 1), self.end)

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
        end = np.where(missing, self.start, self.end)
        offsets = np.empty(len(self) + 1, np.int32)
        held = np.empty(kernels.offsets_of(self.start, end, offsets), np.uint8)
        if escaped:
            kernels.unescape(self.data, self.start, end, offsets, held)
        else:
            kernels.pack(self.data, self.start, offsets, held)
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
        column = pa.StringArray.from_buffers(len(self), pa.py_buffer(offsets), pa.py_buffer(held), valid)
        if held[: offsets[-1]].max(initial=0) > _LAST_ASCII:
            column.validate(full=True)
        return column

    def integers(self) -> Ints:
        """Whole numbers; -1 where the field holds none."""
        return self._by(kernels.integers)

    def iso_ns(self) -> Ints:
        """Times such as ``2026-11-21T10:44:01.606Z`` in ns since 1970 UTC; -1 where the field holds none."""
        return self._by(kernels.iso_times)

    def _by(self, kernel: object) -> Ints:
        values = np.empty(len(self), np.int64)
        kernel(self.data, self.start, self.end, values)  # type: ignore[operator]
        return values

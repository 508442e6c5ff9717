"""The bodies that a GET may return, and their check while one arrives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from validate.s3.answers import WrongAnswerError

Content = Sequence[memoryview]
"""The bytes of an object, in pieces."""


class ExpectedBody(NamedTuple):
    """The bodies that a GET may return: one, or several if the object is overwritten while it is read.

    Attributes:
        lengths: their lengths in bytes.
        contents: the bytes of each, in the order of `lengths`; empty: only the length is checked.
    """

    lengths: tuple[int, ...]
    contents: tuple[Content, ...] = ()


class BodyCheck:
    """Checks the chunks of a body as they arrive, so that an endless one is not read to its end.

    Args:
        expected: None: any body is right.

    Attributes:
        received_bytes: the length of the chunks so far.
    """

    def __init__(self, expected: ExpectedBody | None):
        self._expected, self.received_bytes = expected, 0
        self._candidates = [] if expected is None else list(expected.contents)

    def announced(self, length_bytes: int) -> None:
        """Check the length in the head of the response.

        Raises:
            WrongAnswerError: no expected body has this length.
        """
        if self._expected is not None and length_bytes not in self._expected.lengths:
            raise WrongAnswerError(f"wrong length: {length_bytes:,} bytes instead of {self._allowed()}")

    def take(self, chunk: bytes | memoryview) -> None:
        """Check a chunk.

        Raises:
            WrongAnswerError: there are more bytes than any expected body has, or other ones.
        """
        begin = self.received_bytes
        self.received_bytes += len(chunk)
        if self._expected is None:
            return
        if self.received_bytes > max(self._expected.lengths):
            raise WrongAnswerError(f"wrong length: more than {self._allowed()} bytes")
        if self._candidates:
            self._candidates = [c for c in self._candidates if bytes_of(c, begin, self.received_bytes) == bytes(chunk)]
            if not self._candidates:
                raise WrongAnswerError("wrong body: its bytes are not those that were written")

    def end(self) -> None:
        """Check the whole body after its last chunk.

        Raises:
            WrongAnswerError: the body is not an expected one.
        """
        self.announced(self.received_bytes)
        if self._candidates and not any(sum(map(len, c)) == self.received_bytes for c in self._candidates):
            raise WrongAnswerError("wrong body: its bytes are not those that were written")

    def _allowed(self) -> str:
        lengths = () if self._expected is None else self._expected.lengths
        return " or ".join(f"{length:,}" for length in sorted(set(lengths)))


def bytes_of(content: Content, begin: int, end: int) -> bytes:
    """Return the bytes from `begin` to `end` (excluded) of a content, fewer if it ends before."""
    found, at = [], 0
    for piece in content:
        if at < end and at + len(piece) > begin:
            found.append(bytes(piece[max(begin - at, 0) : end - at]))
        at += len(piece)
    return b"".join(found)


def part_of(content: Content, begin: int, length: int) -> Content:
    """Return the bytes of a content from `begin`, `length` of them at most, without copying."""
    parts, at, end = [], 0, begin + length
    for piece in content:
        if at < end and at + len(piece) > begin:
            parts.append(piece[max(begin - at, 0) : end - at])
        at += len(piece)
    return parts

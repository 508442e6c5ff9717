"""The formats there are, and which of them a file is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from traces.errors import InputError
from traces.readers.blocks import Read
from traces.readers.source import Source
from traces.readers.tally import Tally


@dataclass(frozen=True)
class Head:
    """The beginning of a file.

    Attributes:
        name: of the file, without its folder.
        data: its first bytes, unpacked.
    """

    name: str
    data: bytes

    @property
    def lines(self) -> list[str]:
        """The first twenty whole lines that are not blank."""
        text = self.data.decode("utf-8", "replace").split("\n")
        whole = text if len(text) == 1 else text[:-1]
        return [line.rstrip("\r") for line in whole if line.strip()][:20]


@dataclass(frozen=True)
class Format:
    """A format of logs.

    Attributes:
        name: as it is chosen by.
        what: what writes it, in a few words.
        dated: whether its times are of the calendar; else they count from the log's own zero.
        recognises: whether a file with that beginning is in the format.
        read: reads a file.
        read_across: once all files are read: gives the records of requests that two of them hold a part of.
    """

    name: str
    what: str
    dated: bool
    recognises: Callable[[Head], bool]
    read: Read
    read_across: Callable[[Tally], Iterator[pa.RecordBatch]] = lambda tally: iter(())


def detect(source: Source, formats: tuple[Format, ...]) -> Format:
    """The first format that recognises the file.

    Raises:
        InputError: none does, or the file cannot be read.
    """
    head = Head(source.path.name, source.head())
    found = next((format for format in formats if format.recognises(head)), None)
    if found is None:
        names = ", ".join(format.name for format in formats)
        raise InputError(f"{source.path}: its format is not recognised; name one: {names}")
    return found

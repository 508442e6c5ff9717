"""The interface of log formats, and their detection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.blocks import Read
from traces.readers.source import Source


@dataclass(frozen=True)
class Head:
    """The start of a file.

    Attributes:
        name: file name without folder.
        data: first bytes, decompressed.
    """

    name: str
    data: bytes

    @property
    def lines(self) -> list[str]:
        """The first twenty complete lines that are not blank."""
        text = self.data.decode("utf-8", "replace").split("\n")
        whole = text if len(text) == 1 else text[:-1]
        return [line.rstrip("\r") for line in whole if line.strip()][:20]


@dataclass(frozen=True)
class Format:
    """A log format.

    Attributes:
        name: as it is chosen by.
        what: short description.
        dated: whether times are calendar times; else they are relative.
        recognises: whether a file with the given start is in the format.
        read: reads a file.
        read_across: called after all files are read; yields the records of requests whose parts are in two files.
    """

    name: str
    what: str
    dated: bool
    recognises: Callable[[Head], bool]
    read: Read
    read_across: Callable[[ImportReport], Iterator[pa.RecordBatch]] = lambda report: iter(())


def detect(source: Source, formats: tuple[Format, ...]) -> Format:
    """Return the first format that recognises the file.

    Raises:
        InputError: no format does, or the file cannot be read.
    """
    head = Head(source.path.name, source.head())
    found = next((format for format in formats if format.recognises(head)), None)
    if found is None:
        names = ", ".join(format.name for format in formats)
        raise InputError(f"{source.path}: the format is not recognised; name one: {names}")
    return found

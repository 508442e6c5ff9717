"""The interface of log formats, and their detection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from traces.errors import InputError
from traces.logs.import_report import ImportReport
from traces.readers.blocks import Read, by_block
from traces.readers.layout import Layout, parser
from traces.readers.source import Source
from traces.readers.wrappers import possible_wrappers


@dataclass(frozen=True)
class Head:
    """The start of a file.

    Attributes:
        name: file name without folder.
        data: first bytes, decompressed.
        path: the file, if there is one.
    """

    name: str
    data: bytes
    path: Path | None = None

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
        binary: whether files are no text.
        waits: whether it is of a benchmark whose clients wait for responses.
        of: the format whose files it reads in another way; it recognises none, and is chosen by its name.
        read_across: called after all files are read; yields the records of requests whose parts are in two files.
    """

    name: str
    what: str
    dated: bool
    recognises: Callable[[Head], bool]
    read: Read
    binary: bool = False
    waits: bool = False
    of: str | None = None
    read_across: Callable[[ImportReport], Iterator[pa.RecordBatch]] = lambda report: iter(())


def of_lines(layout: Layout) -> Read:
    """Return the reader of files of lines."""
    return by_block(parser(layout))


def detect(source: Source, formats: tuple[Format, ...]) -> Format:
    """Return the first format that recognises the file, if need be without what may be around its lines.

    Raises:
        InputError: no format does, or the file cannot be read.
    """
    head = _head(source)
    dated = tuple(format for format in formats if format.dated and not format.binary)
    for wrapper in possible_wrappers(head.data):
        source.wrapper = wrapper
        found = _recognising(_head(source), dated) if wrapper else _recognising(head, formats)
        if found is not None:
            return found
    source.wrapper = None
    names = ", ".join(format.name for format in formats)
    raise UnknownFormatError(f"{source.name}: the format is not recognised; {_nearest(head, formats)}known: {names}")


def _head(source: Source) -> Head:
    return Head(source.name.name, source.head(), source.path)


def _recognising(head: Head, formats: tuple[Format, ...]) -> Format | None:
    return next((format for format in formats if format.recognises(head)), None)


class UnknownFormatError(InputError):
    """No format recognises a file."""


class _Start(Source):
    """The complete lines at the start of a file."""

    def __init__(self, head: Head) -> None:
        super().__init__(Path(head.name))
        self._data = head.data[: head.data.rfind(b"\n") + 1] or head.data

    def pieces(self) -> Iterator[bytes]:
        yield self._data


def _nearest(head: Head, formats: tuple[Format, ...]) -> str:
    """Say which format reads most rows at the start of a file, and why it refuses others; "" if none reads any."""
    best, most = "", 0
    for format in (format for format in formats if not format.binary):
        report = ImportReport()
        with contextlib.suppress(InputError):
            for _ in format.read(_Start(head), report):
                pass
        if report.kept > most:
            why = report.where[0].partition(": ")[2] if report.where else "its header or its first lines differ"
            most, best = report.kept, f"nearest is {format.name} ({report.kept:,} of {report.rows:,} rows; {why}); "
    return best

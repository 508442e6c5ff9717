"""The files of an import: folders, streams and archives become regular files, each with its format."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from traces.errors import InputError
from traces.logs.columns import Columns
from traces.logs.folders import NO_LOG, files_below, is_hidden, is_no_log
from traces.readers.applications import strace
from traces.readers.formats import Format, UnknownFormatError, detect
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.readers.tools.generic_csv import CSV, csv_format
from traces.results.registry import result_format_of
from traces.spec.suggestions import instead, no_such_file

STDIN = Path("-")

NO_FILE = "is a link or a device"
OUTSIDE = "has a path that leads out of the archive"
"""Why members of archives are skipped."""

_USTAR_AT, _USTAR = 257, b"ustar"


@dataclass
class Inputs:
    """The files of an import.

    Attributes:
        sources: the files, in order.
        skipped: why files of folders and archives are not read, by name.
    """

    sources: list[Source] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)


def inputs(files: Sequence[Path], scratch: Path, zone: str) -> Inputs:
    """Return the files of an import: given ones, those of folders and archives (tar), and streams.

    Streams and the members of archives are copied to `scratch` first.

    Args:
        files: files, folders, streams (FIFOs, devices, ``-`` for the standard input) and tar archives.
        scratch: an empty folder; the caller removes it.
        zone: see `Source.zone`.

    Raises:
        InputError: a file is missing or cannot be read, or a folder or archive contains no logs.
    """
    found = Inputs()
    for path in files:
        if path.is_dir():
            _add_folder(found, path, scratch, zone)
        elif path == STDIN or (path.exists() and not stat.S_ISREG(path.stat().st_mode)):
            _add_file(found, _copied(path, scratch), path, scratch, zone)
        elif not path.exists():
            raise InputError(no_such_file(path))
        else:
            _add_file(found, path, path, scratch, zone)
    return found


def _add_folder(found: Inputs, folder: Path, scratch: Path, zone: str) -> None:
    before = len(found.sources)
    for path in files_below(folder):
        if is_no_log(path.name):
            found.skipped[str(path)] = NO_LOG
        else:
            _add_file(found, path, path, scratch, zone)
    if len(found.sources) == before:
        raise InputError(f"{folder}: the folder contains no logs")


def _add_file(found: Inputs, path: Path, name: Path, scratch: Path, zone: str) -> None:
    """Add a regular file, or the members of an archive."""
    source = Source(path, zone, name)
    if source.head()[_USTAR_AT:].startswith(_USTAR):
        _add_members(found, source, scratch, zone)
    else:
        found.sources.append(source)


def _add_members(found: Inputs, archive: Source, scratch: Path, zone: str) -> None:
    before = len(found.sources)
    try:
        with tarfile.open(fileobj=_Stream(archive.pieces()), mode="r|") as members:  # type: ignore[call-overload]
            for member in members:
                name = archive.name / member.name
                if not member.isfile():
                    if not member.isdir():
                        found.skipped[str(name)] = NO_FILE
                    continue
                inside = Path(member.name.removeprefix("./"))
                if inside.is_absolute() or ".." in inside.parts:
                    found.skipped[str(name)] = OUTSIDE
                    continue
                if is_hidden(inside):
                    continue
                if is_no_log(name.name):
                    found.skipped[str(name)] = NO_LOG
                    continue
                content = members.extractfile(member)
                assert content is not None
                _add_file(found, _saved(content, scratch), name, scratch, zone)
    except (tarfile.TarError, EOFError) as error:
        raise InputError(f"{archive.name}: cannot be read as a tar archive: {error}") from error
    if archive.truncated:
        raise InputError(f"{archive.name}: cannot be read as a tar archive: {archive.truncated}")
    if len(found.sources) == before:
        raise InputError(f"{archive.name}: the archive contains no logs")


class _Stream:
    """Pieces of content as a file that can only be read on."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, b""

    def read(self, size: int) -> bytes:
        held = [self._held]
        have = len(self._held)
        while have < size and (piece := next(self._pieces, b"")):
            held.append(piece)
            have += len(piece)
        data = b"".join(held)
        self._held = data[size:]
        return data[:size]


def _copied(path: Path, scratch: Path) -> Path:
    """Copy a stream to a file: it can be read once only, but its format is detected first."""
    if path == STDIN:
        if sys.stdin.isatty():
            raise InputError("-: the standard input is a terminal; pipe a log into it")
        return _saved(sys.stdin.buffer, scratch)
    try:
        with path.open("rb") as stream:
            return _saved(stream, scratch)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


def _saved(stream: IO[bytes], scratch: Path) -> Path:
    """Save a stream under a name that no other one has: an archive is read while its members are saved."""
    number, path = tempfile.mkstemp(prefix="input-", dir=scratch)
    with os.fdopen(number, "wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    return Path(path)


def formats_of(
    sources: Sequence[Source], name: str | None, columns: Columns | None, below: str | None = None
) -> list[Format | None]:
    """Return the format of each file; None for an empty file.

    `below` is the directory whose files are read, of formats that have paths of all files of a host.

    Raises:
        InputError: a format is unknown, none has a directory, or some files have calendar times and others relative
            times.
    """
    found: list[Format | None]
    if columns is not None and name in (None, CSV):
        given = csv_format(columns.mapping, columns.delimiter, columns.pattern)
        found = [given] * len(sources)
    elif columns is not None:
        raise InputError(f"columns are for the format {CSV}, not for {name}")
    elif name is None:
        found = [_detected(source) for source in sources]
    else:
        named = _named(name)
        found = [named] * len(sources)
        for source in sources:
            with contextlib.suppress(UnknownFormatError):
                detect(source, (named,))  # what is around its lines
    if below is not None:
        if not any(one is strace.FORMAT for one in found):
            raise InputError(f"below is {below!r}; only the format {strace.NAME} has paths of all files of a host")
        found = [strace.strace_format(below) if one is strace.FORMAT else one for one in found]
    dated = {one.dated: source.name for source, one in zip(sources, found, strict=True) if one}
    if len(dated) == 2:
        raise InputError(f"{dated[False]}: has relative times, but {dated[True]} has calendar times; import them apart")
    return found


def _detected(source: Source) -> Format | None:
    head = source.head()
    results = result_format_of(source.name.name, head)
    if results is not None:  # of a stream or an archive: those of files were found before
        raise InputError(f"{source.name}: is a table of figures ({results.name}), not a log; import it from a file")
    return detect(source, FORMATS) if head.strip() else None


def _named(name: str) -> Format:
    if name == CSV:
        raise InputError(f"the format {CSV} needs the columns: time=…,key=…")
    known = {format.name: format for format in FORMATS}
    if name not in known:
        raise InputError(f"the format {name!r} is unknown; {instead(name, [*known, CSV])}")
    return known[name]

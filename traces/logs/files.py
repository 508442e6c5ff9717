"""Find the files of an import and their formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from traces.errors import InputError
from traces.readers.formats import Format, detect
from traces.readers.generic_csv import CSV, csv_format
from traces.readers.registry import FORMATS
from traces.readers.source import Source
from traces.suggestions import instead, no_such_file


def files_in(files: Sequence[Path]) -> list[Path]:
    """Return the files, and the files in the folders.

    Raises:
        InputError: a file is missing, or a folder contains no files.
    """
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
            if not inside:
                raise InputError(f"{path}: the folder contains no files")
            found += inside
        elif not path.exists():
            raise InputError(no_such_file(path))
        else:
            found.append(path)
    return found


def formats_of(sources: Sequence[Source], name: str | None, columns: Mapping[str, str] | None) -> list[Format | None]:
    """Return the format of each file; None for an empty file.

    Raises:
        InputError: a format is unknown, or some files have calendar times and others relative times.
    """
    found: list[Format | None]
    if columns is not None and name in (None, CSV):
        given = csv_format(columns)
        found = [given] * len(sources)
    elif columns is not None:
        raise InputError(f"columns are for the format {CSV}, not for {name}")
    elif name is None:
        found = [detect(source, FORMATS) if source.head().strip() else None for source in sources]
    else:
        found = [_named(name)] * len(sources)
    dated = {one.dated: source.path for source, one in zip(sources, found, strict=True) if one}
    if len(dated) == 2:
        raise InputError(f"{dated[False]}: has relative times, but {dated[True]} has calendar times; import them apart")
    return found


def _named(name: str) -> Format:
    if name == CSV:
        raise InputError(f"the format {CSV} needs the columns: time=…,op=…,key=…")
    known = {format.name: format for format in FORMATS}
    if name not in known:
        raise InputError(f"the format {name!r} is unknown; {instead(name, [*known, CSV])}")
    return known[name]

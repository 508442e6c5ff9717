"""Which files an import reads, and in which format each of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from traces.errors import InputError
from traces.readers.formats import Format, detect
from traces.readers.generic_csv import CSV, csv_format
from traces.readers.registry import FORMATS
from traces.readers.source import Source


def files_in(files: Sequence[Path]) -> list[Path]:
    """The files, and those in the folders."""
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            held = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
            if not held:
                raise InputError(f"{path}: the folder holds no files")
            found += held
        else:
            found.append(path)
    return found


def formats_of(sources: Sequence[Source], name: str | None, columns: Mapping[str, str] | None) -> list[Format | None]:
    """The format of each file; None of one that is empty.

    Raises:
        InputError: a format is not known, or some files have times of the calendar and others have not.
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
        raise InputError(f"{dated[False]}: its times count from a zero of its own, those of {dated[True]} are dated")
    return found


def _named(name: str) -> Format:
    if name == CSV:
        raise InputError(f"the format {CSV} needs to know the columns: time=…,op=…,key=…")
    known = {format.name: format for format in FORMATS}
    if name not in known:
        raise InputError(f"the format {name!r} is not known; allowed are {', '.join([*known, CSV])}")
    return known[name]

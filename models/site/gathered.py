"""What the files of a site say together, and where they contradict each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from models.site.known import Known
from models.site.pasted import Output, outputs
from models.site.reader import Found, Reader, SiteFile, kinds_of
from models.site.site_text import site_text
from traces.errors import InputError
from traces.spec.units import parse_bandwidth, parse_bytes

_METRICS = re.compile(r"^# (?:HELP|TYPE) \w+ ", re.MULTILINE)  # as Prometheus reads them
_TOLERANCE = 0.05  # two files may round a size or a bandwidth differently


@dataclass(frozen=True)
class Read:
    """An output in a file that was read.

    Attributes:
        name: of the file, with the command if it has several outputs.
        kind: of the output.
        found: what it says.
        rough: names of its facts that another kind of file has more exactly.
    """

    name: str
    kind: str
    found: Found
    rough: frozenset[str] = frozenset()


Foreign: TypeAlias = Callable[[], Iterable[tuple[str, Sequence[Reader]]]]
"""Returns the names of other stores with their readers."""


def read_files(paths: Iterable[Path], readers: Sequence[Reader], foreign: Foreign = tuple) -> list[Read]:
    """Return what files say, each output by the reader that detects its kind.

    Args:
        paths: of the files.
        readers: of the store and of hardware.
        foreign: readers of other stores, by which the refusal of a file names its store.

    Raises:
        InputError: a file cannot be read, is of no known kind, or is broken.
    """
    return [read for path in paths for read in _read(path, readers, foreign)]


def _read(path: Path, readers: Sequence[Reader], foreign: Foreign) -> list[Read]:
    found = outputs(site_text(path))
    several = len(found) > 1
    read: list[Read] = []
    unknown: list[str] = []
    for number, output in enumerate(found, 1):
        command = output.command or f"output {number}"
        one = _read_output(f"{path}: {command}" if several else str(path), output, readers)
        if one is None:
            unknown.append(command)
        else:
            kind, said, rough = one
            read.append(Read(f"{path.name}: {command}" if several else path.name, kind, said, rough))
    if not read:
        raise InputError(f"{path}: {_refusal(found, readers, foreign)}")
    if unknown:
        first = read[0]
        note = f"{path.name}: outputs of no known kind are left out: {', '.join(unknown)}"
        read[0] = replace(first, found=Found(first.found.facts, (*first.found.notes, note)))
    return read


def _read_output(name: str, output: Output, readers: Sequence[Reader]) -> tuple[str, Found, frozenset[str]] | None:
    """Return kind, contents and rough facts of an output; None: no reader detects it."""
    file = SiteFile(name, output.text)
    for reader in readers:
        try:
            if reader.detects(file):
                return reader.kind, reader.read(file), reader.rough
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{name}: looks like {reader.kind}, but is broken: {what}") from error
    return None


def _refusal(found: Sequence[Output], readers: Sequence[Reader], foreign: Foreign) -> str:
    """Return why nothing in a file is read."""
    if not found:
        return "is empty"
    files = [SiteFile("", output.text) for output in found]
    for store, others in foreign():
        if kind := next((reader.kind for reader in others for file in files if reader.detects(file)), None):
            return f"is {kind}, of another store; init {store} reads it"
    if broken := next(filter(None, (file.broken_json for file in files)), None):
        return f"looks like JSON, but is broken: {broken}"
    if any(_METRICS.search(file.text) for file in files):
        return (
            "has metrics, which are not of one moment; tailcast import-metrics takes them over an hour from Prometheus"
        )
    return f"its kind is not recognised; read are {', '.join(kinds_of(readers))}"


def facts_of(files: Sequence[Read]) -> dict[str, Known]:
    """Return the facts of files by name; where several have one, that of the first which has it exactly."""
    return {
        name: Known(value, f"file {read.name}: {read.kind}")
        for is_rough in (True, False)
        for read in reversed(files)
        for name, value in read.found.facts.items()
        if (name in read.rough) == is_rough
    }


def contradictions(files: Sequence[Read], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each fact of which files, or a file and what was given, have different values."""
    said: dict[str, list[tuple[Any, str]]] = {name: [(value, "given")] for name, value in given.items()}
    exact = {name for read in files for name in read.found.facts if name not in read.rough} | given.keys()
    for read in files:
        for name, value in read.found.facts.items():
            if name in read.rough and name in exact:
                continue
            said.setdefault(name, []).append((value, f"in {read.name} ({read.kind})"))
    for name, values in said.items():
        first, _ = values[0]
        if any(not _same(first, other) for other, _ in values[1:]):
            texts = ", ".join(f"{value} {where}" for value, where in values)
            yield f"{name} is {texts}; the first is used"


def _same(one: Any, other: Any) -> bool:
    first, second = _quantity(one), _quantity(other)
    if first is None or second is None:
        return bool(one == other)
    return abs(first - second) <= (_TOLERANCE if isinstance(one, str) else 0.0) * max(first, second)


def _quantity(value: Any) -> float | None:
    """Return a number, a size or a bandwidth as a number; None: it is none."""
    if isinstance(value, int | float):
        return float(value)
    for parse in (parse_bytes, parse_bandwidth):
        try:
            return float(parse(value))
        except (ValueError, TypeError):
            continue
    return None
